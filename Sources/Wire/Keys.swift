/// 32 bytes as big-endian words, in the order of the bytes.
public struct Bytes32: Part, Comparable {
  public var a: UInt64
  public var b: UInt64
  public var c: UInt64
  public var d: UInt64

  @inlinable
  public init(_ a: UInt64, _ b: UInt64, _ c: UInt64, _ d: UInt64) {
    self.a = a
    self.b = b
    self.c = c
    self.d = d
  }

  @inlinable
  public static func < (x: Bytes32, y: Bytes32) -> Bool { (x.a, x.b, x.c, x.d) < (y.a, y.b, y.c, y.d) }

  @inlinable @inline(__always)
  public init(from reader: inout Reader) throws(WireError) {
    a = try reader.u64()
    b = try reader.u64()
    c = try reader.u64()
    d = try reader.u64()
  }

  @inlinable @inline(__always)
  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(u64: a)
    sink.put(u64: b)
    sink.put(u64: c)
    sink.put(u64: d)
  }
}

/// A value of a fixed size: `bytes` and `init(bytes:)` are each other's inverse.
public protocol FixedBytes: Part, CustomStringConvertible {
  static var byteCount: Int { get }
  static var fieldName: String { get }
}

extension FixedBytes {
  /// Takes exactly `byteCount` bytes.
  public init(_ span: RawSpan) throws(WireError) {
    guard span.byteCount == Self.byteCount else {
      throw WireError(.wrongLength(field: Self.fieldName, value: span.byteCount, expected: Self.byteCount))
    }
    var reader = Reader(span)
    try self.init(from: &reader)
  }

  /// Takes exactly `byteCount` bytes.
  public init(bytes: [UInt8]) throws(WireError) {
    // A UInt8 has no padding to show.
    try self.init(unsafe bytes.span.bytes)
  }

  public var bytes: [UInt8] {
    var sink = ArraySink()
    sink.bytes.reserveCapacity(Self.byteCount)
    encode(into: &sink)
    return sink.bytes
  }

  /// Hexadecimal.
  public var description: String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}

/// SHA-256, or BLAKE3 for a chunk of a resource.
public struct Digest: FixedBytes, Comparable {
  public static let byteCount = 32
  public static let fieldName = "digest"
  public var raw: Bytes32

  @inlinable public init(_ raw: Bytes32) { self.raw = raw }
  @inlinable public static func < (a: Digest, b: Digest) -> Bool { a.raw < b.raw }

  @inlinable @inline(__always)
  public init(from reader: inout Reader) throws(WireError) { raw = try Bytes32(from: &reader) }

  @inlinable @inline(__always)
  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) { raw.encode(into: &sink) }

  /// The first 16 bytes.
  var leading: ID128 { ID128(high: raw.a, low: raw.b) }
}

/// Ed25519.
public struct PublicKey: FixedBytes, Comparable {
  public static let byteCount = 32
  public static let fieldName = "public key"
  public var raw: Bytes32

  @inlinable public init(_ raw: Bytes32) { self.raw = raw }
  @inlinable public static func < (a: PublicKey, b: PublicKey) -> Bool { a.raw < b.raw }
  public init(from reader: inout Reader) throws(WireError) { raw = try Bytes32(from: &reader) }
  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) { raw.encode(into: &sink) }
}

/// Ed25519: a point and a scalar.
public struct Signature: FixedBytes {
  public static let byteCount = 64
  public static let fieldName = "signature"
  public var r: Bytes32
  public var s: Bytes32

  @inlinable
  public init(r: Bytes32, s: Bytes32) {
    self.r = r
    self.s = s
  }

  public init(from reader: inout Reader) throws(WireError) {
    r = try Bytes32(from: &reader)
    s = try Bytes32(from: &reader)
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    r.encode(into: &sink)
    s.encode(into: &sink)
  }
}
