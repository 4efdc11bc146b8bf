/// A host's address on some medium, which defines its bytes.
public struct Address: Part, CustomStringConvertible {
  public let bytes: [UInt8]

  public init(_ bytes: [UInt8]) throws(WireError) {
    guard !bytes.isEmpty else { throw WireError(.lengthUnderLimit(field: "address", value: 0, min: 1)) }
    guard bytes.count <= Limits.addressBytesMax else {
      throw WireError(.lengthOverLimit(field: "address", value: UInt64(bytes.count), max: Limits.addressBytesMax))
    }
    self.bytes = bytes
  }

  public init(text: String) throws(WireError) { try self.init(Array(text.utf8)) }

  /// As text, for people: bytes that are not UTF-8 are replaced.
  public var description: String { String(decoding: bytes, as: UTF8.self) }

  public init(from reader: inout Reader) throws(WireError) {
    try self.init(try reader.bytes("address", max: Limits.addressBytesMax))
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(bytes: bytes, max: Limits.addressBytesMax)
  }
}
