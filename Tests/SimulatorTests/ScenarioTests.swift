import Testing

@testable import Simulator

@Suite struct ScenarioTests {
  @Test("Every everyday scenario keeps every rule on its first seeds", arguments: Scenario.everyday)
  func firstSeeds(scenario: Scenario) {
    for seed in UInt64(1)...2 {
      let outcome = Simulation.run(scenario, seed: seed)
      #expect(outcome.violation == nil, "seed \(seed)")
      #expect(outcome.tally.outputs > 0)
    }
  }

  @Test(
    "A clock whose other side was measured over a long round trip is not read below what it was",
    arguments: [(Scenario.twoRelays, 5_645), (.slow, 700_024)] as [(Scenario, UInt64)])
  func clocks(scenario: Scenario, seed: UInt64) {
    #expect(Simulation.run(scenario, seed: seed).violation == nil)
  }

  @Test("The story of the demonstration ends well")
  func story() {
    #expect(Demonstration.story().last == "Every rule of the model holds.")
  }

  @Test("2,000 seeds hold every scenario, at most 50 large ones and one crowd")
  func shares() {
    var counts: [Scenario: Int] = [:]
    for seed in UInt64(1)...2_000 { counts[Scenario.of(seed: seed), default: 0] += 1 }
    for scenario in Scenario.allCases { #expect(counts[scenario, default: 0] > 0, "\(scenario)") }
    #expect(counts[.large, default: 0] <= 50)
    #expect(counts[.crowd5000] == 1)
  }
}
