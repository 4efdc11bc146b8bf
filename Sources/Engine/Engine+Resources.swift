import Wire

/// Resources, either way: how they end, what falls due, and how they outlive their pair.
///
/// Law: how a transfer ended is kept until the other side has acknowledged the record that says so, over however many
/// bonds and restarts that takes; so it ends once on each side.
extension Engine {
  /// Ends a transfer from either side.
  public func cancelResource(_ resource: ResourceID, at now: Instant) {
    enter(now)
    defer { settle() }
    if let sender = flows.senders[resource] { finish(sender, .cancelled) }
    if let receiver = flows.receivers[resource] { finish(receiver, .cancelled) }
  }

  public func progress(of resource: ResourceID) -> ResourceProgress? {
    if let sender = flows.senders[resource] { return sender.meter.progress(of: sender.info.size) }
    return flows.receivers[resource].map { $0.meter.progress(of: $0.info.size) }
  }

  // MARK: Ending

  func finish(_ sender: ResourceSender, _ reason: Reason, isHeard: Bool = false) {
    if sender.farewell == nil { emit(.resourceEnded(sender.id, reason)) }
    if isHeard { return forget(sender) }
    guard sender.farewell == nil else { return }
    ledger.touch(resource: sender.id)
    sender.farewell = Farewell(reason: reason)
    sender.beginLink()
    if reason == .cancelled, sabotage.contains(.forgetsCancel) { return }
    sayFarewell(of: sender)
  }

  func finish(_ receiver: ResourceReceiver, _ reason: Reason, isHeard: Bool = false) {
    if receiver.farewell == nil { emit(.resourceEnded(receiver.id, reason)) }
    if isHeard { return forget(receiver) }
    guard receiver.farewell == nil else { return }
    ledger.touch(resource: receiver.id)
    receiver.farewell = Farewell(reason: reason)
    receiver.beginLink()
    sayFarewell(of: receiver)
    if let bond = member(of: receiver.pair)?.host.bond { activateReceivers(over: bond) }
  }

  /// Nobody is to be told any more.
  private func forget(_ sender: ResourceSender) {
    flows.remove(sender.id)
    timers.cancel(.resource(sender.id))
    ledger.touch(resource: sender.id)
    sender.beginLink()
    member(of: sender.pair)?.host.bond?.openLanes?.senders[sender.flow] = nil
  }

  private func forget(_ receiver: ResourceReceiver) {
    flows.remove(receiver.id)
    timers.cancel(.resource(receiver.id))
    ledger.touch(resource: receiver.id)
    receiver.beginLink()
    guard let bond = member(of: receiver.pair)?.host.bond else { return }
    bond.openLanes?.receivers[receiver.flow] = nil
    activateReceivers(over: bond)
  }

  func sayFarewell(of sender: ResourceSender) {
    guard let farewell = sender.farewell, let member = connectedMember(of: sender.pair) else { return }
    sender.farewell?.ordinal = note(sender.id, member.presence) {
      ResourceEnd(record: $0, flow: sender.flow, outcome: .broken(farewell.reason))
    }
  }

  func sayFarewell(of receiver: ResourceReceiver) {
    guard let farewell = receiver.farewell, let member = connectedMember(of: receiver.pair) else { return }
    receiver.farewell?.ordinal = note(receiver.id, member.presence) {
      ResourceStop(record: $0, flow: receiver.flow, reason: farewell.reason)
    }
  }

  private func note<F: Frame>(_ resource: ResourceID, _ presence: Presence, _ make: (RecordHead) -> F) -> UInt64? {
    ledger.touch(resource: resource)
    guard let ordinal = record(presence, make) else { return nil }
    presence.host.bond?.lanes.expectFarewell(of: resource, at: ordinal)
    return ordinal
  }

  func connectedMember(of pair: Pair) -> Member? {
    guard let local = endpoints[pair.local] else { return nil }
    return member(of: pair).flatMap { $0.isConnected(with: local.slot) ? $0 : nil }
  }

  /// The other side has heard how they ended.
  func forgetFarewells(over bond: Bond) {
    for resource in bond.openLanes?.takeFarewells(before: bond.journal.first) ?? [] {
      if let sender = flows.senders[resource] { forget(sender) }
      guard let receiver = flows.receivers[resource] else { continue }
      if sabotage.contains(.endsResourceTwice), let farewell = receiver.farewell {
        emit(.resourceEnded(resource, farewell.reason))
      }
      forget(receiver)
    }
  }

  // MARK: With the pair

