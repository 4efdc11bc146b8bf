import Simulator
import Testing

@Suite struct WalkAwayTests {
  @Test(
    "P-SES-9 A host that walks out of the reach of Wi-Fi continues over Bluetooth, and back",
    arguments: 1...6 as ClosedRange<UInt64>)
  func thereAndBack(seed: UInt64) {
    let outcome = Simulation.run(.walkAway, seed: seed, recording: true)
    #expect(outcome.violation == nil)
    let changes = outcome.transcript.filter { $0.contains(" reaches ") }.map { $0.contains("bluetooth") }
    #expect(changes == [true, true, false, false])
    #expect(!outcome.transcript.contains { $0.contains("suspended") || $0.contains("not connected") })
  }
}
