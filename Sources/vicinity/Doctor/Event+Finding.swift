internal import Nearby

extension Event {
  /// A finding, in lines of so many columns.
  static func finding(_ finding: Finding, columns: Int) -> Event {
    Event(
      "finding", .result,
      [
        .text("check", finding.check.rawValue), .text("state", finding.state.rawValue), .text("text", finding.says),
        finding.cure.map { .text("cure", $0) },
      ]
    ) { paint in
      let (mark, role): (String, Paint.Role) =
        switch finding.state {
        case .good: ("ok", .good)
        case .doubtful: ("may be", .doubtful)
        case .bad: ("bad", .bad)
        case .unknown: ("unseen", .faint)
        }
      let head = mark.padded(to: 8) + finding.check.rawValue.padded(to: 12)
      let text = PlainText.line(finding.says).wrapped(to: columns, indent: 20)
      let margin = String(repeating: " ", count: 20)
      let cure = finding.cure.map { PlainText.line("Cure: \($0)").wrapped(to: columns, indent: 20) } ?? []
      return [paint(role, head) + text[0]] + text.dropFirst() + cure.prefix(1).map { margin + $0 } + cure.dropFirst()
    }
  }

  static func diagnosis(_ findings: [Finding]) -> Event {
    let counts = Dictionary(grouping: findings, by: \.state).mapValues(\.count)
    let (bad, doubtful) = (counts[.bad] ?? 0, counts[.doubtful] ?? 0)
    return Event(
      "diagnosis", .result, Finding.State.allCases.map { .number($0.rawValue, counts[$0] ?? 0) }
    ) { paint in
      if bad > 0 {
        return ["", paint(.bad, "\(Quantity.count(bad, "thing stands", "things stand")) in the way of peers.")]
      }
      let doubts = doubtful > 0 ? ", but look at what may be" : ""
      return ["", paint(.good, "Nothing was found that stands in the way of peers\(doubts).")]
    }
  }
}
