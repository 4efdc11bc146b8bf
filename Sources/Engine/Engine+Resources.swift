import Wire

/// Resources, either way: how they end, their timers, and how they outlive their pair.
///
/// Invariant: a `TransferEnd` is kept until the other side has acknowledged the record that carries it, over however
/// many bonds and restarts that takes; so a transfer ends once on each side.
extension Engine {
  /// Ends a transfer from either side.
  public func cancelResource(_ resource: ResourceID, at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    if let transfer = flows.transfer(resource) { finish(transfer, .cancelled) }
  }

  public func progress(of resource: ResourceID) -> ResourceProgress? {
    flows.transfer(resource).map { $0.meter.progress(of: $0.info.size) }
  }

  // MARK: Ending

  func finish(_ transfer: Transfer, _ reason: Reason, isHeard: Bool = false) {
    if transfer.ending == nil { emit(.resourceEnded(transfer.id, reason)) }
    if isHeard { return forget(transfer) }
    guard transfer.ending == nil else { return }
    dirty.touch(resource: transfer.id)
    transfer.ending = TransferEnd(reason: reason)
    transfer.beginLink()
    if reason != .cancelled || !sabotage.contains(.forgetsCancel) { sendTransferEnd(of: transfer) }
    if let bond = member(of: transfer.pair)?.host.bond { activateReceivers(over: bond) }
  }

  /// Forgets a transfer whose other side needs no further message.
  private func forget(_ transfer: Transfer) {
    flows.remove(transfer)
    timers.cancel(.resource(transfer.id))
    park(transfer)
    if let bond = member(of: transfer.pair)?.host.bond { activateReceivers(over: bond) }
  }

  func sendTransferEnd(of transfer: Transfer) {
    guard let ending = transfer.ending, let member = connectedMember(of: transfer.pair) else { return }
    transfer.ending?.ordinal =
      transfer is ResourceSender
      ? note(transfer.id, member.presence) {
        ResourceEnd(record: $0, flow: transfer.flow, outcome: .broken(ending.reason))
      }
      : note(transfer.id, member.presence) {
        ResourceStop(record: $0, flow: transfer.flow, reason: ending.reason)
      }
  }

  private func note<F: Frame>(_ resource: ResourceID, _ presence: Presence, _ make: (RecordHead) -> F) -> UInt64? {
    dirty.touch(resource: resource)
    guard let ordinal = record(presence, make) else { return nil }
    presence.host.bond?.lanes.expectAcknowledgement(of: resource, at: ordinal)
    return ordinal
  }

  func connectedMember(of pair: Pair) -> RemoteMember? {
    guard let local = endpoints[pair.local] else { return nil }
    return member(of: pair).flatMap { $0.isConnected(with: local.slot) ? $0 : nil }
  }

  /// Drops the ends that the other side has acknowledged.
  func forgetAcknowledgedEnds(over bond: Bond) {
    for resource in bond.openLanes?.takeAcknowledgedEnds(before: bond.sendQueue.first) ?? [] {
      guard let transfer = flows.transfer(resource) else { continue }
      if sabotage.contains(.endsResourceTwice), let ending = transfer.ending {
        emit(.resourceEnded(resource, ending.reason))
      }
      forget(transfer)
    }
  }

  // MARK: The pair

  /// A pair is connected: flows that waited for it resume.
  func resumeFlows(of member: RemoteMember, _ slots: SlotSet) {
    for local in slots.slots.compactMap(member.presence.group.local) where local !== member.own {
      resumeSenders(to: member, local)
      let pair = Pair(local: local.id, member: member.id)
      for receiver in flows.receivers.values(where: { $0.pair == pair }) {
        receiver.meter.wait(at: now)
        sendTransferEnd(of: receiver)
        schedule(receiver)
      }
    }
  }

