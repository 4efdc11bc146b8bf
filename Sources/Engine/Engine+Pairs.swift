import Wire

/// Pairs: how a local endpoint and a remote member become connected, and stop being so.
///
/// Invariant: a pair is connected while the member has joined on the present bond, the local endpoint admits it and has
/// said so, and its host has said that it admits the local endpoint. Each change is reported once.
extension Engine {
  enum AdmissionState: Hashable {
    case yes
    case no(Reason)
    /// Waits for a decision, here or there.
    case pending
  }

  // MARK: Meeting

  /// Members and local slots meet for the first time.
  func meet(_ cohort: Cohort, _ slots: SlotSet) {
    let group = cohort.presence.group
    var connecting = group.plain(slots, with: cohort)
    if connecting != slots, cohort.members.count > 1 {
      for member in cohort.members { meet(alone(member), slots) }
      return
    }
    cohort.relations.met.formUnion(connecting)
    slots.subtracting(connecting).forEach { slot in
      guard let member = cohort.only, let local = group.local(at: slot), local !== member.own else { return }
      let reason = rule(local, member)
      // A stranger that a lock keeps out stays a stranger.
      if reason != .locked { cohort.relations.met.insert(slot) }
      switch reason {
      case nil: connecting.insert(slot)
      case .encryption?:
        connecting.insert(slot)
        emitConnecting(cohort, SlotSet(slot))
        refuse(member, SlotSet(slot), .encryption)
      case .some: cohort.relations.refused.insert(slot)
      }
    }
    emitConnecting(cohort, connecting.subtracting(cohort.relations.refused))
  }

  /// An invitation overrules earlier refusals between the two.
  func reconcile(_ member: RemoteMember, with local: LocalEndpoint, until: Instant) {
    guard !member.isConnected(with: local.slot) else { return }
    let slot = SlotSet(local.slot)
    let isFree = local.removed.remove(member.id) == nil && !member.isRefused(by: local.slot)
    let cohort = alone(member)
    cohort.connectingUntil = until
    timers.set(.group(member.presence.group.serial), until)
    if isFree, member.isConnecting(with: local.slot) { return }
    cohort.relations.refused.subtract(slot)
    cohort.relations.refusedThere.subtract(slot)
    cohort.relations.admits.subtract(slot)
    cohort.relations.announced.subtract(slot)
    cohort.relations.admitted.subtract(slot)
    meet(cohort, slot)
    member.presence.repeats.insert(local.slot)
    announce(member.presence)
  }

  private func emitConnecting(_ cohort: Cohort, _ slots: SlotSet) {
    let news = slots.subtracting(cohort.relations.connecting).subtracting(cohort.relations.connected)
    guard !news.isEmpty else { return }
    cohort.relations.connecting.formUnion(news)
    emitState(cohort, news, .connecting)
    let until = cohort.connectingUntil.flatMap { $0 > now ? $0 : nil } ?? now + settings.connectingMax
    cohort.connectingUntil = until
    timers.set(.group(cohort.presence.group.serial), until)
  }

  /// Flows in progress wait for their pairs if those may be connected again as they are.
  func emitNotConnected(_ cohort: Cohort, _ slots: SlotSet, _ reason: Reason, mayReturn: Bool = false) {
    for member in flows.concerned(of: cohort) { endFlows(of: member, slots, reason, mayReturn: mayReturn) }
    let news = slots.intersection(cohort.relations.connecting.union(cohort.relations.connected))
    guard !news.isEmpty else { return }
    cohort.relations.connecting.subtract(news)
    cohort.relations.connected.subtract(news)
    emitState(cohort, news, .notConnected(reason))
    adhocLost(cohort.members, news, of: cohort.presence.group)
  }

  // MARK: Joining

