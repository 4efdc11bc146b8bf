import Engine
import Testing
import Wire

@Suite struct LocalPeerTests {
  @Test func `a host that carries many peers signs for none of them before it meets another host`() throws {
    let crypto = ToyCrypto()
    let engine = Engine(
      host: crypto.key(named: "host"), incarnation: Incarnation(1), settings: Settings(), crypto: crypto,
      seed: crypto.hash([1]), at: Instant(nanoseconds: 0))
    for number in 0..<100 {
      let peer = engine.addPeer(crypto.key(named: "\(number)"), name: try DisplayName("P"), at: Instant(nanoseconds: 0))
      _ = try engine.openSession(peer, SessionSettings(), at: Instant(nanoseconds: 0))
    }
    #expect(crypto.signatureCount == 0)
  }
}
