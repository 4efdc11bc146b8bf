/// The incoming half of RFC 6455: it splits a client's bytes into frames, unmasks them where they lie, and checks all
/// that the standard demands of a client.
struct FrameReader {
  struct Violation: Error, Equatable {
    let code: UInt16
    let reason: String
  }

  /// A part of the input, as a range of the bytes that were given.
  enum Item: Equatable {
    /// The next piece of a message; the last one of a message may be empty.
    case piece(Range<Int>, MessageKind, isLast: Bool)
    case ping(Range<Int>)
    /// Nothing behind a close frame has a meaning (§5.5.1). The code is nil for an empty one.
    case close(UInt16?)
  }

  /// A data frame whose payload has not ended.
  private struct Payload {
    var bytesLeft: Int
    /// The masking key, rotated so that its lowest byte is for the next byte.
    var mask: UInt32
    let isLast: Bool
  }

  /// A message whose last frame has not ended.
  private struct Message {
    let kind: MessageKind
    /// The bytes that its frames so far have announced.
    var byteCount = 0
    var text = UTF8Check()
  }

  /// The longest header with the longest payload of a control frame, which is read as a whole.
  static let heldBytesMax = 14 + controlBytesMax
  /// Limit for the payload of a control frame (§5.5).
  static let controlBytesMax = 125

  /// Limit for a whole message.
  private let messageBytesMax: Int
  private var payload: Payload?
  private var message: Message?
  private(set) var hasSeenClose = false

  init(messageBytesMax: Int) {
    self.messageBytesMax = messageBytesMax
  }

  /// Returns the next item from `index` on and moves `index` behind it; nil where more bytes are needed. Bytes from
  /// `index` on are then the beginning of a frame, to be given again with more, at most `heldBytesMax`.
  mutating func next(in bytes: UnsafeMutableRawBufferPointer, from index: inout Int) throws(Violation) -> Item? {
    while !hasSeenClose {
      if payload != nil { return try piece(of: bytes, &index) }
      guard let header = try header(UnsafeRawBufferPointer(rebasing: bytes[index...])) else { return nil }
      if !header.isControl {
        try begin(header)
        index += header.byteCount
        continue
      }
      let start = index + header.byteCount
      let end = start + Int(header.payloadBytes)
      guard end <= bytes.count else { return nil }
      index = end
      Self.unmask(UnsafeMutableRawBufferPointer(rebasing: bytes[start..<end]), header.mask)
      switch header.opcode {
      case 8:
        hasSeenClose = true
        return .close(try closeCode(UnsafeRawBufferPointer(rebasing: bytes[start..<end])))
      case 9: return .ping(start..<end)
      default: continue
      }
    }
    index = bytes.count
    return nil
  }

  // MARK: Headers

  private struct Header {
    let opcode: UInt8
    let isLast: Bool
    let payloadBytes: UInt64
    let mask: UInt32
    let byteCount: Int

    var isControl: Bool { opcode & 8 != 0 }
  }

