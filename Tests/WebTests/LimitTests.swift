import Glibc
import Testing
import Web

/// Limits on what a client may do for long, or often.
@Suite(.serialized) struct LimitTests {
  @Test(arguments: ["", "G", "GET / HTTP/1.1\r\nHost: he", "\u{16}\u{3}\u{1}"])
  func `who does not finish a head has to go`(_ beginning: String) throws {
    var limits = WebLimits()
    limits.headTime = .milliseconds(200)
    let rig = try WebRig(limits)
    let client = try rig.connect()
    try client.send(beginning)
    #expect(try client.isAtEnd())
    #expect(try rig.connectionCount == 0)
  }

  @Test func `as many connections are taken as there are descriptors for, and the others are counted`() throws {
    var limits = WebLimits()
    limits.descriptorsMax = 10
    let rig = try WebRig(limits)
    var sockets = try (0..<10).map { _ in try SocketClient(rig) }
    let refused = try rig.connect()
    #expect(try refused.isAtEnd())
    #expect(try rig.meter { $0.refusedConnections } == [.descriptors: 1])
    sockets.removeLast()
    let deadline = time(nil) + 10
    while try rig.connectionCount == 10, time(nil) < deadline {}
    let next = try SocketClient(rig)
    try next.send("hello")
    #expect(try next.receive() == .text("hello"))
  }

  @Test func `who keeps a connection and asks for nothing has to go`() throws {
    var limits = WebLimits()
    limits.idleTime = .seconds(1)
    let rig = try WebRig(limits)
    let client = try rig.connect()
    try client.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    _ = try client.answer()
    try client.send("GET / HT")
    #expect(try client.isAtEnd())
  }

  @Test(arguments: [
    ("GET / HTTP/1.1\r\nHost: here\r\n\r\n", 0), ("GET / HTTP/1.1\r\nHost: here\r\n\r\nGET / HT", 0),
    ("POST /upload HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\na", 1),
  ])
  func `who leaves with its last words is let go of soon`(_ words: String, _ gone: Int) throws {
    let rig = try WebRig()
    let client = try rig.connect()
    try rig.onHandler { _ in
      // The server sees both at once: this is its thread.
      try? client.send(words)
      client.endSending()
    }
    let start = ContinuousClock.now
    while try !client.isAtEnd() {}
    #expect(ContinuousClock.now - start < .seconds(5))
    #expect(try rig.eventually { $0.gone == gone })
    #expect(try rig.connectionCount == 0)
  }

  @Test func `who sends a body drop by drop has to go, but not one who is held back`() throws {
    var limits = WebLimits()
    limits.slowTime = .seconds(1)
    let rig = try WebRig(limits)
    let held = try rig.connect()
    try held.send("POST /slow HTTP/1.1\r\nHost: here\r\nContent-Length: 3\r\n\r\nabc")
    let client = try rig.connect()
    try client.send("POST /upload HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\na")
    #expect(try client.isAtEnd())
    #expect(try rig.eventually { $0.gone == 1 })
    try rig.onHandler { handler in
      guard let sink = handler.sinks.first(where: { $0.appetite == 0 }) else { return }
      sink.appetite = .max
      sink.exchange?.resume()
    }
    #expect(try held.answer().text == "3\n")
  }

