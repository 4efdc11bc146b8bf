/// Keys for a link's datagrams from its TLS exporter: for each direction a key, the start of its nonces, and the number
/// by which the receiver knows it.
struct DatagramKeys {
  struct Direction {
    static let byteCount = keyBytes + nonceBytes + 8
    static let keyBytes = 16
    static let nonceBytes = 12

    let key: [UInt8]
    let nonce: [UInt8]
    let id: UInt64

    fileprivate init(_ bytes: ArraySlice<UInt8>) {
      key = Array(bytes.prefix(Self.keyBytes))
      nonce = Array(bytes.dropFirst(Self.keyBytes).prefix(Self.nonceBytes))
      id = bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
  }

  /// First for the dialling side's datagrams, then for the other's.
  static let byteCount = 2 * Direction.byteCount

  let sending: Direction
  let receiving: Direction

  init(_ bytes: [UInt8], isClient: Bool) {
    precondition(bytes.count == Self.byteCount, "\(bytes.count) bytes of keys")
    let directions = (
      Direction(bytes[..<Direction.byteCount]), Direction(bytes[Direction.byteCount...])
    )
    (sending, receiving) = isClient ? directions : (directions.1, directions.0)
  }
}
