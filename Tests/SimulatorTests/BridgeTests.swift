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

  @Test("P-SES-8 Another relay takes over from one that dies, and no pair is lost", arguments: 1...4 as ClosedRange<UInt64>)
  func relayDies(seed: UInt64) {
    let outcome = Simulation.run(.relayDies, seed: seed, recording: true)
    #expect(outcome.violation == nil)
    #expect(outcome.transcript.contains { $0.contains("by relay is gone") })
  }
}
