import Testing
import Wire

@testable import Engine

@Suite struct PressureTests {
  let network = TestNetwork()

  @Test("A full queue refuses a message as unavailable to all, and tells when it is writable")
  func full() throws {
    var settings = Settings()
    settings.backlogBytesMax = 10_000
    let peers = try network.gather("a", "b", "c", settings: settings)
    network.windowBytes = 1
    peers[1].host.isStalled = true
    let text = String(repeating: "x", count: 3_000)
    var sent = 0
    let error = #expect(throws: EngineError.self) {
      while true {
        try peers[0].say(text)
        sent += 1
      }
    }
    #expect(error?.code == .unavailable)
    #expect(sent == 3)
    network.run(.seconds(1))
    #expect(peers[2].heard.count == sent)
    try peers[0].say(text, to: [peers[2]])
    #expect(peers[0].take() == [])
    peers[1].host.isStalled = false
    network.run(.seconds(1))
    #expect(peers[0].take() == ["A writable"])
    try peers[0].say(text)
    network.run(.seconds(1))
    #expect(peers[1].heard.count == 4)
    #expect(peers[2].heard.count == 5)
    #expect(peers[0].take() == [])
  }

  @Test("A sender to a slow program waits for it, and others do not")
  func programIsBehind() throws {
    var settings = Settings()
    settings.backlogBytesMax = 10_000
    let peers = try network.gather("a", "b", "c", settings: settings)
    network.run(.seconds(1))
    let text = String(repeating: "x", count: 3_000)
    peers[1].engine.setBehind(peers[1].endpoint, true, at: network.now)
    for _ in 0..<3 { try peers[0].say(text, to: [peers[1]]) }
    network.run(.seconds(2))
    #expect(peers[1].heard.count == 3)
    #expect(throws: EngineError.self) { try peers[0].say(text, to: [peers[1]]) }
    for _ in 0..<9 {
      try peers[0].say(text, to: [peers[2]])
      network.run(.seconds(1))
    }
    #expect(peers[0].take() == [])
    peers[1].engine.setBehind(peers[1].endpoint, false, at: network.now)
    network.run(.seconds(1))
    #expect(peers[0].take() == ["A writable"])
    try peers[0].say(text)
    network.run(.seconds(1))
    #expect(peers[1].heard.count == 4)
    #expect(peers[2].heard.count == 10)
  }

  @Test("A message larger than the queue is taken when the queue is empty")
  func largerThanQueue() throws {
    var settings = Settings()
    settings.backlogBytesMax = 1_000
    let peers = try network.gather("a", "b", settings: settings)
    network.run(.seconds(1))
    try peers[0].say(String(repeating: "x", count: 5_000))
    #expect(throws: EngineError.self) { try peers[0].say("x") }
    network.run(.seconds(1))
    #expect(peers[1].heard.count == 1)
    #expect(peers[0].take() == ["A writable"])
  }

  @Test("A queue is bounded by count too")
  func fullByCount() throws {
    var settings = Settings()
    settings.backlogCountMax = 5
    let peers = try network.gather("a", "b", settings: settings)
    network.run(.seconds(1))
    peers[1].host.isStalled = true
    for _ in 0..<5 { try peers[0].say("x") }
    #expect(throws: EngineError.self) { try peers[0].say("x") }
  }

  /// Keeps its link alive and never takes a record: records to it are held back before it is read.
  @Test("A host that acknowledges nothing is cut as slow, and the others do not notice")
  func slow() throws {
    let peers = try network.gather("a", "b", "c")
    network.filter = { frame, from, to in !(from.name == "b" && to.name == "a" && frame == .ack) }
    try peers[0].say("x", receipt: true)
    for _ in 0..<20 {
      network.run(.seconds(1))
      try peers[0].say("y", to: [peers[2]])
    }
    network.run(.seconds(1))
    let told = peers[0].take()
    #expect(told.contains("A: B notConnected slow"))
    #expect(told.contains("unknown to B"))
    #expect(told.contains("delivered to C"))
    #expect(peers[2].heard.count == 21)
    #expect(peers[2].take().allSatisfy { $0.hasPrefix("C < A") })
  }

  @Test("A link that is closed within a record finishes it before its goodbye, which would be read as part of it")
  func closedWithinRecord() throws {
    let peers = try network.gather("a", "b")
    let pipe = try #require(network.pipes.first)
    try peers[0].say(String(repeating: "x", count: 5_000))
    var said = network.filled(by: peers[0].engine, for: pipe.id)
    #expect(said.count == 1_000)
    let garbage: [UInt8] = [1, 0xFF]
    peers[0].engine.received(garbage.span.bytes, on: pipe.id, at: network.now)
    for _ in 0..<10 { said += network.filled(by: peers[0].engine, for: pipe.id) }
    let record = try #require(try FrameHead.next(in: said.span.bytes))
    let goodbye = try #require(try FrameHead.next(in: Array(said[record.end...]).span.bytes))
    #expect(record.type == .message)
    #expect(goodbye.type == .bye)
    #expect(record.end + goodbye.end == said.count)
    network.run(.seconds(5))
    #expect(peers[1].heard.count == 1)
    network.expectAllConnected(peers)
  }

  @Test("A sender that waits for a host that is lost may send again")
  func lostWhileFull() throws {
    var settings = Settings()
    settings.backlogCountMax = 5
    let peers = try network.gather("a", "b", "c", settings: settings)
    network.run(.seconds(1))
    network.powerOff(peers[1].host)
    for _ in 0..<5 { try peers[0].say("x") }
    #expect(throws: EngineError.self) { try peers[0].say("x") }
    network.run(.seconds(6))
    #expect(peers[0].take().last == "A writable")
    try peers[0].say("y")
    network.run()
    #expect(peers[2].heard.count == 6)
  }

  @Test("A host that reads nothing at all is told lost, and the others do not notice")
  func hanging() throws {
    let peers = try network.gather("a", "b", "c")
    peers[1].host.isStalled = true
    network.walls.insert(["a", "b"])
    network.walls.insert(["c", "b"])
    network.run(.seconds(6))
    #expect(peers[0].take() == ["A: B suspended", "A: B notConnected lost"])
    #expect(peers[0].connected == "C")
  }
}
