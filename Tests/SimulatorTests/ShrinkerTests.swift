import Testing

@testable import Simulator

@Suite struct ShrinkerTests {
  /// Fails whenever host 2 crashes after a send of host 1.
  private static func artificial(_ plan: Plan) -> Outcome {
    var outcome = Outcome(
      seed: plan.seed, scenario: plan.scenario, violation: nil, tally: Tally(), digest: 0, transcript: [])
    var hasSent = false
    for step in plan.steps {
      if case .send(let ref, _, _) = step.act, ref.host == 1 { hasSent = true }
      if case .crash(2, _, _) = step.act, hasSent {
        outcome.violation = Violation(rule: .inOrder, detail: "artificial", milliseconds: step.at)
        return outcome
      }
    }
    return outcome
  }

  @Test("A failing plan is shrunk to the steps and hosts that it takes")
  func shrinks() {
    var plan = Simulation.plan(.churn, seed: 4)
    plan.steps.append(Step(at: 30_000, act: .send(PeerRef(host: 1), end: 0, Sending())))
    plan.steps.append(Step(at: 30_001, act: .crash(2, back: .fresh, after: 100)))
    #expect(plan.steps.count > 20)
    var shrinker = Shrinker(plan, rule: .inOrder, runs: Self.artificial)
    let small = shrinker.shrink()
    #expect(small.steps == 2)
    #expect(small.hosts == 2)
  }

  @Test("A plan that breaks another rule is not taken for the same failure")
  func otherRule() {
    var plan = Simulation.plan(.churn, seed: 4)
    plan.steps.append(Step(at: 30_001, act: .crash(2, back: .fresh, after: 100)))
    let count = plan.steps.count
    var shrinker = Shrinker(plan, rule: .exactlyOnce, runsMax: 20, runs: Self.artificial)
    #expect(shrinker.shrink().steps == count)
  }
}
