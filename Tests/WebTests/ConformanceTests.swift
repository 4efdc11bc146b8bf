import Media
import Testing
import Web

/// RFC 6455, case by case: what a client may say, what comes back, and how it ends otherwise.
@Suite(.serialized) struct ConformanceTests {
  private let rig: WebRig

  /// Made once: it is the same for all.
  private static let authority = LocalAuthority.make(named: "of the tests", for: ["localhost"], [])

  init() throws {
    let issued = try #require(Self.authority.issue(for: ["localhost"], []))
    rig = try WebRig(identity: try ServerIdentity(certificates: issued.certificates, key: issued.key))
  }

  typealias Frame = SocketClient.Frame

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let bytes: [UInt8]
    let frames: [Frame]
    /// The code with which the server closes, or answers a close; nil where it goes on.
    let code: UInt16?

    init(_ name: String, _ parts: [[UInt8]], _ frames: [Frame], code: UInt16? = nil) {
      (testDescription, bytes, self.frames, self.code) = (name, parts.flatMap { $0 }, frames, code)
    }
  }

  private static func said(_ opcode: UInt8, _ payload: [UInt8] = [], isLast: Bool = true) -> [UInt8] {
    SocketClient.bytes(opcode, payload, isLast: isLast)
  }

  private static func text(_ text: String, opcode: UInt8 = 1, isLast: Bool = true) -> [UInt8] {
    said(opcode, Array(text.utf8), isLast: isLast)
  }

  private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

  static let framing: [Case] = [0, 1, 125, 126, 127, 128, 65_535, 65_536, 300_000].flatMap { count in
    [
      Case("binary of \(count)", [said(2, zeros(count))], [Frame(opcode: 2, payload: zeros(count))]),
      Case(
        "text of \(count)", [text(String(repeating: "*", count: count))], [.text(String(repeating: "*", count: count))]),
    ]
  }

  static let pings: [Case] = [
    Case("an empty ping", [said(9)], [.pong([])]),
    Case("a ping with bytes", [said(9, [0, 255, 254])], [.pong([0, 255, 254])]),
    Case("a ping of 125", [said(9, zeros(125))], [.pong(zeros(125))]),
    Case("a ping of 126", [said(9, zeros(126))], [], code: 1002),
    Case("a pong nobody asked for", [said(10, [1]), text("on")], [.text("on")]),
    Case("a ping in parts", [said(9, [1], isLast: false)], [], code: 1002),
    // A pong may wait for the message that is under way.
    Case(
      "a ping within a message", [text("a", isLast: false), said(9, [7]), text("b", opcode: 0)],
      [.text("ab"), .pong([7])]),
  ]

  static let fragments: [Case] = [
    Case("two parts", [text("ab", isLast: false), text("cd", opcode: 0)], [.text("abcd")]),
    Case(
      "empty parts", [text("", isLast: false), text("", opcode: 0, isLast: false), text("", opcode: 0)], [.text("")]),
    Case("an empty last part", [text("a", isLast: false), text("", opcode: 0)], [.text("a")]),
    Case(
      "many parts",
      [text("a", isLast: false)] + [[UInt8]](repeating: text("b", opcode: 0, isLast: false), count: 500) + [
        text("c", opcode: 0)
      ], [.text("a" + String(repeating: "b", count: 500) + "c")]),
    Case("nothing to continue", [text("a", opcode: 0)], [], code: 1002),
    Case("nothing to continue, parted", [text("a", opcode: 0, isLast: false)], [], code: 1002),
    Case("a message within another", [text("a", isLast: false), text("b")], [], code: 1002),
    Case(
      "continued twice", [text("a", isLast: false), text("b", opcode: 0), text("c", opcode: 0)], [.text("ab")],
      code: 1002),
  ]

  static let violations: [Case] =
    [1, 2, 4, 7].map { bits in
      Case("reserved bits \(bits)", [SocketClient.bytes(1, [1], reserved: bits)], [], code: 1002)
    }
    + [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map { opcode in
      Case("opcode \(opcode)", [text("before"), said(opcode, [1])], [.text("before")], code: 1002)
    } + [
      Case("no mask", [SocketClient.bytes(1, [65], isMasked: false)], [], code: 1002),
      Case("no mask on an empty frame", [SocketClient.bytes(1, isMasked: false)], [], code: 1002),
      Case(
        "no mask on a ping", [text("before"), SocketClient.bytes(9, isMasked: false)], [.text("before")], code: 1002),
      Case("no mask on a close", [SocketClient.bytes(8, isMasked: false)], [], code: 1002),
      Case("a zero mask", [SocketClient.bytes(1, [65], mask: [0, 0, 0, 0])], [.text("A")]),
      Case("a length of 16 bits too many", [SocketClient.bytes(2, [1], length: [126, 0, 1])], [], code: 1002),
      Case(
        "a length of 64 bits too many", [SocketClient.bytes(2, [1], length: [127, 0, 0, 0, 0, 0, 0, 0, 1])], [],
        code: 1002),
      Case("a negative length", [SocketClient.bytes(2, [], length: [127, 128, 0, 0, 0, 0, 1, 0, 1])], [], code: 1002),
      Case("a message too large", [SocketClient.bytes(2, [], length: [127, 0, 0, 0, 0, 0, 16, 0, 1])], [], code: 1009),
      Case(
        "a gigantic message", [SocketClient.bytes(2, [], length: [127, 127, 255, 255, 255, 255, 255, 255, 255])], [],
        code: 1009),
      Case("parts too large together", [said(2, zeros(1 << 20), isLast: false), said(0, [1])], [], code: 1009),
    ]

  static let texts: [Case] =
    [
      Case("UTF-8", [text("κόσμε 😀")], [.text("κόσμε 😀")]),
      Case("a character in two parts", [said(1, [0xce], isLast: false), said(0, [0xba])], [.text("κ")]),
      Case(
        "the last character", [said(1, [0xf4, 0x8f, 0xbf, 0xbf])],
        [Frame(opcode: 1, payload: [0xf4, 0x8f, 0xbf, 0xbf])]),
      Case(
        "a ping within a character", [said(1, [0xce], isLast: false), said(9), said(0, [0xba])],
        [.text("κ"), .pong([])]),
    ]
    + [
      [0xff], [0x80], [0xc0, 0xaf], [0xe0, 0x80, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xce],
      [0x61, 0xf8, 0x88],
      [0xce, 0xba, 0xe1, 0xbd], [0xfe],
    ].map { bytes in Case("no UTF-8: \(bytes)", [said(1, bytes)], [], code: 1007) } + [
      Case("no UTF-8 over two parts", [said(1, [0xce], isLast: false), said(0, [0x41])], [], code: 1007),
      Case("bytes are no text", [said(2, [0xff, 0xc0])], [Frame(opcode: 2, payload: [0xff, 0xc0])]),
    ]

  static let closes: [Case] =
    [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999].map { code in
      let payload = [UInt8(code >> 8), UInt8(code & 0xff)]
      return Case("a close with \(code)", [said(8, payload)], [], code: UInt16(code))
    }
    + [0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65_535].map { code in
      let payload = [UInt8(code >> 8), UInt8(code & 0xff)]
      return Case("a close with \(code)", [said(8, payload)], [], code: 1002)
    } + [
      Case("a close with a reason", [said(8, [3, 232] + Array("bye".utf8))], [], code: 1000),
      Case(
        "a close with the longest reason", [said(8, [3, 232] + [UInt8](repeating: 97, count: 123))], [], code: 1000),
      Case("a close too long", [said(8, [3, 232] + [UInt8](repeating: 97, count: 124))], [], code: 1002),
      Case("a close of one byte", [said(8, [3])], [], code: 1002),
      Case("a parted close", [said(8, [3, 232], isLast: false)], [], code: 1002),
      Case("a close and more", [text("a"), said(8, [3, 232]), text("b"), said(9)], [.text("a")], code: 1000),
      Case("a close within a message", [text("a", isLast: false), said(8, [3, 232])], [], code: 1000),
      Case("a reason that is no UTF-8", [said(8, [3, 232, 0xff])], [], code: 1007),
    ]

  private func check(_ one: Case, inPieces size: Int, at path: String = "/ws/echo", isSecure: Bool = false) throws {
    let line =
      isSecure ? try SecureClient(rig.port, host: "localhost", authority: Self.authority.certificate) : nil
    let socket = try SocketClient(rig, path, through: line)
    for start in stride(from: 0, to: one.bytes.count, by: size) {
      // The rest cannot be sent once the server has closed the connection over an earlier frame.
      do { try socket.client.send(Array(one.bytes[start..<min(start + size, one.bytes.count)])) } catch { break }
    }
    let frames = try one.frames.map { _ in try socket.receive() }
    if one.frames.contains(where: { $0.opcode == 10 }) {
      #expect(one.frames.allSatisfy { frames.contains($0) })
    } else {
      #expect(frames == one.frames)
    }
    if let code = one.code {
      let frame = try socket.receive()
      #expect(frame?.code == code)
    } else {
      try socket.send(8, [3, 232])
      #expect(try socket.receive()?.code == 1000)
    }
    socket.client.endSending()
    #expect(try socket.isAtEnd())
    #expect(try rig.eventually { $0.sockets.last?.codes.count == 1 })
  }

  @Test(arguments: framing + pings + fragments + violations + texts + closes)
  func `it is answered as the standard asks`(_ one: Case) throws { try check(one, inPieces: .max / 2) }

  @Test(arguments: pings + fragments + violations + texts + closes)
  func `byte by byte it is answered in the same way`(_ one: Case) throws {
    if one.bytes.count < 10_000 { try check(one, inPieces: 1) }
  }

  @Test(arguments: framing + pings + fragments + violations + texts + closes)
  func `over TLS it is answered in the same way`(_ one: Case) throws {
    try check(one, inPieces: .max / 2, isSecure: true)
    if one.bytes.count < 10_000 { try check(one, inPieces: 1, isSecure: true) }
  }

  /// Which have no bound there.
  @Test(arguments: (framing + pings + fragments + violations + texts + closes).filter { $0.code != 1009 })
  func `one that is told pieces of messages hears and says the same`(_ one: Case) throws {
    try check(one, inPieces: .max / 2, at: "/ws/gather")
    if one.bytes.count < 10_000 { try check(one, inPieces: 1, at: "/ws/gather") }
    try check(one, inPieces: .max / 2, at: "/ws/gather", isSecure: true)
  }

  @Test func `a close without a code is answered by one without`() throws {
    let socket = try SocketClient(rig)
    try socket.send(8)
    #expect(try socket.receive() == Frame(opcode: 8))
    #expect(try socket.isAtEnd())
    #expect(try rig.eventually { $0.sockets.last?.codes == [1005] })
  }

  @Test func `the handshake proves that it was read`() throws {
    let socket = try SocketClient(
      rig,
      headers:
        "Sec-WebSocket-Protocol: one, two\r\nOrigin: http://here\r\nX-\(String(repeating: "a", count: 5_000)): b\r\n")
    #expect(socket.answer["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    #expect(socket.answer["sec-websocket-protocol"] == "one")
    #expect(socket.answer["sec-websocket-extensions"] == nil)
    let plain = try SocketClient(
      rig, headers: "Sec-WebSocket-Extensions: permessage-deflate\r\nGe: 1\r\nSec-WebSocke: 2\r\n")
    #expect(plain.answer["sec-websocket-protocol"] == nil)
    #expect(plain.answer["sec-websocket-extensions"] == nil)
  }

  @Test func `frames that come with the request are heard`() throws {
    let client = try rig.connect()
    try client.send(Array(SocketClient.request("/ws/echo").utf8) + SocketClient.bytes(1, [65]))
    #expect(try client.answer().status == 101)
    #expect(try client.receiveExactly(3) == [0x81, 1, 65])
  }
}
