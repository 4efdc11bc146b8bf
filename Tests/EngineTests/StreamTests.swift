import Testing
import Wire

@testable import Engine

@Suite struct StreamTests {
  let network = TestNetwork()

  @Test("P-STR-1 A stream is told by its name, its bytes come in order, and its end on both sides")
  func story() throws {
    let seats = try network.gather("a", "b")
    let stream = try seats[0].open("song", to: seats[1])
    try seats[0].write("la ", to: stream)
    try seats[0].write("la la", to: stream)
    network.run()
    #expect(seats[1].take() == ["B < A: stream song"])
    #expect(seats[1].host.program.text("song") == "la la la")
    try seats[0].write("!", to: stream)
    seats[0].engine.closeStream(stream, at: network.now)
    network.run()
    #expect(seats[1].host.program.text("song") == "la la la!")
    #expect(seats[1].take() == ["stream song ended: none"])
    #expect(seats[0].take() == ["stream song ended: none"])
    #expect(throws: EngineError.self) { try seats[0].write("more", to: stream) }
  }

  @Test("P-STR-1 A stream without a byte begins and ends")
  func empty() throws {
    let seats = try network.gather("a", "b")
    seats[0].engine.closeStream(try seats[0].open("", to: seats[1]), at: network.now)
    network.run()
    #expect(seats[1].take() == ["B < A: stream ", "stream  ended: none"])
    #expect(seats[0].take() == ["stream  ended: none"])
  }

