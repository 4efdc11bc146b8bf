import Testing
import Wire

@testable import Engine

@Suite struct LeavingTests {
  let network = TestNetwork()

  @Test("P-SES-4 A leave is reported to all others at once")
  func leave() throws {
    let peers = try network.gather("a", "b", "c")
    peers[1].leave()
    network.run()
    #expect(peers[0].take() == ["A: B notConnected left"])
    #expect(peers[2].take() == ["C: B notConnected left"])
    #expect(peers[1].take().sorted() == ["B: A notConnected left", "B: C notConnected left"])
    network.run(.seconds(120))
    #expect(peers.map(\.connected) == ["C", "", "A"])
    #expect(peers.flatMap { peer in peer.take() } == [])
  }

  @Test("P-SES-4 Closing a session and removing its peer tell the others at once", arguments: [false, true])
  func close(isPeer: Bool) throws {
    let peers = try network.gather("a", "b")
    peers[1].stopBrowsing()
    if isPeer {
      peers[1].engine.removePeer(peers[1].peer, at: network.now)
    } else {
      peers[1].engine.closeSession(peers[1].endpoint, at: network.now)
    }
    network.run()
    #expect(peers[0].take().sorted() == (isPeer ? ["A: B notConnected left", "a lost b"] : ["A: B notConnected left"]))
    #expect(throws: EngineError.self) { try peers[1].say("x") }
  }

  @Test("A peer that left returns only by a new invitation, and is connected with all again")
  func comeBack() throws {
    let peers = try network.gather("a", "b", "c")
    peers[1].leave()
    network.run(.seconds(30))
    #expect(peers[1].connected == "")
    network.clear()
    try network.connect(peers[2], peers[1])
    network.run(.seconds(1))
    network.expectAllConnected(peers)
    #expect(peers[0].take() == ["A: B connecting", "A: B connected"])
    peers[1].leave()
    try peers[1].invite(peers[0])
    network.run(.milliseconds(100))
    try peers[0].accept()
    network.run(.seconds(1))
    network.expectAllConnected(peers)
  }

  @Test(
    "A restarted peer that left and is invited again is connected with all, though its old incarnation is still sought")
  func comeBackAnew() throws {
    let peers = try network.gather("a", "b", "c")
    network.kill(peers[1].host)
    network.run(.seconds(10))
    let anew = try network.testPeer("b", on: try network.host("b", incarnation: 2))
    try network.connect(peers[2], anew)
    network.run(.seconds(2))
    network.expectAllConnected([peers[0], anew, peers[2]])
    anew.leave()
    network.run(.seconds(2))
    try network.connect(peers[2], anew)
    network.run(.seconds(5))
    network.expectAllConnected([peers[0], anew, peers[2]])
  }

  @Test("Messages that were sent before a leave are told before its notConnected")
  func lastWords() throws {
    network.latency = .milliseconds(20)
    let peers = try network.gather("a", "b", "c")
    for number in 0..<50 { try peers[1].say("\(number)") }
    peers[1].leave()
    network.run(.seconds(1))
    for peer in [peers[0], peers[2]] {
      let name = peer.name.uppercased()
      #expect(peer.take() == (0..<50).map { "\(name) < B: \($0)" } + ["\(name): B notConnected left"])
    }
  }

  @Test("P-MSG-3 Messages in flight to a peer that left are reported as undelivered, exactly")
  func crossesLeave() throws {
    network.latency = .milliseconds(20)
    let peers = try network.gather("a", "b")
    try peers[0].say("comes in time", receipt: true)
    network.run(.milliseconds(30))
    try peers[0].say("too late", receipt: true)
    peers[1].leave()
    network.run(.seconds(1))
    #expect(peers[1].take() == ["B < A: comes in time", "B: A notConnected left"])
    #expect(peers[0].take().sorted() == ["A: B notConnected left", "delivered to B", "undelivered to B"])
  }

