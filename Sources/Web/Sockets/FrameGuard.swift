/// A guard before libwebsockets, which accepts frames that RFC 6455 forbids (without masking; with a close of one byte)
/// and closes over others without a reason: it parses the headers of all frames from a client, and passes valid ones
/// on. It only counts payloads, but for those of pings: the library answers one at a time, and not the latest (§5.5.3).
struct FrameGuard {
  struct Violation: Error, Equatable {
    let code: UInt16
    let reason: String
  }

  /// Limit for a whole message.
  private let messageBytesMax: Int
  /// The number of payload bytes left of the current frame.
  private var payloadLeft = 0
  /// The bytes of the message whose last frame has not come; nil between messages.
  private var messageBytes: Int?
  private(set) var hasSeenClose = false
  /// The payloads of the latest pings, since they were last taken.
  private var pings: [[UInt8]] = []
  /// Limit for pings that come together: the latest are answered.
  static let pingsMax = 16

  init(messageBytesMax: Int) {
    self.messageBytesMax = messageBytesMax
  }

  /// Returns the number of bytes that may pass. The bytes behind them are the beginning of a header, to be passed again
  /// with more, or begin with the violation.
  mutating func admit(_ bytes: UnsafeRawBufferPointer) -> (count: Int, violation: Violation?) {
    var index = 0
    while index < bytes.count {
      if payloadLeft > 0 {
        let count = min(payloadLeft, bytes.count - index)
        payloadLeft -= count
        index += count
        continue
      }
      // Bytes behind a close frame have no meaning (§5.5.1).
      if hasSeenClose { return (index, nil) }
      do throws(Violation) {
        guard let count = try header(UnsafeRawBufferPointer(rebasing: bytes[index...])) else { break }
        index += count
      } catch {
        return (index, error)
      }
    }
    return (index, nil)
  }

  mutating func takePings() -> [[UInt8]] {
    defer { pings = [] }
    return pings
  }

  /// Checks the available part of a header, and returns its length once it is complete.
  private mutating func header(_ bytes: UnsafeRawBufferPointer) throws(Violation) -> Int? {
    let (isLast, opcode) = (bytes[0] & 0x80 != 0, bytes[0] & 0x0f)
    if bytes[0] & 0x70 != 0 { throw protocolError("a reserved bit is set") }
    let isControl = opcode & 8 != 0
    if ![0, 1, 2, 8, 9, 10].contains(opcode) { throw protocolError("there is no such opcode") }
    if isControl, !isLast { throw protocolError("a control frame is parted") }
    if opcode == 0, messageBytes == nil { throw protocolError("nothing is to be continued") }
    if opcode == 1 || opcode == 2, messageBytes != nil { throw protocolError("a message begins within another") }
    guard bytes.count >= 2 else { return nil }
    if bytes[1] & 0x80 == 0 { throw protocolError("a frame has no mask") }
    let short = Int(bytes[1] & 0x7f)
    if isControl, short > 125 { throw protocolError("a control frame is too long") }
    if opcode == 8, short == 1 { throw protocolError("a close has half a code") }
    let lengthBytes = short == 126 ? 2 : short == 127 ? 8 : 0
    let count = 2 + lengthBytes + 4
    guard bytes.count >= 2 + lengthBytes else { return nil }
    var length = UInt64(short)
    if lengthBytes > 0 {
      length = bytes[2..<(2 + lengthBytes)].reduce(0) { $0 << 8 | UInt64($1) }
      if length < (lengthBytes == 2 ? 126 : 1 << 16) { throw protocolError("a length is longer than it needs to be") }
      if length >> 63 != 0 { throw protocolError("a length is negative") }
    }
    if !isControl, length > UInt64(messageBytesMax - (messageBytes ?? 0)) {
      throw Violation(code: 1009, reason: "a message may have \(messageBytesMax) bytes")
    }
    guard bytes.count >= count else { return nil }
    if opcode == 8 {
      // A close is checked whole: it is short, so that costs nothing.
      guard bytes.count >= count + short else { return nil }
      try checkClose(bytes[(count - 4)..<count], bytes[count..<(count + short)])
    }
    if opcode == 9 {
      guard bytes.count >= count + short else { return nil }
      pings.append(Self.unmasked(bytes[count..<(count + short)], bytes[(count - 4)..<count]))
      if pings.count > Self.pingsMax { pings.removeFirst() }
    }
    payloadLeft = Int(length)
    if opcode == 8 { hasSeenClose = true }
    if !isControl { messageBytes = isLast ? nil : (messageBytes ?? 0) + Int(length) }
    return count
  }

  /// Checks a close frame (§7.4 and §5.5.1): the code must be allowed, and the reason be UTF-8.
  private func checkClose(
    _ mask: Slice<UnsafeRawBufferPointer>, _ payload: Slice<UnsafeRawBufferPointer>
  ) throws(Violation) {
    if payload.isEmpty { return }
    let plain = Self.unmasked(payload, mask)
    switch UInt16(plain[0]) << 8 | UInt16(plain[1]) {
    case 1000...1003, 1007...1014, 3000...4999: break
    default: throw protocolError("there is no such code to close with")
    }
    guard String(validating: plain[2...], as: UTF8.self) != nil else {
      throw Violation(code: 1007, reason: "the reason is no UTF-8")
    }
  }

  private static func unmasked(
    _ payload: Slice<UnsafeRawBufferPointer>, _ mask: Slice<UnsafeRawBufferPointer>
  ) -> [UInt8] {
    payload.enumerated().map { $1 ^ mask[mask.startIndex + $0 % 4] }
  }

  private func protocolError(_ reason: String) -> Violation { Violation(code: 1002, reason: reason) }

  /// The frame that replaces a violation: a close as from the client, which libwebsockets answers with the same code
  /// once all earlier input is handled. Its masking key is zero, which changes nothing.
  static func closeFrame(for violation: Violation) -> [UInt8] {
    let payload = [UInt8(violation.code >> 8), UInt8(violation.code & 0xff)] + Array(violation.reason.utf8.prefix(123))
    return [0x88, 0x80 | UInt8(payload.count), 0, 0, 0, 0] + payload
  }
}