  /// A pair is not connected any more. Resources wait for it where it may come back.
  func endFlows(of member: RemoteMember, _ slots: SlotSet, _ reason: Reason, mayReturn: Bool) {
    let group = member.presence.group
    func concerns(_ pair: Pair) -> Bool {
      pair.member == member.id
        && (endpoints[pair.local].map { $0.group === group && slots.contains($0.slot) } ?? false)
    }
    endStreams(reason, where: concerns)
    guard mayReturn else { return endResources(reason, where: concerns) }
    for transfer in flows.transfers(where: concerns) {
      transfer.ending?.ordinal = nil
      park(transfer)
    }
  }

  /// Stops a transfer without ending it.
  private func park(_ transfer: Transfer) {
    dirty.touch(resource: transfer.id)
    transfer.beginLink()
    member(of: transfer.pair)?.host.bond?.openLanes?.remove(transfer)
  }

  /// Ends transfers without a word to the other side: the two do not know each other any more.
  func endResources(_ reason: Reason, where test: (Pair) -> Bool) {
    precondition(reason != .none, "a pair ends for a reason")
    for transfer in flows.transfers(where: test) { finish(transfer, reason, isHeard: true) }
  }

  // MARK: Deadlines

  func scheduleProgress(_ resource: ResourceID, _ meter: ProgressMeter) {
    if meter.hasNews {
      timers.set(.resource(resource), max(now, meter.nextReport(every: settings.progressInterval)))
    }
  }

  func schedule(_ sender: ResourceSender) {
    timers.set(.resource(sender.id), sender.meter.moved + settings.resourcePatience)
  }

  func schedule(_ receiver: ResourceReceiver) {
    if let due = end(of: receiver) { timers.set(.resource(receiver.id), due) }
  }

  /// The timeout of a transfer: for a decision, or for requested bytes.
  private func end(of receiver: ResourceReceiver) -> Instant? {
    guard let rules = endpoints[receiver.pair.local]?.settings.resources, receiver.ending == nil else { return nil }
    if !receiver.isAccepted { return receiver.offered + rules.decisionMax }
    return receiver.meter.moved + rules.idleMax + receiver.rereading
  }

  /// Whether the sender must act now: send requested chunks, or repeat the offer. A transfer that waits for its turn
  /// here, or for its pair, is not late.
  private func isAwaited(_ receiver: ResourceReceiver) -> Bool {
    guard let bond = connectedMember(of: receiver.pair)?.host.bond, bond.isOpen else { return false }
    return receiver.isOwed || bond.openLanes?.receivers[receiver.flow] == nil
  }

  func handleResourceTimer(_ id: ResourceID) {
    if let sender = flows.senders[id], sender.ending == nil {
      emitProgress(id, &sender.meter, of: sender.info.size)
      let canAsk = connectedMember(of: sender.pair).map { $0.host.bond?.isOpen ?? false } ?? false
      if !canAsk { sender.meter.wait(at: now) }
      // Its turn may come after that of others.
      let moved = flows.senders.values(where: { $0.pair == sender.pair }).map(\.meter.moved).max()
      if let moved, moved + settings.resourcePatience <= now { return finish(sender, .timedOut) }
      sender.meter.wait(at: moved ?? now)
      schedule(sender)
    }
    if let receiver = flows.receivers[id], receiver.ending == nil {
      emitProgress(id, &receiver.meter, of: receiver.info.size)
      if receiver.isAccepted, !isAwaited(receiver) { receiver.meter.wait(at: now) }
      if let end = end(of: receiver), end <= now {
        // A sender that does not repeat the offer has forgotten it.
        return finish(receiver, receiver.isAccepted && !receiver.isActive ? .gone : .timedOut)
      }
      schedule(receiver)
    }
  }

  private func emitProgress(_ id: ResourceID, _ meter: inout ProgressMeter, of size: UInt64?) {
    guard meter.hasNews, meter.nextReport(every: settings.progressInterval) <= now else {
      return scheduleProgress(id, meter)
    }
    meter.markReported(at: now)
    emit(.progress(id, meter.progress(of: size)))
  }
}
