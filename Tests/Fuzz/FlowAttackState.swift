import Engine
import Wire

/// The hostile host's knowledge of the streams and resources between it and the engine.
struct FlowAttackState {
  struct Flow {
    var number: UInt64
    var isStream: Bool
    /// Whether the hostile host is its sender.
    var isOwn: Bool
    /// The position of its next bytes, and the last values from the other side.
    var position: UInt64 = 0
    var limit: UInt64 = 0
    var turn: UInt32 = 1
    var digests: [Digest] = []
  }

  private(set) var flows: [Flow] = []
  /// The numbers of the hostile host's endpoints, and of the engine's.
  private(set) var own: [UInt32] = [1]
  private(set) var others: [UInt32] = [1]
  private var last: UInt64 = 100

  mutating func joined(_ index: UInt32, isOwn: Bool) {
    if isOwn { own.append(index) } else { others.append(index) }
    if own.count > 8 { own.removeFirst() }
    if others.count > 8 { others.removeFirst() }
  }

  mutating func heard(_ type: FrameType, _ body: RawSpan) {
    switch type {
    case .streamOpen: if let open = try? StreamOpen(decoding: body) { add(open.flow, isStream: true, isOwn: false) }
    case .resourceOffer:
      if let offer = try? ResourceOffer(decoding: body) { add(offer.flow, isStream: false, isOwn: false) }
    case .streamGrant:
      if let grant = try? StreamGrant(decoding: body) { change(grant.flow) { $0.limit = grant.limit } }
    case .resourceWant:
      guard let want = try? ResourceWant(decoding: body) else { return }
      change(want.flow) {
        if want.turn != $0.turn || $0.limit == 0 {
          $0.position = want.offset
          $0.digests = Array($0.digests.prefix(Int(want.offset) / Limits.chunkBytes))
        }
        $0.turn = want.turn
        $0.limit = want.limit
      }
    case .streamData:
      guard let view = try? StreamDataView(decoding: body) else { return }
      let end = view.offset + UInt64(view.payload.byteCount)
      change(view.flow) { $0.position = end }
    case .resourceChunk:
      guard let view = try? ResourceChunkView(decoding: body) else { return }
      let (offset, digest, count) = (view.offset, view.digest, view.payload.byteCount)
      change(view.flow) {
        if Int(offset) / Limits.chunkBytes == $0.digests.count { $0.digests.append(digest) }
        $0.position = offset + UInt64(count)
      }
    default: break
    }
  }

  private mutating func add(_ number: UInt64, isStream: Bool, isOwn: Bool) {
    guard !flows.contains(where: { $0.number == number && $0.isStream == isStream }) else { return }
    if flows.count == 12 { flows.removeFirst() }
    flows.append(Flow(number: number, isStream: isStream, isOwn: isOwn))
  }

  private mutating func change(_ number: UInt64, _ body: (inout Flow) -> Void) {
    if let place = flows.lastIndex(where: { $0.number == number }) { body(&flows[place]) }
  }

  // MARK: Speaking

  /// The number of a new flow, or now and then of one that is there.
  fileprivate mutating func fresh(isStream: Bool, _ source: inout Source) -> UInt64 {
    if source.u8() >= 230, !flows.isEmpty { return source.pick(flows).number }
    last += 1
    add(last, isStream: isStream, isOwn: true)
    return last
  }

  fileprivate func flow(isStream: Bool, isOwn: Bool, _ source: inout Source) -> Flow {
    let number = source.u8()
    let fitting = number < 235 ? flows.filter { $0.isStream == isStream && $0.isOwn == isOwn } : flows
    if fitting.isEmpty { return Flow(number: max(1, UInt64(number)), isStream: isStream, isOwn: isOwn) }
    return fitting[Int(number) % fitting.count]
  }

  fileprivate mutating func sent(_ number: UInt64, through end: UInt64, _ digest: Digest?) {
    change(number) {
      $0.position = end
      if let digest { $0.digests.append(digest) }
    }
  }
}

