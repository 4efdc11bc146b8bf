/// Places a record: records of one strand are delivered once and in order.
public struct RecordHead: Part {
  public var strand: UInt32
  /// 1 is the first.
  public var sequence: UInt64

  @inlinable
  public init(strand: UInt32, sequence: UInt64) {
    self.strand = strand
    self.sequence = sequence
  }

  @inlinable @inline(__always)
  public init(from reader: inout Reader) throws(WireError) {
    strand = try reader.varint32("strand")
    sequence = try reader.varint()
    guard sequence >= 1 else { throw WireError(.numberUnderLimit(field: "sequence", value: 0, min: 1)) }
  }

  @inlinable @inline(__always)
  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    precondition(sequence >= 1, "sequences begin at 1")
    sink.put(varint: strand)
    sink.put(varint: sequence)
  }
}

/// An endpoint of the sender joins an endpoint of the receiver, with its proof.
public struct Join: Frame {
  public static let type = FrameType.join
  public var record: RecordHead
  public var index: UInt32
  public var target: EndpointID
  public var targetIncarnation: EndpointIncarnation
  public var seen: UInt64
  public var admits: EndpointSelection
  public var entry: Entry
  public var carrier: Carrier
  /// At most `Limits.ticketsMax`.
  public var tickets: [Introduction]

  @inlinable
  public init(
    record: RecordHead, index: UInt32, target: EndpointID, targetIncarnation: EndpointIncarnation, seen: UInt64,
    admits: EndpointSelection, entry: Entry,
    carrier: Carrier, tickets: [Introduction]
  ) {
    self.record = record
    self.index = index
    self.target = target
    self.targetIncarnation = targetIncarnation
    self.seen = seen
    self.admits = admits
    self.entry = entry
    self.carrier = carrier
    self.tickets = tickets
  }

  public init(body: inout Reader) throws(WireError) {
    record = try RecordHead(from: &body)
    index = try body.varint32("index")
    target = try EndpointID(from: &body)
    targetIncarnation = try EndpointIncarnation(from: &body)
    seen = try body.varint()
    admits = try EndpointSelection(from: &body)
    entry = try Entry(from: &body)
    carrier = try Carrier(from: &body)
    tickets = try body.list("tickets", max: Limits.ticketsMax)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    record.encode(into: &sink)
    sink.put(varint: index)
    target.encode(into: &sink)
    targetIncarnation.encode(into: &sink)
    sink.put(varint: seen)
    admits.encode(into: &sink)
    entry.encode(into: &sink)
    carrier.encode(into: &sink)
    sink.put(list: tickets, max: Limits.ticketsMax)
  }
}

/// An endpoint of the sender leaves.
public struct Leave: Frame {
  public static let type = FrameType.leave
  public var record: RecordHead
  public var index: UInt32
  public var reason: Reason
  public var seen: UInt64

  @inlinable
  public init(record: RecordHead, index: UInt32, reason: Reason, seen: UInt64) {
    self.record = record
    self.index = index
    self.reason = reason
    self.seen = seen
  }

  public init(body: inout Reader) throws(WireError) {
    record = try RecordHead(from: &body)
    index = try body.varint32("index")
    reason = try Reason(from: &body)
    seen = try body.varint()
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    record.encode(into: &sink)
    sink.put(varint: index)
    reason.encode(into: &sink)
    sink.put(varint: seen)
  }
}

/// The decision of endpoints of the sender about one of the receiver's.
public struct Verdict: Frame {
  public static let type = FrameType.verdict
  public var record: RecordHead
  public var about: UInt32
  public var by: EndpointSelection
  /// `none` means admitted.
  public var reason: Reason
  public var seen: UInt64

  @inlinable
  public init(record: RecordHead, about: UInt32, by: EndpointSelection, reason: Reason, seen: UInt64) {
    self.record = record
    self.about = about
    self.by = by
    self.reason = reason
    self.seen = seen
  }

  public init(body: inout Reader) throws(WireError) {
    record = try RecordHead(from: &body)
    about = try body.varint32("about")
    by = try EndpointSelection(from: &body)
    reason = try Reason(from: &body)
    seen = try body.varint()
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    record.encode(into: &sink)
    sink.put(varint: about)
    by.encode(into: &sink)
    reason.encode(into: &sink)
    sink.put(varint: seen)
  }
}

/// Introduces endpoints that belong to the group.
public struct Introduce: Frame {
  public static let type = FrameType.introduce
  public var record: RecordHead
  public var spread: Bool
  public var introduction: Introduction

  @inlinable
  public init(record: RecordHead, spread: Bool, introduction: Introduction) {
    self.record = record
    self.spread = spread
    self.introduction = introduction
  }

  public init(body: inout Reader) throws(WireError) {
    record = try RecordHead(from: &body)
    spread = try body.bool("spread")
    introduction = try Introduction(from: &body)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    record.encode(into: &sink)
    sink.put(bool: spread)
    introduction.encode(into: &sink)
  }
}

/// The sender has no such endpoint, or not any more.
public struct Gone: Frame {
  public static let type = FrameType.gone
  public var record: RecordHead
  public var endpoint: EndpointID
  /// A later one may be there.
  public var incarnation: EndpointIncarnation

  @inlinable
  public init(record: RecordHead, endpoint: EndpointID, incarnation: EndpointIncarnation) {
    self.record = record
    self.endpoint = endpoint
    self.incarnation = incarnation
  }

  public init(body: inout Reader) throws(WireError) {
    record = try RecordHead(from: &body)
    endpoint = try EndpointID(from: &body)
    incarnation = try EndpointIncarnation(from: &body)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    record.encode(into: &sink)
    endpoint.encode(into: &sink)
    incarnation.encode(into: &sink)
  }
}
