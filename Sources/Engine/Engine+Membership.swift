import Wire

/// Membership: who belongs to a group, and how its hosts learn of each other.
///
/// Invariant: a member enters a group by an accepted invitation or by the introduction of a member, and by nothing
/// else.
extension Engine {
  // MARK: Learning of members

  /// The source from which a member became known.
  enum Voucher {
    /// A local endpoint invited it, or was invited by it: it may come back even if it had been removed.
    case invitation(local: LocalEndpoint, until: Instant)
    case introduction(by: EndpointID)

    func addAddresses(_ addresses: [Address], of host: RemoteHost) {
      switch self {
      case .invitation: host.learn(fromEntry: addresses)
      case .introduction: host.learn(byHearsay: addresses)
      }
    }
  }

  @discardableResult
  func learn(_ entry: Entry, in known: Group, by voucher: Voucher) -> RemoteMember? {
    if entry.host == hostID { return learnLocal(entry, in: known, by: voucher) }
    var group = known
    // No other host has an endpoint of this one's own.
    if endpoints.contains(entry.endpoint) { return nil }
    if let place = group.overflowed[entry.endpoint], place != (entry.rank, entry.inviter) {
      group.overflowed[entry.endpoint] = nil
      group.forgetDeparture(of: entry.endpoint)
    }
    if let departed = group.departed[entry.endpoint], entry.incarnation <= departed,
      !sabotage.contains(.raisesTheDead)
    {
      return nil
    }
    group = merge(group, by: entry)
    if case .invitation = voucher { dropHearsay(against: entry, in: group) }
    if let member = group.members[entry.endpoint] {
      // An introducer cannot change whose endpoint it is or on which host.
      guard entry.peer == member.entry.peer, entry.host == member.host.id else { return nil }
      if entry.incarnation > member.entry.incarnation {
        guard member.index == nil else {
          member.successor = .introduced(entry)
          return nil
        }
        depart(member, .left, readThrough: nil)
      } else {
        if (entry.rank, entry.inviter) > (member.entry.rank, member.entry.inviter) {
          member.entry.rank = entry.rank
          member.entry.inviter = entry.inviter
        }
        voucher.addAddresses(entry.addresses, of: member.host)
        if case .invitation(let local, let until) = voucher { reconcile(member, with: local, until: until) }
        return member
      }
    }
    guard group.members.count < Self.membersMax,
      (group.presences[entry.host]?.members.count ?? 0) < Limits.selectedIndexesMax
    else { return nil }
    let host = host(entry.host)
    voucher.addAddresses(entry.addresses, of: host)
    let member = enter(entry, host, group)
    if case .introduction(let introducer) = voucher { member.introducer = introducer }
    if case .invitation(let local, let until) = voucher {
      local.removed.remove(member.id)
      alone(member).connectingUntil = until
      member.isHearsay = false
    }
    meet(alone(member), group.localSlots)
    settleOverflow(in: group)
    ensureLink(host)
    if let presence = group.presences[host.id] {
      // The other side knows whom it invited, or was invited by; that one's companions are introduced there first.
      if case .invitation(let local, _) = voucher { announce(local, to: presence) } else { announce(presence) }
    }
    return member
  }

  /// A host's own statement of its endpoint overrides what others said: returns hearsay that was wrong.
  @discardableResult
  func dropHearsay(against entry: Entry, in group: Group) -> Entry? {
    guard let member = group.members[entry.endpoint], member.isHearsay,
      entry.peer != member.entry.peer || entry.host != member.host.id
        || entry.incarnation < member.entry.incarnation
    else { return nil }
    dismiss(member, .lost)
    return member.entry
  }

  /// An endpoint is in one group: two groups that both know it are merged.
  private func merge(_ group: Group, by entry: Entry) -> Group {
    guard let host = hosts[entry.host], host.presences.count > (group.presences.contains(host.id) ? 1 : 0) else {
      return group
    }
    var united = group
    for presence in host.presences.values
    where presence.group !== united && presence.members[entry.endpoint]?.entry.incarnation == entry.incarnation {
      united = merge(presence.group, united)
    }
    return united
  }

  /// Far above the largest measured group, and still a bound on the memory that others can claim here.
  private static let membersMax = 65_536