/// Frames of streams and resources, mostly valid, with faults that the input chooses.
extension Shaper {
  static func flowFrame(_ source: inout Source, _ attacker: inout AttackerState) -> [UInt8] {
    switch source.u8() % 12 {
    case 0: streamOpen(&source, &attacker)
    case 1: streamEnd(&source, &attacker)
    case 2:
      StreamStop(
        record: record(&source, &attacker), flow: attacker.flows.flow(isStream: true, isOwn: false, &source).number,
        reason: reason(&source)
      ).encoded()
    case 3: streamGrant(&source, attacker)
    case 4, 5: streamData(&source, &attacker)
    case 6: resourceOffer(&source, &attacker)
    case 7: resourceEnd(&source, &attacker)
    case 8:
      ResourceStop(
        record: record(&source, &attacker), flow: attacker.flows.flow(isStream: false, isOwn: false, &source).number,
        reason: reason(&source)
      ).encoded()
    case 9: resourceWant(&source, attacker)
    default: resourceChunk(&source, &attacker)
    }
  }

  private static func ends(_ source: inout Source, _ attacker: AttackerState) -> (UInt32, UInt32) {
    let number = source.u8()
    if number >= 240 { return (source.u32(), attacker.index(&source)) }
    return (
      attacker.flows.own[Int(number) % attacker.flows.own.count],
      attacker.flows.others[Int(number >> 3) % attacker.flows.others.count]
    )
  }

  /// About a place in a flow: there, beside it, or at an edge.
  private static func place(_ position: UInt64, _ source: inout Source) -> UInt64 {
    let chunk = UInt64(Limits.chunkBytes)
    return switch source.u8() % 12 {
    case 0: 0
    case 1: 1
    case 2: min(Limits.flowBytesMax, position + 1)
    case 3: position - min(position, 1)
    case 4: min(Limits.flowBytesMax, position + chunk)
    case 5: position - min(position, chunk)
    case 6: Limits.flowBytesMax
    case 7: UInt64(source.u8()) * chunk
    default: position
    }
  }

  private static func size(_ source: inout Source) -> Int {
    source.pick([Limits.chunkBytes, Limits.chunkBytes, Limits.chunkBytes, 1, 100, 9_000, Limits.chunkBytes - 1])
  }

  private static func streamOpen(_ source: inout Source, _ attacker: inout AttackerState) -> [UInt8] {
    let (from, to) = ends(&source, attacker)
    return StreamOpen(
      record: record(&source, &attacker), flow: max(1, attacker.flows.fresh(isStream: true, &source)),
      incarnation: Incarnation(source.u8() < 230 ? 1 : source.u64()), from: from, to: to,
      name: source.pick(["", "s", FlowProgram.calmName])
    ).encoded()
  }

  private static func streamEnd(_ source: inout Source, _ attacker: inout AttackerState) -> [UInt8] {
    let flow = attacker.flows.flow(isStream: true, isOwn: true, &source)
    return StreamEnd(
      record: record(&source, &attacker), flow: flow.number, reason: reason(&source),
      size: place(flow.position, &source)
    ).encoded()
  }

  private static func streamGrant(_ source: inout Source, _ attacker: AttackerState) -> [UInt8] {
    let flow = attacker.flows.flow(isStream: true, isOwn: false, &source)
    let received = place(flow.position, &source)
    let room: [UInt64] = [0, 1, 20_000, 1 << 20, Limits.flowBytesMax]
    return StreamGrant(
      flow: flow.number, received: received, limit: min(Limits.flowBytesMax, received + source.pick(room))
    ).encoded()
  }

  private static func streamData(_ source: inout Source, _ attacker: inout AttackerState) -> [UInt8] {
    let flow = attacker.flows.flow(isStream: true, isOwn: true, &source)
    let offset = source.u8() < 220 ? flow.position : place(flow.position, &source)
    var count = size(&source)
    // Most often what there is room for.
    if flow.limit > offset, source.u8() < 220 { count = min(count, Int(flow.limit - offset)) }
    attacker.flows.sent(flow.number, through: min(Limits.flowBytesMax, offset + UInt64(count)), nil)
    return filled(StreamDataView.encodedSize(flow: flow.number, offset: offset, payloadBytes: count)) {
      StreamDataView.writeHead(flow: flow.number, offset: offset, payloadBytes: count, into: &$0)
      $0.put(raw: FlowProgram.bytes(from: offset, count).span.bytes)
    }
  }

