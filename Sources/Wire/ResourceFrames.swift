/// An endpoint of the sender offers a resource to an endpoint of the receiver.
public struct ResourceOffer: Frame {
  public static let type = FrameType.resourceOffer
  public var record: RecordHead
  /// Not 0.
  public var flow: UInt64
  public var from: UInt32
  public var to: UInt32
  /// At most `Limits.resourceNameBytesMax`.
  public var name: String
  /// A media type, or empty; at most `Limits.resourceTypeBytesMax`.
  public var type: String
  /// Chunks have 2^`chunkBits` bytes; in `Limits.chunkBitsRange`.
  public var chunkBits: UInt8
  /// Nil while its sender does not know; at most `Limits.flowBytesMax`.
  public var size: UInt64?
  /// The root of all its chunks; nil while its sender does not know.
  public var root: Digest?

  @inlinable
  public init(
    record: RecordHead, flow: UInt64, from: UInt32, to: UInt32, name: String, type: String,
    chunkBits: UInt8 = Limits.chunkBits, size: UInt64?, root: Digest?
  ) {
    self.record = record
    self.flow = flow
    self.from = from
    self.to = to
    self.name = name
    self.type = type
    self.chunkBits = chunkBits
    self.size = size
    self.root = root
  }

  public init(body: inout Reader) throws(WireError) {
    record = try RecordHead(from: &body)
    flow = try body.flow()
    from = try body.varint32("from")
    to = try body.varint32("to")
    name = try body.text("resource name", max: Limits.resourceNameBytesMax)
    type = try body.text("resource type", max: Limits.resourceTypeBytesMax)
    chunkBits = try body.chunkBits()
    size = try body.bool("size") ? try body.flowBytes("size") : nil
    root = try body.bool("root") ? try Digest(from: &body) : nil
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    precondition(Limits.chunkBitsRange.contains(chunkBits), "chunks that are too small or too large")
    record.encode(into: &sink)
    sink.put(flow: flow)
    sink.put(varint: from)
    sink.put(varint: to)
    sink.put(text: name, max: Limits.resourceNameBytesMax)
    sink.put(text: type, max: Limits.resourceTypeBytesMax)
    sink.put(u8: chunkBits)
    sink.put(bool: size != nil)
    if let size { sink.put(flowBytes: size) }
    sink.put(bool: root != nil)
    if let root { root.encode(into: &sink) }
  }
}

/// The sender of a resource has read it to its end, or sends no more of it.
public struct ResourceEnd: Frame {
  public static let type = FrameType.resourceEnd
  public var record: RecordHead
  public var flow: UInt64
  public var outcome: Outcome

  public enum Outcome: Hashable, Sendable {
    /// The size is at most `Limits.flowBytesMax`; the root is of all its chunks.
    case whole(size: UInt64, root: Digest)
    /// Never with `Reason.none`.
    case broken(Reason)
  }

  @inlinable
  public init(record: RecordHead, flow: UInt64, outcome: Outcome) {
    self.record = record
    self.flow = flow
    self.outcome = outcome
  }

  public init(body: inout Reader) throws(WireError) {
    record = try RecordHead(from: &body)
    flow = try body.flow()
    let reason = try Reason(from: &body)
    if reason == .none {
      let size = try body.flowBytes("size")
      outcome = .whole(size: size, root: try Digest(from: &body))
    } else {
      outcome = .broken(reason)
    }
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    record.encode(into: &sink)
    sink.put(flow: flow)
    switch outcome {
    case .whole(let size, let root):
      Reason.none.encode(into: &sink)
      sink.put(flowBytes: size)
      root.encode(into: &sink)
    case .broken(let reason):
      precondition(reason != .none, "broken for no reason")
      reason.encode(into: &sink)
    }
  }
}

/// The receiver of a resource takes no more of it.
public struct ResourceStop: Frame {
  public static let type = FrameType.resourceStop
  public var record: RecordHead
  public var flow: UInt64
  /// `none` means that the receiver holds all of it.
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

/// Flow control: the receiver of a resource has the chunks before `offset`, and room for those before `limit`.
public struct ResourceWant: Frame {
  public static let type = FrameType.resourceWant
  public var flow: UInt64
  /// 1 is the first.
  public var turn: UInt32
  public var offset: UInt64
  /// Not under `offset`; at most `Limits.flowBytesMax`.
  public var limit: UInt64
  /// The root of the chunks before `offset`.
  public var root: Digest

  @inlinable
  public init(flow: UInt64, turn: UInt32, offset: UInt64, limit: UInt64, root: Digest) {
    self.flow = flow
    self.turn = turn
    self.offset = offset
    self.limit = limit
    self.root = root
  }

  public init(body: inout Reader) throws(WireError) {
    flow = try body.flow()
    turn = try body.turn()
    offset = try body.flowBytes("offset")
    limit = try body.flowLimit(from: offset)
    root = try Digest(from: &body)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(flow: flow)
    sink.put(turn: turn)
    sink.put(flowBytes: offset)
    sink.put(flowLimit: limit, from: offset)
    root.encode(into: &sink)
  }
}

extension Reader {
  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  mutating func turn() throws(WireError) -> UInt32 {
    let turn = try varint32("turn")
    guard turn >= 1 else { throw WireError(.numberUnderLimit(field: "turn", value: 0, min: 1)) }
    return turn
  }

  @_lifetime(self: copy self)
  fileprivate mutating func chunkBits() throws(WireError) -> UInt8 {
    let bits = try u8()
    let range = Limits.chunkBitsRange
    guard bits >= range.lowerBound else {
      throw WireError(.numberUnderLimit(field: "chunkBits", value: UInt64(bits), min: UInt64(range.lowerBound)))
    }
    guard bits <= range.upperBound else {
      throw WireError(.numberOverLimit(field: "chunkBits", value: UInt64(bits), max: UInt64(range.upperBound)))
    }
    return bits
  }
}

extension Sink where Self: ~Copyable & ~Escapable {
  @inlinable @inline(__always)
  @_lifetime(self: copy self)
  mutating func put(turn: UInt32) {
    precondition(turn >= 1, "turns begin at 1")
    put(varint: turn)
  }
}
