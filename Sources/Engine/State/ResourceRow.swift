import Wire

/// The stored form of a transfer, which resumes it after a restart.
struct ResourceRow: Part {
  var isIncoming: Bool
  var flow: UInt64
  var pair: Pair
  var info: ResourceInfo
  var isAccepted: Bool
  var stored: UInt64
  var peaks: [Digest]
  /// Nil while it is in progress.
  var ending: TransferEnd?

  init(_ sender: ResourceSender) {
    isIncoming = false
    flow = sender.flow
    pair = sender.pair
    info = sender.info
    isAccepted = true
    stored = 0
    peaks = []
    ending = sender.ending
  }

  init(_ receiver: ResourceReceiver) {
    isIncoming = true
    flow = receiver.flow
    pair = receiver.pair
    info = receiver.info
    isAccepted = receiver.isAccepted
    stored = receiver.stored
    peaks = receiver.tree.peaks
    ending = receiver.ending
  }

  /// The tree of the stored bytes; nil where the row is damaged.
  var tree: ChunkTree? {
    let chunk = UInt64(Limits.chunkBytes)
    return ChunkTree(peaks: peaks, count: stored / chunk + (stored % chunk == 0 ? 0 : 1))
  }

  init(from reader: inout Reader) throws(WireError) {
    isIncoming = try reader.bool("incoming")
    flow = try reader.u64()
    guard flow != 0 else { throw WireError(.numberUnderLimit(field: "flow", value: 0, min: 1)) }
    pair = Pair(local: try EndpointID(from: &reader), member: try EndpointID(from: &reader))
    info = ResourceInfo(
      name: try reader.text("name", max: Limits.resourceNameBytesMax),
      type: try reader.text("type", max: Limits.resourceTypeBytesMax))
    if try reader.bool("size") { info.size = try reader.bytes62("size") }
    if try reader.bool("root") { info.root = try Digest(from: &reader) }
    isAccepted = try reader.bool("accepted")
    stored = try reader.bytes62("stored")
    peaks = try reader.list("peaks", max: 64)
    let reason = try Reason(from: &reader)
    let ordinal = try reader.varint()
    if try reader.bool("ended") { ending = TransferEnd(reason: reason, ordinal: ordinal == 0 ? nil : ordinal) }
    // Only a receiver with all of it can have ended without a reason.
    guard isIncoming || ending?.reason != Reason.none else {
      throw WireError(.unknownValue(field: "reason", value: 0))
    }
  }

  func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(bool: isIncoming)
    sink.put(u64: flow)
    pair.local.encode(into: &sink)
    pair.member.encode(into: &sink)
    sink.put(text: info.name, max: Limits.resourceNameBytesMax)
    sink.put(text: info.type, max: Limits.resourceTypeBytesMax)
    sink.put(bool: info.size != nil)
    if let size = info.size { sink.put(varint: size) }
    sink.put(bool: info.root != nil)
    if let root = info.root { root.encode(into: &sink) }
    sink.put(bool: isAccepted)
    sink.put(varint: stored)
    sink.put(list: peaks, max: 64)
    (ending?.reason ?? .none).encode(into: &sink)
    sink.put(varint: ending?.ordinal ?? 0)
    sink.put(bool: ending != nil)
  }
}

extension Reader {
  /// A number of bytes that a resource may have.
  @_lifetime(self: copy self)
  fileprivate mutating func bytes62(_ field: String) throws(WireError) -> UInt64 {
    let value = try varint()
    guard value <= Limits.flowBytesMax else {
      throw WireError(.numberOverLimit(field: field, value: value, max: Limits.flowBytesMax))
    }
    return value
  }
}
