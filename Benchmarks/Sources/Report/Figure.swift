/// One line of the table: what was measured, and what it should be.
public struct Figure {
  public enum Goal {
    case atMost(Double)
    case atLeast(Double)
    case none

    func isMet(by value: Double) -> Bool {
      switch self {
      case .atMost(let bound): value <= bound
      case .atLeast(let bound): value >= bound
      case .none: true
      }
    }
  }

  public enum Verdict: String {
    case met
    /// The median misses the goal, and the best of its measurements meets it: the miss is within the run-to-run spread.
    case metWithinNoise = "met within noise"
    /// A time that misses its goal says so and fails nothing: machines differ, and are busy.
    case missed
    /// An allocation over its threshold fails the run: it is exact on any machine.
    case over
    case plain = ""
  }

  public let name: String
  public let value: Double
  public let unit: String
  public let goal: Goal
  /// Whether missing the goal fails the run.
  public let gates: Bool
  /// The lowest and the highest of the measurements of which the value is the median, where it is one.
  public let spread: ClosedRange<Double>?

  /// How many times better than its goal the value is; below 1 the goal is missed.
  var ratio: Double? {
    switch goal {
    case .atMost(let bound) where bound > 0 && value > 0: bound / value
    case .atLeast(let bound) where bound > 0 && value > 0: value / bound
    default: nil
    }
  }

  public var verdict: Verdict {
    if case .none = goal { return .plain }
    if goal.isMet(by: value) { return .met }
    if gates { return .over }
    return spread.map { goal.isMet(by: $0.lowerBound) || goal.isMet(by: $0.upperBound) } == true
      ? .metWithinNoise : .missed
  }
}