  /// A pair is connected: what waited for that goes on.
  func resumeFlows(of member: Member, _ slots: SlotSet) {
    for local in slots.slots.compactMap(member.presence.group.local) where local !== member.own {
      resumeSenders(to: member, local)
      let pair = Pair(local: local.id, member: member.id)
      for receiver in flows.receivers.values(where: { $0.pair == pair }) {
        receiver.meter.wait(at: now)
        sayFarewell(of: receiver)
        schedule(receiver)
      }
    }
  }

  /// A pair is connected no more. Resources wait for it where it may come back.
  func endFlows(of member: Member, _ slots: SlotSet, _ reason: Reason, mayReturn: Bool) {
    let group = member.presence.group
    func concerns(_ pair: Pair) -> Bool {
      pair.member == member.id
        && (endpoints[pair.local].map { $0.group === group && slots.contains($0.slot) } ?? false)
    }
    endStreams(reason, where: concerns)
    if mayReturn { parkResources(where: concerns) } else { endResources(reason, where: concerns) }
  }

  private func parkResources(where test: (Pair) -> Bool) {
    for sender in flows.senders.values where test(sender.pair) {
      sender.beginLink()
      sender.farewell?.ordinal = nil
      member(of: sender.pair)?.host.bond?.openLanes?.senders[sender.flow] = nil
      ledger.touch(resource: sender.id)
    }
    for receiver in flows.receivers.values where test(receiver.pair) {
      receiver.beginLink()
      receiver.farewell?.ordinal = nil
      member(of: receiver.pair)?.host.bond?.openLanes?.receivers[receiver.flow] = nil
      ledger.touch(resource: receiver.id)
    }
  }

  /// Nobody will hear of it: the two know each other no more.
  func endResources(_ reason: Reason, where test: (Pair) -> Bool) {
    precondition(reason != .none, "a pair ends for a reason")
    for sender in flows.senders.values where test(sender.pair) { finish(sender, reason, isHeard: true) }
    for receiver in flows.receivers.values where test(receiver.pair) { finish(receiver, reason, isHeard: true) }
  }

  // MARK: Deadlines

  func scheduleProgress(_ resource: ResourceID, _ meter: Meter) {
    if meter.hasNews {
      timers.set(.resource(resource), max(now, meter.tellsAgain(every: settings.progressInterval)))
    }
  }

  func schedule(_ sender: ResourceSender) {
    timers.set(.resource(sender.id), sender.meter.moved + settings.resourcePatience)
  }

  func schedule(_ receiver: ResourceReceiver) {
    if let due = end(of: receiver) { timers.set(.resource(receiver.id), due) }
  }

  /// When a transfer has waited for too long: for a decision, or for what it asked for.
  private func end(of receiver: ResourceReceiver) -> Instant? {
    guard let rules = endpoints[receiver.pair.local]?.settings.resources, receiver.farewell == nil else { return nil }
    if !receiver.isAccepted { return receiver.offered + rules.decisionMax }
    return receiver.meter.moved + rules.idleMax + receiver.rereading
  }

  /// Whether its sender has to do something now: send what is wanted, or offer it again. One that waits for its turn
  /// here, or for its pair, is not late.
  private func isAwaited(_ receiver: ResourceReceiver) -> Bool {
    guard let bond = connectedMember(of: receiver.pair)?.host.bond, bond.isOpen else { return false }
    return receiver.isOwed || bond.openLanes?.receivers[receiver.flow] == nil
  }

  func resourceDue(_ id: ResourceID) {
    if let sender = flows.senders[id], sender.farewell == nil {
      tellProgress(id, &sender.meter, of: sender.info.size)
      let canAsk = connectedMember(of: sender.pair).map { $0.host.bond?.isOpen ?? false } ?? false
      if !canAsk { sender.meter.wait(at: now) }
      // Its turn may come after that of others.
      let moved = flows.senders.values(where: { $0.pair == sender.pair }).map(\.meter.moved).max()
      if let moved, moved + settings.resourcePatience <= now { return finish(sender, .timedOut) }
      sender.meter.wait(at: moved ?? now)
      schedule(sender)
    }
    if let receiver = flows.receivers[id], receiver.farewell == nil {
      tellProgress(id, &receiver.meter, of: receiver.info.size)
      if receiver.isAccepted, !isAwaited(receiver) { receiver.meter.wait(at: now) }
      if let end = end(of: receiver), end <= now {
        // Who does not offer again knows nothing of it any more.
        return finish(receiver, receiver.isAccepted && !receiver.isActive ? .gone : .timedOut)
      }
      schedule(receiver)
    }
  }

  private func tellProgress(_ id: ResourceID, _ meter: inout Meter, of size: UInt64?) {
    guard meter.hasNews, meter.tellsAgain(every: settings.progressInterval) <= now else {
      return scheduleProgress(id, meter)
    }
    meter.tell(at: now)
    emit(.progress(id, meter.progress(of: size)))
  }
}
