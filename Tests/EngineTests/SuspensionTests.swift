import Testing
import Wire

@testable import Engine

@Suite struct SuspensionTests {
  let stage = Stage()

  @Test("A short cut suspends a pair and resumes it, and nothing else is told")
  func shortCut() throws {
    let seats = try stage.gather("a", "b")
    stage.cut(seats[0].host, seats[1].host)
    stage.run(.seconds(2))
    #expect(seats[0].take() == ["A: B suspended", "A: B resumed"])
    #expect(seats[1].take() == ["B: A suspended", "B: A resumed"])
    try seats[0].say("there?")
    stage.run()
    #expect(seats[1].take() == ["B < A: there?"])
  }

  @Test("A link that is cut as soon as it is back gives the pair its whole time again")
  func cutAgain() throws {
    let seats = try stage.gather("a", "b")
    stage.walls.insert(["a", "b"])
    stage.cut(seats[0].host, seats[1].host)
    stage.run(.seconds(4))
    stage.walls = []
    var heard: [String] = []
    for _ in 0..<1_000 where !heard.contains("A: B resumed") {
      stage.run(.milliseconds(1))
      heard += seats[0].take()
    }
    stage.walls.insert(["a", "b"])
    stage.cut(seats[0].host, seats[1].host)
    stage.run(.seconds(4))
    #expect(heard + seats[0].take() == ["A: B suspended", "A: B resumed", "A: B suspended"])
    #expect(!seats[1].take().contains { $0.contains("notConnected") })
  }

  @Test("A bond that ends while one of its links takes over from another leaves neither behind")
  func endsWithinSwap() throws {
    let seat = try stage.seat("v")
    let rogue = Rogue("r", to: seat.host, on: stage)
    try rogue.enter(with: seat)
    seat.engine.linkClosed(rogue.link, at: stage.now)
    stage.run(.milliseconds(4_800))
    let links = [UInt32(2), 3].map { ordinal in
      let again = Rogue("r", to: seat.host, on: stage)
      again.greet(ordinal: ordinal)
      return again
    }
    #expect(links.map(\.isClosed) == [false, false])
    stage.run(.milliseconds(200))
    #expect(links.map(\.ending) == [.lost, .lost])
  }

  @Test("P-MSG-3 Links cut in mid burst, many times: every message once and in order", arguments: [1, 7])
  func cutBursts(milliseconds: Int) throws {
    stage.latency = .milliseconds(milliseconds)
    stage.windowBytes = 3_000
    let seats = try stage.gather("a", "b", "c")
    var said = 0
    for round in 0..<30 {
      for _ in 0..<(round % 7 + 1) {
        said += 1
        for seat in seats { try seat.say("\(said) \(String(repeating: "x", count: said * 37 % 900))", receipt: true) }
      }
      stage.run(.milliseconds(round % 5 * milliseconds / 2))
      stage.cut(seats[round % 3].host, seats[(round + 1) % 3].host)
      stage.run(.milliseconds(round * 13 % 40))
    }
    stage.run(.seconds(10))
    for seat in seats {
      let lines = seat.take()
      for other in seats where other !== seat {
        let numbers = lines.compactMap { line -> Int? in
          let start = "\(stage.name(seat.endpoint)) < \(stage.name(other.endpoint)): "
          return line.hasPrefix(start) ? Int(line.dropFirst(start.count).prefix { $0 != " " }) : nil
        }
        #expect(numbers == Array(1...said), "from \(other.name) to \(seat.name)")
        #expect(lines.filter { $0 == "delivered to \(stage.name(other.endpoint))" }.count == said)
      }
      #expect(!lines.contains { $0.contains("notConnected") || $0.contains("undelivered") || $0.contains("unknown") })
    }
  }

  @Test("P-MSG-3 What is sent while suspended arrives when the link is back")
  func sentWhileSuspended() throws {
    let seats = try stage.gather("a", "b")
    stage.walls.insert(["a", "b"])
    stage.cut(seats[0].host, seats[1].host)
    stage.run(.seconds(1))
    for number in 0..<10 { try seats[0].say("\(number)", receipt: true) }
    stage.run(.seconds(3))
    stage.heal(seats[0].host, seats[1].host)
    stage.run(.seconds(1))
    #expect(seats[1].take() == ["B: A suspended", "B: A resumed"] + (0..<10).map { "B < A: \($0)" })
    #expect(seats[0].take() == ["A: B suspended", "A: B resumed"] + Array(repeating: "delivered to B", count: 10))
  }

  @Test("A host that falls silent is notConnected within five seconds of its last sign of life")
  func silence() throws {
    let seats = try stage.gather("a", "b")
    stage.powerOff(seats[1].host)
    stage.run(.seconds(3))
    #expect(seats[0].take() == ["A: B suspended"])
    stage.run(.seconds(2))
    #expect(seats[0].take() == ["A: B notConnected lost"])
    #expect(throws: EngineError.self) { try seats[0].say("x") }
  }

