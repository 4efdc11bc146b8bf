public import Wire

/// Outgoing resources: offered, read on demand, and sent in chunks.
extension Engine {
  /// Offers a resource to a member, which accepts it or not; the source is read as far as the member requests it.
  public func offer(
    _ info: ResourceInfo, from endpoint: EndpointID, to member: EndpointID, at now: Instant
  ) throws(EngineError) -> ResourceID {
    beginMutation(now)
    defer { finishMutation() }
    try check(info)
    let local = try local(endpoint)
    let member = try connected(member, with: local)
    let pair = Pair(local: local.id, member: member.id)
    guard flows.countSent(pair) < Self.offersMax else {
      throw EngineError(
        .unavailable, "\(Self.offersMax) resources are on their way to this member: wait until one has ended",
        endpoints: [member.id])
    }
    let sender = ResourceSender(
      id: ResourceID(rawValue: number()), flow: entropy.word(crypto), pair: pair, host: member.host.id, info: info,
      at: now)
    flows.add(sender)
    offer(sender, to: member, local)
    schedule(sender)
    return sender.id
  }

  /// The default limit of a member.
  private static let offersMax = 256

  private func check(_ info: ResourceInfo) throws(EngineError) {
    guard (1...Limits.resourceNameBytesMax).contains(info.name.utf8.count) else {
      throw EngineError(
        .invalidParameter,
        "a resource's name has 1 to \(Limits.resourceNameBytesMax) bytes; this one has \(info.name.utf8.count)")
    }
    guard info.type.utf8.count <= Limits.resourceTypeBytesMax else {
      throw EngineError(
        .invalidParameter,
        "a resource's type of \(info.type.utf8.count) bytes is too long; at most \(Limits.resourceTypeBytesMax)")
    }
    guard info.size ?? 0 <= Limits.flowBytesMax else {
      throw EngineError(.invalidParameter, "a resource has at most \(Limits.flowBytesMax) bytes")
    }
  }

  private func offer(_ sender: ResourceSender, to member: RemoteMember, _ local: LocalEndpoint) {
    guard let bond = member.host.bond else { return }
    bond.lanes.add(sender)
    sender.beginLink()
    sender.hasSaidEnd = sender.info.size != nil && sender.info.root != nil
    record(member.presence) {
      ResourceOffer(
        record: $0, flow: sender.flow, from: local.index, to: member.index ?? 0, name: sender.info.name,
        type: sender.info.type, size: sender.info.size, root: sender.info.root)
    }
    dirty.touch(resource: sender.id)
  }

  /// The members of a pair are connected, perhaps again: offers stand, and ends in between are sent.
  func resumeSenders(to member: RemoteMember, _ local: LocalEndpoint) {
    let pair = Pair(local: local.id, member: member.id)
    for sender in flows.senders.values(where: { $0.pair == pair }) {
      sender.meter.wait(at: now)
      if sender.ending == nil { offer(sender, to: member, local) } else { sendTransferEnd(of: sender) }
      schedule(sender)
    }
  }

  // MARK: The source

  /// Answers `Output.read` with the bytes from there on, and the digest of each chunk; `isLast` where the source ends
  /// with them, which may be earlier than expected.
  public func supply(
    _ bytes: [UInt8], digests: [Digest], isLast: Bool, of resource: ResourceID, from offset: UInt64, at now: Instant
  ) throws(EngineError) {
    beginMutation(now)
    defer { finishMutation() }
    guard let sender = flows.senders[resource], sender.ending == nil else { return }
    guard bytes.count <= Int(ResourceSender.readBytesMax) else {
      throw EngineError(.invalidParameter, "\(bytes.count) bytes of a resource are more than were asked for")
    }
    // A read for a receiver that has begun anew since, or past the end of the source, is late.
    guard sender.answers(bytes.count, from: offset, isLast: isLast), sender.info.size.map({ offset < $0 }) ?? true
    else {
      return resumeSending(sender)
    }
    let chunks = (bytes.count + Limits.chunkBytes - 1) / Limits.chunkBytes
    guard digests.count == chunks else {
      throw EngineError(.invalidParameter, "\(digests.count) digests for \(chunks) chunks: one for each is needed")
    }
    let end = offset + UInt64(bytes.count)
    let isEnd = isLast || end == sender.info.size
    guard isEnd || (!bytes.isEmpty && bytes.count % Limits.chunkBytes == 0) else {
      throw EngineError(.invalidParameter, "only the last chunk of a resource may be short")
    }
    let beginning = sender.beginning?.offset ?? 0
    sender.supply(bytes, digests)
    sender.meter.wait(at: now)
    // The source differs from the offer, or from the first part that the receiver has.
    let isShort = isEnd && (end != sender.info.size ?? end || end < beginning)
    if isShort || end > beginning && beginning % UInt64(Limits.chunkBytes) != 0 && offset < beginning {
      return finish(sender, .mismatch)
    }
    if isEnd, sender.info.size == nil { sender.info.size = end }
    resumeSending(sender)
  }

