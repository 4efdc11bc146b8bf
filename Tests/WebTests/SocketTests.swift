import Testing
import Web

/// The operations that the owner of a WebSocket has.
@Suite(.serialized) struct SocketTests {
  private let rig: WebRig

  init() throws { rig = try WebRig() }

  @Test func `what is said while it opens comes behind the handshake`() throws {
    let socket = try SocketClient(rig, "/ws/greet")
    #expect(try socket.receive() == .text("hello"))
  }

  @Test func `it closes with a code and a reason behind what it has said`() throws {
    let socket = try SocketClient(rig, "/ws/bye")
    #expect(try socket.receive() == .text("first"))
    let goodbye = try socket.receive()
    #expect(goodbye == .close(4_001, "bye"))
    try socket.send(8, [15, 161])
    #expect(try socket.isAtEnd())
    #expect(try rig.eventually { $0.sockets.last?.codes == [4_001] })
  }

  @Test func `of many pings at once the latest are answered, in their order`() throws {
    let socket = try SocketClient(rig)
    for round in 0..<3 {
      try socket.client.send((0..<200).flatMap { SocketClient.bytes(9, [UInt8($0), UInt8(round)]) })
      var last: UInt8?
      while last != 199 {
        let frame = try #require(try socket.receive())
        #expect(frame.opcode == 10 && frame.payload.count == 2 && frame.payload[1] == UInt8(round))
        #expect(last.map { $0 < frame.payload[0] } ?? true)
        last = frame.payload[0]
      }
    }
    try socket.send("and on")
    #expect(try socket.receive() == .text("and on"))
  }

  @Test func `it closes when it is asked to`() throws {
    let socket = try SocketClient(rig, "/ws/leave")
    try socket.send("go")
    let goodbye = try socket.receive()
    #expect(goodbye == .close(4_003, "asked"))
  }

  @Test func `a client that leaves without a word is told as such`() throws {
    var socket: SocketClient? = try SocketClient(rig, "/ws/greet")
    _ = try socket?.receive()
    socket = nil
    #expect(try rig.eventually { $0.sockets.last?.codes == [1006] })
    #expect(try rig.connectionCount == 0)
  }

  @Test func `one that is not read holds its client back, and goes on`() throws {
    let socket = try SocketClient(rig, "/ws/hold")
    #expect(try rig.eventually { $0.sockets.last?.socket != nil })
    let payload = [UInt8](repeating: 7, count: 60_000)
    for _ in 0..<4 { try socket.send(2, payload) }
    #expect(try rig.onHandler { $0.sockets.last?.received ?? 0 } <= 16 << 10)
    try rig.onHandler { $0.sockets.last?.socket?.isReading = true }
    #expect(try rig.eventually { $0.sockets.last?.received == 240_000 })
  }

  @Test func `a stream of pieces has no limit`() throws {
    let socket = try SocketClient(rig, "/ws/pieces")
    let payload = [UInt8](repeating: 7, count: 3 << 20)
    try socket.send(2, payload)
    #expect(try rig.eventually { $0.sockets.last?.received == 3 << 20 })
    #expect(try rig.onHandler { $0.sockets.last?.pieces ?? 0 } > 10)
  }

  @Test func `a queue that is full takes no more, and says when it does`() throws {
    let socket = try SocketClient(rig, "/ws/quiet", receiveBuffer: 4_096)
    #expect(try rig.eventually { $0.sockets.last?.socket != nil })
    let payload = [UInt8](repeating: 7, count: 1 << 20)
    let taken = try rig.onHandler { handler in
      (0..<32).count { _ in payload.withUnsafeBytes { handler.sockets.last?.socket?.send($0) == true } }
    }
    #expect((1..<32).contains(taken))
    for _ in 0..<taken { #expect(try socket.receive()?.payload.count == 1 << 20) }
    #expect(try rig.eventually { $0.sockets.last?.wasWritable == 1 })
  }
}
