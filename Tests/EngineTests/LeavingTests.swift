import Testing
import Wire

@testable import Engine

@Suite struct LeavingTests {
  let network = TestNetwork()

  @Test("P-SES-4 Who leaves is told to all others at once")
  func leave() throws {
    let seats = try network.gather("a", "b", "c")
    seats[1].leave()
    network.run()
    #expect(seats[0].take() == ["A: B notConnected left"])
    #expect(seats[2].take() == ["C: B notConnected left"])
    #expect(seats[1].take().sorted() == ["B: A notConnected left", "B: C notConnected left"])
    network.run(.seconds(120))
    #expect(seats.map(\.connected) == ["C", "", "A"])
    #expect(seats.flatMap { seat in seat.take() } == [])
  }

  @Test("P-SES-4 Closing a session and removing its peer tell the others at once", arguments: [false, true])
  func close(isPeer: Bool) throws {
    let seats = try network.gather("a", "b")
    seats[1].stopBrowsing()
    if isPeer {
      seats[1].engine.removePeer(seats[1].peer, at: network.now)
    } else {
      seats[1].engine.closeSession(seats[1].endpoint, at: network.now)
    }
    network.run()
    #expect(seats[0].take().sorted() == (isPeer ? ["A: B notConnected left", "a lost b"] : ["A: B notConnected left"]))
    #expect(throws: EngineError.self) { try seats[1].say("x") }
  }

  @Test("Who left comes back only by a new invitation, and is connected with all again")
  func comeBack() throws {
    let seats = try network.gather("a", "b", "c")
    seats[1].leave()
    network.run(.seconds(30))
    #expect(seats[1].connected == "")
    network.clear()
    try network.connect(seats[2], seats[1])
    network.run(.seconds(1))
    network.expectAllConnected(seats)
    #expect(seats[0].take() == ["A: B connecting", "A: B connected"])
    seats[1].leave()
    try seats[1].invite(seats[0])
    network.run(.milliseconds(100))
    try seats[0].accept()
    network.run(.seconds(1))
    network.expectAllConnected(seats)
  }

  @Test(
    "Who came up anew, left and is invited again is connected with all, though its earlier life is still looked for")
  func comeBackAnew() throws {
    let seats = try network.gather("a", "b", "c")
    network.kill(seats[1].host)
    network.run(.seconds(10))
    let anew = try network.seat("b", on: try network.host("b", incarnation: 2))
    try network.connect(seats[2], anew)
    network.run(.seconds(2))
    network.expectAllConnected([seats[0], anew, seats[2]])
    anew.leave()
    network.run(.seconds(2))
    try network.connect(seats[2], anew)
    network.run(.seconds(5))
    network.expectAllConnected([seats[0], anew, seats[2]])
  }

  @Test("Messages that were sent before a leave are told before its notConnected")
  func lastWords() throws {
    network.latency = .milliseconds(20)
    let seats = try network.gather("a", "b", "c")
    for number in 0..<50 { try seats[1].say("\(number)") }
    seats[1].leave()
    network.run(.seconds(1))
    for seat in [seats[0], seats[2]] {
      let name = seat.name.uppercased()
      #expect(seat.take() == (0..<50).map { "\(name) < B: \($0)" } + ["\(name): B notConnected left"])
    }
  }

  @Test("P-MSG-3 What was on its way to one who left is told as undelivered, exactly")
  func crossesLeave() throws {
    network.latency = .milliseconds(20)
    let seats = try network.gather("a", "b")
    try seats[0].say("comes in time", receipt: true)
    network.run(.milliseconds(30))
    try seats[0].say("too late", receipt: true)
    seats[1].leave()
    network.run(.seconds(1))
    #expect(seats[1].take() == ["B < A: comes in time", "B: A notConnected left"])
    #expect(seats[0].take().sorted() == ["A: B notConnected left", "delivered to B", "undelivered to B"])
  }

  @Test("P-MSG-3 Who leaves is told at once that what was not acknowledged is unknown, and it still arrives")
  func leavesBehind() throws {
    network.latency = .milliseconds(20)
    let seats = try network.gather("a", "b")
    try seats[0].say("acknowledged", receipt: true)
    network.run(.seconds(1))
    try seats[0].say("on its way", receipt: true)
    seats[0].leave()
    network.run()
    #expect(seats[0].take() == ["delivered to B", "unknown to B", "A: B notConnected left"])
    network.run(.seconds(1))
    #expect(seats[1].take() == ["B < A: acknowledged", "B < A: on its way", "B: A notConnected left"])
    #expect(seats[0].take() == [])
  }

  @Test("P-MSG-3 What crosses with the other's leave has a fate, though its sender leaves too")
  func leavesBehindOneWhoLeft() throws {
    network.latency = .milliseconds(20)
    let seats = try network.gather("a", "b")
    try seats[0].say("to nobody")
    seats[1].leave()
    seats[0].leave()
    network.run(.seconds(10))
    #expect(seats[0].take() == ["unknown to B", "A: B notConnected left"])
  }

