internal import Foundation

/// The figures, aligned, in the order in which they were measured.
public struct Table {
  public private(set) var figures: [Figure] = []

  public init() {}

  public mutating func add(
    _ name: String, _ value: Double, _ unit: String, goal: Figure.Goal = .none, gates: Bool = false,
    spread: ClosedRange<Double>? = nil
  ) {
    figures.append(Figure(name: name, value: value, unit: unit, goal: goal, gates: gates, spread: spread))
  }

  /// Adds the median of several measurements, each of which was multiplied by `scale`.
  public mutating func add(
    _ name: String, medianOf samples: [Double], times scale: Double = 1, _ unit: String, goal: Figure.Goal = .none
  ) {
    let sorted = samples.map { $0 * scale }.sorted()
    guard let low = sorted.first, let high = sorted.last else { return }
    add(name, sorted[sorted.count / 2], unit, goal: goal, spread: low...high)
  }

  /// The newest figure of this name and unit.
  public func value(_ name: String, _ unit: String) -> Double? {
    figures.last { $0.name == name && $0.unit == unit }?.value
  }

  public var text: String {
    let rows =
      [["figure", "value", "goal", ""]]
      + figures.map { figure in
        [figure.name, "\(number(figure.value)) \(figure.unit)", goal(of: figure), verdict(of: figure)]
      }
    let widths = (0..<4).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      zip(row, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) }.joined(separator: "  ")
    }.map { String($0.reversed().drop { $0 == " " }.reversed()) }.joined(separator: "\n")
  }

  private func goal(of figure: Figure) -> String {
    switch figure.goal {
    case .atMost(let bound): "≤ \(number(bound)) \(figure.unit)"
    case .atLeast(let bound): "≥ \(number(bound)) \(figure.unit)"
    case .none: ""
    }
  }

  /// A verdict that depends on the spread is shown with it.
  private func verdict(of figure: Figure) -> String {
    guard figure.verdict == .metWithinNoise, let spread = figure.spread else { return figure.verdict.rawValue }
    return "\(figure.verdict.rawValue), \(number(spread.lowerBound)) to \(number(spread.upperBound))"
  }

  private func number(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15
      ? Int(value).formatted(.number.locale(Locale(identifier: "en_GB"))) : String(format: "%.3g", value)
  }
}
