public import Wire

/// Incoming resources: accepted, requested from the stored offset on, and verified by their hashes.
extension Engine {
  public func accept(_ resource: ResourceID, at now: Instant) throws(EngineError) {
    beginMutation(now)
    defer { finishMutation() }
    let receiver = try undecided(resource)
    receiver.isAccepted = true
    receiver.meter.wait(at: now)
    schedule(receiver)
    dirty.touch(resource: resource)
    if let bond = member(of: receiver.pair)?.host.bond { activateReceivers(over: bond) }
    // An empty resource is whole at once.
    finishIfWhole(receiver)
  }

  public func decline(_ resource: ResourceID, at now: Instant) throws(EngineError) {
    beginMutation(now)
    defer { finishMutation() }
    finish(try undecided(resource), .declined)
  }

  private func undecided(_ resource: ResourceID) throws(EngineError) -> ResourceReceiver {
    guard let receiver = flows.receivers[resource], !receiver.isAccepted, receiver.ending == nil else {
      throw EngineError(.invalidParameter, "this resource waits for no decision")
    }
    return receiver
  }

  // MARK: Offers

  func handle(_ offer: ResourceOffer, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    _ = try count(offer.record, bytes: 0, over: bond)
    guard let (member, local) = connected(offer.from, offer.to, over: bond) else {
      answerStray(bond) { ResourceStop(record: $0, flow: offer.flow, reason: .gone) }
      return
    }
    let pair = Pair(local: local.id, member: member.id)
    let receiver: ResourceReceiver
    if let known = flows.receiver(offer.flow, from: bond.host.id) {
      guard known.pair == pair else {
        throw ProtocolViolation(.protocolViolation, "a resource that is on its way to another, or from another")
      }
      receiver = known
    } else if bond.openLanes?.receivers[offer.flow] != nil {
      throw ProtocolViolation(.protocolViolation, "a resource with the number of another member's")
    } else if let reason = refusal(of: offer, pair, local, bond) {
      record(member.presence) { ResourceStop(record: $0, flow: offer.flow, reason: reason) }
      return
    } else {
      receiver = ResourceReceiver(
        id: ResourceID(rawValue: number()), flow: offer.flow, pair: pair, host: bond.host.id,
        info: ResourceInfo(name: offer.name, type: offer.type), isAccepted: local.settings.resources.acceptsUnasked,
        at: now)
    }
    guard receiver.ending == nil else { return }
    guard receiver.learn(size: offer.size, root: offer.root) else { return finish(receiver, .mismatch) }
    receiver.meter.wait(at: now)
    dirty.touch(resource: receiver.id)
    if flows.receivers[receiver.id] == nil {
      flows.add(receiver)
      emit(.resource(receiver.id, receiver.view))
    }
    bond.lanes.receivers[offer.flow] = receiver
    // The sender numbers its turns anew with the offer: earlier requests mean nothing to it.
    receiver.pause()
    schedule(receiver)
    activateReceivers(over: bond)
    finishIfWhole(receiver)
  }

  private func refusal(of offer: ResourceOffer, _ pair: Pair, _ local: LocalEndpoint, _ bond: Bond) -> Reason? {
    let rules = local.settings.resources
    if offer.chunkBits != Limits.chunkBits { return .version }
    if let size = offer.size, size > rules.bytesMax { return .tooLarge }
    let isTooMuch = bond.lanes.receivers.count >= Self.receiversMax && !bond.host.isSelf
    // Some may have ended, and their sender may not know it yet.
    if isTooMuch || flows.countOffered(pair) >= 2 * Int(rules.offersMax) { return .busy }
    let others = flows.receivers.values(where: { $0.pair == pair && $0.ending == nil }).count
    return others >= Int(rules.offersMax) ? .busy : nil
  }

  /// The number of offers of one host to all peers here together.
  private static let receiversMax = 4_096

  /// Requests accepted resources that wait, up to a number of active ones, since each holds a window of memory. A pair
  /// without an active one does not wait for others' to end, but gets a small window.
  func activateReceivers(over bond: Bond) {
    guard bond.isOpen, let link = bond.link, let lanes = bond.openLanes else { return }
    var active = lanes.receivers.values(where: \.isActive)
    guard active.count < Self.smallMax else { return }
    var busy = Set(active.map(\.pair))
    for receiver in lanes.receivers.values(where: {
      $0.isAccepted && !$0.isActive && $0.ending == nil && $0.isSettled && !$0.isRereading
    }) {
      let hasFullWindow = active.count < Self.activeMax || bond.host.isSelf
      guard hasFullWindow || active.count < Self.smallMax && !busy.contains(receiver.pair) else { continue }
      active.append(receiver)
      busy.insert(receiver.pair)
      receiver.meter.begin(from: receiver.stored, at: now)
      if sabotage.contains(.startsResourcesAnew) { receiver.restore(stored: 0, tree: ChunkTree(), at: now) }
      send(receiver.begin(windowBytes: hasFullWindow ? resourceWindow : Self.smallWindow, crypto), on: link)
      schedule(receiver)
    }
  }

  private static let activeMax = 16
  private static let smallMax = 256
  private static let smallWindow = 4 * Limits.chunkBytes
  private var resourceWindow: Int {
    min(Int(Limits.flowBytesMax), max(2 * Limits.chunkBytes, settings.resourceWindowBytes))
  }

  // MARK: Chunks

