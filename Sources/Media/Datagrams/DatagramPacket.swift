/// The packets of a datagram port, as docs/protocol.md has them.
enum DatagramPacket {
  enum Kind: UInt8 {
    case probe = 1
    case answer = 2
    case knock = 3
    case datagram = 4
  }

  /// The path MTU is assumed, not measured: this is the size that every network carries unfragmented, after the headers
  /// of IPv6 and UDP (RFC 8200 §5), with something to spare.
  static let bytesMax = 1_200
  /// Kind, the receiver's number, counter: sent in the clear and authenticated.
  static let headerBytes = 17
  static let tagBytes = 16
  static let payloadBytesMax = bytesMax - headerBytes - tagBytes
  /// Kind, host, nonce: both the question and the answer.
  static let probeBytes = 25
  /// A challenge and the echo of the other side's.
  static let knockPayloadBytes = 16
}

extension UnsafeRawBufferPointer {
  /// Big endian; there must be as many bytes.
  func u64(at offset: Int) -> UInt64 { UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
}

extension UnsafeMutableRawBufferPointer {
  /// Big endian; there must be as much room.
  func put(u64 value: UInt64, at offset: Int) { storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt64.self) }
}
