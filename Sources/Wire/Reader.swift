/// Reads the parts of a frame's body in order. Total: any bytes give a value or a `WireError`, never a trap, and
/// nothing is allocated for a length or count before the bytes that it promises are seen to be there.
public struct Reader: ~Escapable {
  @usableFromInline let bytes: RawSpan
  /// Never more than `bytes.byteCount`.
  @usableFromInline var offset: Int

  @inlinable @inline(__always)
  @_lifetime(copy bytes)
  public init(_ bytes: RawSpan) {
    self.bytes = bytes
    offset = 0
  }

  @inlinable
  public var remaining: Int { @inline(__always) get { bytes.byteCount &- offset } }

  @inlinable
  public var atEnd: Bool { @inline(__always) get { offset == bytes.byteCount } }

  /// Throws if anything is left over.
  @inlinable @inline(__always)
  public func finish() throws(WireError) {
    if !atEnd { throw WireError(.trailingBytes(count: remaining)) }
  }

  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  public mutating func u8() throws(WireError) -> UInt8 {
    guard offset < bytes.byteCount else { throw WireError(.truncated) }
    // In bounds by the check above.
    let value = unsafe bytes.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
    offset &+= 1
    return value
  }

  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  public mutating func u64() throws(WireError) -> UInt64 {
    guard remaining >= 8 else { throw WireError(.truncated) }
    // In bounds by the check above; every bit pattern is a UInt64.
    let value = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
    offset &+= 8
    return UInt64(bigEndian: value)
  }

  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  public mutating func varint() throws(WireError) -> UInt64 {
    let first = try u8()
    return first < 0x80 ? UInt64(first) : try varint(after: first)
  }

  @usableFromInline
  @_lifetime(self: copy self)
  mutating func varint(after first: UInt8) throws(WireError) -> UInt64 {
    var value = UInt64(first & 0x7f)
    var shift: UInt64 = 7
    while true {
      let byte = try u8()
      // The tenth byte has room for one bit and may not go on.
      if shift == 63, byte > 1 { throw WireError(.varintTooLong) }
      value |= UInt64(byte & 0x7f) &<< shift
      if byte < 0x80 {
        if byte == 0 { throw WireError(.varintNotMinimal) }
        return value
      }
      shift += 7
    }
  }

  /// A varint of at most 32 bits.
  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  public mutating func varint32(_ field: @autoclosure () -> String) throws(WireError) -> UInt32 {
    let value = try varint()
    guard let small = UInt32(exactly: value) else {
      throw WireError(.numberOverLimit(field: field(), value: value, max: UInt64(UInt32.max)))
    }
    return small
  }

  /// A byte that is 0 or 1.
  @_lifetime(self: copy self)
  public mutating func bool(_ field: @autoclosure () -> String) throws(WireError) -> Bool {
    let value = try u8()
    guard value <= 1 else { throw WireError(.unknownValue(field: field(), value: value)) }
    return value == 1
  }

  /// A varint length of at most `max`.
  @_lifetime(self: copy self)
  public mutating func length(_ field: @autoclosure () -> String, max: Int) throws(WireError) -> Int {
    let value = try varint()
    guard value <= UInt64(max) else {
      throw WireError(.lengthOverLimit(field: field(), value: value, max: max))
    }
    return Int(value)
  }

  /// A varint count of at most `max` items, each of at least one byte, that the bytes left can hold.
  @inlinable
  @_lifetime(self: copy self)
  public mutating func count(_ field: @autoclosure () -> String, max: Int) throws(WireError) -> Int {
    let value = try length(field(), max: max)
    guard value <= remaining else { throw WireError(.truncated) }
    return value
  }

  /// The next `count` bytes, borrowed.
  @inlinable
  @_lifetime(self: copy self)
  @_lifetime(copy self)
  public mutating func raw(_ count: Int) throws(WireError) -> RawSpan {
    guard count >= 0, count <= remaining else { throw WireError(.truncated) }
    let span = bytes.extracting(offset..<(offset &+ count))
    offset &+= count
    return span
  }

  /// All the bytes that are left, `min` to `max` of them, borrowed.
  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  @_lifetime(copy self)
  public mutating func rest(
    _ field: @autoclosure () -> String, min: Int = 0, max: Int
  ) throws(WireError) -> RawSpan {
    guard remaining >= min else {
      throw WireError(.lengthUnderLimit(field: field(), value: remaining, min: min))
    }
    guard remaining <= max else {
      throw WireError(.lengthOverLimit(field: field(), value: UInt64(remaining), max: max))
    }
    let span = bytes.extracting(offset..<bytes.byteCount)
    offset = bytes.byteCount
    return span
  }

  /// A length and that many bytes, copied.
  @_lifetime(self: copy self)
  public mutating func bytes(_ field: @autoclosure () -> String, max: Int) throws(WireError) -> [UInt8] {
    let count = try length(field(), max: max)
    return [UInt8](try raw(count))
  }

  /// A length and that many bytes of valid UTF-8.
  @_lifetime(self: copy self)
  public mutating func text(_ field: @autoclosure () -> String, max: Int) throws(WireError) -> String {
    let count = try length(field(), max: max)
    let span = try raw(count)
    // The buffer does not leave the closure, and String copies it.
    let text = unsafe span.withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) }
    guard let text else { throw WireError(.invalidUTF8(field: field())) }
    return text
  }

  /// A count and that many parts.
  @_lifetime(self: copy self)
  public mutating func list<T: Part>(
    of type: T.Type = T.self, _ field: @autoclosure () -> String, max: Int
  ) throws(WireError) -> [T] {
    let count = try count(field(), max: max)
    var items: [T] = []
    items.reserveCapacity(count)
    for _ in 0..<count { items.append(try T(from: &self)) }
    return items
  }
}

extension [UInt8] {
  /// A copy of a span.
  @inlinable
  public init(_ span: RawSpan) {
    // The buffer does not leave the closure, and the array copies it.
    self = unsafe span.withUnsafeBytes { unsafe [UInt8]($0) }
  }
}
