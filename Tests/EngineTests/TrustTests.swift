import Testing
import Wire

@testable import Engine

@Suite struct TrustTests {
  let network = TestNetwork()

  func settings(_ encryption: Encryption) -> SessionSettings {
    var session = SessionSettings()
    session.encryption = encryption
    return session
  }

  func asking(_ timeout: Duration = .seconds(20), identity: SecurityIdentity? = nil) -> SessionSettings {
    var session = SessionSettings()
    session.trust = .ask(timeout: timeout)
    session.identity = identity
    return session
  }

  func identity(_ number: UInt64) -> SecurityIdentity {
    SecurityIdentity(id: IdentityID(rawValue: number), chain: [[UInt8(number)], [9]])
  }

  @Test(
    "P-SEC-1 A peer without encryption and one that requires it do not connect, whichever invites, and get the reason",
    arguments: [(Encryption.none, Encryption.required), (.required, .none)])
  func refused(inviter: Encryption, invitee: Encryption) throws {
    let a = try network.testPeer("a", settings(inviter))
    let b = try network.testPeer("b", settings(invitee))
    network.clear()
    try a.invite(b)
    network.run(.seconds(1))
    try b.accept()
    network.run(.seconds(60))
    #expect(a.take() == ["invitation ended: encryption", "A: b notConnected encryption"])
    #expect(b.take() == ["b invited by a: ", "invitation ended: encryption"])
    #expect(a.connected == "")
  }

  @Test(
    "P-SEC-1 Every other pair of preferences connects",
    arguments: [Encryption.none, .optional, .required], [Encryption.none, .optional, .required])
  func connected(one: Encryption, other: Encryption) throws {
    if Set([one, other]) == [.none, .required] { return }
    let a = try network.testPeer("a", settings(one))
    let b = try network.testPeer("b", settings(other))
    try network.connect(a, b)
    network.expectAllConnected([a, b])
  }

  @Test("P-SEC-1 A group is joined as a whole or not at all: one member that requires encryption keeps none out")
  func wholeGroup() throws {
    let a = try network.testPeer("a", settings(.optional))
    let b = try network.testPeer("b", settings(.required))
    let c = try network.testPeer("c", settings(.none))
    try network.connect(a, b)
    network.clear()
    try a.invite(c)
    network.run(.seconds(1))
    try c.accept()
    network.run(.seconds(60))
    #expect(a.take() == ["invitation ended: encryption", "A: c notConnected encryption"])
    #expect([a.connected, b.connected, c.connected] == ["B", "A", ""])
  }

  @Test("A peer that says yes while the link is away is notified of that, and of its return")
  func yesWhileSuspended() throws {
    let a = try network.testPeer("a")
    let b = try network.testPeer("b", asking())
    try network.connect(a, b)
    network.clear()
    network.walls.insert(["a", "b"])
    network.cut(a.host, b.host)
    try b.decide(true)
    network.run(.seconds(1))
    #expect(b.take() == ["B: A connected", "B: A suspended"])
    network.heal(a.host, b.host)
    network.run(.seconds(2))
    #expect(b.take() == ["B: A resumed"])
    #expect(a.take() == ["A: B connected"])
  }

  @Test("P-SEC-3 A member waits for a decision on each side, and is connected on yes")
  func yes() throws {
    let a = try network.testPeer("a", asking())
    let b = try network.testPeer("b", asking())
    network.clear()
    try network.connect(a, b)
    #expect(a.take().suffix(2) == ["A: B connecting", "A: decide on B, chain []"])
    #expect(b.take().suffix(2) == ["B: A connecting", "B: decide on A, chain []"])
    try a.decide(true)
    network.run(.seconds(1))
    #expect(a.take() == [])
    try b.decide(true)
    network.run(.seconds(1))
    #expect(a.take() == ["A: B connected"])
    #expect(b.take() == ["B: A connected"])
    #expect(throws: EngineError.self) { try b.decide(true) }
  }

  @Test("P-SEC-3 A no refuses the pair, and both are told")
  func no() throws {
    let a = try network.testPeer("a", asking())
    let b = try network.testPeer("b")
    try network.connect(a, b)
    network.clear()
    try a.decide(false)
    network.run(.seconds(60))
    #expect(a.take() == ["A: B notConnected untrusted"])
    #expect(b.take() == ["B: A notConnected untrusted"])
  }

