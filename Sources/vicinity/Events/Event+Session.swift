internal import Nearby
internal import Notation

/// Events of a session, and of the program itself.
extension Event {
  static func member(_ member: Member, _ state: MemberState, _ label: String, known: KnownPeer?) -> Event {
    switch state {
    case .connecting:
      return about(member, "connecting") { ["connecting with \($0.named(member, label))"] }
    case .connected:
      let more = [known.map { .text("known", $0.confirmation.rawValue) }, ClockTime.awaySince(member.awaySince)]
      return about(member, "connected", .news, more) { paint in
        // The word comes before the name, since the name could contain it.
        let known = known.map { " (known\($0.confirmation == .comparedCode ? " by a compared code" : ""))" } ?? ""
        let away = paint.away(member.awaySince, behind: ", who is ")
        return ["\(paint(.good, "connected"))\(known) with \(paint.named(member, label))\(away)"]
      }
    case .notConnected(let reason):
      return about(member, "notConnected", .news, [.reason(reason)]) {
        ["\($0(.doubtful, "not connected")) with \($0.named(member, label)): \(reason.sentence)"]
      }
    }
  }

  /// A peer that ad hoc mode has invited, and that is not connected.
  static func notConnected(_ invitee: Invitee, _ reason: Reason, _ label: String) -> Event {
    Event(
      "notConnected", .news,
      [
        .text("peer", invitee.peer), .text("name", invitee.name), .reason(reason),
        .bool("askedAgain", invitee.isAskedAgain),
      ]
    ) { paint in
      let name = paint.named(invitee.peer.text.utf8, label)
      let byHand = "they will not be asked again by themselves; \(paint(.strong, "/invite \(label)")) asks once more"
      switch (reason, invitee.isAskedAgain) {
      case (.declined, false): return ["\(name) declined: \(byHand)"]
      case (.timedOut, false): return ["\(name) did not answer: \(byHand)"]
      case (.timedOut, true): return ["\(name) did not answer; they are asked once more later"]
      case (_, false): return ["\(paint(.doubtful, "not connected")) with \(name): \(reason.sentence)"]
      // A retry that comes in a moment is for programs only.
      case (_, true): return []
      }
    }
  }

  /// Searching and advertising have ended by themselves, as requested.
  static func endedByItself(_ until: Until) -> Event {
    Event("searchEnded", .news, [.text("until", until.rawValue)]) { _ in
      [
        "\(until == .full ? "the session is full" : "connected"): nobody else is looked for, and nobody finds this peer any more"
      ]
    }
  }

  /// A member to whom this host has no way.
  static func unreached(_ member: Member, _ label: String) -> Event {
    about(member, "unreached", .news) { paint in
      [
        "no network leads to \(paint.named(member, label)) yet. A member whose computer has networks of both of you leads there, unless it runs with \(paint(.strong, "--relay-for nobody")); so does any other computer, if all three run with \(paint(.strong, "--medium relay")) beside their other media"
      ]
    }
  }

  static func suspended(_ member: Member, _ isSuspended: Bool, _ label: String) -> Event {
    about(member, isSuspended ? "suspended" : "resumed") { paint in
      let name = paint.named(member, label)
      return isSuspended ? ["the way to \(name) is gone; looking for another"] : ["the way to \(name) is back"]
    }
  }

  static func mediumChanged(_ member: Member, _ label: String) -> Event {
    about(member, "mediumChanged", .news, [member.medium.map { .text("medium", $0) }]) { paint in
      let way = member.medium == "relay" ? "through another computer" : "by \(member.medium ?? "another medium")"
      return ["\(paint.named(member, label)) is reached \(way) now"]
    }
  }

  /// The member is away; messages to it wait.
  static func away(_ member: Member, _ label: String) -> Event {
    away(
      [.text("peer", member.peer), .text("endpoint", member.id), .text("name", member.name)], since: member.awaySince
    ) { $0.named(member, label) }
  }

  static func away(_ peer: FoundPeer, _ label: String) -> Event {
    away([.text("peer", peer.id), .text("name", peer.name)], since: peer.awaySince) {
      $0.named(peer.id.text.utf8, label)
    }
  }

  private static func away(
    _ of: [JSON.Member?], since moment: ContinuousClock.Instant?, _ name: @escaping @Sendable (Paint) -> String
  ) -> Event {
    Event(moment == nil ? "here" : "away", .news, of + [ClockTime.awaySince(moment)]) { paint in
      ["\(name(paint)) is \(moment == nil ? paint(.good, "here again") : paint.away(moment))"]
    }
  }

