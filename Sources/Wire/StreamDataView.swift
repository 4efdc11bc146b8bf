/// Bytes of a stream in their frame: read and written without an allocation.
public struct StreamDataView: ~Escapable {
  public let flow: UInt64
  /// The offset of the payload's first byte in the stream.
  public let offset: UInt64
  /// Never empty.
  public let payload: RawSpan

  @inlinable @inline(__always)
  @_lifetime(copy body)
  public init(decoding body: RawSpan) throws(WireError) {
    var reader = Reader(body)
    flow = try reader.flow()
    offset = try reader.flowBytes("offset")
    payload = try reader.rest("stream payload", min: 1, max: Limits.chunkBytes)
  }

  /// The size of the whole frame, including its length and payload.
  @inlinable @inline(__always)
  public static func encodedSize(flow: UInt64, offset: UInt64, payloadBytes: Int) -> Int {
    let length = length(flow, offset, payloadBytes)
    return MeasuringSink.size(varint: UInt64(length)) &+ length
  }

  /// Writes the frame up to the payload, of which exactly `payloadBytes` must follow; `out` must have room for
  /// `encodedSize`.
  @inlinable @inline(__always)
  public static func writeHead(flow: UInt64, offset: UInt64, payloadBytes: Int, into out: inout OutputRawSpan) {
    precondition(
      payloadBytes >= 1 && payloadBytes <= Limits.chunkBytes, "a stream's payload is empty or over its limit")
    out.put(varint: UInt64(length(flow, offset, payloadBytes)))
    put(flow, offset, into: &out)
  }

  @inlinable @inline(__always)
  static func length(_ flow: UInt64, _ offset: UInt64, _ payloadBytes: Int) -> Int {
    var sink = MeasuringSink()
    put(flow, offset, into: &sink)
    return sink.byteCount &+ payloadBytes
  }

  /// The frame up to the payload.
  @inlinable @inline(__always)
  static func put<S: Sink & ~Copyable & ~Escapable>(_ flow: UInt64, _ offset: UInt64, into sink: inout S) {
    sink.put(u8: FrameType.streamData.rawValue)
    sink.put(flow: flow)
    sink.put(flowBytes: offset)
  }
}
