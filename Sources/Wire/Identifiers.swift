/// 128 bits, ordered as their big-endian bytes.
public struct ID128: Hashable, Comparable, Sendable {
  public var high: UInt64
  public var low: UInt64

  @inlinable
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  @inlinable
  public static func < (a: ID128, b: ID128) -> Bool { (a.high, a.low) < (b.high, b.low) }
}

extension ID128 {
  /// 128 bits in groups of five.
  public static let textLength = 26
  private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

  private var bits: UInt128 { UInt128(high) << 64 | UInt128(low) }

  /// Lower-case base32 of RFC 4648 without padding.
  public var text: String {
    let alphabet = Self.alphabet
    // Each of the bytes for which there is room is written.
    return unsafe String(unsafeUninitializedCapacity: Self.textLength) { text in
      for place in 0..<Self.textLength - 1 {
        unsafe text[place] = alphabet[Int(truncatingIfNeeded: bits >> UInt128(123 - 5 * place)) & 31]
      }
      // The last character holds three bits, and two that stay 0.
      unsafe text[Self.textLength - 1] = alphabet[(Int(truncatingIfNeeded: bits) & 7) << 2]
      return Self.textLength
    }
  }

  /// Takes only the one text that `text` gives, so that equal identifiers have equal texts.
  public init(text: String) throws(WireError) {
    let characters = text.utf8
    guard characters.count == Self.textLength else { throw WireError(.identifierNotBase32(text)) }
    var bits: UInt128 = 0
    for (place, character) in characters.enumerated() {
      let value: UInt8
      switch character {
      case UInt8(ascii: "a")...UInt8(ascii: "z"): value = character - UInt8(ascii: "a")
      case UInt8(ascii: "2")...UInt8(ascii: "7"): value = character - UInt8(ascii: "2") + 26
      default: throw WireError(.identifierNotBase32(text))
      }
      if place < Self.textLength - 1 {
        bits = bits << 5 | UInt128(value)
      } else {
        guard value & 3 == 0 else { throw WireError(.identifierNotBase32(text)) }
        bits = bits << 3 | UInt128(value >> 2)
      }
    }
    self.init(high: UInt64(truncatingIfNeeded: bits >> 64), low: UInt64(truncatingIfNeeded: bits))
  }
}

/// An identifier of 128 bits with one text form; its type says what it names.
public protocol Identifier: Part, Comparable, CustomStringConvertible {
  var raw: ID128 { get }
  init(_ raw: ID128)
}

extension Identifier {
  public init(text: String) throws(WireError) { self.init(try ID128(text: text)) }
  public var text: String { raw.text }
  public var description: String { raw.text }

  @inlinable
  public static func < (a: Self, b: Self) -> Bool { a.raw < b.raw }

  public init(from reader: inout Reader) throws(WireError) {
    let high = try reader.u64()
    self.init(ID128(high: high, low: try reader.u64()))
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(u64: raw.high)
    sink.put(u64: raw.low)
  }
}

/// A participant: bound to its key, so nobody else can take it.
public struct PeerID: Identifier {
  public let raw: ID128
  @inlinable public init(_ raw: ID128) { self.raw = raw }

  /// From the digest of `preimage(of:)`.
  public init(digest: Digest) { raw = digest.leading }

  public static func preimage(of key: PublicKey) -> [UInt8] { labelled("vicinity peer v1", key.bytes) }
}

/// A running engine: bound to its key.
public struct HostID: Identifier {
  public let raw: ID128
  @inlinable public init(_ raw: ID128) { self.raw = raw }

  /// From the digest of `preimage(of:)`.
  public init(digest: Digest) { raw = digest.leading }

  public static func preimage(of key: PublicKey) -> [UInt8] { labelled("vicinity host v1", key.bytes) }
}

/// A peer's own end of a session; it never changes.
public struct EndpointID: Identifier {
  public let raw: ID128
  @inlinable public init(_ raw: ID128) { self.raw = raw }
}

/// A label for endpoints that are joined.
public struct GroupID: Identifier {
  public let raw: ID128
  @inlinable public init(_ raw: ID128) { self.raw = raw }
}

/// Domain separation: hashed and signed bytes start with a label and a 0, so that no two uses of a key can be mistaken.
func labelled(_ label: StaticString, _ bytes: [UInt8] = []) -> [UInt8] {
  var labelled: [UInt8] = []
  labelled.reserveCapacity(label.utf8CodeUnitCount + 1 + bytes.count)
  // The buffer does not leave the closure, and the array copies it.
  label.withUTF8Buffer { unsafe labelled.append(contentsOf: $0) }
  labelled.append(0)
  labelled.append(contentsOf: bytes)
  return labelled
}