  static func message(_ message: Message, _ label: String) -> Event {
    let member = message.from
    return about(
      member, "message", .result,
      [
        .text("mode", message.mode == .reliable ? "reliable" : "unreliable"), .number("size", message.bytes.count),
        message.contentType.map { .text("contentType", $0) }, .bytes("text", message.bytes),
      ]
    ) { paint in
      message.contentType == typingType ? [] : messageLines(paint.named(member, label), message.bytes)
    }
  }

  /// The content type of a message that only says that its sender writes one.
  private static let typingType = "application/vnd.vicinity.typing"

  /// A message that this side has sent, for people; a program knows it.
  static func sent(_ text: String, to label: String?) -> Event {
    Event("", .news) { paint in
      messageLines(paint(.strong, "you" + (label.map { " to \($0)" } ?? "")), Array(text.utf8))
    }
  }

  /// The lines of a message; none can be mistaken for another sender's.
  private static func messageLines(_ name: String, _ bytes: [UInt8]) -> [String] {
    guard let text = PlainText.text(of: bytes) else {
      return ["\(name) sent \(Quantity.count(bytes.count, "byte", "bytes")) that are no text"]
    }
    var lines = PlainText.lines(text)
    while lines.count > 1, lines.last == "" { lines.removeLast() }
    return ["\(name): \(lines.first ?? "")"] + lines.dropFirst().map { "  │ \($0)" }
  }

  static func undelivered(_ members: [Member], _ status: DeliveryStatus, _ labels: [String]) -> Event {
    let isUnknown = status == .unknown
    return Event(
      "undelivered", .warning,
      [
        .text("deliveryStatus", isUnknown ? "unknown" : "undelivered"),
        .list("peers", members.map(\.peer.text)), .list("names", members.map(\.name)),
      ]
    ) { paint in
      let names = labels.joined(separator: ", ")
      return [
        paint(
          .doubtful,
          isUnknown ? "it is not known whether a message reached \(names)" : "a message did not reach \(names)")
      ]
    }
  }

  static func members(_ members: [(member: Member, label: String, link: HostLink?)]) -> Event {
    let list = members.map {
      JSON.object(
        [.text("peer", $0.member.peer), .text("endpoint", $0.member.id), .text("name", $0.member.name)]
          + ([ClockTime.awaySince($0.member.awaySince)] + ($0.link?.fields ?? [])).compactMap(\.self))
    }
    return Event("peers", .result, [.init("members", .list(list))]) { paint in
      if members.isEmpty { return ["nobody is connected"] }
      return members.map {
        "  \(paint.named($0.member, $0.label)) \(paint(.faint, $0.member.peer.text))"
          + ($0.link.map { paint(.faint, "  " + $0.summary) } ?? "") + paint.away($0.member.awaySince, behind: "  ")
      }
    }
  }

  /// The admission of a member: decided here, or asked.
  static func decision(
    _ number: Int, _ decision: TrustDecision, _ label: String, verdict: String, isAdmitted: Bool?
  ) -> Event {
    let (member, subjects) = (decision.member, decision.certificates.map(\.subject))
    return about(
      member, "decision", .news,
      [
        .number("number", number), .list("certificates", subjects), .text("text", verdict),
        isAdmitted.map { .bool("accepted", $0) },
      ]
    ) { paint in
      let (yes, no) = (paint(.strong, "/accept \(number)"), paint(.strong, "/decline \(number)"))
      let end =
        switch isAdmitted {
        case nil: " \(yes) or \(no)"
        case true?: " It is let in."
        case false?: " It is not let in."
        }
      return ["\(paint.named(member, label)) wants in. \(PlainText.line(verdict))\(end)"]
    }
  }

  static func comparison(_ number: Int, _ member: Member, _ code: String, _ label: String) -> Event {
    about(member, "comparison", .result, [.number("number", number), .text("code", code)]) { paint in
      [
        "the code with \(paint.named(member, label)) is \(paint(.strong, code))",
        "  does \(label) see the same? \(paint(.strong, "/accept \(number)")) if so, \(paint(.strong, "/decline \(number)")) if not",
      ]
    }
  }

  static func comparisonEnded(_ number: Int, _ member: Member, _ label: String, _ reason: Reason) -> Event {
    about(member, "comparisonEnded", .result, [.number("number", number), .reason(reason)]) { paint in
      let name = paint.named(member, label)
      return [
        reason == .none
          ? paint(.good, "confirmed: ") + "the codes match, so there is no man in the middle between you and \(name)"
          : paint(.bad, "not confirmed: ") + "the comparison with \(name) ended: \(reason.sentence)"
      ]
    }
  }

  /// It ended before there was a code.
  static func comparisonFailed(_ peer: PeerID, _ label: String, _ reason: Reason) -> Event {
    Event("comparisonFailed", .result, [.text("peer", peer), .reason(reason)]) { paint in
      let name = paint.named(peer.text.utf8, label)
      return [paint(.bad, "not confirmed: ") + "the comparison with \(name) ended without a code: \(reason.sentence)"]
    }
  }