  /// An endpoint of this host in another of its groups: the two are merged.
  private func learnLocal(_ entry: Entry, in known: Group, by voucher: Voucher) -> RemoteMember? {
    guard let local = endpoints[entry.endpoint], local.incarnation == entry.incarnation else { return nil }
    var group = known
    if local.group !== group {
      if local.isLocked, case .introduction = voucher { return nil }
      group = merge(local.group, group)
    }
    if case .invitation(let inviter, let until) = voucher, let mirror = group.members[local.id] {
      reconcile(mirror, with: inviter, until: until)
    }
    return group.members[local.id]
  }

  func enter(_ entry: Entry, _ host: RemoteHost, _ group: Group) -> RemoteMember {
    let presence = group.presences[host.id] ?? Presence(host: host, group: group)
    group.presences[host.id] = presence
    host.presences[group.serial] = presence
    let member = presence.add(
      entry, peer: peerID(of: entry.peer), own: host.isSelf ? endpoints[entry.endpoint] : nil)
    group.add(member)
    dirty.touch(member: member.id, of: group.serial)
    return member
  }

  /// Local endpoints of one group see each other as members of this host.
  func mirror(_ local: LocalEndpoint) {
    let group = local.group
    guard group.localCount > 1 else { return }
    func reflect(_ other: LocalEndpoint) {
      guard group.members[other.id] == nil else { return }
      let member = enter(entry(of: other), host(hostID), group)
      var slots = group.localSlots
      slots.remove(other.slot)
      meet(alone(member), slots)
    }
    reflect(local)
    if group.presences[hostID]?.members.count != group.localCount { group.allLocals.forEach(reflect) }
    ensureLink(host(hostID))
    if let presence = group.presences[hostID] { announce(presence) }
  }

  func entry(of local: LocalEndpoint) -> Entry {
    Entry(
      endpoint: local.id, incarnation: local.incarnation, peer: local.peer.key, host: hostID, name: local.peer.name,
      terms: local.terms, rank: local.rank, inviter: local.inviter,
      addresses: Array(settings.addresses.prefix(Limits.entryAddressesMax)))
  }

  // MARK: Joining groups

  /// An invitation was accepted: the invitee's endpoint becomes a member of the local endpoint's group.
  ///
  /// The inviter's side assigns the rank; each side introduces its own members to the other's.
  func join(_ local: LocalEndpoint, _ entry: Entry, isInviter: Bool, until: Instant) {
    let group = local.group
    let wasKnown = group.members[entry.endpoint]?.entry.incarnation == entry.incarnation
    let before = group.presences.values.filter { $0.host.id != entry.host }
    // Local peers need no introductions, and a host that is in the group knows the other members.
    let isThere = entry.host == hostID || group.presences[entry.host]?.hasJoined == true
    let roster = wasKnown || isThere ? [] : roster(of: group, but: [entry.endpoint, local.id])
    guard let member = learn(entry, in: group, by: .invitation(local: local, until: until)) else { return }
    // The introducer has introduced it to the others already, and the others to it.
    if wasKnown { return }
    defer { if let presence = local.group.presences[entry.host] { announce(presence) } }
    guard !member.host.isSelf, !sabotage.contains(.introducesNobody) else { return }
    let isAlone = roster.isEmpty && before.isEmpty && !isThere
    guard isInviter || !isAlone else { return }
    // Introduce the newcomer to the present members; and to itself, as a ticket for members that do not know it yet.
    introduce([member.entry], by: local, to: before + [member.presence], spread: false)
    introduce(roster, by: local, to: [member.presence], spread: true)
  }

  private func roster(of group: Group, but excluded: Set<EndpointID>) -> [Entry] {
    var entries: [Entry] = []
    for local in group.allLocals where !excluded.contains(local.id) { entries.append(entry(of: local)) }
    // A member that is silent may have left: members that hear it introduce it.
    for member in group.members.values
    where !excluded.contains(member.id) && !member.host.isSelf && member.index != nil {
      entries.append(member.entry)
    }
    return entries
  }

  private func introduce(_ entries: [Entry], by local: LocalEndpoint, to presences: [Presence], spread: Bool) {
    let group = local.group
    let presences = presences.compactMap { group.presences[$0.host.id] }
    var rest = entries[...]
    while !rest.isEmpty {
      let batch = Array(rest.prefix(Self.introducedMax))
      rest = rest.dropFirst(batch.count)
      let signed = Introduction.signedBytes(
        group: group.label, introducer: local.id, introducerIncarnation: local.incarnation, entries: batch)
      let introduction = Introduction(
        group: group.label, introducer: local.id, introducerIncarnation: local.incarnation, entries: batch,
        signature: crypto.sign(signed, with: local.peer.key))
      for presence in presences { send(introduction, to: presence, spread: spread) }
    }
  }