  @Test("P-STR-1 Its reader closes a stream, and the writer is told")
  func closedByReader() throws {
    let seats = try network.gather("a", "b")
    let stream = try seats[0].open("talk", to: seats[1])
    network.run()
    seats[1].engine.closeStream(try #require(seats[1].host.program.stream("talk")), at: network.now)
    network.run()
    #expect(seats[0].take() == ["stream talk ended: cancelled"])
    #expect(seats[1].take() == ["B < A: stream talk", "stream talk ended: cancelled"])
    #expect(throws: EngineError.self) { try seats[0].write("x", to: stream) }
  }

  @Test("A stream that is cancelled ends with its reason on both sides", arguments: [0, 1])
  func cancelled(side: Int) throws {
    let seats = try network.gather("a", "b")
    let stream = try seats[0].open("talk", to: seats[1])
    try seats[0].write("half of", to: stream)
    network.run()
    let id = side == 0 ? stream : try #require(seats[1].host.program.stream("talk"))
    seats[side].engine.cancelStream(id, .busy, at: network.now)
    network.run()
    #expect(seats[0].take() == ["stream talk ended: busy"])
    #expect(seats[1].take().last == "stream talk ended: busy")
  }

  @Test("P-STR-2 A slow reader slows its own writer and nobody else, and what waits is bounded")
  func slowReader() throws {
    let seats = try network.gather("a", "b", "c")
    seats[1].host.program.isReading = false
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
      network.run()
    }
    let settings = Settings()
    #expect(seats[1].host.program.text("slow").utf8.count == settings.streamWindowBytes)
    #expect(written * 10_000 < settings.streamBacklogBytes + 10_000)
    #expect(seats[2].host.program.text("fast").utf8.count == 2_000_000)
    #expect(!seats[0].take().contains("stream writable"))
    seats[1].engine.consumed(200_000, of: try #require(seats[1].host.program.stream("slow")), at: network.now)
    network.run()
    #expect(seats[0].take() == ["stream writable"])
    #expect(seats[1].host.program.text("slow").utf8.count == written * 10_000)
  }

  @Test("A writer that may have little waiting and a reader with a large window do not wait for each other")
  func unlikeSettings() throws {
    var (small, large) = (Settings(), Settings())
    small.streamBacklogBytes = 1_000
    large.streamWindowBytes = 4 << 20
    let seats = [try network.seat("a", SessionSettings(), small), try network.seat("b", SessionSettings(), large)]
    try network.connect(seats[0], seats[1])
    let stream = try seats[0].open("long", to: seats[1])
    let piece = String(repeating: "x", count: 10_000)
    for _ in 0..<100 {
      do { try seats[0].write(piece, to: stream) } catch {
        network.run()
        try seats[0].write(piece, to: stream)
      }
    }
    network.run()
    #expect(seats[1].host.program.text("long").utf8.count == 1_000_000)
  }

  @Test("P-STR-3 Many streams at once, each way, beside messages: each in order")
  func many() throws {
    let seats = try network.gather("a", "b")
    var streams: [(TestPeer, StreamID)] = []
    for number in 0..<40 {
      let from = seats[number % 2]
      streams.append((from, try from.open("s\(number)", to: seats[1 - number % 2])))
    }
    for round in 0..<50 {
      for (seat, stream) in streams { try seat.write("\(round) ", to: stream) }
      try seats[0].say("\(round)")
      network.run()
    }
    let all = (0..<50).map { "\($0) " }.joined()
    for number in 0..<40 { #expect(seats[1 - number % 2].host.program.text("s\(number)") == all) }
    #expect(seats[1].heard.count == 50)
  }

  @Test("A cut link pauses a stream; its bytes come once and in order", arguments: [1, 7])
  func cuts(milliseconds: Int) throws {
    network.latency = .milliseconds(milliseconds)
    network.windowBytes = 3_000
    let seats = try network.gather("a", "b")
    let stream = try seats[0].open("long", to: seats[1])
    var text = ""
    for round in 0..<40 {
      let piece = "\(round)" + String(repeating: "-", count: round * 97 % 2_000)
      try seats[0].write(piece, to: stream)
      text += piece
      network.run(.milliseconds(round % 5 * milliseconds))
      network.cut(seats[0].host, seats[1].host)
      network.run(.milliseconds(round * 13 % 40))
    }
    seats[0].engine.closeStream(stream, at: network.now)
    network.run(.seconds(10))
    #expect(seats[1].host.program.text("long") == text)
    #expect(seats[0].takeFlows() == ["stream long ended: none"])
    #expect(seats[1].takeFlows() == ["B < A: stream long", "stream long ended: none"])
  }

  @Test("A stream ends with its pair, on both sides")
  func pairLost() throws {
    let seats = try network.gather("a", "b")
    let stream = try seats[0].open("talk", to: seats[1])
    try seats[0].write("hello", to: stream)
    network.run()
    network.walls.insert(["a", "b"])
    network.run(.seconds(10))
    #expect(seats[0].takeFlows() == ["stream talk ended: lost"])
    #expect(seats[1].takeFlows() == ["B < A: stream talk", "stream talk ended: lost"])
  }

  @Test("Who leaves ends its streams")
  func left() throws {
    let seats = try network.gather("a", "b")
    _ = try seats[0].open("there", to: seats[1])
    _ = try seats[1].open("back", to: seats[0])
    network.run()
    network.clear()
    seats[0].leave()
    network.run()
    #expect(seats[0].takeFlows() == ["stream there ended: left", "stream back ended: left"])
    #expect(seats[1].takeFlows() == ["stream back ended: left", "stream there ended: left"])
  }

  @Test("Local peers stream to each other")
  func local() throws {
    let host = try network.host("h")
    let seats = [try network.seat("a", on: host), try network.seat("b", on: host)]
    try network.connect(seats[0], seats[1])
    let stream = try seats[0].open("near", to: seats[1])
    for _ in 0..<100 {
      try seats[0].write(String(repeating: "y", count: 9_999), to: stream)
      network.run()
    }
    seats[0].engine.closeStream(stream, at: network.now)
    network.run()
    #expect(host.lines.suffix(2) == ["stream near ended: none", "stream near ended: none"])
    #expect(host.program.streams.values.map(\.bytes.count).sorted() == [0, 999_900])
  }

  @Test("A writer that is restarted has no stream any more, and its reader is told", arguments: [0, 1])
  func restarted(side: Int) throws {
    var settings = Settings()
    settings.isDurable = true
    let seats = try network.gather("a", "b", settings: settings)
    let stream = try seats[0].open("talk", to: seats[1])
    try seats[0].write("hello", to: stream)
    network.run()
    network.clear()
    let again = try network.restart(seats[side])
    network.run(.seconds(2))
    #expect(seats[1 - side].takeFlows() == ["stream talk ended: lost"])
    #expect(again.takeFlows() == [])
    #expect(again.connected == seats[1 - side].name)
  }

  @Test("A stream needs a connected member, a short name, and room")
  func refusals() throws {
    var session = SessionSettings()
    session.streamsMax = 2
    let seats = try network.gather("a", "b", session: session)
    let other = try network.seat("c")
    #expect(throws: EngineError.self) { try seats[0].open("x", to: other) }
    #expect(throws: EngineError.self) { try seats[0].open(String(repeating: "n", count: 256), to: seats[1]) }
    let first = try seats[0].open("1", to: seats[1])
    _ = try seats[0].open("2", to: seats[1])
    #expect(throws: EngineError.self) { try seats[0].open("3", to: seats[1]) }
    seats[0].engine.cancelStream(first, .cancelled, at: network.now)
    _ = try seats[0].open("3", to: seats[1])
    #expect(throws: EngineError.self) { try seats[0].engine.write(pattern(1 << 20 + 1), to: first, at: network.now) }
  }
}
