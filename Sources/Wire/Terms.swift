/// A session's rule for whom it admits; links are encrypted whatever it says.
public enum Encryption: UInt8, Sendable {
  case optional = 0
  case required = 1
  case none = 2
}

/// An endpoint's conditions for its members.
public struct Terms: Part {
  public var encryption: Encryption
  public var showsIdentity: Bool
  /// With the endpoint itself; at least 2.
  public var peersMax: UInt32

  @inlinable
  public init(encryption: Encryption, showsIdentity: Bool, peersMax: UInt32) {
    self.encryption = encryption
    self.showsIdentity = showsIdentity
    self.peersMax = peersMax
  }

  public init(from reader: inout Reader) throws(WireError) {
    let flags = try reader.u8()
    guard flags & ~0b111 == 0, let encryption = Encryption(rawValue: flags & 0b11) else {
      throw WireError(.unknownFlags(field: "terms", value: flags))
    }
    self.encryption = encryption
    showsIdentity = flags & 0b100 != 0
    peersMax = try reader.peersMax()
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(u8: encryption.rawValue | (showsIdentity ? 0b100 : 0))
    sink.put(peersMax: peersMax)
  }
}

/// The size and the needs of an endpoint's group as a whole.
public struct Standing: Part {
  /// Members now, including the endpoint; at least 1.
  public var size: UInt32
  /// The lowest of the members' limits; at least 2.
  public var peersMax: UInt32
  public var needs: Needs

  @inlinable
  public init(size: UInt32, peersMax: UInt32, needs: Needs) {
    self.size = size
    self.peersMax = peersMax
    self.needs = needs
  }

  public init(from reader: inout Reader) throws(WireError) {
    size = try reader.varint32("standing size")
    guard size >= 1 else { throw WireError(.numberUnderLimit(field: "standing size", value: 0, min: 1)) }
    peersMax = try reader.peersMax()
    needs = Needs(rawValue: try reader.u8())
    guard needs.isSubset(of: .all) else {
      throw WireError(.unknownFlags(field: "standing needs", value: needs.rawValue))
    }
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    precondition(size >= 1 && needs.isSubset(of: .all), "a standing that no group can have")
    sink.put(varint: size)
    sink.put(peersMax: peersMax)
    sink.put(u8: needs.rawValue)
  }
}

/// The needs that keep two groups apart: one requires encryption, and one has none.
public struct Needs: OptionSet, Hashable, Sendable {
  public var rawValue: UInt8
  @inlinable public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Some member requires encryption.
  public static let requiresEncryption = Needs(rawValue: 1)
  /// Some member has none.
  public static let hasNone = Needs(rawValue: 2)

  static let all: Needs = [.requiresEncryption, .hasNone]
}

extension Reader {
  @_lifetime(self: copy self)
  fileprivate mutating func peersMax() throws(WireError) -> UInt32 {
    let value = try varint32("peersMax")
    guard value >= Limits.peersMin else {
      throw WireError(.numberUnderLimit(field: "peersMax", value: UInt64(value), min: UInt64(Limits.peersMin)))
    }
    return value
  }
}

extension Sink where Self: ~Copyable & ~Escapable {
  @_lifetime(self: copy self)
  fileprivate mutating func put(peersMax: UInt32) {
    precondition(peersMax >= Limits.peersMin, "peersMax is under its minimum")
    put(varint: peersMax)
  }
}
