/// Asks a peer of the other host to join the inviter's endpoint.
public struct Invite: Frame {
  public static let type = FrameType.invite
  public var id: UInt64
  public var type: ServiceType
  public var to: PeerID
  public var adhoc: Bool
  public var group: GroupID
  public var entry: Entry
  public var carrier: Carrier
  public var standing: Standing
  public var millisecondsLeft: UInt32
  /// At most `Limits.contextBytesMax`.
  public var context: [UInt8]

  @inlinable
  public init(
    id: UInt64, type: ServiceType, to: PeerID, adhoc: Bool, group: GroupID, entry: Entry, carrier: Carrier,
    standing: Standing, millisecondsLeft: UInt32, context: [UInt8]
  ) {
    self.id = id
    self.type = type
    self.to = to
    self.adhoc = adhoc
    self.group = group
    self.entry = entry
    self.carrier = carrier
    self.standing = standing
    self.millisecondsLeft = millisecondsLeft
    self.context = context
  }

  public init(body: inout Reader) throws(WireError) {
    id = try body.varint()
    type = try ServiceType(from: &body)
    to = try PeerID(from: &body)
    adhoc = try body.bool("adhoc")
    group = try GroupID(from: &body)
    entry = try Entry(from: &body)
    carrier = try Carrier(from: &body)
    standing = try Standing(from: &body)
    millisecondsLeft = try body.varint32("millisecondsLeft")
    context = try body.bytes("context", max: Limits.contextBytesMax)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: id)
    type.encode(into: &sink)
    to.encode(into: &sink)
    sink.put(bool: adhoc)
    group.encode(into: &sink)
    entry.encode(into: &sink)
    carrier.encode(into: &sink)
    standing.encode(into: &sink)
    sink.put(varint: millisecondsLeft)
    sink.put(bytes: context, max: Limits.contextBytesMax)
  }
}

/// Asks one endpoint to join the sender's, each of which was given the other's connection data.
public struct Connect: Frame {
  public static let type = FrameType.connect
  public var id: UInt64
  public var to: PeerID
  public var target: EndpointID
  public var entry: Entry
  public var carrier: Carrier
  public var standing: Standing
  public var millisecondsLeft: UInt32

  @inlinable
  public init(
    id: UInt64, to: PeerID, target: EndpointID, entry: Entry, carrier: Carrier, standing: Standing,
    millisecondsLeft: UInt32
  ) {
    self.id = id
    self.to = to
    self.target = target
    self.entry = entry
    self.carrier = carrier
    self.standing = standing
    self.millisecondsLeft = millisecondsLeft
  }

  public init(body: inout Reader) throws(WireError) {
    id = try body.varint()
    to = try PeerID(from: &body)
    target = try EndpointID(from: &body)
    entry = try Entry(from: &body)
    carrier = try Carrier(from: &body)
    standing = try Standing(from: &body)
    millisecondsLeft = try body.varint32("millisecondsLeft")
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: id)
    to.encode(into: &sink)
    target.encode(into: &sink)
    entry.encode(into: &sink)
    carrier.encode(into: &sink)
    standing.encode(into: &sink)
    sink.put(varint: millisecondsLeft)
  }
}

/// The accepting peer's own end.
public struct Acceptance: Part {
  public var group: GroupID
  public var entry: Entry
  public var carrier: Carrier
  public var standing: Standing

  @inlinable
  public init(group: GroupID, entry: Entry, carrier: Carrier, standing: Standing) {
    self.group = group
    self.entry = entry
    self.carrier = carrier
    self.standing = standing
  }

  public init(from reader: inout Reader) throws(WireError) {
    group = try GroupID(from: &reader)
    entry = try Entry(from: &reader)
    carrier = try Carrier(from: &reader)
    standing = try Standing(from: &reader)
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    group.encode(into: &sink)
    entry.encode(into: &sink)
    carrier.encode(into: &sink)
    standing.encode(into: &sink)
  }
}

/// The invited peer's answer.
public struct Answer: Frame {
  public static let type = FrameType.answer
  public var id: UInt64
  public var outcome: Outcome

  public enum Outcome: Hashable, Sendable {
    case accepted(Acceptance)
    /// Never with `Reason.none`.
    case declined(Reason)
  }

  @inlinable
  public init(id: UInt64, outcome: Outcome) {
    self.id = id
    self.outcome = outcome
  }

  public init(body: inout Reader) throws(WireError) {
    id = try body.varint()
    let reason = try Reason(from: &body)
    outcome = reason == .none ? .accepted(try Acceptance(from: &body)) : .declined(reason)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: id)
    switch outcome {
    case .accepted(let acceptance):
      Reason.none.encode(into: &sink)
      acceptance.encode(into: &sink)
    case .declined(let reason):
      precondition(reason != .none, "declined for no reason")
      reason.encode(into: &sink)
    }
  }
}

/// The inviter's confirmation of an accepted invitation, or its end.
public struct Confirm: Frame {
  public static let type = FrameType.confirm
  public var id: UInt64
  /// `none` means joined.
  public var reason: Reason
  public var rank: UInt32

  @inlinable
  public init(id: UInt64, reason: Reason, rank: UInt32) {
    self.id = id
    self.reason = reason
    self.rank = rank
  }

  public init(body: inout Reader) throws(WireError) {
    id = try body.varint()
    reason = try Reason(from: &body)
    rank = try body.varint32("rank")
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: id)
    reason.encode(into: &sink)
    sink.put(varint: rank)
  }
}

/// The inviter cancels its invitation.
public struct Cancel: Frame {
  public static let type = FrameType.cancel
  public var id: UInt64
  public var reason: Reason

  @inlinable
  public init(id: UInt64, reason: Reason) {
    self.id = id
    self.reason = reason
  }

  public init(body: inout Reader) throws(WireError) {
    id = try body.varint()
    reason = try Reason(from: &body)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: id)
    reason.encode(into: &sink)
  }
}