  @Test("P-SEC-3 No decision in time is a no")
  func timeout() throws {
    let a = try network.testPeer("a", asking(.seconds(5)))
    let b = try network.testPeer("b")
    try network.connect(a, b)
    network.clear()
    network.run(.seconds(60))
    #expect(a.take() == ["decision ended", "A: B notConnected untrusted"])
    #expect(b.take() == ["B: A notConnected untrusted"])
  }

  @Test("P-SEC-3 An introduced member is decided on as an invited one, and a no leaves the others connected")
  func introduced() throws {
    let a = try network.testPeer("a", asking())
    let b = try network.testPeer("b")
    let c = try network.testPeer("c")
    try network.connect(a, b)
    try a.decide(true)
    try network.connect(b, c)
    network.run(.seconds(1))
    try a.decide(false)
    network.run(.seconds(60))
    #expect([a.connected, b.connected, c.connected] == ["B", "A C", "B"])
  }

  @Test("A peer that has admitted nobody still introduces others to each other")
  func introducesBeforeDeciding() throws {
    let (a, b, c) = (
      try network.testPeer("a"), try network.testPeer("b", asking(.seconds(60))), try network.testPeer("c")
    )
    try network.connect(a, b)
    network.walls.insert(["a", "b"])
    network.cut(a.host, b.host)
    network.run(.seconds(10))
    // A cannot be introduced to C, nor C to A.
    try network.connect(b, c)
    network.heal(a.host, b.host)
    network.run(.seconds(20))
    #expect([a.connected, b.connected, c.connected] == ["C", "", "A"])
  }

  @Test("P-SEC-3 The chain that a peer shows is what the other decides on, before and after its link is lost")
  func chains() throws {
    let a = try network.testPeer("a", asking(identity: identity(1)))
    let b = try network.testPeer("b", asking(identity: identity(2)))
    network.clear()
    try network.connect(a, b)
    #expect(a.take().last == "A: decide on B, chain [[2], [9]]")
    #expect(b.take().last == "B: decide on A, chain [[1], [9]]")
    network.cut(a.host, b.host)
    network.run(.seconds(2))
    try a.decide(true)
    try b.decide(true)
    network.run(.seconds(1))
    network.expectAllConnected([a, b])
  }

  @Test("P-SEC-3 Chain, encryption and inviter of a member stay known after the decision, over a cut and a restart")
  func memberFacts() throws {
    var durable = Settings()
    durable.isDurable = true
    var strict = asking(identity: identity(1))
    strict.encryption = .required
    var a = try network.testPeer("a", strict, durable)
    let b = try network.testPeer("b", asking(identity: identity(2)), durable)
    let c = try network.testPeer("c")
    try network.connect(a, b)
    try a.decide(true)
    try b.decide(true)
    try network.connect(b, c)
    for peer in [a, b] { try peer.decide(true) }
    network.run(.seconds(1))
    network.expectAllConnected([a, b, c])
    func facts(of member: TestPeer, at peer: TestPeer) -> String {
      let view = peer.engine.members(of: peer.endpoint).first { $0.0.endpoint == member.endpoint }?.0
      guard let view else { return "none" }
      return "\(view.encryption) \(view.inviter.map(network.name) ?? "-") \(view.chain)"
    }
    func expectFacts(sourceLocation: SourceLocation = #_sourceLocation) {
      #expect(facts(of: b, at: a) == "optional A [[2], [9]]", sourceLocation: sourceLocation)
      #expect(facts(of: a, at: b) == "required - [[1], [9]]", sourceLocation: sourceLocation)
      #expect(facts(of: c, at: a) == "optional B []", sourceLocation: sourceLocation)
    }
    expectFacts()
    network.cut(a.host, b.host)
    network.run(.seconds(2))
    expectFacts()
    a = try network.restart(a)
    network.run(.seconds(2))
    expectFacts()
    func chains() -> Int {
      a.host.facts.keys.count { if case .chain? = RowKey(bytes: $0) { true } else { false } }
    }
    #expect(chains() == 1)
    b.leave()
    network.run(.seconds(2))
    #expect(chains() == 0 && facts(of: b, at: a) == "none")
  }

