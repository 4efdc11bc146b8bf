import Wire

/// Parting: how members leave or are lost, how local endpoints leave, and the timers of a group.
extension Engine {
  // MARK: Parting

  /// A member has left the group for good: only its next incarnation may come.
  func depart(_ member: RemoteMember, _ reason: Reason, readThrough seen: UInt64?) {
    if !member.host.isSelf { member.presence.group.noteDeparture(of: member.id, member.entry.incarnation) }
    dismiss(member, reason, readThrough: seen)
  }

  /// Drops a member on this host, which may come back as it is.
  func dismiss(_ member: RemoteMember, _ reason: Reason, readThrough seen: UInt64? = nil) {
    let group = member.presence.group
    let presence = member.presence
    if let seen { undeliver(to: [member], from: nil, after: seen) }
    let cohort = alone(member)
    emitNotConnected(cohort, cohort.relations.connecting.union(cohort.relations.connected), reason)
    if flows.concern(member.id) {
      endResources(reason) { $0.member == member.id && endpoints[$0.local]?.group === group }
    }
    endDecisions(about: member)
    group.remove(member)
    dirty.touch(member: member.id, of: group.serial)
    if !member.chain.isEmpty { member.chainChanged() }
    presence.remove(member)
    if let index = member.index { member.host.bond?.remove(member, index) }
    if presence.members.isEmpty {
      presence.empty()
      presence.strand?.isLeft = true
      group.presences[member.host.id] = nil
      member.host.presences[group.serial] = nil
      circuits.mustReview = true
      forgetIfUnknown(member.host)
    } else if !presence.hasJoined {
      // With its last endpoint in the group, the host may have dropped the group.
      presence.strand?.isLeft = true
      presence.forgetBond()
    } else if let seen {
      announceAgain(presence, inPlaceOf: member.id, after: seen)
    }
    if let successor = member.successor { succeed(successor, of: member) }
  }

  /// The bond to their host is over; the hosts look for each other for a while.
  func lost(_ cohort: Cohort, _ reason: Reason) {
    for member in cohort.members {
      member.index = nil
      member.successor = nil
      member.clearUnsettled()
      member.forgetChain()
      endDecisions(about: member)
    }
    cohort.strand = nil
    cohort.relations.admits = SlotSet()
    cohort.relations.admitted = SlotSet()
    cohort.relations.announced = SlotSet()
    emitNotConnected(
      cohort, cohort.relations.connecting.union(cohort.relations.connected), reason, mayReturn: true)
    let group = cohort.presence.group
    let end = cohort.forgottenAt ?? now + rejoinMax(of: group)
    cohort.forgottenAt = end
    timers.set(.group(group.serial), end)
  }

  private func rejoinMax(of group: Group) -> Duration { group.allLocals.map(\.settings.rejoinMax).max() ?? .zero }

  func handle(_ leave: Leave, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    _ = try count(leave.record, bytes: 0, over: bond)
    guard leave.reason != .none else { throw ProtocolViolation(.protocolViolation, "a leave for no reason") }
    guard leave.seen < bond.sendQueue.next else {
      throw ProtocolViolation(.protocolViolation, "a leave that has seen record \(leave.seen), which was not made")
    }
    for member in bond.members[leave.index] ?? [] { depart(member, leave.reason, readThrough: leave.seen) }
  }

  func handle(_ gone: Gone, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    _ = try count(gone.record, bytes: 0, over: bond)
    for presence in bond.host.presences.values {
      let member = presence.members[gone.endpoint]
      let hasLeft = presence.group.departed[gone.endpoint].map { gone.incarnation <= $0 } ?? false
      guard member != nil || hasLeft else { continue }
      if let member, member.entry.incarnation <= gone.incarnation { depart(member, .gone, readThrough: nil) }
      // A join that was addressed to it reached nobody: others there are still to get it.
      if !presence.members.isEmpty { announceSoon(presence) }
    }
  }

  /// A local endpoint leaves its group and is alone again.
  func leaveGroup(_ local: LocalEndpoint, _ reason: Reason) {
    let group = local.group
    let slot = SlotSet(local.slot)
    for presence in group.presences.values where presence.isAnnounced(local.slot) {
      guard !sabotage.contains(.leavesInSilence) else { continue }
      record(presence) {
        Leave(record: $0, index: local.index, reason: reason, seen: presence.host.bond?.received ?? 0)
      }
    }
    abandonMessages(of: local)
    for presence in group.presences.values {
      for cohort in cohorts(of: presence) { emitNotConnected(cohort, slot, reason) }
    }
    endDecisions(of: local)
    group.remove(local)
    endpointsByIndex[local.index] = nil
    if let mirror = group.members[local.id] { depart(mirror, reason, readThrough: nil) }
    if group.localCount == 1, let last = group.firstLocal, let mirror = group.members[last.id] {
      depart(mirror, .left, readThrough: nil)
    }
    if group.localCount == 0 { dissolve(group) }

    local.incarnation.count += 1
    local.index = index()
    local.rank = 0
    local.inviter = local.id
    local.removed = []
    let alone = makeGroup()
    alone.add(local)
    leaveClock(of: group, local)
    endpointsByIndex[local.index] = local
    adhocMoved(to: alone)
  }

  func dissolve(_ group: Group) {
    for member in group.members.values { depart(member, .left, readThrough: nil) }
    groups[group.serial] = nil
    timers.cancel(.turns(group.serial))
    group.empty()
    dirty.touch(group: group.serial)
  }

  func makeGroup() -> Group {
    let group = Group(serial: Int(number()), label: GroupID(entropy.id(crypto)), dirty: dirty)
    groups[group.serial] = group
    return group
  }

  // MARK: Deadlines

  func scheduleGroup(_ group: Group) {
    var due = Instant.distantFuture
    group.presences.forEach { _, presence in
      if let again = presence.announcesAgain { due = min(due, again) }
      for cohort in presence.cohorts where !cohort.members.isEmpty {
        if !cohort.relations.connecting.isEmpty, let until = cohort.connectingUntil { due = min(due, until) }
        if let until = cohort.forgottenAt, !cohort.isConnected { due = min(due, until) }
      }
    }
    if due < .distantFuture { timers.set(.group(group.serial), due) }
  }

  func handleGroupTimer(_ group: Group) {
    for presence in group.presences.values {
      if let again = presence.announcesAgain, again <= now {
        presence.announcesAgain = nil
        announceAnew(presence)
      }
      for cohort in presence.cohorts where !cohort.members.isEmpty { cohortDue(cohort) }
    }
    scheduleGroup(group)
  }

  private func cohortDue(_ cohort: Cohort) {
    if !cohort.relations.connecting.isEmpty, let until = cohort.connectingUntil, until <= now {
      markDirty(cohort)
      emitNotConnected(
        cohort, cohort.relations.connecting, cohort.strand == nil ? .unreachable : .timedOut, mayReturn: true)
      if cohort.forgottenAt == nil, !cohort.isConnected {
        cohort.forgottenAt = now + rejoinMax(of: cohort.presence.group)
      }
    }
    guard let end = cohort.forgottenAt, end <= now, !cohort.isConnected else { return }
    for member in cohort.members { dismiss(member, .lost) }
  }
}
