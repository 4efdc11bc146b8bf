import Simulator
import Testing

@Suite struct BridgeTests {
  @Test(
    "P-SES-8 Two hosts with no common medium find each other by a third that has both, and talk through it",
    arguments: 1...4 as ClosedRange<UInt64>)
  func bridge(seed: UInt64) {
    let outcome = Simulation.run(.bridge, seed: seed, recording: true)
    #expect(outcome.violation == nil)
    #expect(outcome.transcript.contains { $0.contains("says by lan that it relays") })
    #expect(outcome.transcript.contains { $0.contains("for a circuit to") })
    #expect(outcome.transcript.contains { $0.contains("has a link to") && $0.contains("by relay") })
    #expect(!outcome.transcript.contains { $0.contains("not connected (lost)") })
  }

  @Test("P-SES-8 Another relay takes over from one that dies, and no pair is lost")
  func relayDies() {
    let outcomes = (1...4 as ClosedRange<UInt64>).map { Simulation.run(.relayDies, seed: $0, recording: true) }
    #expect(outcomes.allSatisfy { $0.violation == nil })
    // In some of them the pairs went through the other one already.
    #expect(outcomes.contains { $0.transcript.contains { $0.contains("by relay is gone") } })
  }

  @Test(
    "P-SES-8 A relay that tampers with circuits is noticed, and no pair is lost while an honest one is beside it",
    arguments: 1...8 as ClosedRange<UInt64>)
  func badRelay(seed: UInt64) {
    let outcome = Simulation.run(.badRelay, seed: seed, recording: true)
    #expect(outcome.violation == nil)
    #expect(outcome.transcript.contains { $0.contains("has a link to") && $0.contains("by relay") })
  }
}
