/// An endpoint of the sender opens a stream to an endpoint of the receiver.
public struct StreamOpen: Frame {
  public static let type = FrameType.streamOpen
  public var record: RecordHead
  /// Not 0.
  public var flow: UInt64
  /// The incarnation of the sender's host.
  public var incarnation: Incarnation
  public var from: UInt32
  public var to: UInt32
  /// At most `Limits.streamNameBytesMax`.
  public var name: String

  @inlinable
  public init(record: RecordHead, flow: UInt64, incarnation: Incarnation, from: UInt32, to: UInt32, name: String) {
    self.record = record
    self.flow = flow
    self.incarnation = incarnation
    self.from = from
    self.to = to
    self.name = name
  }

  public init(body: inout Reader) throws(WireError) {
    record = try RecordHead(from: &body)
    flow = try body.flow()
    incarnation = try Incarnation(from: &body)
    from = try body.varint32("from")
    to = try body.varint32("to")
    name = try body.text("stream name", max: Limits.streamNameBytesMax)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    record.encode(into: &sink)
    sink.put(flow: flow)
    incarnation.encode(into: &sink)
    sink.put(varint: from)
    sink.put(varint: to)
    sink.put(text: name, max: Limits.streamNameBytesMax)
  }
}

/// The writer writes no more.
public struct StreamEnd: Frame {
  public static let type = FrameType.streamEnd
  public var record: RecordHead
  public var flow: UInt64
  /// `none` means that the stream is whole with `size` bytes.
  public var reason: Reason
  /// The bytes written in all; at most `Limits.flowBytesMax`.
  public var size: UInt64

  @inlinable
  public init(record: RecordHead, flow: UInt64, reason: Reason, size: UInt64) {
    self.record = record
    self.flow = flow
    self.reason = reason
    self.size = size
  }

  public init(body: inout Reader) throws(WireError) {
    record = try RecordHead(from: &body)
    flow = try body.flow()
    reason = try Reason(from: &body)
    size = try body.flowBytes("size")
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    record.encode(into: &sink)
    sink.put(flow: flow)
    reason.encode(into: &sink)
    sink.put(flowBytes: size)
  }
}

/// The reader reads no more.
public struct StreamStop: Frame {
  public static let type = FrameType.streamStop
  public var record: RecordHead
  public var flow: UInt64
  /// `none` means that the reader has all of it.
  public var reason: Reason

  @inlinable
  public init(record: RecordHead, flow: UInt64, reason: Reason) {
    self.record = record
    self.flow = flow
    self.reason = reason
  }

  public init(body: inout Reader) throws(WireError) {
    record = try RecordHead(from: &body)
    flow = try body.flow()
    reason = try Reason(from: &body)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    record.encode(into: &sink)
    sink.put(flow: flow)
    reason.encode(into: &sink)
  }
}

/// Flow control: the reader has the bytes before `received`, and room for those before `limit`.
public struct StreamGrant: Frame {
  public static let type = FrameType.streamGrant
  public var flow: UInt64
  public var received: UInt64
  /// Not under `received`; at most `Limits.flowBytesMax`.
  public var limit: UInt64

  @inlinable
  public init(flow: UInt64, received: UInt64, limit: UInt64) {
    self.flow = flow
    self.received = received
    self.limit = limit
  }

  public init(body: inout Reader) throws(WireError) {
    flow = try body.flow()
    received = try body.flowBytes("received")
    limit = try body.flowLimit(from: received)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(flow: flow)
    sink.put(flowBytes: received)
    sink.put(flowLimit: limit, from: received)
  }
}

// Streams and resources are both flows of bytes.

extension Reader {
  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  mutating func flow() throws(WireError) -> UInt64 {
    let flow = try u64()
    guard flow != 0 else { throw WireError(.numberUnderLimit(field: "flow", value: 0, min: 1)) }
    return flow
  }

  /// An offset in a flow, or its size.
  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  mutating func flowBytes(_ field: @autoclosure () -> String) throws(WireError) -> UInt64 {
    let value = try varint()
    guard value <= Limits.flowBytesMax else {
      throw WireError(.numberOverLimit(field: field(), value: value, max: Limits.flowBytesMax))
    }
    return value
  }

  @_lifetime(self: copy self)
  mutating func flowLimit(from floor: UInt64) throws(WireError) -> UInt64 {
    let limit = try flowBytes("limit")
    guard limit >= floor else { throw WireError(.numberUnderLimit(field: "limit", value: limit, min: floor)) }
    return limit
  }
}

extension Sink where Self: ~Copyable & ~Escapable {
  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  mutating func put(flow: UInt64) {
    precondition(flow != 0, "a flow is never 0")
    put(u64: flow)
  }

  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  mutating func put(flowBytes value: UInt64) {
    precondition(value <= Limits.flowBytesMax, "an offset or size of a flow is over its limit")
    put(varint: value)
  }

  @_lifetime(self: copy self)
  mutating func put(flowLimit limit: UInt64, from floor: UInt64) {
    precondition(limit >= floor, "a flow's limit is under what it has")
    put(flowBytes: limit)
  }
}