  @Test("Who joins by the word of one who has just left is heard by the others there")
  func joinsByOneWhoLeft() throws {
    let (near, far) = (try network.host("near"), try network.host("far"))
    let here = try ["a", "b"].map { try network.seat($0, on: near) }
    let there = try ["c", "d"].map { try network.seat($0, on: far) }
    for seat in here { try network.connect(there[0], seat) }
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
    let seats = try network.gather("a", "b")
    seats[0].leave()
    seats[1].leave()
    network.run(.seconds(60))
    #expect(seats[0].take() == ["A: B notConnected left"])
    #expect(seats[1].take() == ["B: A notConnected left"])
    try network.connect(seats[0], seats[1])
    network.run(.seconds(1))
    network.expectAllConnected(seats)
  }

  @Test("A leave while the link is cut is told when it is back")
  func leaveWhileCut() throws {
    let seats = try network.gather("a", "b")
    network.walls.insert(["a", "b"])
    seats[1].leave()
    network.run(.seconds(2))
    network.heal(seats[0].host, seats[1].host)
    network.run(.seconds(1))
    #expect(seats[0].take() == ["A: B notConnected left"])
  }

  @Test("A removed member is not readmitted by introduction, but by an invitation")
  func removed() throws {
    let seats = try network.gather("a", "b", "c")
    try seats[0].remove(seats[1])
    network.run()
    #expect(seats[0].take() == ["A: B notConnected removed"])
    #expect(seats[1].take() == ["B: A notConnected removed"])
    network.run(.seconds(60))
    #expect(seats.map(\.connected) == ["C", "C", "A B"])
    let d = try network.seat("d")
    try network.connect(seats[2], d)
    network.run(.seconds(60))
    #expect(seats.map(\.connected) == ["C D", "C D", "A B D"])
    network.cut(seats[0].host, seats[1].host)
    network.run(.seconds(60))
    #expect(seats.map(\.connected) == ["C D", "C D", "A B D"])
    network.clear()
    try network.connect(seats[0], seats[1])
    network.run(.seconds(1))
    network.expectAllConnected(seats + [d])
    #expect(seats[0].take() == ["invitation ended: none", "A: B connecting", "A: B connected"])
  }

  @Test("A removed member that invites is let in again, and a banned one is not")
  func removedInvites() throws {
    let seats = try network.gather("a", "b", "c")
    try seats[0].remove(seats[1])
    network.run(.seconds(1))
    try network.connect(seats[1], seats[0])
    network.run(.seconds(1))
    network.expectAllConnected(seats)
    try seats[0].remove(seats[1], ban: true)
    network.run(.seconds(1))
    network.clear()
    try seats[1].invite(seats[0])
    network.run(.seconds(1))
    if seats[0].take().contains("a invited by b: ") { try seats[0].accept() }
    network.run(.seconds(60))
    #expect(seats.map(\.connected) == ["C", "C", "A B"])
    #expect(throws: EngineError.self) { try seats[0].invite(seats[1]) }
  }

  @Test("A banned member is refused when it leaves and comes back by another member's invitation")
  func banned() throws {
    let seats = try network.gather("a", "b", "c")
    try seats[0].remove(seats[1], ban: true)
    seats[1].leave()
    network.run(.seconds(1))
    try network.connect(seats[2], seats[1])
    network.run(.seconds(60))
    #expect(seats.map(\.connected) == ["C", "C", "A B"])
  }

  @Test("A blocked peer's invitations are declined unseen, and introduced it stays out of that pair alone")
  func blocked() throws {
    let seats = try network.gather("a", "b", "c")
    let d = try network.seat("d")
    network.clear()
    seats[0].engine.block(d.peer, from: seats[0].endpoint, true, at: network.now)
    try d.invite(seats[0])
    network.run()
    #expect(d.take() == ["invitation ended: blocked", "D: a notConnected blocked"])
    #expect(seats[0].take() == [])
    try network.connect(seats[1], d)
    network.run(.seconds(60))
    #expect(d.connected == "B C")
    #expect(seats[0].take() == [])
    seats[0].engine.block(d.peer, from: seats[0].endpoint, false, at: network.now)
    try network.connect(d, seats[0])
    network.run(.seconds(1))
    network.expectAllConnected(seats + [d])
  }

  @Test("Blocking a connected peer ends that pair alone")
  func blockConnected() throws {
    let seats = try network.gather("a", "b", "c")
    seats[0].engine.block(seats[1].peer, from: seats[0].endpoint, true, at: network.now)
    network.run(.seconds(30))
    #expect(seats.map(\.connected) == ["C", "C", "A B"])
    #expect(seats[1].take() == ["B: A notConnected blocked"])
  }

  @Test("A locked session lets in nobody new, and keeps whom it has through a lost link")
  func locked() throws {
    let seats = try network.gather("a", "b")
    let c = try network.seat("c")
    network.clear()
    seats[0].engine.lock(seats[0].endpoint, true, at: network.now)
    try c.invite(seats[0])
    network.run()
    try seats[0].accept()
    network.run()
    #expect(c.take() == ["invitation ended: locked", "C: a notConnected locked"])
    try network.connect(seats[1], c)
    network.run(.seconds(60))
    #expect([seats[0].connected, seats[1].connected, c.connected] == ["B", "A C", "B"])
    network.walls.insert(["a", "b"])
    network.run(.seconds(20))
    #expect(seats[0].connected == "")
    network.heal(seats[0].host, seats[1].host)
    network.run(.seconds(20))
    #expect(seats[0].connected == "B")
    seats[0].engine.lock(seats[0].endpoint, false, at: network.now)
    try network.connect(c, seats[0])
    network.run(.seconds(1))
    network.expectAllConnected(seats + [c])
  }
}
