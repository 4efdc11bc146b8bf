import Wire

/// Pairs: how a local endpoint and a remote member become connected, and stop being so.
///
/// Law: a pair is connected while the member has joined on the present bond, the local endpoint admits it and has said
/// so, and its host has said that it admits the local endpoint. Each change is told once.
extension Engine {
  enum Admission: Hashable {
    case yes
    case no(Reason)
    /// Waits for a decision, here or there.
    case pending
  }

  // MARK: Meeting

  /// A member and local slots know of each other for the first time.
  func meet(_ member: Member, _ slots: SlotSet) {
    var connecting = member.presence.group.plain(slots, with: member)
    member.met.formUnion(connecting)
    slots.subtracting(connecting).forEach { slot in
      guard let local = member.presence.group.local(at: slot), local !== member.own else { return }
      let reason = rule(local, member)
      // Whom a lock keeps out stays a stranger.
      if reason != .locked { member.met.insert(slot) }
      switch reason {
      case nil: connecting.insert(slot)
      case .encryption?:
        connecting.insert(slot)
        tellConnecting(member, SlotSet(slot))
        refuse(member, SlotSet(slot), .encryption)
      case .some: member.refused.insert(slot)
      }
    }
    tellConnecting(member, connecting.subtracting(member.refused))
  }

  /// An invitation overrules what stood between the two.
  func reconcile(_ member: Member, with local: LocalEndpoint, until: Instant) {
    guard !member.connected.contains(local.slot) else { return }
    let slot = SlotSet(local.slot)
    let isFree = local.removed.remove(member.id) == nil && !member.refused.contains(local.slot)
    member.connectingUntil = until
    timers.set(.group(member.presence.group.serial), until)
    if isFree, member.connecting.contains(local.slot) { return }
    member.refused.subtract(slot)
    member.refusedThere.subtract(slot)
    member.admits.subtract(slot)
    member.unsettle(slot)
    member.admitted.subtract(slot)
    meet(member, slot)
    member.presence.repeats.insert(local.slot)
    announce(member.presence)
  }

  private func tellConnecting(_ member: Member, _ slots: SlotSet) {
    let news = slots.subtracting(member.connecting).subtracting(member.connected)
    guard let locals = member.presence.group.locals(in: news) else { return }
    member.connecting.formUnion(news)
    emit(.member(member.view, .connecting, of: locals))
    if member.connectingUntil.map({ $0 <= now }) ?? true { member.connectingUntil = now + settings.connectingMax }
    if let until = member.connectingUntil { timers.set(.group(member.presence.group.serial), until) }
  }

  func tellNotConnected(_ member: Member, _ slots: SlotSet, _ reason: Reason) {
    let news = slots.intersection(member.connecting).union(slots.intersection(member.connected))
    endFlows(of: member, slots, reason)
    member.connecting.subtract(slots)
    member.disconnect(slots)
    guard let locals = member.presence.group.locals(in: news) else { return }
    emit(.member(member.view, .notConnected(reason), of: locals))
  }

  // MARK: Announcing

  /// Says to a host which local endpoints are in the group, as far as it has not been told on the present bond.
  func announce(_ presence: Presence) {
    // Until a member there has joined, its host's gate may be closed to more.
    var room = presence.members.contains { $0.index != nil } ? Int.max : Self.announcedAtFirst
    for slot in presence.unannounced.union(presence.repeats).slots where room > 0 {
      if let local = presence.group.local(at: slot) { announce(local, to: presence) }
      room -= 1
    }
  }

  private static let announcedAtFirst = 32

  /// Says it all again: the answers tell where both sides stand.
  func announceAnew(_ presence: Presence) {
    presence.repeats = presence.group.localSlots
    announce(presence)
  }

