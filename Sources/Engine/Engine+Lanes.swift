import Wire

/// Lanes multiplex a link: round-robin scheduling of streams and resources beside the records.
extension Engine {
  func connected(_ id: EndpointID, with local: LocalEndpoint) throws(EngineError) -> RemoteMember {
    guard let member = local.group.members[id], member.isConnected(with: local.slot) else {
      throw EngineError(.notConnected, "this member is not connected", endpoints: [id])
    }
    return member
  }

  /// The two ends of a flow by their numbers on the wire, the sender's first.
  func connected(_ from: UInt32, _ to: UInt32, over bond: Bond) -> (RemoteMember, LocalEndpoint)? {
    guard let local = endpointsByIndex[to] else { return nil }
    let member = bond.members[from]?.first { $0.presence.group === local.group && $0.isConnected(with: local.slot) }
    return member.map { ($0, local) }
  }

  func member(of pair: Pair) -> RemoteMember? { endpoints[pair.local]?.group.members[pair.member] }

  func wakeLink(of bond: Bond) {
    if bond.isOpen, let link = bond.link { wake(link) }
  }

  /// Flows resume on a new link where their receivers say.
  func resumeFlows(over bond: Bond) {
    guard let lanes = bond.openLanes, let link = bond.link else { return }
    lanes.beginLink()
    for reader in lanes.readers.values { send(reader.grant, on: link) }
    activateReceivers(over: bond)
  }

  /// Moves records and chunks into `out`: records first, but not for ever.
  func fillRecordsAndFlows(_ out: inout OutputRawSpan, for link: Link, _ bond: Bond) {
    let start = out.byteCount
    let circuits = link.circuits
    while link.rest.count == 0, out.freeCapacity > 0 {
      let before = out.byteCount
      if let circuits, circuits.hasUnsent, circuits.starvation.isOver,
        fillCircuit(&out, for: link, circuits)
      {
        circuits.starvation.restore()
        continue
      }
      let lanes = bond.openLanes.flatMap { $0.hasUnsent ? $0 : nil }
      if bond.sendQueue.hasUnsent, lanes.map({ !$0.recordGuard.isOver && !sabotage.contains(.delaysMessages) }) ?? true
      {
        bond.sendQueue.fill(&out, rest: link.rest, oneRecord: bond.hasPendingAcknowledgement)
        lanes?.recordGuard.passOver(by: out.byteCount - before + link.rest.count)
      } else {
        guard let lanes, fillFlow(&out, for: link, lanes, isFirst: before == start) else { return }
        lanes.recordGuard.restore()
      }
      fillAcknowledgements(&out, for: bond)
      if let circuits, circuits.hasUnsent {
        circuits.starvation.passOver(by: out.byteCount - before + link.rest.count)
      }
    }
  }

  /// Moves one chunk; false where there is none, or no room. A chunk is kept in one piece if possible: its rest would
  /// be copied once more.
  private func fillFlow(_ out: inout OutputRawSpan, for link: Link, _ lanes: Lanes, isFirst: Bool) -> Bool {
    guard isFirst || out.freeCapacity >= Self.chunkFrameBytesMax else { return false }
    if out.freeCapacity < Self.chunkFrameBytesMax {
      link.rest.append(upTo: Self.chunkFrameBytesMax) { writeChunk(into: &$0, lanes, for: link) }
      link.rest.move(link.rest.count, into: &out)
    } else {
      writeChunk(into: &out, lanes, for: link)
    }
    return true
  }

  /// A chunk with the head of its frame.
  private static let chunkFrameBytesMax = Limits.chunkBytes + 128

  private func writeChunk(into out: inout OutputRawSpan, _ lanes: Lanes, for link: Link) {
    let start = out.byteCount
    let mustWait = lanes.resourceGuard.isOver && !lanes.resources.isEmpty
    if !mustWait, let writer = lanes.streams.next() {
      write(writer, upTo: link.profile.chunkBytesMax, into: &out)
      lanes.wake(writer)
      if !lanes.resources.isEmpty { lanes.resourceGuard.passOver(by: out.byteCount - start) }
    } else if let sender = lanes.resources.next(keepsTurn: sabotage.contains(.starvesPeers)) {
      write(sender, into: &out)
      lanes.wake(sender)
      lanes.resourceGuard.restore()
    }
  }

  private func write(_ writer: StreamSender, upTo most: Int, into out: inout OutputRawSpan) {
    writer.isQueued = false
    let count = min(Limits.chunkBytes, most, writer.sendable)
    guard count > 0 else { return }
    StreamDataView.writeHead(flow: writer.flow, offset: writer.position, payloadBytes: count, into: &out)
    writer.copy(count, into: &out)
  }

  private func write(_ sender: ResourceSender, into out: inout OutputRawSpan) {
    sender.isQueued = false
    guard sender.canSend else { return }
    let count = sender.nextBytes
    ResourceChunkView.writeHead(
      flow: sender.flow, turn: sender.turn, offset: sender.position, digest: sender.nextDigest, payloadBytes: count,
      into: &out)
    sender.copy(count, into: &out)
  }
}
