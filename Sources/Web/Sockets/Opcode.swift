/// The opcode of a frame (RFC 6455 §5.2), and its encoding; a server's frames have no masking.
struct Opcode {
  static let text = Opcode(value: 1)
  static let binary = Opcode(value: 2)
  static let close = Opcode(value: 8)
  static let ping = Opcode(value: 9)

  let value: UInt8

  init(value: UInt8) {
    self.value = value
  }

  init(_ kind: MessageKind) {
    self = kind == .text ? .text : .binary
  }

  func headerByteCount(_ payloadCount: Int) -> Int { payloadCount < 126 ? 2 : payloadCount < 1 << 16 ? 4 : 10 }

  /// Writes the header and returns its length.
  func writeHeader(_ payloadCount: Int, to room: UnsafeMutableRawBufferPointer) -> Int {
    room[0] = 0x80 | value
    switch headerByteCount(payloadCount) {
    case 2:
      room[1] = UInt8(payloadCount)
      return 2
    case 4:
      room[1] = 126
      room.storeBytes(of: UInt16(payloadCount).bigEndian, toByteOffset: 2, as: UInt16.self)
      return 4
    default:
      room[1] = 127
      for index in 0..<8 { room[2 + index] = UInt8(truncatingIfNeeded: payloadCount >> (8 * (7 - index))) }
      return 10
    }
  }

  func frame(_ payload: [UInt8]) -> [UInt8] { header(payload.count) + payload }

  func frame(_ payload: Pieces) -> Pieces {
    var frame = Pieces([header(payload.count)])
    frame.append(payload)
    return frame
  }

  func appendHeader(_ payloadCount: Int, to bytes: inout [UInt8]) {
    withUnsafeTemporaryAllocation(byteCount: 10, alignment: 1) { room in
      let count = writeHeader(payloadCount, to: room)
      bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[..<count]))
    }
  }

  private func header(_ payloadCount: Int) -> [UInt8] {
    var header = [UInt8](repeating: 0, count: headerByteCount(payloadCount))
    _ = header.withUnsafeMutableBytes { writeHeader(payloadCount, to: $0) }
    return header
  }
}