  /// Few enough for a frame that may come before any peer was accepted; a join carries two with half as many.
  private static let introducedMax = 24

  private func send(_ introduction: Introduction, to presence: Presence, spread: Bool) {
    guard !presence.host.isSelf else { return }
    record(presence) { Introduce(record: $0, spread: spread, introduction: introduction) }
  }

  func handle(introduce body: RawSpan, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    let view: IntroduceView
    do throws(WireError) { view = try IntroduceView(decoding: body) } catch {
      throw ProtocolViolation(.protocolViolation, "introduce: \(error)")
    }
    let strand = try count(view.record, bytes: 0, over: bond)
    guard let group = strand.group.flatMap({ groups[$0] }) else { return }
    let isNews: Bool
    do throws(WireError) { isNews = try view.names { self.isNews($0, in: group) } } catch {
      throw ProtocolViolation(.protocolViolation, "introduce: \(error)")
    }
    guard isNews else { return }
    let introduce = try decode(Introduce.self, body)
    let introduction = introduce.introduction
    guard try believe(introduction, in: group), introduce.spread,
      introduction.entries.count <= Self.introducedMax
    else { return }
    let named = Set(introduction.entries.map(\.host))
    for presence in group.current.presences.values
    where presence.host !== link.host && !named.contains(presence.host.id) && hasRoom(presence.strand)
      && !presence.isIntroduced(by: introduction.introducer)
    {
      send(introduction, to: presence, spread: false)
    }
  }

  /// An introduction that is not forwarded to a slow host reaches it when rosters are compared.
  private func hasRoom(_ strand: Strand?) -> Bool {
    guard let strand else { return true }
    return strand.byteCount <= settings.backlogBytesMax && strand.count <= settings.backlogCountMax
  }

  /// Verifies an introduction by a member that names somebody new, who becomes a member; where it is old and shown by
  /// one of those whom it names, only that one: others may have left since.
  @discardableResult
  func believe(_ introduction: Introduction, in group: Group, only bearer: EndpointID? = nil) throws(ProtocolViolation)
    -> Bool
  {
    let entries = introduction.entries.filter { bearer == nil || $0.endpoint == bearer }
    guard entries.contains(where: { isNews($0, in: group) }) else { return false }
    let key: PublicKey
    if let introducer = group.members[introduction.introducer],
      introducer.entry.incarnation == introduction.introducerIncarnation
    {
      key = introducer.entry.peer
    } else if let local = endpoints[introduction.introducer], local.group === group {
      key = local.peer.key
    } else {
      guard sabotage.contains(.believesIntroductions), let anyone = introduction.entries.first else { return false }
      key = anyone.peer
    }
    guard
      sabotage.contains(.believesIntroductions)
        || crypto.verify(introduction.signature, of: introduction.signedBytes, by: key)
    else {
      throw ProtocolViolation(.protocolViolation, "an introduction that its introducer did not sign")
    }
    for entry in entries {
      if entry.host == hostID, let local = endpoints[entry.endpoint], local.incarnation == entry.incarnation {
        local.rank = max(local.rank, entry.rank)
        if introduction.entries.count <= Self.introducedMax / 2 { keepTicket(introduction, in: group.current) }
      }
      if isNews(entry, in: group.current) {
        learn(entry, in: group.current, by: .introduction(by: introduction.introducer))
      }
    }
    return true
  }

  private func isNews(_ entry: Entry, in group: Group) -> Bool { isNews(entry.named, in: group) }

  private func isNews(_ entry: IntroduceView.Named, in group: Group) -> Bool {
    if let member = group.members[entry.endpoint] {
      return entry.incarnation > member.entry.incarnation
        || (entry.rank, entry.inviter) > (member.entry.rank, member.entry.inviter)
    }
    if let local = endpoints[entry.endpoint], local.group === group {
      // The introduction names this endpoint, which can show it as a ticket.
      return local.incarnation == entry.incarnation && group.tickets.isEmpty
    }
    return true
  }

