import Engine
import Wire

/// The malicious host's state of the streams and resources over one of its links.
struct FlowAttackState {
  /// The index on this link of the honest endpoint that it is with.
  var targetIndex: UInt32?
  /// Streams and resources that honest members write and offer to it.
  var streams: [UInt64] = []
  var offers: [ResourceOffer] = []
  /// Its own streams and offers, and its receivers' requests.
  var opened: [UInt64] = []
  var offered: [UInt64] = []
  var wants: [ResourceWant] = []
}

extension World {
  /// Parses honest hosts' frames, and answers as much as keeps them going.
  func hear(_ type: FrameType, _ body: RawSpan, _ intruder: Intruder, _ line: Intruder.Line) {
    if type.isRecord, !intruder.malice.isDisjoint(with: .flows) {
      line.records += 1
      var reader = Reader(body)
      if let head = try? RecordHead(from: &reader) { send(Ack(strand: head.strand, received: head.sequence), line) }
    }
    switch type {
    case .join:
      guard let join = try? Join(decoding: body), join.entry.endpoint == line.target?.endpoint else { return }
      line.flows.targetIndex = join.index
      // It admits everybody, and says so once it knows them.
      send(
        Verdict(record: intruder.head(line), about: join.index, by: .all, reason: .none, seen: line.records), line)
    case .streamOpen:
      guard let open = try? StreamOpen(decoding: body) else { return }
      line.flows.streams.append(open.flow)
      // A receiver that never reads sends nothing.
      guard !intruder.malice.contains(.neverReads), intruder.random.flip() else { return }
      send(StreamGrant(flow: open.flow, received: 0, limit: 100_000), line)
    case .resourceOffer:
      guard let offer = try? ResourceOffer(decoding: body) else { return }
      line.flows.offers.append(offer)
      let limit: UInt64 = intruder.malice.contains(.neverReads) ? 0 : 64 << 10
      send(ResourceWant(flow: offer.flow, turn: 1, offset: 0, limit: limit, root: intruder.host.crypto.hash([])), line)
    case .resourceWant:
      guard let want = try? ResourceWant(decoding: body) else { return }
      line.flows.wants.removeAll { $0.flow == want.flow }
      line.flows.wants.append(want)
    default: break
    }
  }

  func attackFlows(_ kind: Malice, _ intruder: Intruder, _ line: Intruder.Line) {
    guard let target = line.flows.targetIndex else { return }
    switch kind {
    case .liesAboutFlows: lieAboutFlows(to: target, intruder, line)
    case .floodsFlows:
      guard intruder.random.chance(perMille: 250) else { return }
      for _ in 0..<intruder.random.within(50...600) {
        if intruder.random.flip() { open(to: target, intruder, line) } else { offer(nil, to: target, intruder, line) }
      }
    case .neverFinishes:
      if line.flows.offered.count < 30 { offer(1 << 41, to: target, intruder, line) }
      if line.flows.opened.count < 30 { open(to: target, intruder, line) }
      for want in line.flows.wants.prefix(4) where want.limit > want.offset {
        chunk(of: want, at: want.offset, bytes: Limits.chunkBytes, intruder, line)
      }
      line.flows.wants = Array(line.flows.wants.dropFirst(4))
    // It requests everything at once, and takes none of it off the pipe's other end.
    default:
      for flow in line.flows.streams.suffix(3) { send(StreamGrant(flow: flow, received: 0, limit: 1), line) }
    }
  }

  private func open(to target: UInt32, _ intruder: Intruder, _ line: Intruder.Line) {
    let flow = intruder.random.next() | 1
    line.flows.opened.append(flow)
    send(
      StreamOpen(
        record: intruder.head(line), flow: flow, incarnation: Incarnation(1), from: 1, to: target, name: "evil"), line)
  }

  private func offer(_ size: UInt64?, to target: UInt32, _ intruder: Intruder, _ line: Intruder.Line) {
    let flow = intruder.random.next() | 1
    line.flows.offered.append(flow)
    send(
      ResourceOffer(
        record: intruder.head(line), flow: flow, from: 1, to: target, name: "evil", type: "", size: size, root: nil),
      line)
  }

  private func send(_ count: Int, of flow: UInt64, at offset: UInt64, _ line: Intruder.Line) {
    var frame = [UInt8](
      repeating: 0, count: StreamDataView.encodedSize(flow: flow, offset: offset, payloadBytes: count))
    frame.withUnsafeMutableBytes { buffer in
      var out = OutputRawSpan(buffer: buffer, initializedCount: 0)
      StreamDataView.writeHead(flow: flow, offset: offset, payloadBytes: count, into: &out)
      for _ in 0..<count { out.append(0x77) }
      _ = out.finalize(for: buffer)
    }
    send(bytes: frame, line)
  }

  private func chunk(
    of want: ResourceWant, at offset: UInt64, bytes count: Int, turn: UInt32? = nil, digest: Digest? = nil,
    _ intruder: Intruder, _ line: Intruder.Line
  ) {
    let payload = [UInt8](repeating: 0x66, count: count)
    let digest = digest ?? intruder.host.crypto.leaf(of: payload.span.bytes)
    let turn = turn ?? want.turn
    var frame = [UInt8](
      repeating: 0,
      count: ResourceChunkView.encodedSize(
        flow: want.flow, turn: turn, offset: offset, digest: digest, payloadBytes: count))
    frame.withUnsafeMutableBytes { buffer in
      var out = OutputRawSpan(buffer: buffer, initializedCount: 0)
      ResourceChunkView.writeHead(
        flow: want.flow, turn: turn, offset: offset, digest: digest, payloadBytes: count, into: &out)
      for byte in payload { out.append(byte) }
      _ = out.finalize(for: buffer)
    }
    send(bytes: frame, line)
  }

