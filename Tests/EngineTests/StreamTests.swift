import Testing
import Wire

@testable import Engine

@Suite struct StreamTests {
  let stage = Stage()

  @Test("P-STR-1 A stream is told by its name, its bytes come in order, and its end on both sides")
  func story() throws {
    let seats = try stage.gather("a", "b")
    let stream = try seats[0].open("song", to: seats[1])
    try seats[0].write("la ", to: stream)
    try seats[0].write("la la", to: stream)
    stage.run()
    #expect(seats[1].take() == ["B < A: stream song"])
    #expect(seats[1].host.desk.text("song") == "la la la")
    try seats[0].write("!", to: stream)
    seats[0].engine.closeStream(stream, at: stage.now)
    stage.run()
    #expect(seats[1].host.desk.text("song") == "la la la!")
    #expect(seats[1].take() == ["stream song ended: none"])
    #expect(seats[0].take() == ["stream song ended: none"])
    #expect(throws: EngineError.self) { try seats[0].write("more", to: stream) }
  }

  @Test("P-STR-1 A stream without a byte begins and ends")
  func empty() throws {
    let seats = try stage.gather("a", "b")
    seats[0].engine.closeStream(try seats[0].open("", to: seats[1]), at: stage.now)
    stage.run()
    #expect(seats[1].take() == ["B < A: stream ", "stream  ended: none"])
    #expect(seats[0].take() == ["stream  ended: none"])
  }