  @Test("P-SEC-3 A second session of a host shows its chain to members of the group that the first one has joined")
  func chainOfSecondSession() throws {
    let b = try network.testPeer("b", asking())
    var shown = SessionSettings()
    shown.identity = identity(1)
    let a = try network.testPeer("a", shown)
    shown.identity = identity(2)
    let other = try network.testPeer("A2", of: a.peer, on: a.host, shown)
    try network.connect(a, b)
    try b.decide(false)
    network.run(.seconds(1))
    network.clear()
    try network.connect(other, b)
    #expect(b.take().last == "B: decide on A2, chain [[2], [9]]")
    try b.decide(true)
    network.run(.seconds(1))
    #expect(b.connected == "A2")
  }

  @Test("A decision that nobody waits for any more is ended")
  func memberLeaves() throws {
    let a = try network.testPeer("a", asking())
    let b = try network.testPeer("b")
    try network.connect(a, b)
    network.clear()
    b.leave()
    network.run(.seconds(1))
    #expect(a.take() == ["A: B notConnected left", "decision ended"])
    #expect(throws: EngineError.self) { try a.decide(true) }
  }

  @Test("P-SEC-5 Comparison codes are equal on both ends, and others over another link")
  func codes() throws {
    let peers = try network.gather("a", "b")
    var codes: [Substring] = []
    for round in 0..<2 {
      let id = try peers[0].engine.compare(peers[0].peer, with: peers[1].peer, at: network.now)
      network.run(.seconds(1))
      let (one, other) = (peers[0].take(), peers[1].take())
      #expect(one.first?.suffix(7) == other.first?.suffix(7))
      codes.append(try #require(one.first).suffix(7))
      try peers[0].engine.conclude(id, matches: true, at: network.now)
      network.run(.seconds(round == 0 ? 130 : 0))
      #expect(peers[0].take().first == "comparison ended: none")
      network.cut(peers[0].host, peers[1].host)
      network.run(.seconds(2))
      network.clear()
    }
    #expect(codes[0] != codes[1])
  }

  @Test("P-SEC-5 Two comparisons that both sides begin are one, with one code")
  func bothCompare() throws {
    let peers = try network.gather("a", "b")
    let ids = [
      try peers[0].engine.compare(peers[0].peer, with: peers[1].peer, at: network.now),
      try peers[1].engine.compare(peers[1].peer, with: peers[0].peer, at: network.now),
    ]
    network.run(.seconds(1))
    let events = peers.map { $0.take() }
    let codes = events.map { $0.filter { $0.contains("compare") }.map { $0.suffix(7) } }
    #expect(codes[0].count == 1)
    #expect(codes[0] == codes[1])
    // The one that did not count goes on as the other.
    #expect(!events.joined().contains { $0.hasPrefix("comparison ended") })
    for (peer, id) in zip(peers, ids) { try peer.engine.conclude(id, matches: true, at: network.now) }
  }

  @Test("P-SEC-5 A code that differs for one side ends the comparison as a mismatch for both")
  func mismatch() throws {
    let peers = try network.gather("a", "b")
    let id = try peers[0].engine.compare(peers[0].peer, with: peers[1].peer, at: network.now)
    network.run(.seconds(1))
    try peers[0].engine.conclude(id, matches: false, at: network.now)
    network.run(.seconds(1))
    #expect(peers[0].take().last == "comparison ended: mismatch")
    #expect(peers[1].take().last == "comparison ended: mismatch")
  }

  @Test("P-SEC-5 A comparison is lost with its link, and only connected peers compare")
  func comparisonLost() throws {
    let peers = try network.gather("a", "b")
    _ = try peers[0].engine.compare(peers[0].peer, with: peers[1].peer, at: network.now)
    network.run()
    network.cut(peers[0].host, peers[1].host)
    network.run(.seconds(1))
    #expect(peers[0].take().contains("comparison ended: lost"))
    #expect(peers[1].take().contains("comparison ended: lost"))
    peers[1].leave()
    network.run(.seconds(1))
    #expect(throws: EngineError.self) {
      _ = try peers[0].engine.compare(peers[0].peer, with: peers[1].peer, at: network.now)
    }
  }
}
