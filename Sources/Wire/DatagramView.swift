/// An unreliable message as it lies in a frame: read and written without an allocation.
public struct DatagramView: ~Escapable {
  public let from: UInt32
  public let seen: UInt64
  public let audience: AudienceView
  public let payload: RawSpan

  @inlinable @inline(__always)
  @_lifetime(copy body)
  public init(decoding body: RawSpan) throws(WireError) {
    var reader = Reader(body)
    from = try reader.varint32("from")
    seen = try reader.varint()
    audience = try AudienceView(from: &reader)
    payload = try reader.rest("datagram payload", max: Limits.datagramPayloadBytesMax)
  }

  /// Bytes of the whole frame, its length with it.
  @inlinable @inline(__always)
  public static func encodedSize(from: UInt32, seen: UInt64, to audience: Audience, payloadBytes: Int) -> Int {
    let length = length(from, seen, audience, payloadBytes)
    return MeasuringSink.size(varint: UInt64(length)) &+ length
  }

  /// Writes the whole frame; `out` must have room for `encodedSize`.
  @inlinable @inline(__always)
  public static func write(
    from: UInt32, seen: UInt64, to audience: Audience, payload: RawSpan, into out: inout OutputRawSpan
  ) {
    precondition(payload.byteCount <= Limits.datagramPayloadBytesMax, "a datagram's payload is over its limit")
    out.put(varint: UInt64(length(from, seen, audience, payload.byteCount)))
    put(from, seen, audience, into: &out)
    out.put(raw: payload)
  }

  @inlinable @inline(__always)
  static func length(_ from: UInt32, _ seen: UInt64, _ audience: Audience, _ payloadBytes: Int) -> Int {
    var sink = MeasuringSink()
    put(from, seen, audience, into: &sink)
    return sink.byteCount &+ payloadBytes
  }

  /// All but the payload.
  @inlinable @inline(__always)
  static func put<S: Sink & ~Copyable & ~Escapable>(
    _ from: UInt32, _ seen: UInt64, _ audience: Audience, into sink: inout S
  ) {
    sink.put(u8: FrameType.datagram.rawValue)
    sink.put(varint: from)
    sink.put(varint: seen)
    audience.encode(into: &sink)
  }
}