  func handle(_ join: Join, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    let host = link.host
    let strand = try count(join.record, bytes: 0, over: bond)
    try prove(join.carrier, of: host, orEarlier: true)
    guard join.entry.peer == join.carrier.peer, join.entry.host == host.id else {
      throw ProtocolViolation(.protocolViolation, "an endpoint in the name of another peer or host")
    }
    guard let target = endpoints[join.target], target.incarnation <= join.targetIncarnation else {
      answerStray(bond) { Gone(record: $0, endpoint: join.target, incarnation: join.targetIncarnation) }
      return
    }
    for ticket in join.tickets where target.group.members[join.entry.endpoint] == nil {
      try believe(ticket, in: target.group, only: join.entry.endpoint)
    }
    let group = target.group
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
      throw ProtocolViolation(.protocolViolation, "an endpoint that changes its peer")
    }
    guard (bond.members[join.index] ?? []).allSatisfy({ $0.id == member.id }) else {
      throw ProtocolViolation(.protocolViolation, "an endpoint with the number \(join.index), which is another's")
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
    host.learn(fromEntry: join.entry.addresses)
    let cohort = alone(member)
    cohort.forgottenAt = nil
    let hadJoined = cohort.strand != nil
    cohort.strand = join.record.strand
    if member.index != join.index {
      if let old = member.index { bond.remove(member, old) }
      member.index = join.index
      bond.members[join.index, default: []].append(member)
    }
    emitConnecting(cohort, cohort.relations.met.subtracting(cohort.relations.refused))
    let admitted = slots(admittedBy: join.admits, seen: join.seen, member)
    if hadJoined { noteAdmission(by: cohort, admitted, seen: join.seen) }
    cohort.relations.admitted = admitted
    // Local slots that have not been announced to this host yet send their verdict on the member with the announcement.
    let announced = group.localSlots.intersection(member.presence.announcedSlots)
    announce(member.presence)
    try takeEarlyIdentities(of: member, from: link)
    showIdentities(of: announced, to: member)
    judge(member, announced)
    update(alone(member), group.localSlots)
  }

  private func takeWord(_ entry: Entry, of member: RemoteMember) {
    let (rank, inviter) = (member.entry.rank, member.entry.inviter)
    member.entry = entry
    if (rank, inviter) > (entry.rank, entry.inviter) { (member.entry.rank, member.entry.inviter) = (rank, inviter) }
    member.isHearsay = false
  }

  /// A host's statement of its own endpoint corrects what others said, if they vouched for its peer at all.
  private func correct(by entry: Entry, _ host: RemoteHost, _ group: Group) {
    guard let hearsay = dropHearsay(against: entry, in: group), hearsay.peer == entry.peer,
      group.departed[entry.endpoint].map({ entry.incarnation > $0 }) ?? true
    else { return }
    let corrected = enter(entry, host, group)
    if hearsay.host == host.id { corrected.successor = .introduced(hearsay) }
    meet(alone(corrected), group.localSlots)
  }

  /// Answers a host that has no place in the group it asks for.
  func answerStray<F: Frame>(_ bond: Bond, _ make: (RecordHead) -> F) {
    record(bond.strandForStrays(), over: bond, make)
  }

  /// The local slots that a host's own endpoint was admitted by, or admits.
  private func slots(admittedBy selection: EndpointSelection, seen: UInt64, _ member: RemoteMember) -> SlotSet {
    let presence = member.presence
    func slots(of indexes: [UInt32]) -> SlotSet {
      var slots = SlotSet()
      for index in indexes {
        if let local = endpointsByIndex[index], local.group === presence.group { slots.insert(local.slot) }
      }
      return slots
    }
    let announced = presence.announcedSlots.subtracting(presence.announced(after: seen))
    return switch selection {
    case .all: announced
    case .only(let indexes): slots(of: indexes)
    case .allBut(let indexes): announced.subtracting(slots(of: indexes))
    }
  }

  // MARK: Judging

  /// The first rule against a pair, whatever the session's owner may decide.
  private func rule(_ local: LocalEndpoint, _ member: RemoteMember) -> Reason? {
    if local.removed.contains(member.id), !sabotage.contains(.readmitsRemoved) { return .removed }
    if local.banned.contains(member.peer) { return .removed }
    if local.blocked.contains(member.peer) { return .blocked }
    if local.isLocked, !member.cohort.relations.met.contains(local.slot) { return .locked }
    if !sabotage.contains(.ignoresEncryption), !local.needs.agrees(with: Needs(member.entry.terms.encryption)) {
      return .encryption
    }
    return nil
  }

  func admit(_ member: RemoteMember, _ local: LocalEndpoint) -> AdmissionState {
    let slot = local.slot
    if member.cohort.relations.refusedThere.contains(slot) { return .pending }
    if member.cohort.relations.refused.contains(slot) { return .no(rule(local, member) ?? .declined) }
    if let reason = rule(local, member) {
      refuse(member, SlotSet(slot), reason)
      return .no(reason)
    }
    if member.cohort.relations.admits.contains(slot) { return .yes }
    guard requestTrust(in: member, by: local) else { return .pending }
    alone(member).relations.admits.insert(slot)
    return .yes
  }