  /// Checks the available part of a header; nil until it is complete.
  private func header(_ bytes: UnsafeRawBufferPointer) throws(Violation) -> Header? {
    guard let first = bytes.first else { return nil }
    let (isLast, opcode) = (first & 0x80 != 0, first & 0x0f)
    if first & 0x70 != 0 { throw protocolError("a reserved bit is set") }
    switch opcode {
    case 0: if message == nil { throw protocolError("nothing is to be continued") }
    case 1, 2: if message != nil { throw protocolError("a message begins within another") }
    case 8, 9, 10: if !isLast { throw protocolError("a control frame is parted") }
    default: throw protocolError("there is no such opcode")
    }
    guard bytes.count >= 2 else { return nil }
    if bytes[1] & 0x80 == 0 { throw protocolError("a frame has no mask") }
    let short = Int(bytes[1] & 0x7f)
    if opcode & 8 != 0, short > Self.controlBytesMax { throw protocolError("a control frame is too long") }
    if opcode == 8, short == 1 { throw protocolError("a close has half a code") }
    let lengthBytes = short == 126 ? 2 : short == 127 ? 8 : 0
    guard bytes.count >= 2 + lengthBytes else { return nil }
    var length = UInt64(short)
    if lengthBytes > 0 {
      length = 0
      for index in 2..<(2 + lengthBytes) { length = length << 8 | UInt64(bytes[index]) }
      if length < (lengthBytes == 2 ? 126 : 1 << 16) { throw protocolError("a length is longer than it needs to be") }
      if length >> 63 != 0 { throw protocolError("a length is negative") }
    }
    if opcode & 8 == 0, length > UInt64(messageBytesMax - (message?.byteCount ?? 0)) {
      throw Violation(code: 1009, reason: "a message may have \(messageBytesMax) bytes")
    }
    let byteCount = 2 + lengthBytes + 4
    guard bytes.count >= byteCount else { return nil }
    let mask = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 2 + lengthBytes, as: UInt32.self))
    return Header(opcode: opcode, isLast: isLast, payloadBytes: length, mask: mask, byteCount: byteCount)
  }

  // MARK: Messages

  private mutating func begin(_ header: Header) throws(Violation) {
    if header.opcode != 0 { message = Message(kind: header.opcode == 1 ? .text : .binary) }
    message?.byteCount += Int(header.payloadBytes)
    payload = Payload(bytesLeft: Int(header.payloadBytes), mask: header.mask, isLast: header.isLast)
  }

  /// The available part of the current payload; nil where there is none yet.
  private mutating func piece(of bytes: UnsafeMutableRawBufferPointer, _ index: inout Int) throws(Violation) -> Item? {
    guard var current = payload, var whole = message else { return nil }
    let count = min(current.bytesLeft, bytes.count - index)
    if count == 0, current.bytesLeft > 0 { return nil }
    let range = index..<(index + count)
    let part = UnsafeMutableRawBufferPointer(rebasing: bytes[range])
    Self.unmask(part, current.mask)
    let rotation = UInt32(count & 3) * 8
    current.mask = current.mask >> rotation | current.mask << ((32 - rotation) & 31)
    current.bytesLeft -= count
    index += count
    let isLast = current.isLast && current.bytesLeft == 0
    if whole.kind == .text, !whole.text.take(UnsafeRawBufferPointer(part)) || isLast && !whole.text.isComplete {
      throw Violation(code: 1007, reason: "a text message is not UTF-8")
    }
    payload = current.bytesLeft > 0 ? current : nil
    message = isLast ? nil : whole
    return .piece(range, whole.kind, isLast: isLast)
  }

  private static func unmask(_ bytes: UnsafeMutableRawBufferPointer, _ mask: UInt32) {
    if mask == 0 { return }
    let wide = UInt64(mask) << 32 | UInt64(mask)
    var index = 0
    while index + 8 <= bytes.count {
      let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      bytes.storeBytes(of: (word ^ wide).littleEndian, toByteOffset: index, as: UInt64.self)
      index += 8
    }
    while index < bytes.count {
      bytes[index] ^= UInt8(truncatingIfNeeded: mask >> (UInt32(index & 3) * 8))
      index += 1
    }
  }

  // MARK: Ends

  /// Checks the payload of a close frame (§7.4 and §5.5.1): the code must be allowed, and the reason be UTF-8.
  private func closeCode(_ payload: UnsafeRawBufferPointer) throws(Violation) -> UInt16? {
    if payload.isEmpty { return nil }
    let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
    switch code {
    case 1000...1003, 1007...1014, 3000...4999: break
    default: throw protocolError("there is no such code to close with")
    }
    var reason = UTF8Check()
    guard reason.take(UnsafeRawBufferPointer(rebasing: payload[2...])), reason.isComplete else {
      throw Violation(code: 1007, reason: "the close reason is not UTF-8")
    }
    return code
  }

  private func protocolError(_ reason: String) -> Violation { Violation(code: 1002, reason: reason) }
}