  private func keepTicket(_ introduction: Introduction, in group: Group) {
    if group.tickets.contains(introduction) { return }
    if group.tickets.count == Limits.ticketsMax { group.tickets.removeFirst() }
    group.tickets.append(introduction)
  }

  // MARK: Rosters

  func compareRosters(over bond: Bond) {
    guard !sabotage.contains(.introducesNobody), !bond.host.isSelf else { return bond.comparesRostersAt = nil }
    var differs = false
    for presence in bond.host.presences.values {
      guard let strand = presence.strand, let link = bond.link else { continue }
      let mine = presence.group.digest
      send(RosterDigest(strand: strand.id, count: mine.count, sum: mine.sum), on: link)
      // While the rosters change, introductions are still in flight.
      if let theirs = presence.theirDigest, theirs != mine { differs = true }
      if presence.myDigest.map({ $0 == mine }) ?? false { sendRoster(to: presence) }
      presence.myDigest = mine
    }
    bond.comparesRostersAt = now + (differs ? Self.rosterPause : settings.rosterInterval)
  }

  /// The time in which introductions of a newcomer reach everybody.
  static let rosterPause: Duration = .milliseconds(500)

  /// Introduces everybody to the other side, where the rosters differ.
  private func sendRoster(to presence: Presence) {
    let group = presence.group
    let mine = group.digest
    guard let theirs = presence.theirDigest, theirs != mine else { return }
    // The host with the shorter roster receives the rest, and then has more.
    guard mine.count >= theirs.count else { return }
    if let sent = presence.rosterSentFor, sent == (mine.sum, theirs.sum) { return }
    guard group.mayTellRoster(at: now, within: Self.rosterPause) else { return }
    guard let local = introducer(to: presence) else { return }
    presence.rosterSentFor = (mine.sum, theirs.sum)
    introduce(roster(of: group, but: [local.id]), by: local, to: [presence], spread: false)
  }

  /// The introducer whose word counts there: best one that is connected, and else one that is known there, since an
  /// endpoint that waits for a decision, or is refused, is a member all the same.
  private func introducer(to presence: Presence) -> LocalEndpoint? {
    let locals = presence.group.allLocals
    if let connected = locals.first(where: { presence.connectedCount(with: $0.slot) > 0 }) { return connected }
    guard presence.hasJoined else { return nil }
    return locals.first { presence.isAnnounced($0.slot) && !presence.repeats.contains($0.slot) }
  }

  func handle(_ digest: RosterDigest, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    guard let group = bond.incoming[digest.strand]?.group.flatMap({ groups[$0] }),
      let presence = group.presences[bond.host.id]
    else { return }
    presence.theirDigest = (digest.count, digest.sum)
    guard digest.count != group.digest.count || digest.sum != group.digest.sum else { return }
    bond.comparesRostersAt = min(bond.comparesRostersAt ?? .distantFuture, now + Self.rosterPause)
    scheduleBond(bond)
  }

  // MARK: One group from two

  /// Merges two groups: the smaller becomes part of the larger.
  func merge(_ one: Group, _ another: Group) -> Group {
    reconcileIncarnations(one, another)
    let (one, another) = (one.current, another.current)
    if one === another { return one }
    if one.size > another.size { absorb(another, into: one) } else { absorb(one, into: another) }
    return one.current
  }

  /// An endpoint has one incarnation, of which one of the two groups may not know yet.
  private func reconcileIncarnations(_ one: Group, _ another: Group) {
    let (few, many) = one.members.count < another.members.count ? (one, another) : (another, one)
    for member in few.members.values {
      guard let twin = many.members[member.id], twin.entry.incarnation != member.entry.incarnation else { continue }
      let (old, new) = twin.entry.incarnation < member.entry.incarnation ? (twin, member) : (member, twin)
      if old.index == nil || new.index != nil {
        depart(old, .left, readThrough: nil)
      } else {
        // The remaining records of the old one come before.
        old.successor = .introduced(new.entry)
        dismiss(new, .lost)
      }
    }
  }

