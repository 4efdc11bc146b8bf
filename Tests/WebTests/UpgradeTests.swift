import Media
import Testing

@testable import Web

/// A WebSocket on a connection that has carried requests, as proxies and clients that keep connections ask for one.
@Suite(.serialized) struct UpgradeTests {
  enum Wire: CaseIterable { case plain, secure }

  private let authority = LocalAuthority.make(named: "a box's own authority", for: ["localhost"], [])
  private let rig: WebRig

  init() throws {
    let issued = try #require(authority.issue(for: ["localhost"], []))
    rig = try WebRig(identity: ServerIdentity(certificates: issued.certificates, key: issued.key))
  }

  private func call(_ wire: Wire) throws -> Client {
    switch wire {
    case .plain: try Client(rig.port)
    case .secure: try SecureClient(rig.port, host: "localhost", authority: authority.certificate)
    }
  }

  private static let get = "GET / HTTP/1.1\r\nHost: here\r\n\r\n"

  enum Before: CaseIterable {
    case get, notFound, withBody, chunked, long, live

    var request: [UInt8] {
      switch self {
      case .get: Array(UpgradeTests.get.utf8)
      case .notFound: Array("GET /nowhere HTTP/1.1\r\nHost: here\r\n\r\n".utf8)
      case .withBody: Array("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\nhello".utf8)
      case .chunked:
        Array("POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n".utf8)
      case .long:
        Array("POST /copy HTTP/1.1\r\nHost: here\r\nContent-Length: \(3 << 20)\r\n\r\n".utf8)
          + [UInt8](repeating: 65, count: 3 << 20)
      case .live: Array("GET /chunks HTTP/1.1\r\nHost: here\r\n\r\n".utf8)
      }
    }
  }

  @Test(arguments: Wire.allCases, Before.allCases)
  func `a WebSocket begins on a connection that has carried a request`(_ wire: Wire, _ before: Before) throws {
    try talk(try call(wire), before)
    #expect(try rig.eventually { $0.sockets.last?.codes == [1000] })
    #expect(try rig.isEventuallyEmpty)
  }

  private func talk(_ client: Client, _ before: Before) throws {
    for _ in 0..<3 {
      try client.send(before.request)
      _ = try client.answer()
    }
    let socket = try SocketClient(rig, headers: "Sec-WebSocket-Protocol: a, b\r\n", through: client)
    #expect(socket.answer["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    #expect(socket.answer["sec-websocket-protocol"] == "a" && socket.answer["upgrade"] == "websocket")
    for text in ["one", "two", String(repeating: "three", count: 20_000)] {
      try socket.send(text)
      #expect(try socket.receive() == .text(text))
    }
    try socket.send(8, [3, 232])
    #expect(try socket.receive() == .close(1000))
    #expect(try socket.isAtEnd())
  }

  @Test(arguments: Wire.allCases)
  func `requests and a WebSocket with its first messages come in one packet`(_ wire: Wire) throws {
    let client = try call(wire)
    let count = 1_000
    let messages = (0..<count).flatMap { SocketClient.bytes(1, Array("message \($0)".utf8)) }
    try client.send(Array((Self.get + Self.get + SocketClient.request("/ws/echo")).utf8) + messages)
    for _ in 0..<2 { #expect(try client.answer().status == 200) }
    #expect(try client.answer().status == 101)
    let socket = SocketClient(open: client)
    let received = try (0..<count).map { _ in try socket.receive() }
    #expect(received == (0..<count).map { .text("message \($0)") })
  }

  @Test(arguments: Wire.allCases)
  func `a head that comes byte by byte behind a request begins a WebSocket`(_ wire: Wire) throws {
    let client = try call(wire)
    try client.send(Self.get)
    _ = try client.answer()
    for byte in SocketClient.request("/ws/greet").utf8 { try client.send([byte]) }
    #expect(try client.answer().status == 101)
    #expect(try SocketClient(open: client).receive() == .text("hello"))
  }

  @Test(arguments: Wire.allCases) func `fifty begin and end one after the other`(_ wire: Wire) throws {
    for number in 0..<50 {
      let client = try call(wire)
      try client.send(Self.get)
      _ = try client.answer()
      let socket = try SocketClient(rig, "/ws/echo", through: client)
      try socket.send("\(number)")
      #expect(try socket.receive() == .text("\(number)"))
    }
    #expect(try rig.eventually { $0.sockets.count == 50 && $0.sockets.allSatisfy { $0.codes == [1006] } })
    #expect(try rig.isEventuallyEmpty)
  }

  @Test(arguments: Wire.allCases) func `a server sends much to one, and a stream of pieces comes whole`(_ wire: Wire)
    throws
  {
    let client = try call(wire)
    try client.send(Self.get)
    _ = try client.answer()
    let socket = try SocketClient(rig, "/ws/gather", through: client)
    let content = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) }
    try socket.send(2, content)
    #expect(try socket.receive()?.payload == content)
  }

  @Test(arguments: Wire.allCases) func `with HTTP 1.0 none begins`(_ wire: Wire) throws {
    let client = try call(wire)
    try client.send(SocketClient.request("/ws").replacing("HTTP/1.1", with: "HTTP/1.0"))
    #expect(try client.answer().status == 400)
    #expect(try client.isAtEnd())
    #expect(try rig.onHandler { $0.sockets.isEmpty })
  }
}
