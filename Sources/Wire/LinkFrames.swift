/// The first frame each way on a link.
public struct Hello: Frame {
  public static let type = FrameType.hello
  public static let version: UInt8 = 1

  public var incarnation: Incarnation
  /// Not 0.
  public var bond: UInt64
  public var expects: UInt64
  public var ordinal: UInt32
  public var features: Features
  public var addresses: [Address]
  public var extensions: [Extension]

  /// The features of its sender beyond the first version; unknown bits mean nothing.
  public struct Features: OptionSet, Hashable, Sendable {
    public var rawValue: UInt64
    @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

    /// It reads `away`.
    public static let away = Features(rawValue: 1)
    /// It reads `typedMessage` and `typedDatagram`.
    public static let contentTypes = Features(rawValue: 2)
    /// It reads `browseTypes`, and answers.
    public static let types = Features(rawValue: 4)
    /// It keeps links on standby, and reads on over one link until another is in use.
    public static let standby = Features(rawValue: 8)
    /// It reads `clockRequest`, and replies.
    public static let clock = Features(rawValue: 16)
    /// It reads `circuitOpen`, as the far end of a circuit.
    public static let circuits = Features(rawValue: 32)
    /// It passes circuits on to other hosts.
    public static let relay = Features(rawValue: 64)
  }

  /// A later version's addition; unknown ones are skipped.
  public struct Extension: Part {
    public var id: UInt32
    public var value: [UInt8]

    @inlinable
    public init(id: UInt32, value: [UInt8]) {
      self.id = id
      self.value = value
    }

    public init(from reader: inout Reader) throws(WireError) {
      id = try reader.varint32("extension id")
      value = try reader.bytes("extension value", max: Limits.extensionBytesMax)
    }

    public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
      sink.put(varint: id)
      sink.put(bytes: value, max: Limits.extensionBytesMax)
    }
  }

  /// The role of its link where it is no ordinary one: kept on standby, or taken into use from there.
  public enum Role: UInt8, Sendable { case promoted, standby }

  public var role: Role? {
    extensions.first { $0.id == Self.roleID && $0.value.count == 1 }.flatMap { Role(rawValue: $0.value[0]) }
  }

  /// The extension of a role.
  public static func extensions(for role: Role?) -> [Extension] {
    role.map { [Extension(id: roleID, value: [$0.rawValue])] } ?? []
  }

  private static let roleID: UInt32 = 1

  @inlinable
  public init(
    incarnation: Incarnation, bond: UInt64, expects: UInt64, ordinal: UInt32, features: Features = [],
    addresses: [Address] = [], extensions: [Extension] = []
  ) {
    self.incarnation = incarnation
    self.bond = bond
    self.expects = expects
    self.ordinal = ordinal
    self.features = features
    self.addresses = addresses
    self.extensions = extensions
  }

  public init(body: inout Reader) throws(WireError) {
    let version = try body.u8()
    guard version == Self.version else { throw WireError(.unsupportedVersion(version)) }
    incarnation = try Incarnation(from: &body)
    bond = try body.u64()
    guard bond != 0 else { throw WireError(.numberUnderLimit(field: "bond", value: 0, min: 1)) }
    expects = try body.u64()
    ordinal = try body.varint32("ordinal")
    features = Features(rawValue: try body.varint())
    addresses = try body.list("hello addresses", max: Limits.helloAddressesMax)
    extensions = try body.list("extensions", max: Limits.helloExtensionsMax)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    precondition(bond != 0, "a bond is never 0")
    sink.put(u8: Self.version)
    incarnation.encode(into: &sink)
    sink.put(u64: bond)
    sink.put(u64: expects)
    sink.put(varint: ordinal)
    sink.put(varint: features.rawValue)
    sink.put(list: addresses, max: Limits.helloAddressesMax)
    sink.put(list: extensions, max: Limits.helloExtensionsMax)
  }
}

/// How far each side has read, so that a new link resumes where an old one was cut.
public struct Attach: Frame {
  public static let type = FrameType.attach
  /// The sender's number for the bond, and the receiver's: an attach for another pair of numbers is late.
  public var bond: UInt64
  public var expects: UInt64
  /// How many of the other side's records its sender has.
  public var received: UInt64
  /// The sender still holds its own records `first ..< next`.
  public var first: UInt64
  public var next: UInt64

  @inlinable
  public init(bond: UInt64, expects: UInt64, received: UInt64, first: UInt64, next: UInt64) {
    self.bond = bond
    self.expects = expects
    self.received = received
    self.first = first
    self.next = next
  }

  public init(body: inout Reader) throws(WireError) {
    bond = try body.u64()
    expects = try body.u64()
    received = try body.varint()
    first = try body.varint()
    next = try body.varint()
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(u64: bond)
    sink.put(u64: expects)
    sink.put(varint: received)
    sink.put(varint: first)
    sink.put(varint: next)
  }
}

public struct Ping: Frame {
  public static let type = FrameType.ping
  public var token: UInt64

  @inlinable public init(token: UInt64) { self.token = token }
  public init(body: inout Reader) throws(WireError) { token = try body.u64() }
  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) { sink.put(u64: token) }
}

public struct Pong: Frame {
  public static let type = FrameType.pong
  public var token: UInt64

  @inlinable public init(token: UInt64) { self.token = token }
  public init(body: inout Reader) throws(WireError) { token = try body.u64() }
  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) { sink.put(u64: token) }
}

/// The last frame of a host that closes a link, with its reason.
public struct Bye: Frame {
  public static let type = FrameType.bye
  public var reason: Reason
  /// A sentence for people, at most `Limits.detailBytesMax`.
  public var detail: String

  @inlinable
  public init(reason: Reason, detail: String = "") {
    self.reason = reason
    self.detail = detail
  }

  public init(body: inout Reader) throws(WireError) {
    reason = try Reason(from: &body)
    detail = try body.text("detail", max: Limits.detailBytesMax)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    reason.encode(into: &sink)
    sink.put(text: detail, max: Limits.detailBytesMax)
  }
}

/// A cumulative acknowledgement: the receiving host has taken responsibility for all records up to this one.
public struct Ack: Frame {
  public static let type = FrameType.ack
  public var strand: UInt32
  public var received: UInt64

  @inlinable
  public init(strand: UInt32, received: UInt64) {
    self.strand = strand
    self.received = received
  }

  public init(body: inout Reader) throws(WireError) {
    strand = try body.varint32("strand")
    received = try body.varint()
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: strand)
    sink.put(varint: received)
  }
}

/// A digest of the roster, for comparison (anti-entropy).
public struct RosterDigest: Frame {
  public static let type = FrameType.digest
  public var strand: UInt32
  public var count: UInt32
  public var sum: UInt64

  @inlinable
  public init(strand: UInt32, count: UInt32, sum: UInt64) {
    self.strand = strand
    self.count = count
    self.sum = sum
  }

  public init(body: inout Reader) throws(WireError) {
    strand = try body.varint32("strand")
    count = try body.varint32("digest count")
    sum = try body.u64()
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: strand)
    sink.put(varint: count)
    sink.put(u64: sum)
  }
}