  private func absorb(_ other: Group, into group: Group) {
    let introducers = (group.firstLocal, other.firstLocal)
    let hosts = (group.presences.keys.filter { $0 != hostID }, other.presences.keys.filter { $0 != hostID })
    // Each roster for the other's hosts, if there are any.
    let rosters = (
      hosts.1.isEmpty ? [] : roster(of: group, but: []), hosts.0.isEmpty ? [] : roster(of: other, but: [])
    )
    unify(other, with: group)
    defer { for presence in group.presences.values { announce(presence) } }
    guard !sabotage.contains(.introducesNobody) else { return }
    if let introducer = introducers.0 {
      introduce(rosters.1, by: introducer, to: hosts.0.compactMap { group.presences[$0] }, spread: false)
    }
    if let introducer = introducers.1 {
      introduce(rosters.0, by: introducer, to: hosts.1.compactMap { group.presences[$0] }, spread: false)
    }
  }

  private func unify(_ other: Group, with group: Group) {
    let offset = group.offset(for: other)
    let before = group.localSlots
    let newcomers = other.allLocals
    let moved = other.members
    for local in newcomers { group.place(local, at: offset + local.slot) }
    other.departed.forEach { endpoint, incarnation in group.noteDeparture(of: endpoint, incarnation) }
    for place in other.turns.keys { if let turn = other.turns[place] { setTurn(in: place, of: group, at: turn.due) } }
    adhocMoved(to: group)
    timers.cancel(.turns(other.serial))
    mergeClocks(group, other)
    reviewClock(of: group)
    group.overflowed.merge(other.overflowed) { mine, _ in mine }
    for ticket in other.tickets { keepTicket(ticket, in: group) }
    for presence in other.presences.values { move(presence, to: group, offset: offset) }
    for host in hosts.values { host.bond?.regroup(other, as: group) }
    groups[other.serial] = nil
    other.empty(into: group)
    dirty.touch(group: other.serial)

    // Pairs across the two groups. A local endpoint that has not been announced says in its join whom it admits.
    let arrived = group.localSlots.subtracting(before)
    for presence in group.presences.values {
      for cohort in cohorts(of: presence) {
        let members = cohort.members
        guard let first = members.first else { continue }
        let isMoved = moved.contains(first.id)
        let strangers = (isMoved ? group.localSlots : arrived).subtracting(cohort.relations.met)
        meet(cohort, strangers)
        let announced = strangers.intersection(presence.announcedSlots)
        if !announced.isEmpty { for member in members { judge(member, announced) } }
        if isMoved { for member in members { update(alone(member), group.localSlots) } }
      }
    }
    for local in newcomers { mirror(local) }
    settleOverflow(in: group)
  }

  private func move(_ presence: Presence, to group: Group, offset: Int) {
    let host = presence.host
    host.presences[presence.group.serial] = nil
    circuits.mustReview = true
    let shared = group.presences[host.id]
    let target = shared ?? Presence(host: host, group: group)
    group.presences[host.id] = target
    host.presences[group.serial] = target
    if let strand = presence.strand {
      if target.strand == nil { target.strand = strand } else { strand.isLeft = true }
    }
    for cohort in presence.cohorts {
      let moved = Cohort(like: cohort, in: target, offset: offset)
      for old in cohort.members {
        dirty.touch(member: old.id, of: presence.group.serial)
        if !old.chain.isEmpty { old.chainChanged() }
        dirty.touch(member: old.id, of: group.serial)
        let member: RemoteMember
        if let known = group.members[old.id] {
          alone(known)
          known.absorb(old, offset: offset)
          member = known
        } else {
          member = RemoteMember(movedFrom: old, to: moved, offset: offset)
          group.add(member)
        }
        host.bond?.replace(old, by: member)
        moveDecisions(about: old, to: member)
      }
      target.add(moved)
    }
    target.absorbAnnouncements(of: presence, offset: offset)
    // A host that was in both may merge them before or after this: joins that it could not place are repeated.
    if shared != nil, !host.isSelf { target.repeats = group.localSlots }
  }

  // MARK: Too many

  /// Removes members above somebody's limit, those with the highest rank first, then by inviter, then by ID, so that
  /// every host removes the same. A member whose limit is lower than the number before it leaves itself, and hearsay
  /// takes no place.
  func settleOverflow(in group: Group) {
    guard group.size > Int(group.bounds.peersMax), !sabotage.contains(.overfills) else { return }
    for last in group.overflowing {
      if let local = endpoints[last] {
        leaveGroup(local, .full)
      } else if let member = group.members[last] {
        refuseEverywhere(member, .full)
        depart(member, .full, readThrough: nil)
        group.overflowed[member.id] = (member.entry.rank, member.entry.inviter)
      }
    }
  }
}