  func announce(_ local: LocalEndpoint, to presence: Presence) {
    guard let bond = presence.host.bond, bond.hasBeenOpen, local.group === presence.group,
      !presence.isAnnounced(local.slot) || presence.repeats.contains(local.slot)
    else { return }
    let others = presence.members.values.filter { $0.own !== local }
    // One that may be gone is asked for last.
    guard let target = others.first(where: { $0.forgottenAt == nil }) ?? others.first else { return }
    var isFirst = !presence.isAnnounced(local.slot)
    var isAll = true
    var admitted: [Member] = []
    for member in others {
      if member.isTold(local.slot) { isFirst = false }
      if member.index == nil { continue }
      if admit(member, local) == .yes { admitted.append(member) } else { isAll = false }
    }
    // All of this host are known without being named, and there may be more than can be.
    isAll = isAll && presence.host.isSelf
    let named = admitted.prefix(isAll ? .max : Limits.audienceIndexesMax)
    let audience = isAll ? Audience.all : .only(named.compactMap { $0.index }.sorted())
    let announced = record(presence) {
      Join(
        record: $0, index: local.index, target: target.id, targetIncarnation: target.entry.incarnation,
        seen: bond.received,
        admits: audience, entry: entry(of: local),
        carrier: local.peer.carrier, tickets: tickets(of: presence.group, for: local))
    }
    guard let announced else { return }
    // What a host says to who joins it is no more a stranger's word.
    bond.accept()
    presence.repeats.remove(local.slot)
    let slot = SlotSet(local.slot)
    if !presence.isAnnounced(local.slot) { presence.setAnnounced(local.slot, at: announced, isFirst: isFirst) }
    for member in named {
      if isFirst { member.settleWithAnnouncement(local.slot) } else { member.settle(slot, at: announced) }
      update(member, slot)
    }
    for member in admitted.dropFirst(named.count) {
      judge(member, slot)
      update(member, slot)
    }
  }

  private func tickets(of group: Group, for local: LocalEndpoint) -> [Introduction] {
    group.tickets.filter { ticket in ticket.entries.contains { $0.endpoint == local.id } }.suffix(2).map { $0 }
  }

  // MARK: Joining

  func take(_ join: Join, from link: Link) throws(Violation) {
    let bond = try bond(of: link)
    let host = link.host
    let strand = try count(join.record, bytes: 0, over: bond)
    try prove(join.carrier, of: host, orEarlier: true)
    guard join.entry.peer == join.carrier.peer, join.entry.host == host.id else {
      throw Violation(.protocolViolation, "an endpoint in the name of another peer or host")
    }
    guard let target = endpoints[join.target], target.incarnation <= join.targetIncarnation else {
      answerStray(bond) { Gone(record: $0, endpoint: join.target, incarnation: join.targetIncarnation) }
      return
    }
    let group = target.group
    for ticket in join.tickets where group.members[join.entry.endpoint] == nil {
      try believe(ticket, in: group, only: join.entry.endpoint)
    }
    correct(by: join.entry, host, group)
    guard let member = group.members[join.entry.endpoint], member.entry.incarnation == join.entry.incarnation,
      member.host === host
    else {
      let last: Reason = group.overflowed[join.entry.endpoint] != nil ? .full : .gone
      let isOver = group.departed[join.entry.endpoint].map { join.entry.incarnation <= $0 } ?? false
      answerStray(bond) {
        Verdict(
          record: $0, about: join.index, by: .all, reason: isOver ? last : .notIntroduced, seen: bond.received)
      }
      return
    }
    guard member.entry.peer == join.entry.peer else {
      throw Violation(.protocolViolation, "an endpoint that changes its peer")
    }
    guard (bond.members[join.index] ?? []).allSatisfy({ $0.id == member.id }) else {
      throw Violation(.protocolViolation, "an endpoint with the number \(join.index), which is another's")
    }
    takeWord(join.entry, of: member)
    settleOverflow(in: group)
    guard target.group === group else {
      return answerStray(bond) { Gone(record: $0, endpoint: join.target, incarnation: join.targetIncarnation) }
    }
    guard group.members[member.id] === member else {
      return answerStray(bond) {
        Verdict(record: $0, about: join.index, by: .all, reason: .full, seen: bond.received)
      }
    }
    bond.accept()
    strand.group = group.serial
    host.learn(join.entry.addresses)
    member.forgottenAt = nil
    member.strand = join.record.strand
    if member.index != join.index {
      if let old = member.index { bond.remove(member, old) }
      member.index = join.index
      bond.members[join.index, default: []].append(member)
      member.presence.pairsChanged()
    }
    tellConnecting(member, member.met.subtracting(member.refused))
    member.admitted = slots(admittedBy: join.admits, seen: join.seen, member)
    // Those who have not been told to this host yet say what they think of the member as they are.
    let told = group.localSlots.intersection(member.presence.announcedSlots)
    announce(member.presence)
    try takeEarlyIdentities(of: member, from: link)
    showIdentities(to: member)
    judge(member, told)
    update(member, group.localSlots)
  }