  /// Sends the verdict of local slots on a member that has joined.
  func judge(_ member: RemoteMember, _ slots: SlotSet) {
    guard let index = member.index, !slots.isEmpty else { return }
    let cohort = alone(member)
    var admitting = member.presence.group.plain(slots, with: cohort)
    var refusing = OrderedDictionary<Reason, SlotSet>()
    cohort.relations.admits.formUnion(admitting)
    slots.subtracting(admitting).forEach { slot in
      guard let local = member.presence.group.local(at: slot), local !== member.own else { return }
      switch admit(member, local) {
      case .yes: admitting.insert(slot)
      case .no(let reason): refusing[reason, default: SlotSet()].insert(slot)
      case .pending: break
      }
    }
    if !admitting.isEmpty { send(.none, of: admitting, about: member, index) }
    refusing.forEach { reason, slots in send(reason, of: slots, about: member, index) }
  }

  private func send(_ reason: Reason, of slots: SlotSet, about member: RemoteMember, _ index: UInt32) {
    if reason != .none, sabotage.contains(.refusesInSilence) { return }
    let presence = member.presence
    // Slots that the other host may not know in this group cannot be placed there: their joins carry the admission.
    let unplaced = reason == .none ? presence.unannounced.union(presence.repeats) : presence.unannounced
    let placed = slots.subtracting(unplaced)
    if presence.group.localCount > 1, placed == others(than: member) {
      let ordinal = record(presence) {
        Verdict(record: $0, about: index, by: .all, reason: reason, seen: presence.host.bond?.received ?? 0)
      }
      if let ordinal, reason == .none { settle(alone(member), placed, at: ordinal) }
      return
    }
    var rest = placed.slots[...]
    while !rest.isEmpty {
      let some = rest.prefix(Limits.selectedIndexesMax)
      rest = rest.dropFirst(some.count)
      let indexes = some.compactMap { presence.group.local(at: $0)?.index }.sorted()
      let ordinal = record(presence) {
        Verdict(
          record: $0, about: index, by: .only(indexes), reason: reason, seen: presence.host.bond?.received ?? 0)
      }
      if let ordinal, reason == .none {
        settle(alone(member), some.reduce(into: SlotSet()) { $0.insert($1) }, at: ordinal)
      }
    }
  }

  /// All local slots that can be paired with the member; a local endpoint is not its own member.
  private func others(than member: RemoteMember) -> SlotSet {
    var slots = member.presence.group.localSlots
    if let own = member.own { slots.remove(own.slot) }
    return slots
  }

  func refuse(_ member: RemoteMember, _ slots: SlotSet, _ reason: Reason) {
    let cohort = alone(member)
    cohort.relations.refused.formUnion(slots)
    cohort.relations.refusedThere.subtract(slots)
    cohort.relations.admits.subtract(slots)
    cohort.relations.announced.subtract(slots)
    emitNotConnected(cohort, slots, reason)
    if let index = member.index { send(reason, of: slots, about: member, index) }
  }

  func refuseEverywhere(_ member: RemoteMember, _ reason: Reason) {
    refuse(member, member.presence.group.localSlots, reason)
  }

  func handle(_ verdict: Verdict, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    _ = try count(verdict.record, bytes: 0, over: bond)
    guard verdict.seen < bond.sendQueue.next else {
      throw ProtocolViolation(.protocolViolation, "a verdict that has seen record \(verdict.seen), which was not made")
    }
    guard let local = endpointsByIndex[verdict.about] else { return }
    let group = local.group
    guard let presence = group.presences[bond.host.id] else { return }
    switch verdict.reason {
    case .notIntroduced, .gone: return answered(verdict.reason, local, presence)
    case .full: return handleRejection(local, from: presence, after: verdict.seen)
    default: break
    }
    for cohort in cohorts(verdict.by, of: presence, verdict.record.strand, over: bond) where !cohort.isOnly(local) {
      if verdict.reason == .none {
        presence.unansweredAnnouncements = 0
        admitted(local, by: cohort, seen: verdict.seen)
      } else {
        refused(local, by: cohort, verdict.reason, after: verdict.seen)
      }
    }
  }

  private func admitted(_ local: LocalEndpoint, by cohort: Cohort, seen: UInt64) {
    let slot = local.slot
    noteAdmission(by: cohort, SlotSet(slot), seen: seen)
    cohort.relations.admitted.insert(slot)
    guard cohort.relations.refusedThere.contains(slot) else { return update(cohort, SlotSet(slot)) }
    // The other side has changed its mind, and waits for a reply that nothing stands against it here.
    cohort.relations.refusedThere.remove(slot)
    cohort.relations.refused.remove(slot)
    for member in cohort.members {
      judge(member, SlotSet(slot))
      update(alone(member), SlotSet(slot))
    }
  }

