import Testing
import Wire

@testable import Engine

@Suite struct LimitTests {
  let network = TestNetwork()

  func room(for peers: UInt32) -> SessionSettings {
    var session = SessionSettings()
    session.peersMax = peers
    return session
  }

  @Test("P-SES-6 A session has room for two at least, and past eight where it is asked to")
  func sizes() throws {
    let a = try network.testPeer("a")
    #expect(throws: EngineError.self) { try a.engine.openSession(a.peer, room(for: 1), at: network.now) }
    let testPeers = try network.gather("c", "d", "e", "f", "g", "h", "i", "j", "k", session: room(for: 20))
    #expect(testPeers.count == 9)
  }

  @Test("P-SES-6 With eight members a ninth is refused as full, and told so")
  func nine() throws {
    let testPeers = try network.gather("a", "b", "c", "d", "e", "f", "g", "h", session: room(for: 8))
    let late = try network.testPeer("z", room(for: 8))
    network.clear()
    try testPeers[3].invite(late)
    network.run(.seconds(1))
    try late.accept()
    network.run(.seconds(10))
    #expect(late.take() == ["z invited by d: ", "invitation ended: full"])
    #expect(testPeers[3].take() == ["invitation ended: full", "D: z notConnected full"])
    network.expectAllConnected(testPeers)
  }

  @Test("Two groups that would be too many together are refused as a whole")
  func groups() throws {
    let testPeers = try ["a", "b", "c", "d"].map { try network.testPeer($0, room(for: 3)) }
    try network.connect(testPeers[0], testPeers[1])
    try network.connect(testPeers[2], testPeers[3])
    network.clear()
    try network.connect(testPeers[0], testPeers[2])
    network.run(.seconds(10))
    #expect(testPeers[0].take() == ["invitation ended: full", "A: c notConnected full"])
    #expect(testPeers.map(\.connected) == ["B", "A", "D", "C"])
  }

  @Test(
    "A race for the last place is settled the same everywhere, and who lost it is told full",
    arguments: [0, 1, 5, 20, 50], [0, 1])
  func race(milliseconds: Int, inviter: Int) throws {
    let testPeers = try network.gather("a", "b", session: room(for: 3))
    let rivals = try ["c", "d"].map { try network.testPeer($0, room(for: 3)) }
    network.clear()
    network.latency = .milliseconds(milliseconds)
    try testPeers[0].invite(rivals[0])
    try testPeers[1].invite(rivals[1])
    network.run(.seconds(1))
    for rival in rivals { try rival.accept() }
    network.run(.seconds(20))
    // The inviter with the lower endpoint brings in the one that stays.
    let winner = testPeers[0].endpoint < testPeers[1].endpoint ? 0 : 1
    network.expectAllConnected(testPeers + [rivals[winner]])
    #expect(rivals[1 - winner].connected == "")
    let told = rivals[1 - winner].take()
    #expect(told.contains { $0.hasSuffix(" full") }, "\(told)")
    // It is still there: an invitation brings it in when there is room, also one by the endpoint from which it had its
    // lost place.
    rivals[winner].leave()
    network.run(.seconds(1))
    try network.connect(testPeers[inviter], rivals[1 - winner])
    network.run(.seconds(2))
    network.expectAllConnected(testPeers + [rivals[1 - winner]])
  }

  @Test("P-SES-6 A peer that accepts two invitations at once keeps to the first one's limit")
  func twoInviters() throws {
    network.latency = .milliseconds(20)
    let guest = try network.testPeer("g", room(for: 8))
    let rivals = try ["c", "d"].map { try network.testPeer($0, room(for: 2)) }
    network.clear()
    for rival in rivals {
      try rival.invite(guest)
      network.run(.milliseconds(100))
    }
    for case .invitation(let id, _, _, _, _, _, _) in guest.host.outputs {
      try guest.engine.accept(id, with: guest.endpoint, at: network.now)
    }
    network.run(.seconds(10))
    network.expectAllConnected([guest, rivals[0]])
    #expect(rivals[1].take() == ["invitation ended: full", "D: g notConnected full"])
  }

  @Test("A place that is free again is taken by a new invitation")
  func freeAgain() throws {
    let testPeers = try network.gather("a", "b", session: room(for: 2))
    let c = try network.testPeer("c", room(for: 2))
    testPeers[1].leave()
    network.run(.seconds(1))
    try network.connect(testPeers[0], c)
    network.expectAllConnected([testPeers[0], c])
  }
}