  private func takeWord(_ entry: Entry, of member: Member) {
    let (rank, inviter) = (member.entry.rank, member.entry.inviter)
    member.entry = entry
    if (rank, inviter) > (entry.rank, entry.inviter) { (member.entry.rank, member.entry.inviter) = (rank, inviter) }
    member.isHearsay = false
  }

  /// The word of its own host corrects what others said of an endpoint, if they vouched for its peer at all.
  private func correct(by entry: Entry, _ host: RemoteHost, _ group: Group) {
    guard let hearsay = dropHearsay(against: entry, in: group), hearsay.peer == entry.peer,
      group.departed[entry.endpoint].map({ entry.incarnation > $0 }) ?? true
    else { return }
    let corrected = enter(entry, host, group)
    if hearsay.host == host.id { corrected.successor = .introduced(hearsay) }
    meet(corrected, group.localSlots)
  }

  /// An answer to a host that has no place in the group it asks for.
  func answerStray<F: Frame>(_ bond: Bond, _ make: (RecordHead) -> F) {
    record(bond.strandForStrays(), over: bond, make)
  }

  /// Which local slots a host's own endpoint was admitted to, or admits.
  private func slots(admittedBy audience: Audience, seen: UInt64, _ member: Member) -> SlotSet {
    let presence = member.presence
    func slots(of indexes: [UInt32]) -> SlotSet {
      var slots = SlotSet()
      for index in indexes {
        if let local = endpointsByIndex[index], local.group === presence.group { slots.insert(local.slot) }
      }
      return slots
    }
    let told = presence.announcedSlots.subtracting(presence.announced(after: seen))
    return switch audience {
    case .all: told
    case .only(let indexes): slots(of: indexes)
    case .allBut(let indexes): told.subtracting(slots(of: indexes))
    }
  }

  // MARK: Judging

  /// What stands against a pair by rule, whatever the session's owner may decide.
  private func rule(_ local: LocalEndpoint, _ member: Member) -> Reason? {
    if local.removed.contains(member.id), !sabotage.contains(.readmitsRemoved) { return .removed }
    if local.banned.contains(member.peer) { return .removed }
    if local.blocked.contains(member.peer) { return .blocked }
    if local.isLocked, !member.met.contains(local.slot) { return .locked }
    if !sabotage.contains(.ignoresEncryption), !local.needs.agrees(with: Needs(member.entry.terms.encryption)) {
      return .encryption
    }
    return nil
  }

  private func admit(_ member: Member, _ local: LocalEndpoint) -> Admission {
    if member.refusedThere.contains(local.slot) { return .pending }
    if member.refused.contains(local.slot) { return .no(rule(local, member) ?? .declined) }
    if let reason = rule(local, member) {
      refuse(member, SlotSet(local.slot), reason)
      return .no(reason)
    }
    if member.admits.contains(local.slot) { return .yes }
    guard isTrusted(member, by: local) else { return .pending }
    member.admits.insert(local.slot)
    return .yes
  }

