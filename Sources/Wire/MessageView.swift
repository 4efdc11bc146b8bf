/// A message in its frame: read without a copy (zero-copy) and written without an allocation.
public struct MessageView: ~Escapable {
  public let record: RecordHead
  public let from: UInt32
  public let seen: UInt64
  public let selection: EndpointSelectionView
  /// Nil in a frame type without content types.
  public let contentType: ContentType?
  public let payload: RawSpan

  @inlinable @inline(__always)
  @_lifetime(copy body)
  public init(decoding body: RawSpan, isTyped: Bool = false) throws(WireError) {
    var reader = Reader(body)
    record = try RecordHead(from: &reader)
    from = try reader.varint32("from")
    seen = try reader.varint()
    selection = try EndpointSelectionView(from: &reader)
    contentType = isTyped ? try ContentType(from: &reader) : nil
    payload = try reader.rest("message payload", max: Limits.messagePayloadBytesMax)
  }

  /// The size of the whole frame, including its length.
  @inlinable @inline(__always)
  public static func encodedSize(
    record: RecordHead, from: UInt32, seen: UInt64, to selection: EndpointSelection, contentType: ContentType? = nil,
    payloadBytes: Int
  ) -> Int {
    let length = length(record, from, seen, selection, contentType, payloadBytes)
    return MeasuringSink.size(varint: UInt64(length)) &+ length
  }

  /// Writes the whole frame; `out` must have room for `encodedSize`.
  @inlinable @inline(__always)
  public static func write(
    record: RecordHead, from: UInt32, seen: UInt64, to selection: EndpointSelection, contentType: ContentType? = nil,
    payload: RawSpan, into out: inout OutputRawSpan
  ) {
    precondition(payload.byteCount <= Limits.messagePayloadBytesMax, "a message's payload is over its limit")
    out.put(varint: UInt64(length(record, from, seen, selection, contentType, payload.byteCount)))
    put(record, from, seen, selection, contentType, into: &out)
    out.put(raw: payload)
  }

  @inlinable @inline(__always)
  static func length(
    _ record: RecordHead, _ from: UInt32, _ seen: UInt64, _ selection: EndpointSelection, _ contentType: ContentType?,
    _ payloadBytes: Int
  ) -> Int {
    var sink = MeasuringSink()
    put(record, from, seen, selection, contentType, into: &sink)
    return sink.byteCount &+ payloadBytes
  }

  /// The frame up to the payload.
  @inlinable @inline(__always)
  static func put<S: Sink & ~Copyable & ~Escapable>(
    _ record: RecordHead, _ from: UInt32, _ seen: UInt64, _ selection: EndpointSelection, _ contentType: ContentType?,
    into sink: inout S
  ) {
    sink.put(u8: (contentType == nil ? FrameType.message : .typedMessage).rawValue)
    record.encode(into: &sink)
    sink.put(varint: from)
    sink.put(varint: seen)
    selection.encode(into: &sink)
    contentType?.encode(into: &sink)
  }
}
