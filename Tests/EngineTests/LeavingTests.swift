import Testing
import Wire

@testable import Engine

@Suite struct LeavingTests {
  let stage = Stage()

  @Test("P-SES-4 Who leaves is told to all others at once")
  func leave() throws {
    let seats = try stage.gather("a", "b", "c")
    seats[1].leave()
    stage.run()
    #expect(seats[0].take() == ["A: B notConnected left"])
    #expect(seats[2].take() == ["C: B notConnected left"])
    #expect(seats[1].take().sorted() == ["B: A notConnected left", "B: C notConnected left"])
    stage.run(.seconds(120))
    #expect(seats.map(\.connected) == ["C", "", "A"])
    #expect(seats.flatMap { seat in seat.take() } == [])
  }

  @Test("P-SES-4 Closing a session and removing its peer tell the others at once", arguments: [false, true])
  func close(isPeer: Bool) throws {
    let seats = try stage.gather("a", "b")
    seats[1].stopBrowsing()
    if isPeer {
      seats[1].engine.removePeer(seats[1].peer, at: stage.now)
    } else {
      seats[1].engine.closeSession(seats[1].endpoint, at: stage.now)
    }
    stage.run()
    #expect(seats[0].take().sorted() == (isPeer ? ["A: B notConnected left", "a lost b"] : ["A: B notConnected left"]))
    #expect(throws: EngineError.self) { try seats[1].say("x") }
  }

  @Test("Who left comes back only by a new invitation, and is connected with all again")
  func comeBack() throws {
    let seats = try stage.gather("a", "b", "c")
    seats[1].leave()
    stage.run(.seconds(30))
    #expect(seats[1].connected == "")
    stage.clear()
    try stage.connect(seats[2], seats[1])
    stage.run(.seconds(1))
    stage.expectAllConnected(seats)
    #expect(seats[0].take() == ["A: B connecting", "A: B connected"])
    seats[1].leave()
    try seats[1].invite(seats[0])
    stage.run(.milliseconds(100))
    try seats[0].accept()
    stage.run(.seconds(1))
    stage.expectAllConnected(seats)
  }

  @Test(
    "Who came up anew, left and is invited again is connected with all, though its earlier life is still looked for")
  func comeBackAnew() throws {
    let seats = try stage.gather("a", "b", "c")
    stage.kill(seats[1].host)
    stage.run(.seconds(10))
    let anew = try stage.seat("b", on: try stage.host("b", incarnation: 2))
    try stage.connect(seats[2], anew)
    stage.run(.seconds(2))
    stage.expectAllConnected([seats[0], anew, seats[2]])
    anew.leave()
    stage.run(.seconds(2))
    try stage.connect(seats[2], anew)
    stage.run(.seconds(5))
    stage.expectAllConnected([seats[0], anew, seats[2]])
  }

  @Test("Messages that were sent before a leave are told before its notConnected")
  func lastWords() throws {
    stage.latency = .milliseconds(20)
    let seats = try stage.gather("a", "b", "c")
    for number in 0..<50 { try seats[1].say("\(number)") }
    seats[1].leave()
    stage.run(.seconds(1))
    for seat in [seats[0], seats[2]] {
      let name = seat.name.uppercased()
      #expect(seat.take() == (0..<50).map { "\(name) < B: \($0)" } + ["\(name): B notConnected left"])
    }
  }

  @Test("P-MSG-3 What was on its way to one who left is told as undelivered, exactly")
  func crossesLeave() throws {
    stage.latency = .milliseconds(20)
    let seats = try stage.gather("a", "b")
    try seats[0].say("comes in time", receipt: true)
    stage.run(.milliseconds(30))
    try seats[0].say("too late", receipt: true)
    seats[1].leave()
    stage.run(.seconds(1))
    #expect(seats[1].take() == ["B < A: comes in time", "B: A notConnected left"])
    #expect(seats[0].take().sorted() == ["A: B notConnected left", "delivered to B", "undelivered to B"])
  }

  @Test("P-MSG-3 Who leaves is told at once that what was not acknowledged is unknown, and it still arrives")
  func leavesBehind() throws {
    stage.latency = .milliseconds(20)
    let seats = try stage.gather("a", "b")
    try seats[0].say("acknowledged", receipt: true)
    stage.run(.seconds(1))
    try seats[0].say("on its way", receipt: true)
    seats[0].leave()
    stage.run()
    #expect(seats[0].take() == ["delivered to B", "unknown to B", "A: B notConnected left"])
    stage.run(.seconds(1))
    #expect(seats[1].take() == ["B < A: acknowledged", "B < A: on its way", "B: A notConnected left"])
    #expect(seats[0].take() == [])
  }

  @Test("P-MSG-3 What crosses with the other's leave has a fate, though its sender leaves too")
  func leavesBehindOneWhoLeft() throws {
    stage.latency = .milliseconds(20)
    let seats = try stage.gather("a", "b")
    try seats[0].say("to nobody")
    seats[1].leave()
    seats[0].leave()
    stage.run(.seconds(10))
    #expect(seats[0].take() == ["unknown to B", "A: B notConnected left"])
  }

  @Test("Who joins by the word of one who has just left is heard by the others there")
  func joinsByOneWhoLeft() throws {
    let (near, far) = (try stage.host("near"), try stage.host("far"))
    let here = try ["a", "b"].map { try stage.seat($0, on: near) }
    let there = try ["c", "d"].map { try stage.seat($0, on: far) }
    for seat in here { try stage.connect(there[0], seat) }
    stage.latency = .milliseconds(20)
    try there[1].invite(here[1])
    stage.run(.milliseconds(100))
    try here[1].accept()
    here[0].leave()
    stage.run(.seconds(1))
    stage.expectAllConnected([here[1]] + there)
  }