  /// Says what local slots think of a member that has joined.
  func judge(_ member: Member, _ slots: SlotSet) {
    guard let index = member.index, !slots.isEmpty else { return }
    var admitting = member.presence.group.plain(slots, with: member)
    var refusing = Table<Reason, SlotSet>()
    member.admits.formUnion(admitting)
    slots.subtracting(admitting).forEach { slot in
      guard let local = member.presence.group.local(at: slot), local !== member.own else { return }
      switch admit(member, local) {
      case .yes: admitting.insert(slot)
      case .no(let reason): refusing[reason, default: SlotSet()].insert(slot)
      case .pending: break
      }
    }
    if !admitting.isEmpty { say(.none, of: admitting, about: member, index) }
    refusing.forEach { reason, slots in say(reason, of: slots, about: member, index) }
  }

  private func say(_ reason: Reason, of slots: SlotSet, about member: Member, _ index: UInt32) {
    let presence = member.presence
    // Whom that host may not know in this group, it cannot place: that they admit the member goes with their joins.
    let unplaced = reason == .none ? presence.unannounced.union(presence.repeats) : presence.unannounced
    let placed = slots.subtracting(unplaced)
    if presence.group.localCount > 1, placed == others(than: member) {
      let ordinal = record(presence) {
        Verdict(record: $0, about: index, by: .all, reason: reason, seen: presence.host.bond?.received ?? 0)
      }
      if let ordinal, reason == .none { member.settle(placed, at: ordinal) }
      return
    }
    var rest = placed.slots[...]
    while !rest.isEmpty {
      let some = rest.prefix(Limits.audienceIndexesMax)
      rest = rest.dropFirst(some.count)
      let indexes = some.compactMap { presence.group.local(at: $0)?.index }.sorted()
      let ordinal = record(presence) {
        Verdict(
          record: $0, about: index, by: .only(indexes), reason: reason, seen: presence.host.bond?.received ?? 0)
      }
      if let ordinal, reason == .none { member.settle(some.reduce(into: SlotSet()) { $0.insert($1) }, at: ordinal) }
    }
  }

  /// Everybody here who can be paired with the member: all, but a local endpoint is not its own member.
  private func others(than member: Member) -> SlotSet {
    var slots = member.presence.group.localSlots
    if let own = member.own { slots.remove(own.slot) }
    return slots
  }

  /// A local decision against a member.
  func refuse(_ member: Member, _ slots: SlotSet, _ reason: Reason) {
    member.refused.formUnion(slots)
    member.refusedThere.subtract(slots)
    member.admits.subtract(slots)
    member.unsettle(slots)
    tellNotConnected(member, slots, reason)
    if let index = member.index { say(reason, of: slots, about: member, index) }
  }

  func refuseEverywhere(_ member: Member, _ reason: Reason) { refuse(member, member.presence.group.localSlots, reason) }

  func take(_ verdict: Verdict, from link: Link) throws(Violation) {
    let bond = try bond(of: link)
    _ = try count(verdict.record, bytes: 0, over: bond)
    guard verdict.seen < bond.journal.next else {
      throw Violation(.protocolViolation, "a verdict that has seen record \(verdict.seen), which was not made")
    }
    guard let local = endpointsByIndex[verdict.about] else { return }
    let group = local.group
    guard let presence = group.presences[bond.host.id] else { return }
    switch verdict.reason {
    case .notIntroduced, .gone: return answered(verdict.reason, local, presence)
    case .full: return turnedAway(local, from: presence, after: verdict.seen)
    default: break
    }
    for member in members(verdict.by, of: presence, verdict.record.strand, over: bond) where member.id != local.id {
      let slot = SlotSet(local.slot)
      if verdict.reason == .none {
        presence.announcedInVain = 0
        member.admitted.formUnion(slot)
        if member.refusedThere.contains(local.slot) {
          // It has changed its mind, and waits to hear that nothing stands against it here.
          member.refusedThere.subtract(slot)
          member.refused.subtract(slot)
          judge(member, slot)
        }
        update(member, slot)
      } else if member.admitted.contains(local.slot) || !member.refused.contains(local.slot) {
        undeliver(to: [member], from: local, after: verdict.seen)
        member.admitted.subtract(slot)
        member.admits.subtract(slot)
        member.unsettle(slot)
        if !member.refused.contains(local.slot) { member.refusedThere.formUnion(slot) }
        member.refused.formUnion(slot)
        tellNotConnected(member, slot, verdict.reason)
      }
    }
  }