  private static func resourceOffer(_ source: inout Source, _ attacker: inout AttackerState) -> [UInt8] {
    let (from, to) = ends(&source, attacker)
    let sizes: [UInt64?] = [
      nil, nil, 0, 1, 100, 16_384, 16_385, 40_000, 81_920, 1 << 41, Limits.flowBytesMax,
    ]
    let size = source.pick(sizes)
    let root: Digest? =
      switch source.u8() % 4 {
      case 0: attacker.crypto.hash([5])
      case 1: size.flatMap { $0 <= 100_000 ? Self.root(of: FlowProgram.digests(from: 0, Int($0))[...], attacker) : nil }
      default: nil
      }
    return ResourceOffer(
      record: record(&source, &attacker), flow: max(1, attacker.flows.fresh(isStream: false, &source)), from: from,
      to: to,
      name: source.pick(["f", "", FlowProgram.calmName]), type: "",
      chunkBits: source.u8() < 250 ? Limits.chunkBits : 12,
      size: size, root: root
    ).encoded()
  }

  private static func resourceEnd(_ source: inout Source, _ attacker: inout AttackerState) -> [UInt8] {
    let flow = attacker.flows.flow(isStream: false, isOwn: true, &source)
    let record = record(&source, &attacker)
    guard source.flag else {
      let reason = source.pick(Reason.allCases)
      return ResourceEnd(record: record, flow: flow.number, outcome: .broken(reason == .none ? .lost : reason))
        .encoded()
    }
    let root = source.u8() < 200 ? Self.root(of: flow.digests[...], attacker) : attacker.crypto.hash([5])
    return ResourceEnd(
      record: record, flow: flow.number, outcome: .whole(size: place(flow.position, &source), root: root)
    ).encoded()
  }

  private static func resourceWant(_ source: inout Source, _ attacker: AttackerState) -> [UInt8] {
    let flow = attacker.flows.flow(isStream: false, isOwn: false, &source)
    let turn = source.pick([flow.turn, flow.turn, flow.turn &+ 1, 1, .max, source.u32()])
    let offset = place(flow.position, &source)
    let room: [UInt64] = [0, 1, 16_384, 65_536, 1 << 41, Limits.flowBytesMax]
    let count = min(flow.digests.count, Int((offset + UInt64(Limits.chunkBytes) - 1) / UInt64(Limits.chunkBytes)))
    return ResourceWant(
      flow: flow.number, turn: max(1, turn), offset: offset,
      limit: min(Limits.flowBytesMax, offset + source.pick(room)),
      root: source.u8() < 220 ? Self.root(of: flow.digests.prefix(count), attacker) : attacker.crypto.hash([5])
    ).encoded()
  }

  private static func resourceChunk(_ source: inout Source, _ attacker: inout AttackerState) -> [UInt8] {
    let flow = attacker.flows.flow(isStream: false, isOwn: true, &source)
    let offset = source.u8() < 220 ? flow.position : place(flow.position, &source)
    let turn = source.u8() < 220 ? flow.turn : source.u32()
    let count = size(&source)
    let digest = source.u8() < 200 ? FlowProgram.digest(from: offset, count) : attacker.crypto.hash([6])
    attacker.flows.sent(flow.number, through: min(Limits.flowBytesMax, offset + UInt64(count)), digest)
    let size = ResourceChunkView.encodedSize(
      flow: flow.number, turn: max(1, turn), offset: offset, digest: digest, payloadBytes: count)
    return filled(size) {
      ResourceChunkView.writeHead(
        flow: flow.number, turn: max(1, turn), offset: offset, digest: digest, payloadBytes: count, into: &$0)
      $0.put(raw: FlowProgram.bytes(from: offset, count).span.bytes)
    }
  }

  private static func root(of digests: ArraySlice<Digest>, _ attacker: AttackerState) -> Digest {
    var tree = ChunkTree()
    for digest in digests { tree.append(digest, attacker.crypto) }
    return tree.root(attacker.crypto)
  }

  private static func filled(_ size: Int, _ work: (inout OutputRawSpan) -> Void) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      let raw = UnsafeMutableRawBufferPointer(buffer)
      var out = OutputRawSpan(buffer: raw, initializedCount: 0)
      work(&out)
      count = out.finalize(for: raw)
    }
  }
}
