import Wire

/// Parting: how members leave or are lost, how local endpoints go, and what falls due in a group.
extension Engine {
  // MARK: Parting

  /// A member has left the group for good: only its next incarnation may come.
  func depart(_ member: Member, _ reason: Reason, readThrough seen: UInt64?) {
    if !member.host.isSelf { member.presence.group.noteDeparture(of: member.id, member.entry.incarnation) }
    dismiss(member, reason, readThrough: seen)
  }

  /// A member is none any more, as far as this host is concerned, and may come back as it is.
  func dismiss(_ member: Member, _ reason: Reason, readThrough seen: UInt64? = nil) {
    let group = member.presence.group
    let presence = member.presence
    if let seen { undeliver(to: [member], from: nil, after: seen) }
    tellNotConnected(member, member.connecting.union(member.connected), reason)
    if flows.concern(member.id) {
      endResources(reason) { $0.member == member.id && endpoints[$0.local]?.group === group }
    }
    endDecisions(about: member)
    group.remove(member)
    ledger.touch(member: member.id, of: group.serial)
    presence.members[member.id] = nil
    presence.pairsChanged()
    if let index = member.index { member.host.bond?.remove(member, index) }
    if presence.members.isEmpty {
      presence.strand?.isLeft = true
      group.presences[member.host.id] = nil
      member.host.presences[group.serial] = nil
      forgetIfUnknown(member.host)
    } else if !presence.members.contains(where: { $0.index != nil }) {
      // With its last endpoint in the group, the host may have let go of the group.
      presence.strand?.isLeft = true
      presence.forgetBond()
    }
    if let successor = member.successor { succeed(successor, of: member) }
  }

  /// The bond to a member's host is over; the hosts look for each other for a while.
  func lost(_ member: Member, _ reason: Reason) {
    member.index = nil
    member.successor = nil
    member.admits = SlotSet()
    member.admitted = SlotSet()
    member.clearUnsettled()
    endDecisions(about: member)
    member.shownChains = [:]
    tellNotConnected(member, member.connecting.union(member.connected), reason)
    let end = member.forgottenAt ?? now + rejoinMax(of: member.presence.group)
    member.forgottenAt = end
    timers.set(.group(member.presence.group.serial), end)
  }

  private func rejoinMax(of group: Group) -> Duration { group.allLocals.map(\.settings.rejoinMax).max() ?? .zero }

  func take(_ leave: Leave, from link: Link) throws(Violation) {
    let bond = try bond(of: link)
    _ = try count(leave.record, bytes: 0, over: bond)
    guard leave.seen < bond.journal.next else {
      throw Violation(.protocolViolation, "a leave that has seen record \(leave.seen), which was not made")
    }
    for member in bond.members[leave.index] ?? [] { depart(member, leave.reason, readThrough: leave.seen) }
  }

  func take(_ gone: Gone, from link: Link) throws(Violation) {
    let bond = try bond(of: link)
    _ = try count(gone.record, bytes: 0, over: bond)
    for presence in bond.host.presences.values {
      let member = presence.members[gone.endpoint]
      let hasLeft = presence.group.departed[gone.endpoint].map { gone.incarnation <= $0 } ?? false
      guard member != nil || hasLeft else { continue }
      if let member, member.entry.incarnation <= gone.incarnation { depart(member, .gone, readThrough: nil) }
      // What was addressed to it was said to nobody: others there are still to hear it.
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
    for member in group.members.values { tellNotConnected(member, slot, reason) }
    endDecisions(of: local)
    group.remove(local)
    endpointsByIndex[local.index] = nil
    if let mirror = group.members[local.id] { depart(mirror, reason, readThrough: nil) }
    if group.localCount == 1, let last = group.allLocals.first, let mirror = group.members[last.id] {
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
    endpointsByIndex[local.index] = local
  }

  func dissolve(_ group: Group) {
    for member in group.members.values { depart(member, .left, readThrough: nil) }
    groups[group.serial] = nil
    ledger.touch(group: group.serial)
  }

  func makeGroup() -> Group {
    let group = Group(serial: Int(number()), label: GroupID(entropy.id(crypto)), ledger: ledger)
    groups[group.serial] = group
    return group
  }

  // MARK: Deadlines

  func scheduleGroup(_ group: Group) {
    var due = Instant.distantFuture
    group.members.forEach { _, member in
      if !member.connecting.isEmpty, let until = member.connectingUntil { due = min(due, until) }
      if let until = member.forgottenAt, member.connected.isEmpty { due = min(due, until) }
    }
    group.presences.forEach { _, presence in if let again = presence.announcesAgain { due = min(due, again) } }
    if due < .distantFuture { timers.set(.group(group.serial), due) }
  }

  func groupDue(_ group: Group) {
    for presence in group.presences.values {
      if let again = presence.announcesAgain, again <= now {
        presence.announcesAgain = nil
        announceAnew(presence)
      }
    }
    for member in group.members.values {
      if !member.connecting.isEmpty, let until = member.connectingUntil, until <= now {
        let reason: Reason = member.index == nil ? .unreachable : .timedOut
        tellNotConnected(member, member.connecting, reason)
        if member.forgottenAt == nil, member.connected.isEmpty {
          member.forgottenAt = now + rejoinMax(of: group)
        }
      }
      if let end = member.forgottenAt, end <= now, member.connected.isEmpty { dismiss(member, .lost) }
    }
    scheduleGroup(group)
  }
}