  @Test("P-STR-1 Its reader closes a stream, and the writer is told")
  func closedByReader() throws {
    let seats = try stage.gather("a", "b")
    let stream = try seats[0].open("talk", to: seats[1])
    stage.run()
    seats[1].engine.closeStream(try #require(seats[1].host.desk.stream("talk")), at: stage.now)
    stage.run()
    #expect(seats[0].take() == ["stream talk ended: cancelled"])
    #expect(seats[1].take() == ["B < A: stream talk", "stream talk ended: cancelled"])
    #expect(throws: EngineError.self) { try seats[0].write("x", to: stream) }
  }

  @Test("A stream that is cancelled ends with its reason on both sides", arguments: [0, 1])
  func cancelled(side: Int) throws {
    let seats = try stage.gather("a", "b")
    let stream = try seats[0].open("talk", to: seats[1])
    try seats[0].write("half of", to: stream)
    stage.run()
    let id = side == 0 ? stream : try #require(seats[1].host.desk.stream("talk"))
    seats[side].engine.cancelStream(id, .busy, at: stage.now)
    stage.run()
    #expect(seats[0].take() == ["stream talk ended: busy"])
    #expect(seats[1].take().last == "stream talk ended: busy")
  }

  @Test("P-STR-2 A slow reader slows its own writer and nobody else, and what waits is bounded")
  func slowReader() throws {
    let seats = try stage.gather("a", "b", "c")
    seats[1].host.desk.isReading = false
    let slow = try seats[0].open("slow", to: seats[1])
    let fast = try seats[0].open("fast", to: seats[2])
    let piece = String(repeating: "x", count: 10_000)
    var written = 0
    for _ in 0..<200 {
      do {
        try seats[0].write(piece, to: slow)
        written += 1
      } catch { #expect(error is EngineError) }
      try seats[0].write(piece, to: fast)
      stage.run()
    }
    let settings = Settings()
    #expect(seats[1].host.desk.text("slow").utf8.count == settings.streamWindowBytes)
    #expect(written * 10_000 < settings.streamBacklogBytes + 10_000)
    #expect(seats[2].host.desk.text("fast").utf8.count == 2_000_000)
    #expect(!seats[0].take().contains("stream writable"))
    seats[1].engine.consumed(200_000, of: try #require(seats[1].host.desk.stream("slow")), at: stage.now)
    stage.run()
    #expect(seats[0].take() == ["stream writable"])
    #expect(seats[1].host.desk.text("slow").utf8.count == written * 10_000)
  }

  @Test("A writer that may have little waiting and a reader with a large window do not wait for each other")
  func unlikeSettings() throws {
    var (small, large) = (Settings(), Settings())
    small.streamBacklogBytes = 1_000
    large.streamWindowBytes = 4 << 20
    let seats = [try stage.seat("a", SessionSettings(), small), try stage.seat("b", SessionSettings(), large)]
    try stage.connect(seats[0], seats[1])
    let stream = try seats[0].open("long", to: seats[1])
    let piece = String(repeating: "x", count: 10_000)
    for _ in 0..<100 {
      do { try seats[0].write(piece, to: stream) } catch {
        stage.run()
        try seats[0].write(piece, to: stream)
      }
    }
    stage.run()
    #expect(seats[1].host.desk.text("long").utf8.count == 1_000_000)
  }

  @Test("P-STR-3 Many streams at once, each way, beside messages: each in order")
  func many() throws {
    let seats = try stage.gather("a", "b")
    var streams: [(Seat, StreamID)] = []
    for number in 0..<40 {
      let from = seats[number % 2]
      streams.append((from, try from.open("s\(number)", to: seats[1 - number % 2])))
    }
    for round in 0..<50 {
      for (seat, stream) in streams { try seat.write("\(round) ", to: stream) }
      try seats[0].say("\(round)")
      stage.run()
    }
    let all = (0..<50).map { "\($0) " }.joined()
    for number in 0..<40 { #expect(seats[1 - number % 2].host.desk.text("s\(number)") == all) }
    #expect(seats[1].heard.count == 50)
  }

  @Test("A cut link pauses a stream; its bytes come once and in order", arguments: [1, 7])
  func cuts(milliseconds: Int) throws {
    stage.latency = .milliseconds(milliseconds)
    stage.windowBytes = 3_000
    let seats = try stage.gather("a", "b")
    let stream = try seats[0].open("long", to: seats[1])
    var text = ""
    for round in 0..<40 {
      let piece = "\(round)" + String(repeating: "-", count: round * 97 % 2_000)
      try seats[0].write(piece, to: stream)
      text += piece
      stage.run(.milliseconds(round % 5 * milliseconds))
      stage.cut(seats[0].host, seats[1].host)
      stage.run(.milliseconds(round * 13 % 40))
    }
    seats[0].engine.closeStream(stream, at: stage.now)
    stage.run(.seconds(10))
    #expect(seats[1].host.desk.text("long") == text)
    #expect(seats[0].takeFlows() == ["stream long ended: none"])
    #expect(seats[1].takeFlows() == ["B < A: stream long", "stream long ended: none"])
  }

  @Test("A stream ends with its pair, on both sides")
  func pairLost() throws {
    let seats = try stage.gather("a", "b")
    let stream = try seats[0].open("talk", to: seats[1])
    try seats[0].write("hello", to: stream)
    stage.run()
    stage.walls.insert(["a", "b"])
    stage.run(.seconds(10))
    #expect(seats[0].takeFlows() == ["stream talk ended: lost"])
    #expect(seats[1].takeFlows() == ["B < A: stream talk", "stream talk ended: lost"])
  }

  @Test("Who leaves ends its streams")
  func left() throws {
    let seats = try stage.gather("a", "b")
    _ = try seats[0].open("there", to: seats[1])
    _ = try seats[1].open("back", to: seats[0])
    stage.run()
    stage.clear()
    seats[0].leave()
    stage.run()
    #expect(seats[0].takeFlows() == ["stream there ended: left", "stream back ended: left"])
    #expect(seats[1].takeFlows() == ["stream back ended: left", "stream there ended: left"])
  }

  @Test("Local peers stream to each other")
  func local() throws {
    let host = try stage.host("h")
    let seats = [try stage.seat("a", on: host), try stage.seat("b", on: host)]
    try stage.connect(seats[0], seats[1])
    let stream = try seats[0].open("near", to: seats[1])
    for _ in 0..<100 {
      try seats[0].write(String(repeating: "y", count: 9_999), to: stream)
      stage.run()
    }
    seats[0].engine.closeStream(stream, at: stage.now)
    stage.run()
    #expect(host.lines.suffix(2) == ["stream near ended: none", "stream near ended: none"])
    #expect(host.desk.streams.values.map(\.bytes.count).sorted() == [0, 999_900])
  }

  @Test("A writer that is restarted has no stream any more, and its reader is told", arguments: [0, 1])
  func restarted(side: Int) throws {
    var settings = Settings()
    settings.isDurable = true
    let seats = try stage.gather("a", "b", settings: settings)
    let stream = try seats[0].open("talk", to: seats[1])
    try seats[0].write("hello", to: stream)
    stage.run()
    stage.clear()
    let again = try stage.restart(seats[side])
    stage.run(.seconds(2))
    #expect(seats[1 - side].takeFlows() == ["stream talk ended: lost"])
    #expect(again.takeFlows() == [])
    #expect(again.connected == seats[1 - side].name)
  }

  @Test("A stream needs a connected member, a short name, and room")
  func refusals() throws {
    var session = SessionSettings()
    session.streamsMax = 2
    let seats = try stage.gather("a", "b", session: session)
    let other = try stage.seat("c")
    #expect(throws: EngineError.self) { try seats[0].open("x", to: other) }
    #expect(throws: EngineError.self) { try seats[0].open(String(repeating: "n", count: 256), to: seats[1]) }
    let first = try seats[0].open("1", to: seats[1])
    _ = try seats[0].open("2", to: seats[1])
    #expect(throws: EngineError.self) { try seats[0].open("3", to: seats[1]) }
    seats[0].engine.cancelStream(first, .cancelled, at: stage.now)
    _ = try seats[0].open("3", to: seats[1])
    #expect(throws: EngineError.self) { try seats[0].engine.write(pattern(1 << 20 + 1), to: first, at: stage.now) }
  }
}