  /// Notes since when the other side knows a slot whose first announcement was in vain, which the announcement does not
  /// tell: messages to all from before it admitted the slot are not for that slot, however late they come.
  private func noteAdmission(by cohort: Cohort, _ slots: SlotSet, seen: UInt64) {
    var news = SlotSet()
    slots.subtracting(cohort.relations.admitted).forEach { slot in
      if cohort.presence.announcement(of: slot) != seen { news.insert(slot) }
    }
    guard !news.isEmpty else { return }
    for member in cohort.members { member.settle(news, at: seen, indexLast: lastIndex) }
  }

  private func refused(_ local: LocalEndpoint, by cohort: Cohort, _ reason: Reason, after seen: UInt64) {
    let slot = local.slot
    guard cohort.relations.admitted.contains(slot) || !cohort.relations.refused.contains(slot) else { return }
    undeliver(to: cohort.members, from: local, after: seen)
    cohort.relations.admitted.remove(slot)
    cohort.relations.admits.remove(slot)
    cohort.relations.announced.remove(slot)
    if !cohort.relations.refused.contains(slot) { cohort.relations.refusedThere.insert(slot) }
    cohort.relations.refused.insert(slot)
    emitNotConnected(cohort, SlotSet(slot), reason)
  }

  /// A host refused a local endpoint: for now, or for good.
  private func answered(_ reason: Reason, _ local: LocalEndpoint, _ presence: Presence) {
    if reason == .notIntroduced {
      // It is not placed there: its state goes with the next join.
      presence.repeats.insert(local.slot)
      announceSoon(presence)
    } else {
      for cohort in cohorts(of: presence) {
        cohort.relations.refused.insert(local.slot)
        emitNotConnected(cohort, SlotSet(local.slot), reason)
      }
    }
  }

  /// A host has no room for a local endpoint, which is then no fellow of its members.
  private func handleRejection(_ local: LocalEndpoint, from presence: Presence, after seen: UInt64) {
    let members = presence.members.values.filter { $0.id != local.id }
    undeliver(to: members, from: local, after: seen)
    for cohort in cohorts(of: presence) where !cohort.isOnly(local) {
      cohort.relations.refused.insert(local.slot)
      emitNotConnected(cohort, SlotSet(local.slot), .full)
    }
    guard presence.group.localCount == 1 else { return }
    for member in members { dismiss(member, .full) }
  }

  /// "All" means the endpoints that the other host counts as one group: those that joined on the strand it sends on, or
  /// for local peers those of the group itself.
  private func cohorts(_ selection: EndpointSelection, of presence: Presence, _ strand: UInt32, over bond: Bond)
    -> [Cohort]
  {
    func alone(_ indexes: [UInt32]) -> [Cohort] {
      indexes.flatMap { bond.members[$0] ?? [] }.filter { $0.presence === presence }.map { self.alone($0) }
    }
    switch selection {
    case .all: return cohorts(of: presence).filter { $0.strand != nil && ($0.strand == strand || presence.host.isSelf) }
    case .only(let indexes): return alone(indexes)
    case .allBut(let indexes):
      let excluded = Set(alone(indexes).map(ObjectIdentifier.init))
      return cohorts(of: presence).filter { $0.strand == strand && !excluded.contains(ObjectIdentifier($0)) }
    }
  }

  /// Reports the pairs that have become connected.
  func update(_ cohort: Cohort, _ slots: SlotSet) {
    guard cohort.strand != nil else { return }
    var agreed = slots.intersection(cohort.relations.admits)
    if !sabotage.contains(.connectsOneSided) {
      agreed = agreed.intersection(cohort.relations.admitted).intersection(cohort.relations.announced)
    }
    if agreed.isEmpty { return }
    let news = agreed.subtracting(cohort.relations.refused).subtracting(cohort.relations.connected)
    guard !news.isEmpty else { return }
    emitConnecting(cohort, news)
    cohort.relations.connecting.subtract(news)
    cohort.relations.connected.formUnion(news)
    cohort.forgottenAt = nil
    emitState(cohort, news, .connected)
    endAttempts(with: cohort, news)
    for member in flows.concerned(of: cohort) { resumeFlows(of: member, news) }
    // A pair agreed on while the link was up may be decided while it is down.
    if cohort.presence.host.bond?.isSuspended == true { emitSuspended(cohort, news, true) }
  }
}
