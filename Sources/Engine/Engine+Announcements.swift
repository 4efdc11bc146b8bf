import Wire

/// Announcements: a host's joins of its own endpoints in a group, and whom they admit there.
extension Engine {
  /// Announces to a host the local endpoints of the group that it does not know on the present bond.
  func announce(_ presence: Presence) {
    // Until a member there has joined, its host's gate may be closed to more.
    var room = presence.hasJoined ? Int.max : Self.announcedAtFirst
    for slot in presence.unannounced.union(presence.repeats).slots where room > 0 {
      if let local = presence.group.local(at: slot) { announce(local, to: presence) }
      room -= 1
    }
  }

  private static let announcedAtFirst = 32

  /// Announces all of it again: the answers bring both sides up to date.
  func announceAnew(_ presence: Presence) {
    presence.repeats = presence.group.localSlots
    announce(presence)
  }

  func announce(_ local: LocalEndpoint, to presence: Presence) {
    guard let bond = presence.host.bond, bond.hasBeenOpen, local.group === presence.group,
      !presence.isAnnounced(local.slot) || presence.repeats.contains(local.slot)
    else { return }
    guard let target = target(for: local, in: presence) else { return }
    let slot = local.slot
    let isFirst =
      !presence.isAnnounced(slot)
      && !presence.cohorts.contains { $0.relations.announced.contains(slot) && !$0.isOnly(local) }
    let (selection, named, unnamed) = admission(to: local, in: presence)
    let announced = record(presence) {
      Join(
        record: $0, index: local.index, target: target.id, targetIncarnation: target.entry.incarnation,
        seen: bond.received,
        admits: selection, entry: entry(of: local),
        carrier: local.peer.carrier, tickets: tickets(of: presence.group, for: local))
    }
    guard let announced else { return }
    if bond.isOpen, let link = bond.link { sendIfAway(local.peer, over: link) }
    // The host has been sent a join, so it is no stranger any more.
    bond.accept()
    presence.repeats.remove(slot)
    let isNew = !presence.isAnnounced(slot)
    if isNew { presence.setAnnounced(slot, at: announced, isFirst: isFirst) }
    presence.noteJoin(of: slot, at: announced, to: target.id)
    for cohort in named {
      // A first announcement to everybody there says the admission as well.
      if isFirst { cohort.relations.announced.insert(slot) } else { settle(cohort, SlotSet(slot), at: announced) }
      update(cohort, SlotSet(slot))
    }
    for member in unnamed {
      judge(member, SlotSet(slot))
      update(alone(member), SlotSet(slot))
    }
    // Members that join later are shown the identity then.
    guard isNew, local.settings.identity != nil else { return }
    for member in presence.members.values where member.index != nil { showIdentities(of: SlotSet(slot), to: member) }
  }

  /// An endpoint has left, and its host had read through `seen` by then. Joins that were addressed to it after that are
  /// sent again at once, before the admissions and messages of these slots reach a host that does not know them.
  func announceAgain(_ presence: Presence, inPlaceOf target: EndpointID, after seen: UInt64) {
    let inVain = presence.joins(to: target, after: seen)
    guard !inVain.isEmpty else { return }
    for cohort in cohorts(of: presence) {
      cohort.relations.announced.subtract(inVain.subtracting(cohort.relations.connected))
    }
    presence.repeats.formUnion(inVain)
    announce(presence)
  }

  /// The endpoint to which a local one addresses its join: best one that has joined, since others may not know of this
  /// group yet; one that may be gone is the last choice.
  private func target(for local: LocalEndpoint, in presence: Presence) -> RemoteMember? {
    let members = presence.members
    return (presence.hasJoined ? members.first { $0.own !== local && $0.index != nil } : nil)
      ?? members.first { $0.own !== local && $0.cohort.forgottenAt == nil }
      ?? members.first { $0.own !== local }
  }

  /// The joined members that a local endpoint admits: the selection for its announcement, the cohorts in it, and
  /// members for whom there is no room.
  private func admission(to local: LocalEndpoint, in presence: Presence) -> (
    EndpointSelection, [Cohort], [RemoteMember]
  ) {
    var isAll = true
    var admitting: [Cohort] = []
    for cohort in cohorts(of: presence)
    where cohort.strand != nil && !cohort.members.isEmpty && !cohort.isOnly(local) {
      if !presence.group.plain(SlotSet(local.slot), with: cohort).isEmpty {
        cohort.relations.admits.insert(local.slot)
        admitting.append(cohort)
        continue
      }
      for member in cohort.members where member.own !== local {
        if admit(member, local) == .yes { admitting.append(alone(member)) } else { isAll = false }
      }
    }
    // All endpoints of this host are known without a list, which could be longer than a frame allows.
    if isAll, presence.host.isSelf { return (.all, admitting, []) }
    var named: [Cohort] = []
    var unnamed: [RemoteMember] = []
    var indexes: [UInt32] = []
    for cohort in admitting {
      if indexes.count + cohort.members.count <= Limits.selectedIndexesMax {
        named.append(cohort)
        indexes += cohort.indexes
      } else {
        unnamed += cohort.members.filter { $0.own !== local }
      }
    }
    return (.only(named.count > 1 ? indexes.sorted() : indexes), named, unnamed)
  }

  /// Records that this record says the admission of these slots, except where an earlier one did.
  func settle(_ cohort: Cohort, _ slots: SlotSet, at ordinal: UInt64) {
    let news = slots.subtracting(cohort.relations.announced)
    guard !news.isEmpty else { return }
    cohort.relations.announced.formUnion(news)
    for member in cohort.members { member.settle(news, at: ordinal, indexLast: lastIndex) }
  }

  private func tickets(of group: Group, for local: LocalEndpoint) -> [Introduction] {
    group.tickets.filter { ticket in ticket.entries.contains { $0.endpoint == local.id } }.suffix(2).map { $0 }
  }

  /// Announces all of it again after an exponential backoff.
  func announceSoon(_ presence: Presence) {
    guard presence.announcesAgain == nil else { return }
    let pause = min(Self.introductionPauseMax, .milliseconds(100) * (1 << min(presence.unansweredAnnouncements, 8)))
    presence.unansweredAnnouncements += 1
    presence.announcesAgain = now + pause
    timers.set(.group(presence.group.serial), now + pause)
  }

  /// An introduction is in flight for a moment, or it does not come at all.
  private static let introductionPauseMax: Duration = .seconds(5)
}
