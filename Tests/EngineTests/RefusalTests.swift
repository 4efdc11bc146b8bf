import Testing
import Wire

@testable import Engine

/// P-HAB-5: a person's no. A is in ad hoc mode; B advertises, and asks its person.
@Suite struct RefusalTests {
  let network = TestNetwork()

  private func beside(_ settings: Settings = Settings(), _ his: Settings = Settings()) throws -> (TestPeer, TestPeer) {
    let b = try network.silentPeer("b", SessionSettings(), his)
    try b.advertise()
    let a = try network.silentPeer("a", SessionSettings(), settings)
    try a.startAdhoc()
    return (a, b)
  }

  private func rings(_ peer: TestPeer) -> Int { peer.take().count { $0.contains("invited by") } }

  @Test(
    "P-HAB-5 A peer that declined is not asked again by itself; an invitation by hand arrives, and yes lifts the no")
  func declined() throws {
    let (a, b) = try beside()
    network.run(.seconds(5))
    try b.decline()
    network.run(.seconds(600))
    #expect(rings(b) == 1)
    #expect(a.take() == ["invitation ended: declined", "A: b notConnected declined"])
    try a.invite(b)
    network.run()
    #expect(b.take() == ["b invited by a: "])
    try b.accept()
    network.run(.seconds(1))
    network.expectAllConnected([a, b])
    b.leave()
    network.run(.seconds(5))
    #expect(rings(b) == 1)
  }