  @Test("P-MSG-3 A leaving peer's unacknowledged messages are reported as unknown at once, and still arrive")
  func leavesBehind() throws {
    network.latency = .milliseconds(20)
    let peers = try network.gather("a", "b")
    try peers[0].say("acknowledged", receipt: true)
    network.run(.seconds(1))
    try peers[0].say("on its way", receipt: true)
    peers[0].leave()
    network.run()
    #expect(peers[0].take() == ["delivered to B", "unknown to B", "A: B notConnected left"])
    network.run(.seconds(1))
    #expect(peers[1].take() == ["B < A: acknowledged", "B < A: on its way", "B: A notConnected left"])
    #expect(peers[0].take() == [])
  }

  @Test("P-MSG-3 A message that crosses the other's leave has a delivery status, though its sender leaves too")
  func leavesBehindLeaver() throws {
    network.latency = .milliseconds(20)
    let peers = try network.gather("a", "b")
    try peers[0].say("to nobody")
    peers[1].leave()
    peers[0].leave()
    network.run(.seconds(10))
    #expect(peers[0].take() == ["unknown to B", "A: B notConnected left"])
  }

  @Test("A peer introduced by one that has just left is received by the others there")
  func joinsByLeaver() throws {
    let (near, far) = (try network.host("near"), try network.host("far"))
    let here = try ["a", "b"].map { try network.testPeer($0, on: near) }
    let there = try ["c", "d"].map { try network.testPeer($0, on: far) }
    for peer in here { try network.connect(there[0], peer) }
    network.latency = .milliseconds(20)
    try there[1].invite(here[1])
    network.run(.milliseconds(100))
    try here[1].accept()
    here[0].leave()
    network.run(.seconds(1))
    network.expectAllConnected([here[1]] + there)
  }

  @Test("Both leave at once, and both are alone")
  func bothLeave() throws {
    network.latency = .milliseconds(20)
    let peers = try network.gather("a", "b")
    peers[0].leave()
    peers[1].leave()
    network.run(.seconds(60))
    #expect(peers[0].take() == ["A: B notConnected left"])
    #expect(peers[1].take() == ["B: A notConnected left"])
    try network.connect(peers[0], peers[1])
    network.run(.seconds(1))
    network.expectAllConnected(peers)
  }

  @Test("A leave while the link is cut is told when it is back")
  func leaveWhileCut() throws {
    let peers = try network.gather("a", "b")
    network.walls.insert(["a", "b"])
    peers[1].leave()
    network.run(.seconds(2))
    network.heal(peers[0].host, peers[1].host)
    network.run(.seconds(1))
    #expect(peers[0].take() == ["A: B notConnected left"])
  }

  @Test("A removed member is not readmitted by introduction, but by an invitation")
  func removed() throws {
    let peers = try network.gather("a", "b", "c")
    try peers[0].remove(peers[1])
    network.run()
    #expect(peers[0].take() == ["A: B notConnected removed"])
    #expect(peers[1].take() == ["B: A notConnected removed"])
    network.run(.seconds(60))
    #expect(peers.map(\.connected) == ["C", "C", "A B"])
    let d = try network.testPeer("d")
    try network.connect(peers[2], d)
    network.run(.seconds(60))
    #expect(peers.map(\.connected) == ["C D", "C D", "A B D"])
    network.cut(peers[0].host, peers[1].host)
    network.run(.seconds(60))
    #expect(peers.map(\.connected) == ["C D", "C D", "A B D"])
    network.clear()
    try network.connect(peers[0], peers[1])
    network.run(.seconds(1))
    network.expectAllConnected(peers + [d])
    #expect(peers[0].take() == ["invitation ended: none", "A: B connecting", "A: B connected"])
  }

