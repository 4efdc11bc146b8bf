/// A chunk of a resource in its frame: read and written without an allocation.
public struct ResourceChunkView: ~Escapable {
  public let flow: UInt64
  /// The turn of the want that it answers.
  public let turn: UInt32
  /// The offset of the payload's first byte in the resource.
  public let offset: UInt64
  public let digest: Digest
  /// Digests in the proof, which is skipped.
  public let proofCount: Int
  /// Never empty.
  public let payload: RawSpan

  @inlinable @inline(__always)
  @_lifetime(copy body)
  public init(decoding body: RawSpan) throws(WireError) {
    var reader = Reader(body)
    flow = try reader.flow()
    turn = try reader.turn()
    offset = try reader.flowBytes("offset")
    digest = try Digest(from: &reader)
    proofCount = try reader.count("proof", max: Limits.proofDigestsMax)
    _ = try reader.raw(proofCount &* Digest.byteCount)
    payload = try reader.rest("chunk payload", min: 1, max: Limits.chunkBytes)
  }

  /// The size of the whole frame, including its length and payload.
  @inlinable @inline(__always)
  public static func encodedSize(flow: UInt64, turn: UInt32, offset: UInt64, digest: Digest, payloadBytes: Int) -> Int {
    let length = length(flow, turn, offset, digest, payloadBytes)
    return MeasuringSink.size(varint: UInt64(length)) &+ length
  }

  /// Writes the frame up to the payload, of which exactly `payloadBytes` must follow; `out` must have room for
  /// `encodedSize`.
  @inlinable @inline(__always)
  public static func writeHead(
    flow: UInt64, turn: UInt32, offset: UInt64, digest: Digest, payloadBytes: Int, into out: inout OutputRawSpan
  ) {
    precondition(payloadBytes >= 1 && payloadBytes <= Limits.chunkBytes, "a chunk's payload is empty or over its limit")
    out.put(varint: UInt64(length(flow, turn, offset, digest, payloadBytes)))
    put(flow, turn, offset, digest, into: &out)
  }

  @inlinable @inline(__always)
  static func length(
    _ flow: UInt64, _ turn: UInt32, _ offset: UInt64, _ digest: Digest, _ payloadBytes: Int
  ) -> Int {
    var sink = MeasuringSink()
    put(flow, turn, offset, digest, into: &sink)
    return sink.byteCount &+ payloadBytes
  }

  /// The frame up to the payload. The proof is empty: the sender of the chunk is its source.
  @inlinable @inline(__always)
  static func put<S: Sink & ~Copyable & ~Escapable>(
    _ flow: UInt64, _ turn: UInt32, _ offset: UInt64, _ digest: Digest, into sink: inout S
  ) {
    sink.put(u8: FrameType.resourceChunk.rawValue)
    sink.put(flow: flow)
    sink.put(turn: turn)
    sink.put(flowBytes: offset)
    digest.encode(into: &sink)
    sink.put(varint: UInt32(0))
  }
}
