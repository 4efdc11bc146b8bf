import Testing

/// A WebSocket client that sends any frame, valid or not.
final class SocketClient {
  struct Frame: Equatable, CustomStringConvertible {
    var isLast = true
    var opcode: UInt8
    var payload: [UInt8] = []

    static func text(_ text: String) -> Frame { Frame(opcode: 1, payload: Array(text.utf8)) }
    static func close(_ code: UInt16, _ reason: String = "") -> Frame {
      Frame(opcode: 8, payload: [UInt8(code >> 8), UInt8(code & 0xff)] + Array(reason.utf8))
    }
    static func pong(_ payload: [UInt8]) -> Frame { Frame(opcode: 10, payload: payload) }

    /// The status code of a close frame.
    var code: UInt16? { opcode == 8 && payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : nil }

    var description: String { "\(opcode)\(isLast ? "" : "…") \(payload.count): \(payload.prefix(40))" }
  }

  let client: Client
  private(set) var answer = Answer()

  static let key = "dGhlIHNhbXBsZSBub25jZQ=="

  init(
    _ rig: WebRig, _ path: String = "/ws/echo", headers: String = "", receiveBuffer: CInt? = nil,
    through line: Client? = nil
  ) throws {
    client = try line ?? Client(rig.port, receiveBuffer: receiveBuffer)
    try client.send(Self.request(path, headers))
    answer = try client.answer()
    try #require(answer.status == 101)
  }

  /// One whose handshake is over.
  init(open client: Client) { self.client = client }

  static func request(_ path: String, _ headers: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      + "Sec-WebSocket-Key: \(key)\r\n\(headers)\r\n"
  }

  /// A client's frame, valid but for the arguments that are given.
  static func bytes(
    _ opcode: UInt8, _ payload: [UInt8] = [], isLast: Bool = true, reserved: UInt8 = 0, isMasked: Bool = true,
    mask: [UInt8] = [1, 2, 3, 250], length: [UInt8]? = nil
  ) -> [UInt8] {
    var bytes: [UInt8] = [(isLast ? 0x80 : 0) | reserved << 4 | opcode]
    var lengthBytes: [UInt8] = [UInt8(min(payload.count, 126))]
    if payload.count >= 126 {
      lengthBytes += [UInt8(truncatingIfNeeded: payload.count >> 8), UInt8(payload.count & 0xff)]
    }
    if payload.count >= 1 << 16 {
      lengthBytes = [127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (8 * (7 - $0))) }
    }
    if let length { lengthBytes = length }
    lengthBytes[0] |= isMasked ? 0x80 : 0
    bytes += lengthBytes
    if isMasked { bytes += mask }
    return bytes + (isMasked ? payload.enumerated().map { $1 ^ mask[$0 % 4] } : payload)
  }

  func send(_ opcode: UInt8, _ payload: [UInt8] = [], isLast: Bool = true) throws {
    try client.send(Self.bytes(opcode, payload, isLast: isLast))
  }

  func send(_ text: String) throws { try send(1, Array(text.utf8)) }

  /// The next frame; nil at the end. A server's frame has no mask and a length as short as can be.
  func receive() throws -> Frame? {
    let more = try client.receive()
    if more.isEmpty { return nil }
    pushBack(more)
    let head = try client.receiveExactly(2)
    try #require(head[0] & 0x70 == 0 && head[1] & 0x80 == 0)
    var count = Int(head[1])
    if count >= 126 {
      let bytes = try client.receiveExactly(count == 126 ? 2 : 8)
      count = bytes.reduce(0) { $0 << 8 | Int($1) }
      try #require(count >= (bytes.count == 2 ? 126 : 1 << 16))
    }
    return Frame(isLast: head[0] & 0x80 != 0, opcode: head[0] & 0x0f, payload: try client.receiveExactly(count))
  }

  func isAtEnd() throws -> Bool { try receive() == nil }

  private func pushBack(_ bytes: [UInt8]) { client.pushBack(bytes) }
}