  @Test("P-HAB-5 A peer that gives no answer is asked once more after a minute, and then no more")
  func unanswered() throws {
    let (a, b) = try beside()
    network.run(.seconds(60))
    #expect(rings(b) == 1)
    network.run(.seconds(20))
    #expect(rings(b) == 0)
    network.run(.seconds(20))
    #expect(rings(b) == 1)
    network.run(.seconds(600))
    #expect(rings(b) == 0)
    #expect(
      a.take() == [
        "invitation ended: timedOut", "A: b notConnected timedOut, asked again", "invitation ended: timedOut",
        "A: b notConnected timedOut",
      ])
  }

  @Test("P-HAB-5 A peer that was lost and found again is asked no sooner")
  func foundAgain() throws {
    let (_, b) = try beside()
    network.run(.seconds(2))
    try b.decline()
    for _ in 0..<5 {
      b.stopAdvertising()
      network.run(.seconds(10))
      try b.advertise()
      network.run(.seconds(10))
    }
    #expect(rings(b) == 1)
  }

  @Test("P-HAB-5 A host that asks without end is answered unseen: what its peer is known to ask is not shown")
  func impatientHost() throws {
    var settings = Settings()
    settings.adhocUnansweredPause = .zero
    let (a, b) = try beside(settings)
    // A's host behaves as a version from before this rule.
    a.engine.sabotage = .asksAgain
    network.run(.seconds(60))
    #expect(rings(b) == 1)
    network.run(.seconds(600))
    #expect(rings(b) == 1)
  }

  @Test("P-HAB-5 A peer that declined another does not ask it either, once it is in ad hoc mode itself")
  func bothSides() throws {
    let (a, b) = try beside()
    network.run(.seconds(2))
    try b.decline()
    try b.startAdhoc()
    network.run(.seconds(60))
    #expect(a.connected == "" && b.connected == "")
    try b.invite(a)
    network.run(.seconds(1))
    network.expectAllConnected([a, b])
  }

  private static let durable = {
    var settings = Settings()
    settings.isDurable = true
    return settings
  }()

  private func restart(_ a: TestPeer?, _ b: TestPeer?) throws -> (TestPeer?, TestPeer?) {
    let b = try b.map { try network.restart($0) }
    try b?.advertise()
    let a = try a.map { try network.restart($0) }
    try a?.startAdhoc()
    return (a, b)
  }

  private func answers(at peer: TestPeer) -> Int {
    peer.host.facts.keys.count { if case .refusals? = RowKey(bytes: $0) { true } else { false } }
  }

  @Test(
    "P-HAB-5 A no stands over a restart of whoever asks and of whoever was asked, and yes lifts it there too",
    arguments: [[true, false], [false, true], [true, true]])
  func restarted(whose: [Bool]) throws {
    var (a, b) = try beside(Self.durable, Self.durable)
    network.run(.seconds(2))
    try b.decline()
    network.run(.seconds(2))
    #expect(rings(b) == 1 && answers(at: b) == 1)
    let back = try restart(whose[0] ? a : nil, whose[1] ? b : nil)
    (a, b) = (back.0 ?? a, back.1 ?? b)
    // The other side's memory alone is enough.
    if whose == [false, true] { a.engine.sabotage = .asksAgain }
    network.run(.seconds(300))
    #expect(rings(b) == 0)
    a.engine.sabotage = []
    try a.invite(b)
    network.run()
    #expect(rings(b) == 1)
    try b.accept()
    network.run(.seconds(1))
    network.expectAllConnected([a, b])
    #expect(answers(at: b) == 0)
  }

  @Test(
    "P-HAB-5 A peer that gave no answer before a restart of both is asked once more a minute after it, and then no more"
  )
  func unansweredOverRestart() throws {
    var (a, b) = try beside(Self.durable, Self.durable)
    network.run(.seconds(35))
    #expect(rings(b) == 1)
    let back = try restart(a, b)
    (a, b) = (back.0 ?? a, back.1 ?? b)
    network.run(.seconds(55))
    #expect(rings(b) == 0)
    network.run(.seconds(20))
    #expect(rings(b) == 1)
    network.run(.seconds(60))
    let again = try restart(a, b)
    (a, b) = (again.0 ?? a, again.1 ?? b)
    network.run(.seconds(600))
    #expect(rings(b) == 0)
  }

  @Test("Rows of the version before, which knew neither refusals nor features, are taken up")
  func olderRows() throws {
    let peers = try network.gather("a", "b", settings: Self.durable)
    let a = try network.restart(peers[0]) { facts in
      facts.map { fact in
        switch RowKey(bytes: fact.key) {
        case .endpoint, .bond: Fact(key: fact.key, value: fact.value?.dropLast())
        default: fact
        }
      }
    }
    network.run(.seconds(2))
    network.expectAllConnected([a, peers[1]])
  }

  @Test("A peer that does not come back leaves none of its answers behind")
  func goneForGood() throws {
    let (_, b) = try beside(Settings(), Self.durable)
    network.run(.seconds(2))
    try b.decline()
    network.run()
    #expect(answers(at: b) == 1)
    let host = try network.restart([b])[0].host
    host.engine.removePeer(b.peer, at: network.now)
    network.run()
    #expect(!host.facts.keys.contains { if case .refusals? = RowKey(bytes: $0) { true } else { false } })
  }

  @Test("P-HAB-5 The no is of this session: another session of the same peer asks")
  func anotherSession() throws {
    let (a, b) = try beside()
    network.run(.seconds(2))
    try b.decline()
    a.engine.closeSession(a.endpoint, at: network.now)
    let other = try network.testPeer("A2", of: a.peer, on: a.host)
    try other.startAdhoc()
    network.run(.seconds(5))
    #expect(rings(b) == 2)
  }

  @Test("Peers in ad hoc mode that lose each other for long connect again: nobody had said no")
  func lostWays() throws {
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b")
    network.walls.insert(["a", "b"])
    try a.startAdhoc()
    try b.startAdhoc()
    network.run(.seconds(200))
    network.walls = []
    network.run(.seconds(20))
    network.expectAllConnected([a, b])
  }

  @Test("Blocking an inviter declines what it has asked already, and it is not asked by it again")
  func blocked() throws {
    let (a, b) = try beside()
    network.run(.seconds(2))
    b.engine.block(a.peer, from: b.endpoint, true, at: network.now)
    network.run(.seconds(60))
    #expect(b.take() == ["b invited by a: ", "invitation ended: blocked"])
    #expect(a.take().contains("A: b notConnected blocked"))
    try a.invite(b)
    network.run()
    #expect(rings(b) == 0)
  }
}
