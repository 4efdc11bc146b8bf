/// One line of the table: what was measured, and what it should be.
struct Figure {
  enum Goal {
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

  enum Verdict: String {
    case met
    /// A time that misses its goal says so and fails nothing: machines differ, and are busy.
    case missed
    /// An allocation over its threshold fails the run: it is exact on any machine.
    case over
    case plain = ""
  }

  let name: String
  let value: Double
  let unit: String
  let goal: Goal
  /// Whether missing the goal fails the run.
  let gates: Bool

  var verdict: Verdict {
    if case .none = goal { return .plain }
    return goal.isMet(by: value) ? .met : gates ? .over : .missed
  }
}