  // MARK: The shared clock

  /// With the name of a member on the host with whose clock it was compared.
  static func clock(_ time: SessionTime, _ other: String?) -> Event {
    Event(
      "clock", .result,
      [
        .init("seconds", .real(time.elapsed / .seconds(1))),
        .init("boundMilliseconds", .real(time.bound / .milliseconds(1))),
        time.source.map { .text("source", $0) }, .init("synchronized", .bool(time.isSynchronized)),
        .init("uptimeSeconds", .real(time.uptime / .seconds(1))),
      ] + (time.measurement?.fields ?? [])
    ) { paint in
      let (seconds, attoseconds) = time.elapsed.components
      let tenths = (time.bound / .milliseconds(0.1)).rounded(.up)
      let bound = "\(Int(tenths) / 10).\(Int(tenths) % 10) ms"
      let shown = "\(seconds).\(String(1_000 + attoseconds / 1_000_000_000_000_000).dropFirst()) s"
      let whose = time.source == nil ? "the others follow this clock" : "within \(bound) of the host that is followed"
      return [
        "shared clock: \(paint(.strong, shown)), " + (time.isSynchronized ? whose : "not compared with others yet")
      ] + (time.measurement.map { [$0.sentence(other)] } ?? [])
    }
  }

  static func clockStepped(_ step: Duration) -> Event {
    Event("clockStepped", .news, [.init("milliseconds", .real(step / .milliseconds(1)))]) { _ in
      ["the shared clock was set \(step < .zero ? "back" : "forward") by \(abs(Int(step / .milliseconds(1)))) ms"]
    }
  }

  /// The first beat of four says how far the clocks of two were apart.
  static func beat(_ number: Int64, _ time: SessionTime, _ other: String?) -> Event {
    Event("beat", .news, [.init("number", .integer(number))] + (time.measurement?.fields ?? [])) { paint in
      if number % 4 != 0 { return [paint(.strong, "·") + "\u{7}"] }
      return [paint(.strong, "♩") + (time.measurement.map { " " + paint(.faint, $0.sentence(other)) } ?? "") + "\u{7}"]
    }
  }

  // MARK: The program itself

  static func warning(_ what: String, cure: String? = nil, named name: String = "warning") -> Event {
    Event(name, .warning, [.text("text", what), cure.map { .text("cure", $0) }]) { paint in
      [paint(.doubtful, "warning: ") + PlainText.line(what) + (cure.map { " \(PlainText.line($0))" } ?? "")]
    }
  }

  static func error(_ failure: Failure) -> Event {
    Event(
      "error", .error,
      [
        .text("text", failure.sentence), failure.error.map { .text("error", "\($0)") },
        failure.reason.map { .text("reason", $0) }, .number("code", Int(failure.code.rawValue)),
      ]
    ) { paint in [paint(.bad, "vicinity: ") + PlainText.line(failure.sentence)] }
  }

  static func left(_ endpoint: EndpointID) -> Event {
    Event("left", .news, [.text("endpoint", endpoint)]) { _ in ["you have left the session"] }
  }

  // MARK: Members

  static func about(
    _ member: Member, _ event: String, _ weight: Weight = .news, _ more: [JSON.Member?] = [],
    _ lines: @escaping @Sendable (Paint) -> [String]
  ) -> Event {
    let of: [JSON.Member?] = [.text("peer", member.peer), .text("endpoint", member.id), .text("name", member.name)]
    return Event(event, weight, of + more, lines)
  }
}

extension Paint {
  /// The time since which a peer is away; empty for a present one.
  func away(_ moment: ContinuousClock.Instant?, behind word: String = "") -> String {
    moment.map { word + self(.faint, "away since \(ClockTime.text(of: $0))") } ?? ""
  }

  func named(_ member: Member, _ label: String) -> String { named(member.peer.text.utf8, label) }
}

extension ClockMeasurement {
  /// Such as "the clock of Ben is 0.03 ms ahead, ± 0.12 ms".
  fileprivate func sentence(_ name: String?) -> String {
    let (apart, error) = (abs(lead / .milliseconds(1)), error / .milliseconds(1))
    return "the clock of \(name.map(PlainText.brief) ?? host.text) is \(Quantity.threeDigits(apart)) ms "
      + "\(lead < .zero ? "behind" : "ahead"), ± \(Quantity.threeDigits(error)) ms"
  }

  fileprivate var fields: [JSON.Member?] {
    [
      .text("with", host), .init("aheadMilliseconds", .real(lead / .milliseconds(1))),
      .init("errorMilliseconds", .real(error / .milliseconds(1))),
    ]
  }
}
