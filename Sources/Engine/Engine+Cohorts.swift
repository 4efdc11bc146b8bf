import Wire

/// Cohorts: one operation and one output for many members in the same state.
extension Engine {
  /// The member's cohort with nobody else in it, to be changed for the member alone.
  @discardableResult
  func alone(_ member: RemoteMember) -> Cohort {
    let cohort = member.cohort
    if cohort.members.count > 1 {
      let alone = Cohort(like: cohort)
      cohort.remove(member)
      alone.add(member)
      member.cohort = alone
      member.presence.add(alone)
      markDirty(alone)
      return alone
    }
    markDirty(cohort)
    return cohort
  }

  /// The cohorts of a presence, each to be changed as a whole. Alike cohorts are merged first.
  func cohorts(of presence: Presence) -> [Cohort] {
    if presence.isDirty { presence.mergeAlike() }
    presence.cohorts.forEach(markDirty)
    return presence.cohorts
  }

  /// Marks a cohort as changed, so that it may be merged with an alike one when the mutation ends.
  func markDirty(_ cohort: Cohort) {
    cohort.isDirty = true
    circuits.mustReview = true
    let presence = cohort.presence
    if presence.isDirty { return }
    presence.isDirty = true
    dirtyPresences.append(presence)
  }

  func mergeAlikeCohorts() {
    for presence in dirtyPresences where presence.isDirty { presence.mergeAlike() }
    dirtyPresences.removeAll(keepingCapacity: true)
  }

  /// Groups the pairs of a cohort with local slots into outputs: which members, and for which local endpoints. No
  /// endpoint gets a report of itself.
  func forEachReport(_ cohort: Cohort, _ slots: SlotSet, _ report: ([MemberView], Locals) -> Void) {
    let presence = cohort.presence
    let group = presence.group
    if cohort.members.isEmpty || slots.isEmpty { return }
    guard presence.host.isSelf else {
      if let locals = group.locals(in: slots) { report(cohort.views, locals) }
      return
    }
    if cohort.members.count > 1, let slot = slots.only {
      guard let local = group.local(at: slot) else { return }
      var views = cohort.views
      if let mirror = presence.members[local.id], mirror.cohort === cohort { views.remove(at: mirror.place) }
      report(views, .one(local.id))
    } else {
      for member in cohort.members {
        let others = member.own.map { slots.subtracting(SlotSet($0.slot)) } ?? slots
        if let locals = group.locals(in: others) { report([member.view], locals) }
      }
    }
  }

  func emitState(_ cohort: Cohort, _ slots: SlotSet, _ state: PairState) {
    forEachReport(cohort, slots) { emit(.members($0, state, of: $1)) }
    reviewClock(of: cohort.presence.group)
  }

  /// The members of a host that are connected, and with whom.
  func connectedMembers(at host: RemoteHost) -> [MemberReport] {
    var all: [MemberReport] = []
    for presence in host.presences.values {
      for cohort in presence.cohorts {
        forEachReport(cohort, cohort.relations.connected) { all.append(MemberReport(members: $0, locals: $1)) }
      }
    }
    return all
  }

  func emitSuspended(_ cohort: Cohort, _ slots: SlotSet, _ isSuspended: Bool) {
    forEachReport(cohort, slots) { emit(.suspended($0, isSuspended, of: $1)) }
  }
}
