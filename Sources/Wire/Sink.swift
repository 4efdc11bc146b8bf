/// The output of a frame's description: one description both measures and writes, so the two cannot differ.
public protocol Sink: ~Copyable, ~Escapable {
  @_lifetime(self: copy self)
  mutating func put(u8 value: UInt8)
  @_lifetime(self: copy self)
  mutating func put(u64 value: UInt64)
  @_lifetime(self: copy self)
  mutating func put(varint value: UInt64)
  @_lifetime(self: copy self)
  mutating func put(raw bytes: RawSpan)
}

/// A part of a frame with a layout of its own, in docs/protocol.md.
public protocol Part: Hashable, Sendable {
  init(from reader: inout Reader) throws(WireError)
  func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S)
}

// A value over its limit here is our own bug: values from callers are checked on entry.
extension Sink where Self: ~Copyable & ~Escapable {
  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  public mutating func put(varint value: UInt32) { put(varint: UInt64(value)) }

  @_lifetime(self: copy self)
  public mutating func put(bool value: Bool) { put(u8: value ? 1 : 0) }

  @_lifetime(self: copy self)
  public mutating func put(count: Int, max: Int) {
    precondition(count <= max, "a list or text is over its limit")
    put(varint: UInt64(count))
  }

  @_lifetime(self: copy self)
  public mutating func put(bytes: [UInt8], max: Int) {
    put(count: bytes.count, max: max)
    // A UInt8 has no padding to show.
    put(raw: unsafe bytes.span.bytes)
  }

  @_lifetime(self: copy self)
  public mutating func put(text: String, max: Int) {
    put(count: text.utf8.count, max: max)
    // A UInt8 has no padding to show.
    put(raw: unsafe text.utf8.span.bytes)
  }

  @_lifetime(self: copy self)
  public mutating func put<T: Part>(list items: [T], max: Int) {
    put(count: items.count, max: max)
    for item in items { item.encode(into: &self) }
  }
}

/// Counts the bytes that would be written.
public struct MeasuringSink: Sink {
  public var byteCount = 0

  @inlinable
  public init() {}

  @inlinable @inline(__always)
  public mutating func put(u8 value: UInt8) { byteCount &+= 1 }

  @inlinable @inline(__always)
  public mutating func put(u64 value: UInt64) { byteCount &+= 8 }

  @inlinable @inline(__always)
  public mutating func put(varint value: UInt64) { byteCount &+= Self.size(varint: value) }

  @inlinable @inline(__always)
  public mutating func put(raw bytes: RawSpan) { byteCount &+= bytes.byteCount }

  /// The size of a number as a minimal varint: one byte for each seven bits, and one for 0.
  @inlinable @inline(__always)
  public static func size(varint value: UInt64) -> Int {
    let bits = 64 &- (value | 1).leadingZeroBitCount
    return (bits &* 9 &+ 64) &>> 6
  }
}

/// Appends to an array, where an allocation does not matter.
public struct ArraySink: Sink {
  public var bytes: [UInt8]

  @inlinable
  public init(_ bytes: [UInt8] = []) { self.bytes = bytes }

  public mutating func put(u8 value: UInt8) { bytes.append(value) }

  public mutating func put(u64 value: UInt64) {
    // The buffer does not leave the closure, and the array copies it.
    unsafe withUnsafeBytes(of: value.bigEndian) { unsafe bytes.append(contentsOf: $0) }
  }

  public mutating func put(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  public mutating func put(raw span: RawSpan) {
    // The buffer does not leave the closure, and the array copies it.
    unsafe span.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
  }
}

/// Writes into a buffer of the caller's, which traps if it is too small: measure first.
extension OutputRawSpan: Sink {
  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  public mutating func put(u8 value: UInt8) { append(value) }

  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  public mutating func put(u64 value: UInt64) {
    // Appending checks the capacity; an integer has no padding.
    unsafe append(value.bigEndian, as: UInt64.self)
  }

  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  public mutating func put(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest &>>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }

  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  public mutating func put(raw span: RawSpan) {
    let size = span.byteCount
    precondition(size <= freeCapacity, "the buffer is too small for the frame")
    // The precondition keeps the copy inside the capacity, and the two buffers are distinct: one is borrowed
    // while the other is held exclusively.
    unsafe withUnsafeMutableBytes { buffer, count in
      unsafe span.withUnsafeBytes { source in
        if size > 0 {
          let target = unsafe buffer.baseAddress.unsafelyUnwrapped.advanced(by: count)
          unsafe target.copyMemory(from: source.baseAddress.unsafelyUnwrapped, byteCount: size)
        }
      }
      count &+= size
    }
  }
}