  @Test("Both leave at once, and both are alone")
  func bothLeave() throws {
    stage.latency = .milliseconds(20)
    let seats = try stage.gather("a", "b")
    seats[0].leave()
    seats[1].leave()
    stage.run(.seconds(60))
    #expect(seats[0].take() == ["A: B notConnected left"])
    #expect(seats[1].take() == ["B: A notConnected left"])
    try stage.connect(seats[0], seats[1])
    stage.run(.seconds(1))
    stage.expectAllConnected(seats)
  }

  @Test("A leave while the link is cut is told when it is back")
  func leaveWhileCut() throws {
    let seats = try stage.gather("a", "b")
    stage.walls.insert(["a", "b"])
    seats[1].leave()
    stage.run(.seconds(2))
    stage.heal(seats[0].host, seats[1].host)
    stage.run(.seconds(1))
    #expect(seats[0].take() == ["A: B notConnected left"])
  }

  @Test("A removed member is not readmitted by introduction, but by an invitation")
  func removed() throws {
    let seats = try stage.gather("a", "b", "c")
    try seats[0].remove(seats[1])
    stage.run()
    #expect(seats[0].take() == ["A: B notConnected removed"])
    #expect(seats[1].take() == ["B: A notConnected removed"])
    stage.run(.seconds(60))
    #expect(seats.map(\.connected) == ["C", "C", "A B"])
    let d = try stage.seat("d")
    try stage.connect(seats[2], d)
    stage.run(.seconds(60))
    #expect(seats.map(\.connected) == ["C D", "C D", "A B D"])
    stage.cut(seats[0].host, seats[1].host)
    stage.run(.seconds(60))
    #expect(seats.map(\.connected) == ["C D", "C D", "A B D"])
    stage.clear()
    try stage.connect(seats[0], seats[1])
    stage.run(.seconds(1))
    stage.expectAllConnected(seats + [d])
    #expect(seats[0].take() == ["invitation ended: none", "A: B connecting", "A: B connected"])
  }

  @Test("A removed member that invites is let in again, and a banned one is not")
  func removedInvites() throws {
    let seats = try stage.gather("a", "b", "c")
    try seats[0].remove(seats[1])
    stage.run(.seconds(1))
    try stage.connect(seats[1], seats[0])
    stage.run(.seconds(1))
    stage.expectAllConnected(seats)
    try seats[0].remove(seats[1], ban: true)
    stage.run(.seconds(1))
    stage.clear()
    try seats[1].invite(seats[0])
    stage.run(.seconds(1))
    if seats[0].take().contains("a invited by b: ") { try seats[0].accept() }
    stage.run(.seconds(60))
    #expect(seats.map(\.connected) == ["C", "C", "A B"])
    #expect(throws: EngineError.self) { try seats[0].invite(seats[1]) }
  }

  @Test("A banned member is refused when it leaves and comes back by another member's invitation")
  func banned() throws {
    let seats = try stage.gather("a", "b", "c")
    try seats[0].remove(seats[1], ban: true)
    seats[1].leave()
    stage.run(.seconds(1))
    try stage.connect(seats[2], seats[1])
    stage.run(.seconds(60))
    #expect(seats.map(\.connected) == ["C", "C", "A B"])
  }

  @Test("A blocked peer's invitations are declined unseen, and introduced it stays out of that pair alone")
  func blocked() throws {
    let seats = try stage.gather("a", "b", "c")
    let d = try stage.seat("d")
    stage.clear()
    seats[0].engine.block(d.peer, from: seats[0].endpoint, true, at: stage.now)
    try d.invite(seats[0])
    stage.run()
    #expect(d.take() == ["invitation ended: blocked", "D: a notConnected blocked"])
    #expect(seats[0].take() == [])
    try stage.connect(seats[1], d)
    stage.run(.seconds(60))
    #expect(d.connected == "B C")
    #expect(seats[0].take() == [])
    seats[0].engine.block(d.peer, from: seats[0].endpoint, false, at: stage.now)
    try stage.connect(d, seats[0])
    stage.run(.seconds(1))
    stage.expectAllConnected(seats + [d])
  }

  @Test("Blocking a connected peer ends that pair alone")
  func blockConnected() throws {
    let seats = try stage.gather("a", "b", "c")
    seats[0].engine.block(seats[1].peer, from: seats[0].endpoint, true, at: stage.now)
    stage.run(.seconds(30))
    #expect(seats.map(\.connected) == ["C", "C", "A B"])
    #expect(seats[1].take() == ["B: A notConnected blocked"])
  }

  @Test("A locked session lets in nobody new, and keeps whom it has through a lost link")
  func locked() throws {
    let seats = try stage.gather("a", "b")
    let c = try stage.seat("c")
    stage.clear()
    seats[0].engine.lock(seats[0].endpoint, true, at: stage.now)
    try c.invite(seats[0])
    stage.run()
    try seats[0].accept()
    stage.run()
    #expect(c.take() == ["invitation ended: locked", "C: a notConnected locked"])
    try stage.connect(seats[1], c)
    stage.run(.seconds(60))
    #expect([seats[0].connected, seats[1].connected, c.connected] == ["B", "A C", "B"])
    stage.walls.insert(["a", "b"])
    stage.run(.seconds(20))
    #expect(seats[0].connected == "")
    stage.heal(seats[0].host, seats[1].host)
    stage.run(.seconds(20))
    #expect(seats[0].connected == "B")
    seats[0].engine.lock(seats[0].endpoint, false, at: stage.now)
    try stage.connect(c, seats[0])
    stage.run(.seconds(1))
    stage.expectAllConnected(seats + [c])
  }
}
