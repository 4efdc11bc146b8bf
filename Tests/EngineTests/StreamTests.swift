import Testing
import Wire

@testable import Engine

@Suite struct StreamTests {
  let network = TestNetwork()

  @Test("P-STR-1 A stream is told by its name, its bytes come in order, and its end on both sides")
  func story() throws {
    let peers = try network.gather("a", "b")
    let stream = try peers[0].open("song", to: peers[1])
    try peers[0].write("la ", to: stream)
    try peers[0].write("la la", to: stream)
    network.run()
    #expect(peers[1].take() == ["B < A: stream song"])
    #expect(peers[1].host.program.text("song") == "la la la")
    try peers[0].write("!", to: stream)
    peers[0].engine.closeStream(stream, at: network.now)
    network.run()
    #expect(peers[1].host.program.text("song") == "la la la!")
    #expect(peers[1].take() == ["stream song ended: none"])
    #expect(peers[0].take() == ["stream song ended: none"])
    #expect(throws: EngineError.self) { try peers[0].write("more", to: stream) }
  }

  @Test("P-STR-1 A stream without a byte begins and ends")
  func empty() throws {
    let peers = try network.gather("a", "b")
    peers[0].engine.closeStream(try peers[0].open("", to: peers[1]), at: network.now)
    network.run()
    #expect(peers[1].take() == ["B < A: stream ", "stream  ended: none"])
    #expect(peers[0].take() == ["stream  ended: none"])
  }