  func handle(resourceChunk body: RawSpan, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    let view: ResourceChunkView
    do throws(WireError) { view = try ResourceChunkView(decoding: body) } catch {
      throw ProtocolViolation(.protocolViolation, "resourceChunk: \(error)")
    }
    guard let receiver = bond.openLanes?.receivers[view.flow], receiver.isActive, receiver.ending == nil,
      view.turn >= receiver.turn
    else { return }
    let count = view.payload.byteCount
    guard view.turn == receiver.turn, receiver.expects(count, at: view.offset) else {
      throw ProtocolViolation(
        .protocolViolation,
        "a chunk of \(count) bytes at \(view.offset), which is not the next or was not asked for")
    }
    // It states another size than before, or its source has grown since it was restarted.
    guard receiver.fits(count) else { return finish(receiver, .mismatch) }
    receiver.take(count, view.digest)
    receiver.meter.wait(at: now)
    if let local = endpoints[receiver.pair.local], receiver.received > local.settings.resources.bytesMax {
      return finish(receiver, .tooLarge)
    }
    emit(.store(receiver.id, at: view.offset, payload(view.payload, of: link), view.digest))
  }

  func handle(_ end: ResourceEnd, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    _ = try count(end.record, bytes: 0, over: bond)
    guard let receiver = flows.receiver(end.flow, from: bond.host.id), receiver.ending == nil else { return }
    switch end.outcome {
    case .broken(let reason): finish(receiver, reason, isHeard: true)
    case .whole(let size, let root):
      guard receiver.learn(size: size, root: root) else { return finish(receiver, .mismatch) }
      dirty.touch(resource: receiver.id)
      if let local = endpoints[receiver.pair.local], size > local.settings.resources.bytesMax {
        return finish(receiver, .tooLarge)
      }
      finishIfWhole(receiver)
    }
  }

  // MARK: The store of the program

  /// All bytes before `offset` match their digests and are stored: they are not requested again.
  public func stored(_ resource: ResourceID, through offset: UInt64, at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    guard let receiver = flows.receivers[resource], receiver.ending == nil, receiver.store(through: offset, crypto)
    else { return }
    receiver.meter.move(to: receiver.stored, at: now)
    scheduleProgress(resource, receiver.meter)
    dirty.touch(resource: resource)
    if !dirty.isKept { settle(receiver, through: receiver.stored) }
    finishIfWhole(receiver)
  }

  func settle(_ receiver: ResourceReceiver, through offset: UInt64) {
    guard receiver.ending == nil, let bond = member(of: receiver.pair)?.host.bond else { return }
    if let want = receiver.settle(through: offset), bond.isOpen, let link = bond.link { send(want, on: link) }
    if !receiver.isActive { activateReceivers(over: bond) }
  }

  /// The chunk at `offset` does not match its digest: it is requested again, a few times. Later chunks come again too,
  /// and must not be stored before.
  public func damaged(_ resource: ResourceID, at offset: UInt64, at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    guard let receiver = flows.receivers[resource], receiver.isAwaited(at: offset) else { return }
    receiver.damages += 1
    guard receiver.damages <= Self.damagesMax else { return finish(receiver, .mismatch) }
    if sabotage.contains(.ignoresDamage) { return }
    receiver.pause()
    if let bond = member(of: receiver.pair)?.host.bond { activateReceivers(over: bond) }
  }

  /// A sender that hashes wrongly will not do better.
  private static let damagesMax = 3

  /// Has the next part of a restored file read again.
  func reread(_ receiver: ResourceReceiver) {
    guard let part = receiver.nextReread else { return }
    emit(.rehash(receiver.id, from: part.lowerBound, bytes: part.count))
  }

  /// Answers `Output.rehash` with the digests of the chunks that the file has there; fewer where it is short or cannot
  /// be read. Chunks that are not as they were stored are requested again, with all that follow the first of them.
  public func rehashed(_ resource: ResourceID, from offset: UInt64, digests: [Digest], at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    guard let receiver = flows.receivers[resource], receiver.ending == nil, receiver.nextReread?.lowerBound == offset
    else { return }
    receiver.meter.wait(at: now)
    guard let isDamaged = receiver.reread(digests, crypto, at: now) else { return reread(receiver) }
    if isDamaged { dirty.touch(resource: resource) }
    schedule(receiver)
    if let bond = member(of: receiver.pair)?.host.bond { activateReceivers(over: bond) }
    finishIfWhole(receiver)
  }

  /// Answers `Output.keep`: the resource has its place, and nothing that happens here takes it away again.
  public func kept(_ resource: ResourceID, at now: Instant) {
    beginMutation(now)
    if let receiver = flows.receivers[resource], receiver.isBeingKept { finish(receiver, .none) }
    finishMutation()
  }

  /// The resource cannot be stored or kept here.
  public func cannotStore(_ resource: ResourceID, at now: Instant) {
    beginMutation(now)
    if let receiver = flows.receivers[resource] { finish(receiver, .unwritable) }
    finishMutation()
  }

  func finishIfWhole(_ receiver: ResourceReceiver) {
    guard receiver.ending == nil, receiver.isAccepted, !receiver.isBeingKept, !receiver.isRereading,
      let isWhole = receiver.compareRoot(crypto)
    else { return }
    guard isWhole || sabotage.contains(.skipsRootCheck) else { return finish(receiver, .mismatch) }
    receiver.isBeingKept = true
    emit(.keep(receiver.id))
  }
}