  /// A host would not let a local endpoint in at all: not yet, or never again.
  private func answered(_ reason: Reason, _ local: LocalEndpoint, _ presence: Presence) {
    if reason == .notIntroduced {
      // It is not placed there: what is said of it goes with the next join.
      presence.repeats.insert(local.slot)
      announceSoon(presence)
    } else {
      for member in presence.members.values {
        member.refused.insert(local.slot)
        tellNotConnected(member, SlotSet(local.slot), reason)
      }
    }
  }

  /// A host has no room for a local endpoint, which is then none of its members' fellows.
  private func turnedAway(_ local: LocalEndpoint, from presence: Presence, after seen: UInt64) {
    for member in presence.members.values where member.id != local.id {
      undeliver(to: [member], from: local, after: seen)
      member.refused.insert(local.slot)
      tellNotConnected(member, SlotSet(local.slot), .full)
      guard presence.group.localCount == 1 else { continue }
      dismiss(member, .full)
    }
  }

  /// Says it all again after a pause that grows while that is in vain.
  func announceSoon(_ presence: Presence) {
    guard presence.announcesAgain == nil else { return }
    let pause = min(Self.introductionPauseMax, .milliseconds(100) * (1 << min(presence.announcedInVain, 8)))
    presence.announcedInVain += 1
    presence.announcesAgain = now + pause
    timers.set(.group(presence.group.serial), now + pause)
  }

  /// An introduction is on its way for a moment, or it does not come at all.
  private static let introductionPauseMax: Duration = .seconds(5)

  /// "All" is whom the other host holds for one group: those who joined on the strand it speaks on, or for local peers
  /// those of the group itself.
  private func members(_ audience: Audience, of presence: Presence, _ strand: UInt32, over bond: Bond) -> [Member] {
    switch audience {
    case .all:
      return presence.members.values.filter { $0.index != nil && ($0.strand == strand || presence.host.isSelf) }
    case .only(let indexes): return indexes.flatMap { bond.members[$0] ?? [] }.filter { $0.presence === presence }
    case .allBut(let indexes):
      let excluded = Set(indexes)
      return presence.members.values.filter { member in
        member.strand == strand && (member.index.map { !excluded.contains($0) } ?? false)
      }
    }
  }

  /// Tells which of these pairs have become connected.
  func update(_ member: Member, _ slots: SlotSet) {
    guard member.index != nil else { return }
    var agreed = slots.intersection(member.admits)
    if !sabotage.contains(.connectsOneSided) { agreed = agreed.intersection(member.admitted).intersection(member.told) }
    if agreed.isEmpty { return }
    let news = agreed.subtracting(member.refused).subtracting(member.connected)
    guard let locals = member.presence.group.locals(in: news) else { return }
    tellConnecting(member, news)
    member.connecting.subtract(news)
    member.connect(news)
    member.forgottenAt = nil
    emit(.member(member.view, .connected, of: locals))
    resumeFlows(of: member, locals)
    // What was agreed while the link was there may be decided while it is away.
    if member.host.bond?.isSuspended == true { emit(.suspended(member.view, true, of: locals)) }
  }
}