  @Test("P-MSG-3 When suspension is over, what was sent is unknown, what never left is undelivered, and both are told")
  func fates() throws {
    stage.latency = .milliseconds(50)
    let seats = try stage.gather("a", "b")
    try seats[0].say("delivered", receipt: true)
    stage.run(.milliseconds(200))
    try seats[0].say("on its way", receipt: true)
    stage.run(.milliseconds(1))
    stage.walls.insert(["a", "b"])
    stage.cut(seats[0].host, seats[1].host)
    try seats[0].say("never sent")
    stage.run(.seconds(6))
    #expect(
      seats[0].take() == [
        "delivered to B", "A: B suspended", "A: B notConnected lost", "unknown to B", "undelivered to B", "a lost b",
      ])
    #expect(seats[1].take() == ["B < A: delivered", "B: A suspended", "B: A notConnected lost", "b lost a"])
  }

  @Test("After a loss the hosts rejoin by themselves, and what was lost is not sent again")
  func rejoin() throws {
    let seats = try stage.gather("a", "b", "c")
    stage.walls.insert(["a", "b"])
    stage.cut(seats[0].host, seats[1].host)
    try seats[0].say("lost", to: [seats[1]])
    stage.run(.seconds(60))
    #expect(seats.map(\.connected) == ["C", "C", "A B"])
    stage.clear()
    stage.heal(seats[0].host, seats[1].host)
    stage.run(.seconds(6))
    stage.expectAllConnected(seats)
    #expect(seats[0].take().filter { $0.contains(":") } == ["A: B connecting", "A: B connected"])
    #expect(seats[1].take().filter { $0.contains(":") } == ["B: A connecting", "B: A connected"])
    #expect(seats[2].take() == [])
    try seats[0].say("new")
    stage.run()
    #expect(seats[1].take() == ["B < A: new"])
  }

  @Test("Past the session's rejoin time a lost member is forgotten")
  func rejoinOver() throws {
    var session = SessionSettings()
    session.rejoinMax = .seconds(30)
    let seats = try stage.gather("a", "b", session: session)
    stage.walls.insert(["a", "b"])
    stage.run(.seconds(60))
    stage.clear()
    stage.heal(seats[0].host, seats[1].host)
    stage.run(.seconds(60))
    #expect(seats.map(\.connected) == ["", ""])
    for seat in seats { #expect(seat.take().filter { $0.contains(":") } == []) }
    try stage.connect(seats[0], seats[1])
    stage.expectAllConnected(seats)
  }

  @Test("P-ID-4 A host that restarts without state is gone from its sessions, with no ghost, and joins them anew")
  func restarted() throws {
    let seats = try stage.gather("a", "b", "c")
    stage.powerOff(seats[1].host)
    stage.run(.seconds(1))
    let again = try stage.silentSeat("b", on: try stage.host("b", incarnation: 2))
    stage.call(again.endpoint, "B2")
    try again.advertise()
    try again.browse()
    stage.run(.seconds(20))
    for seat in [seats[0], seats[2]] {
      let told = seat.take().filter { $0.contains("B") }
      #expect(told.first == "\(seat.name.uppercased()): B suspended")
      #expect(told.contains("\(seat.name.uppercased()): B notConnected lost"))
      #expect(seat.engine.members(of: seat.endpoint).count == 1)
      #expect(!told.contains { $0.hasSuffix(" connected") })
    }
    stage.clear()
    try stage.connect(seats[0], again)
    stage.run(.seconds(1))
    stage.expectAllConnected([seats[0], again, seats[2]])
    #expect(again.peer == seats[1].peer)
    #expect(seats[2].take() == ["C: B2 connecting", "C: B2 connected"])
  }

  @Test("A process that ends is told lost when its suspension is over, whatever its sockets say")
  func killed() throws {
    let seats = try stage.gather("a", "b")
    stage.kill(seats[1].host)
    stage.run(.seconds(6))
    #expect(seats[0].take() == ["A: B suspended", "a lost b", "A: B notConnected lost"])
  }

  @Test("Links in both directions at once: one is kept and nothing is told twice")
  func bothDial() throws {
    stage.latency = .milliseconds(30)
    let seats = try stage.gather("a", "b")
    for _ in 0..<10 {
      stage.cut(seats[0].host, seats[1].host)
      try seats[0].say("x")
      try seats[1].say("y")
      stage.run(.seconds(2))
    }
    #expect(seats[0].heard.count == 10)
    #expect(seats[1].heard.count == 10)
    #expect(stage.pipes.count == 1)
  }
}