  private func lieAboutFlows(to target: UInt32, _ intruder: Intruder, _ line: Intruder.Line) {
    let wild = intruder.random.pick([0, 1, 16_384, 1 << 20, 1 << 41, Limits.flowBytesMax])
    let unknown = intruder.random.next() | 1
    let reason = intruder.random.pick([Reason.none, .cancelled, .lost, .protocolViolation])
    switch intruder.random.below(6) {
    case 0: lieAsWriter(to: target, wild, reason, intruder, line)
    case 1: lieAsReader(of: line.flows.streams.last ?? unknown, wild, reason, intruder, line)
    case 2: lieAsSender(to: target, wild, reason, intruder, line)
    case 3: lieAsReceiver(of: line.flows.offers.last?.flow ?? unknown, wild, reason, intruder, line)
    case 4:
      // About unknown flows.
      send(StreamEnd(record: intruder.head(line), flow: unknown, reason: reason, size: wild), line)
      send(StreamStop(record: intruder.head(line), flow: unknown, reason: reason), line)
      send(ResourceStop(record: intruder.head(line), flow: unknown, reason: reason), line)
      send(ResourceEnd(record: intruder.head(line), flow: unknown, outcome: .whole(size: wild, root: .zero)), line)
      send(StreamGrant(flow: unknown, received: wild, limit: wild), line)
      send(100, of: unknown, at: 0, line)
    default:
      // From others, to endpoints that it has not met, and twice.
      let (from, to) = (UInt32(intruder.random.below(3)), UInt32(intruder.random.below(4)))
      for _ in 0..<2 {
        send(
          StreamOpen(
            record: intruder.head(line), flow: unknown, incarnation: Incarnation(wild), from: from, to: to, name: ""),
          line)
      }
    }
  }

  private func lieAsWriter(
    to target: UInt32, _ wild: UInt64, _ reason: Reason, _ intruder: Intruder, _ line: Intruder.Line
  ) {
    open(to: target, intruder, line)
    guard let flow = line.flows.opened.last else { return }
    switch intruder.random.below(4) {
    // Past its credit; at a wrong offset; with a wrong size; after its end.
    case 0: for place in 0..<20 { send(Limits.chunkBytes, of: flow, at: UInt64(place * Limits.chunkBytes), line) }
    case 1: send(100, of: flow, at: wild, line)
    case 2:
      send(100, of: flow, at: 0, line)
      send(StreamEnd(record: intruder.head(line), flow: flow, reason: .none, size: wild), line)
    default:
      send(StreamEnd(record: intruder.head(line), flow: flow, reason: reason, size: 0), line)
      send(100, of: flow, at: 0, line)
    }
  }

  private func lieAsReader(
    of flow: UInt64, _ wild: UInt64, _ reason: Reason, _ intruder: Intruder, _ line: Intruder.Line
  ) {
    switch intruder.random.below(3) {
    case 0: send(StreamGrant(flow: flow, received: wild, limit: max(wild, Limits.flowBytesMax)), line)
    case 1:
      send(StreamGrant(flow: flow, received: 1, limit: 100_000), line)
      send(StreamGrant(flow: flow, received: 0, limit: 1), line)
    default: send(StreamStop(record: intruder.head(line), flow: flow, reason: reason), line)
    }
  }

  private func lieAsSender(
    to target: UInt32, _ wild: UInt64, _ reason: Reason, _ intruder: Intruder, _ line: Intruder.Line
  ) {
    guard let want = line.flows.wants.last else {
      return offer(intruder.random.pick([nil, 0, 1, 100_000, wild]), to: target, intruder, line)
    }
    let chunkBytes = Limits.chunkBytes
    switch intruder.random.below(7) {
    case 0: for _ in 0..<5 { chunk(of: want, at: want.offset, bytes: chunkBytes, digest: .zero, intruder, line) }
    case 1: chunk(of: want, at: wild, bytes: chunkBytes, intruder, line)
    case 2: chunk(of: want, at: want.offset, bytes: intruder.random.within(1...chunkBytes), intruder, line)
    case 3:
      chunk(of: want, at: want.offset, bytes: 10, turn: intruder.random.pick([1, want.turn + 1, .max]), intruder, line)
    case 4:
      for place in 0..<80 {
        chunk(of: want, at: want.offset + UInt64(place * chunkBytes), bytes: chunkBytes, intruder, line)
      }
    case 5:
      send(ResourceEnd(record: intruder.head(line), flow: want.flow, outcome: .whole(size: wild, root: .zero)), line)
    default:
      send(
        ResourceEnd(
          record: intruder.head(line), flow: want.flow, outcome: .broken(reason == .none ? .lost : reason)), line)
      chunk(of: want, at: want.offset, bytes: chunkBytes, intruder, line)
    }
  }

  private func lieAsReceiver(
    of flow: UInt64, _ wild: UInt64, _ reason: Reason, _ intruder: Intruder, _ line: Intruder.Line
  ) {
    let turn = intruder.random.pick([1, 2, 3, UInt32.max])
    switch intruder.random.below(3) {
    case 0: send(ResourceStop(record: intruder.head(line), flow: flow, reason: reason), line)
    case 1: send(ResourceWant(flow: flow, turn: turn, offset: wild, limit: wild, root: .zero), line)
    default:
      for offset in [16_384, 0, 5, 32_768] as [UInt64] {
        send(ResourceWant(flow: flow, turn: turn, offset: offset, limit: Limits.flowBytesMax, root: .zero), line)
      }
    }
  }
}

extension Digest {
  fileprivate static var zero: Digest { Digest(Bytes32(0, 0, 0, 0)) }
}
