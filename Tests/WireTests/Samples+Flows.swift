import Wire

/// Bytes of a stream that are owned; the view writes them, and they are described once more here to check the view.
struct StreamData: Frame {
  static let type = FrameType.streamData
  var flow: UInt64
  var offset: UInt64
  var payload: [UInt8]

  init(flow: UInt64, offset: UInt64, payload: [UInt8]) {
    self.flow = flow
    self.offset = offset
    self.payload = payload
  }

  init(body: inout Reader) throws(WireError) {
    let view = try StreamDataView(decoding: try body.rest("body", max: .max))
    flow = view.flow
    offset = view.offset
    payload = [UInt8](view.payload)
  }

  func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(u64: flow)
    sink.put(varint: offset)
    sink.put(raw: payload.span.bytes)
  }

  var viewed: [UInt8] {
    filled(StreamDataView.encodedSize(flow: flow, offset: offset, payloadBytes: payload.count)) {
      StreamDataView.writeHead(flow: flow, offset: offset, payloadBytes: payload.count, into: &$0)
      $0.put(raw: payload.span.bytes)
    }
  }
}

/// A chunk that owns its bytes, and its proof, which the view skips.
struct ResourceChunk: Frame {
  static let type = FrameType.resourceChunk
  var flow: UInt64
  var turn: UInt32
  var offset: UInt64
  var digest: Digest
  var proof: [Digest]
  var payload: [UInt8]

  init(flow: UInt64, turn: UInt32, offset: UInt64, digest: Digest, proof: [Digest] = [], payload: [UInt8]) {
    self.flow = flow
    self.turn = turn
    self.offset = offset
    self.digest = digest
    self.proof = proof
    self.payload = payload
  }

  init(body: inout Reader) throws(WireError) {
    let whole = try body.rest("body", max: .max)
    let view = try ResourceChunkView(decoding: whole)
    flow = view.flow
    turn = view.turn
    offset = view.offset
    digest = view.digest
    payload = [UInt8](view.payload)
    proof = []
    var reader = Reader(whole)
    _ = try reader.raw(whole.byteCount - payload.count - view.proofCount * Digest.byteCount)
    for _ in 0..<view.proofCount { proof.append(try Digest(from: &reader)) }
  }

  func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(u64: flow)
    sink.put(varint: turn)
    sink.put(varint: offset)
    digest.encode(into: &sink)
    sink.put(list: proof, max: .max)
    sink.put(raw: payload.span.bytes)
  }

  /// The bytes without the proof, which the view does not write.
  var viewed: [UInt8] {
    let size = ResourceChunkView.encodedSize(
      flow: flow, turn: turn, offset: offset, digest: digest, payloadBytes: payload.count)
    return filled(size) {
      ResourceChunkView.writeHead(
        flow: flow, turn: turn, offset: offset, digest: digest, payloadBytes: payload.count, into: &$0)
      $0.put(raw: payload.span.bytes)
    }
  }
}

extension Sample {
  static let flow: UInt64 = 0x0102_0304_0506_0708
  /// SHA-256 of nothing: the root of no chunks.
  static let emptyRoot = Digest(
    Bytes32(0xe3b0_c442_98fc_1c14, 0x9afb_f4c8_996f_b924, 0x27ae_41e4_649b_934c, 0xa495_991b_7852_b855))

  static let streamData = [
    ("streamData", StreamData(flow: flow, offset: 16_384, payload: Array("beat".utf8))),
    ("streamData-last", StreamData(flow: .max, offset: 1 << 62, payload: [7])),
  ]
  static let chunks = [
    ("resourceChunk", ResourceChunk(flow: flow, turn: 1, offset: 0, digest: digest, payload: Array("hello".utf8))),
    (
      "resourceChunk-last",
      ResourceChunk(flow: .max, turn: .max, offset: 1 << 62, digest: digest, payload: [7])
    ),
  ]
  static let provenChunk = ResourceChunk(
    flow: flow, turn: 2, offset: 16_384, digest: digest, proof: [emptyRoot, digest], payload: Array("hi".utf8))

  static let streams =
    [
      Sample(
        "streamOpen",
        StreamOpen(
          record: record(14), flow: flow, incarnation: Incarnation(300), from: 2, to: 3, name: "Küche/temperature")),
      Sample(
        "streamOpen-greatest",
        StreamOpen(
          record: RecordHead(strand: .max, sequence: .max), flow: .max, incarnation: Incarnation(.max), from: .max,
          to: .max, name: "")),
      Sample("streamEnd", StreamEnd(record: record(15), flow: flow, reason: .none, size: 16_384)),
      Sample("streamEnd-lost", StreamEnd(record: record(15), flow: 1, reason: .lost, size: 1 << 62)),
      Sample("streamStop", StreamStop(record: record(16), flow: flow, reason: .none)),
      Sample("streamStop-cancelled", StreamStop(record: record(16), flow: flow, reason: .cancelled)),
      Sample("streamGrant", StreamGrant(flow: flow, received: 300, limit: 16_384)),
      Sample("streamGrant-full", StreamGrant(flow: flow, received: 1 << 62, limit: 1 << 62)),
    ] + streamData.map { Sample($0.0, $0.1) }

  static let resources =
    [
      Sample(
        "resourceOffer",
        ResourceOffer(
          record: record(17), flow: flow, from: 2, to: 3, name: "Küche.txt", type: "text/plain", size: 300,
          root: digest)),
      Sample(
        "resourceOffer-unmeasured",
        ResourceOffer(
          record: record(18), flow: .max, from: .max, to: .max, name: "", type: "", chunkBits: 20, size: nil,
          root: nil)),
      Sample(
        "resourceOffer-sized",
        ResourceOffer(
          record: record(18), flow: 1, from: 0, to: 0, name: "a", type: "", chunkBits: 12, size: 1 << 62, root: nil)),
      Sample(
        "resourceOffer-empty",
        ResourceOffer(record: record(18), flow: 1, from: 0, to: 0, name: "a", type: "", size: 0, root: emptyRoot)),
      Sample("resourceEnd", ResourceEnd(record: record(19), flow: flow, outcome: .whole(size: 300, root: digest))),
      Sample("resourceEnd-unreadable", ResourceEnd(record: record(19), flow: flow, outcome: .broken(.unreadable))),
      Sample("resourceStop", ResourceStop(record: record(20), flow: flow, reason: .none)),
      Sample("resourceStop-tooLarge", ResourceStop(record: record(20), flow: flow, reason: .tooLarge)),
      Sample("resourceStop-unwritable", ResourceStop(record: record(20), flow: flow, reason: .unwritable)),
      Sample("resourceWant", ResourceWant(flow: flow, turn: 2, offset: 16_384, limit: 1_048_576, root: digest)),
      Sample("resourceWant-first", ResourceWant(flow: flow, turn: 1, offset: 0, limit: 0, root: emptyRoot)),
      Sample("resourceChunk-proven", provenChunk),
    ] + chunks.map { Sample($0.0, $0.1) }
}