  @Test("A removed member is not brought back by an invitation from before")
  func invitedBefore() throws {
    let peers = try network.gather("a", "c")
    let b = try network.testPeer("b")
    network.run()
    try peers[0].invite(b)
    network.run()
    let earlier = try #require(b.lastInvitation)
    try network.connect(peers[1], b)
    network.run(.seconds(1))
    network.expectAllConnected(peers + [b])
    network.clear()
    try peers[0].remove(b)
    network.run()
    #expect(peers[0].take() == ["invitation ended: removed", "A: B notConnected removed"])
    #expect(throws: EngineError.self) { try b.engine.accept(earlier, with: b.endpoint, at: network.now) }
    network.run(.seconds(60))
    #expect(b.connected == "C")
  }

  @Test("A removed member that invites is let in again, and a banned one is not")
  func removedInvites() throws {
    let peers = try network.gather("a", "b", "c")
    try peers[0].remove(peers[1])
    network.run(.seconds(1))
    try network.connect(peers[1], peers[0])
    network.run(.seconds(1))
    network.expectAllConnected(peers)
    try peers[0].remove(peers[1], ban: true)
    network.run(.seconds(1))
    network.clear()
    try peers[1].invite(peers[0])
    network.run(.seconds(1))
    if peers[0].take().contains("a invited by b: ") { try peers[0].accept() }
    network.run(.seconds(60))
    #expect(peers.map(\.connected) == ["C", "C", "A B"])
    #expect(throws: EngineError.self) { try peers[0].invite(peers[1]) }
  }

  @Test("A banned member is refused when it leaves and comes back by another member's invitation")
  func banned() throws {
    let peers = try network.gather("a", "b", "c")
    try peers[0].remove(peers[1], ban: true)
    peers[1].leave()
    network.run(.seconds(1))
    try network.connect(peers[2], peers[1])
    network.run(.seconds(60))
    #expect(peers.map(\.connected) == ["C", "C", "A B"])
  }

  @Test("A blocked peer's invitations are declined unseen, and introduced it stays out of that pair alone")
  func blocked() throws {
    let peers = try network.gather("a", "b", "c")
    let d = try network.testPeer("d")
    network.clear()
    peers[0].engine.block(d.peer, from: peers[0].endpoint, true, at: network.now)
    try d.invite(peers[0])
    network.run()
    #expect(d.take() == ["invitation ended: blocked", "D: a notConnected blocked"])
    #expect(peers[0].take() == [])
    try network.connect(peers[1], d)
    network.run(.seconds(60))
    #expect(d.connected == "B C")
    #expect(peers[0].take() == [])
    peers[0].engine.block(d.peer, from: peers[0].endpoint, false, at: network.now)
    try network.connect(d, peers[0])
    network.run(.seconds(1))
    network.expectAllConnected(peers + [d])
  }

  @Test("Blocking a connected peer ends that pair alone")
  func blockConnected() throws {
    let peers = try network.gather("a", "b", "c")
    peers[0].engine.block(peers[1].peer, from: peers[0].endpoint, true, at: network.now)
    network.run(.seconds(30))
    #expect(peers.map(\.connected) == ["C", "C", "A B"])
    #expect(peers[1].take() == ["B: A notConnected blocked"])
  }

  @Test("A locked session lets in nobody new, and keeps whom it has through a lost link")
  func locked() throws {
    let peers = try network.gather("a", "b")
    let c = try network.testPeer("c")
    network.clear()
    peers[0].engine.lock(peers[0].endpoint, true, at: network.now)
    try c.invite(peers[0])
    network.run()
    try peers[0].accept()
    network.run()
    #expect(c.take() == ["invitation ended: locked", "C: a notConnected locked"])
    try network.connect(peers[1], c)
    network.run(.seconds(60))
    #expect([peers[0].connected, peers[1].connected, c.connected] == ["B", "A C", "B"])
    network.walls.insert(["a", "b"])
    network.run(.seconds(20))
    #expect(peers[0].connected == "")
    network.heal(peers[0].host, peers[1].host)
    network.run(.seconds(20))
    #expect(peers[0].connected == "B")
    peers[0].engine.lock(peers[0].endpoint, false, at: network.now)
    try network.connect(c, peers[0])
    network.run(.seconds(1))
    network.expectAllConnected(peers + [c])
  }
}
