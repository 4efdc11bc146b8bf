import Testing
import Wire

@testable import Engine

@Suite struct AwayTests {
  let network = TestNetwork()

  private func setAway(_ testPeer: TestPeer, _ isAway: Bool = true) throws {
    try testPeer.engine.setAway(testPeer.peer, since: isAway ? network.now : nil, at: network.now)
  }

  @Test("P-HAB-4 A peer that goes away is seen so by whoever found it, is not lost, and is here again at once")
  func found() throws {
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b")
    try a.browse()
    try b.advertise()
    network.run(.seconds(100))
    #expect(a.take() == ["a found b as chat"])
    try setAway(b)
    network.run(.seconds(1))
    #expect(a.take() == ["a sees b changed away since 100"])
    network.run(.seconds(600))
    #expect(a.take() == [])
    try setAway(b, false)
    network.run()
    #expect(a.take() == ["a sees b changed"])
    network.run(.seconds(600))
    #expect(a.take() == [])
    #expect(a.engine.links.isEmpty)
  }

  @Test("P-HAB-4 A later host sees since when a peer has been away, whatever clock either has")
  func late() throws {
    let b = try network.silentPeer("b")
    try b.advertise()
    network.run(.seconds(50))
    try setAway(b)
    network.run(.seconds(3_600))
    let a = try network.silentPeer("a")
    try a.browse()
    network.run(.seconds(1))
    #expect(a.take() == ["a found b as chat", "a sees b changed away since 50"])
    let c = try network.silentPeer("c", on: a.host)
    try c.browse()
    network.run(.seconds(1))
    #expect(a.take() == ["c found b as chat away since 50"])
  }

  @Test("P-HAB-4 A member that goes away stays connected, what it is sent waits, and it is here again at once")
  func member() throws {
    let testPeers = try network.gather("a", "b")
    let (a, b) = (testPeers[0], testPeers[1])
    _ = (a.take(), b.take())
    let moment = (network.now.nanoseconds + 500_000_000) / 1_000_000_000
    try setAway(b)
    network.run(.seconds(1))
    #expect(a.take().sorted() == ["A: B away since \(moment)", "a sees b changed away since \(moment)"])
    #expect(a.connected == "B")
    try a.say("for later")
    network.run()
    #expect(b.take() == ["B < A: for later"])
    try setAway(b, false)
    network.run()
    #expect(a.take().sorted() == ["A: B here", "a sees b changed"])
  }

  @Test("P-HAB-4 A link that is lost changes nothing, and what changes meanwhile is told on the next one")
  func cut() throws {
    let testPeers = try network.gather("a", "b")
    let (a, b) = (testPeers[0], testPeers[1])
    try setAway(b)
    network.run(.seconds(20))
    _ = a.take()
    network.cut(a.host, b.host)
    network.run(.seconds(2))
    #expect(a.take() == ["A: B suspended", "A: B resumed"])
    network.walls.insert(["a", "b"])
    network.cut(a.host, b.host)
    network.run(.seconds(1))
    try setAway(b, false)
    network.run(.seconds(1))
    #expect(a.take() == ["A: B suspended"])
    network.heal(a.host, b.host)
    network.run(.seconds(1))
    #expect(Set(a.take()) == ["A: B resumed", "A: B here", "a sees b changed"])
  }

  @Test("P-HAB-4 A new bond, and a host that starts again, say who is away, and who is not any more")
  func newBond() throws {
    let testPeers = try network.gather("a", "b")
    let (a, b) = (testPeers[0], testPeers[1])
    try setAway(b)
    network.run(.seconds(1))
    network.walls.insert(["a", "b"])
    network.cut(a.host, b.host)
    network.run(.seconds(10))
    _ = a.take()
    network.heal(a.host, b.host)
    network.run(.seconds(10))
    #expect(a.take().filter { $0.contains("B") } == ["A: B connecting", "A: B connected"])
    let view = try #require(a.engine.members(of: a.endpoint).first?.0)
    #expect(view.awaySince != nil)
    network.kill(b.host)
    network.run(.seconds(1))
    _ = a.take()
    let again = try network.silentPeer("b", on: try network.host("b", incarnation: 2))
    try again.advertise()
    network.run(.seconds(20))
    #expect(a.take().last == "a sees b changed")
  }

  @Test(
    "P-HAB-4 Peers of one host see of each other who is away, and so does one that comes to a session of theirs later")
  func sameHost() throws {
    let a = try network.testPeer("a")
    let b = try network.testPeer("b", on: a.host)
    try a.invite(b)
    network.run()
    try b.accept()
    network.run(.seconds(1))
    _ = a.take()
    try setAway(b)
    network.run()
    #expect(a.take().sorted() == ["A: B away since 1", "a sees b changed away since 1"])
    let c = try network.testPeer("c")
    try a.invite(c)
    network.run()
    try c.accept()
    network.run(.seconds(1))
    #expect(c.engine.members(of: c.endpoint).filter { $0.0.awaySince != nil }.map { network.name($0.0.peer) } == ["b"])
  }

  @Test(
    "P-HAB-4 A host that does not read it is told nothing, and one that has nothing to do with a peer is not told of it"
  )
  func recipientsOfReports() throws {
    let b = try network.silentPeer("b")
    let hidden = try network.silentPeer("hidden", on: b.host)
    try b.advertise()
    try setAway(b)
    try setAway(hidden)
    for (name, features) in [("old", Hello.Features()), ("new", Hello.Features.away)] {
      let rogue = Rogue(name, to: b.host, on: network)
      rogue.attach(features: features)
      rogue.say(Browse(type: network.type))
      rogue.read()
      let told = rogue.frames.filter { $0.type == .away }.compactMap { try? Away(decoding: $0.body.span.bytes) }
      #expect(told.flatMap(\.peers).map(\.peer) == (name == "old" ? [] : [b.peer]))
      #expect(told.isEmpty == (name == "old"))
      #expect(!rogue.isClosed)
    }
  }

  @Test("P-HAB-4 A host speaks of its own peers only, and of no more than a host may carry")
  func lies() throws {
    let testPeers = try network.gather("a", "b")
    let a = testPeers[0]
    _ = a.take()
    let rogue = Rogue("rogue", to: a.host, on: network)
    rogue.attach(features: .away)
    rogue.say(Away(peers: [.init(peer: testPeers[1].peer, milliseconds: 5)]))
    #expect(a.take() == [])
    for piece in 0..<33 where !rogue.isClosed {
      let peers = (0..<UInt64(512)).map { PeerID(ID128(high: UInt64(piece), low: $0)) }
      rogue.say(Away(peers: peers.map { .init(peer: $0, milliseconds: 5) }))
    }
    #expect(rogue.ending == .busy)
    #expect(a.take() == [])
  }

  @Test("Thousands who are away are told in several frames, and nobody of them seems to be back meanwhile")
  func many() throws {
    let a = try network.silentPeer("a")
    let b = try network.host("b")
    for number in 0..<1_200 {
      let name = "p\(number)"
      let peer = b.engine.addPeer(
        network.crypto.key(named: "peer " + name), name: try DisplayName(name), at: network.now)
      try b.engine.startAdvertising(peer, network.type, info: .empty, at: network.now)
      try b.engine.setAway(peer, since: network.now, at: network.now)
    }
    network.run()
    try a.browse()
    network.run(.seconds(2))
    #expect(a.take().filter { $0.hasSuffix("away since 0") }.count == 1_200)
    network.cut(a.host, b)
    network.run(.seconds(3))
    #expect(a.take().count == 0)
  }
}
