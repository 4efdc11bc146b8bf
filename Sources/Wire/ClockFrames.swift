/// Requests a reading of a group's shared clock. It is sent to hosts with the feature only.
public struct ClockRequest: Frame {
  public static let type = FrameType.clockRequest
  /// The sender's number for the group.
  public var strand: UInt32
  /// Comes back in the reply.
  public var token: UInt64
  /// The sender's reading, in nanoseconds: a host whose clock is far behind requests one in return.
  public var time: UInt64

  @inlinable
  public init(strand: UInt32, token: UInt64, time: UInt64) {
    self.strand = strand
    self.token = token
    self.time = time
  }

  public init(body: inout Reader) throws(WireError) {
    strand = try body.varint32("strand")
    token = try body.u64()
    time = try body.clockTime("clock time")
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: strand)
    sink.put(u64: token)
    sink.put(clockTime: time)
  }
}

/// A reading of a group's shared clock, at the moment of the request's arrival.
public struct ClockReply: Frame {
  public static let type = FrameType.clockReply
  public var token: UInt64
  /// The reading, in nanoseconds.
  public var time: UInt64
  /// The error bound of the reading, in nanoseconds.
  public var bound: UInt64

  @inlinable
  public init(token: UInt64, time: UInt64, bound: UInt64) {
    self.token = token
    self.time = time
    self.bound = bound
  }

  public init(body: inout Reader) throws(WireError) {
    token = try body.u64()
    time = try body.clockTime("clock time")
    bound = try body.clockTime("clock bound")
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(u64: token)
    sink.put(clockTime: time)
    sink.put(clockTime: bound)
  }
}

extension Reader {
  fileprivate mutating func clockTime(_ field: @autoclosure () -> String) throws(WireError) -> UInt64 {
    let value = try varint()
    guard value <= Limits.clockNanosecondsMax else {
      throw WireError(.numberOverLimit(field: field(), value: value, max: Limits.clockNanosecondsMax))
    }
    return value
  }
}

extension Sink where Self: ~Copyable & ~Escapable {
  @_lifetime(self: copy self)
  fileprivate mutating func put(clockTime value: UInt64) {
    precondition(value <= Limits.clockNanosecondsMax, "a clock's time is over its limit")
    put(varint: value)
  }
}