  /// Memory of a piece of this resource that was sent: to read the next one into it costs less than into new memory.
  public func takeSpare(of resource: ResourceID) -> [UInt8] { flows.senders[resource]?.takeSpare() ?? [] }

  /// The source is gone or unreadable.
  public func cannotRead(_ resource: ResourceID, at now: Instant) {
    beginMutation(now)
    if let sender = flows.senders[resource] { finish(sender, .unreadable) }
    finishMutation()
  }

  /// Reads or sends the next piece after the receiver has asked or the source has answered.
  private func resumeSending(_ sender: ResourceSender) {
    guard sender.ending == nil, sender.turn > 0, let bond = member(of: sender.pair)?.host.bond else { return }
    if let isSame = sender.compareBeginning(crypto) {
      // It has changed since the receiver got the first part of it.
      guard isSame else { return finish(sender, .mismatch) }
      sender.meter.begin(from: sender.confirmedThrough, at: now)
    }
    if sender.hashed == sender.info.size, !sender.isRead, sender.beginning == nil { sendSourceEnd(of: sender) }
    guard sender.ending == nil else { return }
    let window = UInt64(max(Limits.chunkBytes * 4, settings.resourceWindowBytes))
    while let piece = sender.nextRead(window: window) {
      emit(.read(sender.id, from: piece.lowerBound, bytes: piece.count))
    }
    bond.lanes.wake(sender)
    if bond.lanes.hasUnsent { wakeLink(of: bond) }
  }

  private func sendSourceEnd(of sender: ResourceSender) {
    let root = sender.readThrough(crypto)
    if let promised = sender.info.root, promised != root, !sabotage.contains(.skipsRootCheck) {
      return finish(sender, .mismatch)
    }
    guard !sender.hasSaidEnd, let size = sender.info.size, let member = member(of: sender.pair) else { return }
    sender.info.root = root
    sender.hasSaidEnd = true
    dirty.touch(resource: sender.id)
    record(member.presence) { ResourceEnd(record: $0, flow: sender.flow, outcome: .whole(size: size, root: root)) }
  }

  // MARK: The receiver's requests

  func handle(_ want: ResourceWant, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    guard let sender = bond.openLanes?.senders[want.flow], want.turn >= sender.turn, sender.ending == nil else {
      return
    }
    guard want.turn <= Self.turnsMax else {
      throw ProtocolViolation(
        .protocolViolation, "a resource that is wanted anew for the \(want.turn)th time on one link")
    }
    let size = sender.info.size
    // A sender that was restarted may have sent its last chunk before, and not have stored where that ends.
    let hasForgotten = size == nil && sender.wasRestored
    let isBoundary = want.offset % UInt64(Limits.chunkBytes) == 0 || want.offset == size || hasForgotten
    guard size.map({ want.offset <= $0 }) ?? true, isBoundary, sender.mayHaveSent(want.offset)
    else {
      throw ProtocolViolation(
        .protocolViolation, "a resource wanted from \(want.offset) on, where no chunk of it begins")
    }
    if want.turn > sender.turn {
      sender.meter.wait(at: now)
      sender.begin(want.turn, at: want.offset, limit: want.limit, root: want.root, crypto)
    } else if sender.beginning == nil {
      guard want.offset >= sender.confirmedThrough, want.offset <= sender.position else {
        throw ProtocolViolation(
          .protocolViolation, "a resource stored through \(want.offset), which was not sent in this turn")
      }
      sender.confirm(through: want.offset, crypto)
      sender.extend(to: want.limit)
      sender.meter.move(to: want.offset, at: now)
    } else {
      sender.extend(to: want.limit)
    }
    scheduleProgress(sender.id, sender.meter)
    resumeSending(sender)
  }

  /// Limit on turns, since each has the source read again. A link begins one, and a damaged chunk another, a few times.
  private static let turnsMax: UInt32 = 8

  func handle(_ stop: ResourceStop, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    _ = try count(stop.record, bytes: 0, over: bond)
    guard let sender = flows.sender(stop.flow, to: bond.host.id) else { return }
    if stop.reason == .none, !sender.wasRestored {
      guard let size = sender.info.size, sender.mayHaveSent(size), sender.info.root != nil else {
        throw ProtocolViolation(.protocolViolation, "a resource that its receiver has all of, and that was not sent")
      }
    }
    if stop.reason == .none, let size = sender.info.size { sender.meter.move(to: size, at: now) }
    finish(sender, stop.reason, isHeard: true)
  }
}
