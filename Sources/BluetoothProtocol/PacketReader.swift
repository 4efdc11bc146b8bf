internal import Wire

/// Reads the fields of a packet, which anybody may have written.
struct PacketReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func byte() -> UInt8? { rest.popFirst() }

  /// A number of up to eight bytes, the lowest first.
  mutating func number(bytes count: Int) -> UInt64? {
    guard rest.count >= count else { return nil }
    defer { rest.removeFirst(count) }
    return rest.prefix(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  mutating func address() -> BluetoothAddress? { number(bytes: 6).map { BluetoothAddress($0) } }

  mutating func host() -> HostID? {
    guard let low = number(bytes: 8), let high = number(bytes: 8) else { return nil }
    return HostID(ID128(high: high, low: low))
  }

  mutating func flag() -> Bool? {
    guard let byte = rest.popFirst(), byte < 2 else { return nil }
    return byte == 1
  }

  /// A text with a byte of length before it.
  mutating func text() -> String? {
    guard let count = rest.popFirst(), rest.count >= count else { return nil }
    defer { rest.removeFirst(Int(count)) }
    return String(validating: rest.prefix(Int(count)), as: UTF8.self)
  }

  /// A list with a byte of length before it; nil for a longer one than `countMax`.
  mutating func list<Element>(atMost countMax: Int, _ element: (inout Self) -> Element?) -> [Element]? {
    guard let count = rest.popFirst(), count <= countMax else { return nil }
    var list: [Element] = []
    for _ in 0..<count {
      guard let one = element(&self) else { return nil }
      list.append(one)
    }
    return list
  }
}

/// Writes them.
struct PacketWriter {
  private(set) var bytes: [UInt8]

  init(_ kind: UInt8) { bytes = [kind] }

  mutating func put(_ byte: UInt8) { bytes.append(byte) }

  mutating func put(_ number: UInt64, bytes count: Int) {
    for place in 0..<count { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * place))) }
  }

  mutating func put(_ address: BluetoothAddress) { put(address.value, bytes: 6) }

  mutating func put(_ host: HostID) {
    put(host.raw.low, bytes: 8)
    put(host.raw.high, bytes: 8)
  }

  mutating func put(_ text: String) {
    precondition(text.utf8.count <= UInt8.max, "the text is short")
    put(UInt8(text.utf8.count))
    bytes += text.utf8
  }
}