  @Test func `a live body may be silent for as long as it likes, until it is answered`() throws {
    var limits = WebLimits()
    limits.slowTime = .seconds(1)
    limits.idleTime = .seconds(1)
    let rig = try WebRig(limits)
    let chatty = try rig.connect()
    let left = try rig.connect()
    for client in [chatty, left] {
      try client.send("PUT /live HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
    }
    // Others that are as silent have to go, one after the other.
    for gone in 1...3 {
      let other = try rig.connect()
      try other.send("POST /upload HTTP/1.1\r\nHost: here\r\nContent-Length: 1000\r\n\r\na")
      #expect(try other.isAtEnd())
      #expect(try rig.eventually { $0.gone == gone })
    }
    try rig.onHandler { $0.sinks[1].exchange?.respond(Response(204)) }
    #expect(try left.isAtEnd())
    try chatty.send("1\r\nb\r\n0\r\n\r\n")
    #expect(try chatty.answer().text == "2\n")
    // The idle timeout of the connection is the usual one again.
    #expect(try chatty.isAtEnd())
  }

  @Test func `a client has so many connections and no more`() throws {
    var limits = WebLimits()
    limits.connectionsPerClientMax = 3
    let rig = try WebRig(limits)
    var clients = try (0..<3).map { _ in try rig.connect() }
    for client in clients {
      try client.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
      #expect(try client.answer().status == 200)
    }
    #expect(try rig.connect().isAtEnd())
    clients.removeLast()
    let deadline = time(nil) + 10
    while try rig.connectionCount == 3, time(nil) < deadline {}
    #expect(try rig.ask("GET / HTTP/1.1\r\nHost: here\r\n\r\n").status == 200)
  }

  @Test func `who has as many as it may, and some that say nothing, gets one more for the oldest of these`() throws {
    var limits = WebLimits()
    limits.connectionsPerClientMax = 3
    let rig = try WebRig(limits)
    let talking = try rig.connect()
    try talking.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(try talking.answer().status == 200)
    let silent = try (0..<2).map { _ in try rig.connect() }
    #expect(try rig.ask("GET / HTTP/1.1\r\nHost: here\r\n\r\n").status == 200)
    #expect(try silent[0].isAtEnd())
    for client in [talking, silent[1]] {
      try client.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
      #expect(try client.answer().status == 200)
    }
  }

  @Test func `of those that say nothing, the one that waited longest makes room`() throws {
    var limits = WebLimits()
    limits.undecidedMax = 4
    let rig = try WebRig(limits)
    let clients = try (0..<5).map { _ in try rig.connect() }
    #expect(try clients[0].isAtEnd())
    for client in clients.dropFirst() {
      try client.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
      #expect(try client.answer().status == 200)
    }
  }

  @Test(arguments: [true, false])
  func `answers that nobody takes have a limit together, past which only small ones are given`(_ isOfOne: Bool) throws {
    var limits = WebLimits()
    if isOfOne { limits.answersPerClientBytesMax = 8 << 20 } else { limits.answersBytesMax = 8 << 20 }
    limits.answerShareBytesMax = 64 << 10
    let rig = try WebRig(limits, sendBuffer: 4_096)
    let large = "GET /large?bytes=3000000 HTTP/1.1\r\nHost: here\r\n\r\n"
    var deaf = try (0..<2).map { _ in try Client(rig.port, receiveBuffer: 4_096) }
    for client in deaf { try client.send(large) }
    #expect(try rig.eventually { $0.begun == 2 })
    let refused = try rig.ask(large)
    #expect(refused.status == 503 && refused["retry-after"] == "1", "\(refused.text)")
    #expect(try rig.ask("GET /large?bytes=60000 HTTP/1.1\r\nHost: here\r\n\r\n").body.count == 60_000)
    // And there is room again when one of those has left, or has read all.
    #expect(try deaf[0].answer().body.count == 3_000_000)
    let next = try Client(rig.port, receiveBuffer: 4_096)
    try next.send(large)
    #expect(try next.answer().body.count == 3_000_000)
    deaf.removeAll()
    let deadline = time(nil) + 10
    while try rig.connectionCount > 1, time(nil) < deadline {}
    for _ in 0..<3 { #expect(try rig.ask(large).body.count == 3_000_000) }
  }

  @Test func `all queues together have a limit, past which each has its share and no more`() throws {
    var limits = WebLimits()
    limits.socketQueuesBytesMax = 8 << 20
    limits.socketShareBytesMax = 64 << 10
    let rig = try WebRig(limits, sendBuffer: 4_096)
    var deaf = try (0..<8).map { _ in try SocketClient(rig, "/ws/quiet", receiveBuffer: 4_096) }
    #expect(try rig.eventually { $0.sockets.count { $0.socket != nil } == 8 })
    let large = [UInt8](repeating: 7, count: 1 << 20)
    let taken = try rig.onHandler { handler in
      handler.sockets.map { talker in
        (0..<4).count { _ in large.withUnsafeBytes { talker.socket?.send($0) == true } }
      }
    }
    #expect((7...9).contains(taken.reduce(0, +)), "\(taken)")
    // Small messages still reach a client whose queue is short.
    let small = try SocketClient(rig, "/ws/greet")
    #expect(try small.receive() == .text("hello"))
    // There is room again once the slow readers leave.
    deaf.removeAll()
    #expect(try rig.eventually { $0.sockets.count { $0.socket != nil } == 1 })
    #expect(try rig.onHandler { handler in large.withUnsafeBytes { handler.sockets.last?.socket?.send($0) == true } })
  }

  @Test func `one that reads slowly is alive, though a ping lies behind what it has to read`() throws {
    var limits = WebLimits()
    limits.pingInterval = .milliseconds(600)
    let rig = try WebRig(limits, sendBuffer: 4_096)
    let living = try SocketClient(rig)
    let slow = try SocketClient(rig, "/ws/pieces", receiveBuffer: 4_096)
    let dead = try SocketClient(rig, "/ws/pieces", receiveBuffer: 4_096)
    #expect(try rig.eventually { $0.sockets.count { $0.socket != nil } == 3 })
    let bytes = [UInt8](repeating: 7, count: 2 << 20)
    try rig.onHandler { handler in
      for talker in handler.sockets.dropFirst() { _ = bytes.withUnsafeBytes { talker.socket?.send($0) } }
    }
    for _ in 0..<8 {
      #expect(try living.receive()?.opcode == 9)
      try living.send(10)
      _ = try slow.client.receiveExactly(200_000)
    }
    #expect(try rig.onHandler { $0.sockets.map(\.codes) } == [[], [], [1006]])
    _ = dead
  }

  @Test func `a connection serves so many requests`() throws {
    var limits = WebLimits()
    limits.requestsPerConnectionMax = 2
    let rig = try WebRig(limits)
    let client = try rig.connect()
    for _ in 0..<2 {
      try client.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
      #expect(try client.answer().status == 200)
    }
    #expect(try client.isAtEnd())
  }

  @Test func `a WebSocket that gives no sign of life is dead, and one that does is not`() throws {
    var limits = WebLimits()
    limits.pingInterval = .milliseconds(600)
    let rig = try WebRig(limits)
    let living = try SocketClient(rig)
    let dead = try SocketClient(rig)
    var pings = 0
    while try rig.onHandler({ $0.sockets[1].codes.isEmpty }) {
      guard try living.receive()?.opcode == 9 else { break }
      pings += 1
      try living.send(10)
      if pings <= 2 { #expect(try dead.receive() == .init(opcode: 9)) }
    }
    #expect(try dead.isAtEnd())
    #expect(pings >= 2)
    #expect(try rig.onHandler { $0.sockets.map(\.codes) } == [[], [1006]])
  }
}
