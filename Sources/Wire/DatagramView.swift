/// An unreliable message in its frame: read and written without an allocation.
public struct DatagramView: ~Escapable {
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
    from = try reader.varint32("from")
    seen = try reader.varint()
    selection = try EndpointSelectionView(from: &reader)
    contentType = isTyped ? try ContentType(from: &reader) : nil
    payload = try reader.rest("datagram payload", max: Limits.datagramPayloadBytesMax)
  }

  /// The size of the whole frame, including its length.
  @inlinable @inline(__always)
  public static func encodedSize(
    from: UInt32, seen: UInt64, to selection: EndpointSelection, contentType: ContentType? = nil, payloadBytes: Int
  ) -> Int {
    let length = length(from, seen, selection, contentType, payloadBytes)
    return MeasuringSink.size(varint: UInt64(length)) &+ length
  }

  /// Writes the whole frame; `out` must have room for `encodedSize`.
  @inlinable @inline(__always)
  public static func write(
    from: UInt32, seen: UInt64, to selection: EndpointSelection, contentType: ContentType? = nil, payload: RawSpan,
    into out: inout OutputRawSpan
  ) {
    precondition(payload.byteCount <= Limits.datagramPayloadBytesMax, "a datagram's payload is over its limit")
    out.put(varint: UInt64(length(from, seen, selection, contentType, payload.byteCount)))
    put(from, seen, selection, contentType, into: &out)
    out.put(raw: payload)
  }

  @inlinable @inline(__always)
  static func length(
    _ from: UInt32, _ seen: UInt64, _ selection: EndpointSelection, _ contentType: ContentType?, _ payloadBytes: Int
  ) -> Int {
    var sink = MeasuringSink()
    put(from, seen, selection, contentType, into: &sink)
    return sink.byteCount &+ payloadBytes
  }

  /// The frame up to the payload.
  @inlinable @inline(__always)
  static func put<S: Sink & ~Copyable & ~Escapable>(
    _ from: UInt32, _ seen: UInt64, _ selection: EndpointSelection, _ contentType: ContentType?, into sink: inout S
  ) {
    sink.put(u8: (contentType == nil ? FrameType.datagram : .typedDatagram).rawValue)
    sink.put(varint: from)
    sink.put(varint: seen)
    selection.encode(into: &sink)
    contentType?.encode(into: &sink)
  }
}