  @Test("P-STR-1 Its reader closes a stream, and the writer is told")
  func closedByReader() throws {
    let peers = try network.gather("a", "b")
    let stream = try peers[0].open("talk", to: peers[1])
    network.run()
    peers[1].engine.closeStream(try #require(peers[1].host.program.stream("talk")), at: network.now)
    network.run()
    #expect(peers[0].take() == ["stream talk ended: cancelled"])
    #expect(peers[1].take() == ["B < A: stream talk", "stream talk ended: cancelled"])
    #expect(throws: EngineError.self) { try peers[0].write("x", to: stream) }
  }

  @Test("A stream that is cancelled ends with its reason on both sides", arguments: [0, 1])
  func cancelled(side: Int) throws {
    let peers = try network.gather("a", "b")
    let stream = try peers[0].open("talk", to: peers[1])
    try peers[0].write("half of", to: stream)
    network.run()
    let id = side == 0 ? stream : try #require(peers[1].host.program.stream("talk"))
    peers[side].engine.cancelStream(id, .busy, at: network.now)
    network.run()
    #expect(peers[0].take() == ["stream talk ended: busy"])
    #expect(peers[1].take().last == "stream talk ended: busy")
  }

  @Test("P-STR-2 A slow reader slows its own writer and nobody else, and what waits is bounded")
  func slowReader() throws {
    let peers = try network.gather("a", "b", "c")
    peers[1].host.program.isReading = false
    let slow = try peers[0].open("slow", to: peers[1])
    let fast = try peers[0].open("fast", to: peers[2])
    let piece = String(repeating: "x", count: 10_000)
    var written = 0
    for _ in 0..<200 {
      do {
        try peers[0].write(piece, to: slow)
        written += 1
      } catch { #expect(error is EngineError) }
      try peers[0].write(piece, to: fast)
      network.run()
    }
    let settings = Settings()
    #expect(peers[1].host.program.text("slow").utf8.count == settings.streamWindowBytes)
    #expect(written * 10_000 < settings.streamBacklogBytes + 10_000)
    #expect(peers[2].host.program.text("fast").utf8.count == 2_000_000)
    #expect(!peers[0].take().contains("stream writable"))
    peers[1].engine.consumed(200_000, of: try #require(peers[1].host.program.stream("slow")), at: network.now)
    network.run()
    #expect(peers[0].take() == ["stream writable"])
    #expect(peers[1].host.program.text("slow").utf8.count == written * 10_000)
  }

  @Test("A writer that may have little waiting and a reader with a large window do not wait for each other")
  func unlikeSettings() throws {
    var (small, large) = (Settings(), Settings())
    small.streamBacklogBytes = 1_000
    large.streamWindowBytes = 4 << 20
    let peers = [
      try network.testPeer("a", SessionSettings(), small), try network.testPeer("b", SessionSettings(), large),
    ]
    try network.connect(peers[0], peers[1])
    let stream = try peers[0].open("long", to: peers[1])
    let piece = String(repeating: "x", count: 10_000)
    for _ in 0..<100 {
      do { try peers[0].write(piece, to: stream) } catch {
        network.run()
        try peers[0].write(piece, to: stream)
      }
    }
    network.run()
    #expect(peers[1].host.program.text("long").utf8.count == 1_000_000)
  }

  @Test("P-STR-3 Many streams at once, each way, beside messages: each in order")
  func many() throws {
    let peers = try network.gather("a", "b")
    var streams: [(TestPeer, StreamID)] = []
    for number in 0..<40 {
      let from = peers[number % 2]
      streams.append((from, try from.open("s\(number)", to: peers[1 - number % 2])))
    }
    for round in 0..<50 {
      for (peer, stream) in streams { try peer.write("\(round) ", to: stream) }
      try peers[0].say("\(round)")
      network.run()
    }
    let all = (0..<50).map { "\($0) " }.joined()
    for number in 0..<40 { #expect(peers[1 - number % 2].host.program.text("s\(number)") == all) }
    #expect(peers[1].heard.count == 50)
  }

  @Test("A cut link pauses a stream; its bytes come once and in order", arguments: [1, 7])
  func cuts(milliseconds: Int) throws {
    network.latency = .milliseconds(milliseconds)
    network.windowBytes = 3_000
    let peers = try network.gather("a", "b")
    let stream = try peers[0].open("long", to: peers[1])
    var text = ""
    for round in 0..<40 {
      let piece = "\(round)" + String(repeating: "-", count: round * 97 % 2_000)
      try peers[0].write(piece, to: stream)
      text += piece
      network.run(.milliseconds(round % 5 * milliseconds))
      network.cut(peers[0].host, peers[1].host)
      network.run(.milliseconds(round * 13 % 40))
    }
    peers[0].engine.closeStream(stream, at: network.now)
    network.run(.seconds(10))
    #expect(peers[1].host.program.text("long") == text)
    #expect(peers[0].takeFlows() == ["stream long ended: none"])
    #expect(peers[1].takeFlows() == ["B < A: stream long", "stream long ended: none"])
  }

  @Test("A stream ends with its pair, on both sides")
  func pairLost() throws {
    let peers = try network.gather("a", "b")
    let stream = try peers[0].open("talk", to: peers[1])
    try peers[0].write("hello", to: stream)
    network.run()
    network.walls.insert(["a", "b"])
    network.run(.seconds(10))
    #expect(peers[0].takeFlows() == ["stream talk ended: lost"])
    #expect(peers[1].takeFlows() == ["B < A: stream talk", "stream talk ended: lost"])
  }

  @Test("A leave ends the peer's streams")
  func left() throws {
    let peers = try network.gather("a", "b")
    _ = try peers[0].open("there", to: peers[1])
    _ = try peers[1].open("back", to: peers[0])
    network.run()
    network.clear()
    peers[0].leave()
    network.run()
    #expect(peers[0].takeFlows() == ["stream there ended: left", "stream back ended: left"])
    #expect(peers[1].takeFlows() == ["stream back ended: left", "stream there ended: left"])
  }

  @Test("Local peers stream to each other")
  func local() throws {
    let host = try network.host("h")
    let peers = [try network.testPeer("a", on: host), try network.testPeer("b", on: host)]
    try network.connect(peers[0], peers[1])
    let stream = try peers[0].open("near", to: peers[1])
    for _ in 0..<100 {
      try peers[0].write(String(repeating: "y", count: 9_999), to: stream)
      network.run()
    }
    peers[0].engine.closeStream(stream, at: network.now)
    network.run()
    #expect(host.lines.suffix(2) == ["stream near ended: none", "stream near ended: none"])
    #expect(host.program.streams.values.map(\.bytes.count).sorted() == [0, 999_900])
  }

  @Test("A writer that is restarted has no stream any more, and its reader is told", arguments: [0, 1])
  func restarted(side: Int) throws {
    var settings = Settings()
    settings.isDurable = true
    let peers = try network.gather("a", "b", settings: settings)
    let stream = try peers[0].open("talk", to: peers[1])
    try peers[0].write("hello", to: stream)
    network.run()
    network.clear()
    let again = try network.restart(peers[side])
    network.run(.seconds(2))
    #expect(peers[1 - side].takeFlows() == ["stream talk ended: lost"])
    #expect(again.takeFlows() == [])
    #expect(again.connected == peers[1 - side].name)
  }

  @Test("A stream needs a connected member, a short name, and room")
  func refusals() throws {
    var session = SessionSettings()
    session.streamsMax = 2
    let peers = try network.gather("a", "b", session: session)
    let other = try network.testPeer("c")
    #expect(throws: EngineError.self) { try peers[0].open("x", to: other) }
    #expect(throws: EngineError.self) { try peers[0].open(String(repeating: "n", count: 256), to: peers[1]) }
    let first = try peers[0].open("1", to: peers[1])
    _ = try peers[0].open("2", to: peers[1])
    #expect(throws: EngineError.self) { try peers[0].open("3", to: peers[1]) }
    peers[0].engine.cancelStream(first, .cancelled, at: network.now)
    _ = try peers[0].open("3", to: peers[1])
    #expect(throws: EngineError.self) { try peers[0].engine.write(pattern(1 << 20 + 1), to: first, at: network.now) }
  }
}
