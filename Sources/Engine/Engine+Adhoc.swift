public import Wire

/// Ad hoc mode: all nearby peers of one service type connect by themselves.
///
/// The lower peer ID of two invites at once; the higher waits a little, in case only it sees the other, and then
/// invites too. Invitations that cross become one, so both may. A peer that asks its person is not invited again after
/// a decline (`Refusals`).
///
/// Peers of one host do not invite each other in pairs: a newcomer is invited by one of each group that is there, and the
/// group connects it with the rest (`gather`). Peers of other hosts are invited by a few of each group in turns, host by
/// host (`takeTurn`): the first that accepts is introduced to all. So thousands of peers on each host come together by a
/// few invitations.
extension Engine {
  public func startAdhoc(_ endpoint: EndpointID, _ type: ServiceType, info: DiscoveryInfo, at now: Instant)
    throws(EngineError)
  {
    beginMutation(now)
    defer { finishMutation() }
    let local = try local(endpoint)
    if local.adhoc?.type == type {
      guard let place = local.peer.adhocModes.firstIndex(where: { $0.endpoint == local.id }) else { return }
      local.peer.adhocModes[place].info = info
      return reviewAdvertising(local.peer, type)
    }
    stopAdhoc(local)
    local.adhoc = Adhoc(type: type)
    local.peer.adhocModes.append(AdhocMode(endpoint: local.id, type: type, info: info))
    reviewInvitable(.init(type: type, peer: local.peer.id))
    adhocLocals[type, default: OrderedDictionary()][local.id] = local
    reviewAdvertising(local.peer, type)
    browse(for: type)
    answerWaiting(for: local)
    discovery.invitable[type]?.forEach { host, found in
      setTurn(in: .init(type: type, host: host), of: local.group, at: now + patience(of: local, with: found))
    }
    gather(local)
  }

  public func stopAdhoc(_ endpoint: EndpointID, at now: Instant) {
    beginMutation(now)
    if let local = endpoints[endpoint] { stopAdhoc(local) }
    finishMutation()
  }

  func stopAdhoc(_ local: LocalEndpoint) {
    guard let adhoc = local.adhoc else { return }
    local.adhoc = nil
    local.peer.adhocModes.removeAll { $0.endpoint == local.id }
    reviewInvitable(.init(type: adhoc.type, peer: local.peer.id))
    adhocLocals[adhoc.type]?[local.id] = nil
    if adhocLocals[adhoc.type]?.isEmpty ?? false { adhocLocals[adhoc.type] = nil }
    if sabotage.contains(.withdrawsAll) { local.peer.advertisedByHand[adhoc.type] = nil }
    reviewAdvertising(local.peer, adhoc.type)
    stopBrowsing(for: adhoc.type)
  }

  func adhocFound(_ instance: Discovery.ServiceInstance) {
    guard let host = discovery.visible[instance]?.host, !isGathered(instance) else { return }
    let place = Discovery.Place(type: instance.type, host: host)
    if adhocNews.last != place { adhocNews.append(place) }
  }

  /// Gives each group a turn with the peers that were found.
  func takeAdhocNews() {
    guard !adhocNews.isEmpty else { return }
    for place in adhocNews {
      guard let found = discovery.invitable(in: place), let locals = adhocLocals[place.type] else { continue }
      // Mostly all are of one group, whose first turn then counts.
      var done: Group?
      locals.forEach { _, local in
        guard local.group !== done else { return }
        // The host's own group brings in a newcomer of its own.
        let isKnown = local.group.presences.contains(place.host)
        let patience = isKnown ? settings.adhocPatience : patience(of: local, with: found)
        if isKnown || patience == .zero { done = local.group }
        setTurn(in: place, of: local.group, at: now + patience)
      }
    }
    adhocNews.removeAll(keepingCapacity: true)
  }

  private func patience(of local: LocalEndpoint, with found: Discovery.Invitable) -> Duration {
    local.peer.id < found.highest ? .zero : settings.adhocPatience
  }

  private func invite(_ peer: PeerID, after patience: Duration, by local: LocalEndpoint) {
    local.adhoc?.invitations[peer] = now + patience
    timers.set(.adhoc(local.id), now + patience)
  }

  /// The members are no fellows any more, and are invited again as long as they are nearby.
  func adhocLost(_ members: [RemoteMember], _ slots: SlotSet, of group: Group) {
    var types: [ServiceType] = []
    slots.forEach { if let type = group.local(at: $0)?.adhoc?.type, !types.contains(type) { types.append(type) } }
    for type in types {
      for member in members {
        let instance = Discovery.ServiceInstance(type: type, peer: member.peer)
        guard let host = discovery.visible[instance]?.host else { continue }
        guard isGathered(instance) else {
          setTurn(in: .init(type: type, host: host), of: group, at: now + settings.adhocPatience)
          continue
        }
        slots.forEach { slot in
          guard let local = group.local(at: slot), local.adhoc?.type == type, member.own !== local else { return }
          invite(member.peer, after: settings.adhocPatience, by: local)
        }
      }
    }
  }

  /// Has a peer invited once more after a while.
  private func again(_ peer: PeerID, _ type: ServiceType, by local: LocalEndpoint) {
    let instance = Discovery.ServiceInstance(type: type, peer: peer)
    guard let host = discovery.visible[instance]?.host else { return }
    if isGathered(instance) { return invite(peer, after: settings.adhocPatience, by: local) }
    setTurn(in: .init(type: type, host: host), of: local.group, at: now + settings.adhocPatience)
  }

  /// Whether the peer will be invited again automatically: yes, unless a retry makes no sense.
  func adhocEnded(_ invitation: OutgoingInvitation, _ reason: Reason) -> Bool {
    let local = invitation.local
    guard case .service(let type, isAdhoc: true) = invitation.call, type == local.adhoc?.type else { return false }
    switch reason {
    case .none, .encryption, .blocked, .removed, .untrusted, .left: return false
    default: break
    }
    if local.refusals.stand(for: invitation.to), !sabotage.contains(.asksAgain) { return false }
    again(invitation.to, type, by: local)
    return true
  }

  // MARK: Peers of this host

  /// Whether it is a peer of this host that is in ad hoc mode itself.
  private func isGathered(_ instance: Discovery.ServiceInstance) -> Bool {
    peers[instance.peer]?.adhocModes.contains { $0.type == instance.type } ?? false
  }

  func reviewInvitable(_ instance: Discovery.ServiceInstance) {
    discovery.setInvitable(instance, at: isGathered(instance) ? nil : discovery.visible[instance]?.host)
  }

  /// Has a local endpoint in ad hoc mode invited by others: by one of another group, and by all of its own group that it
  /// is not connected with. After a while it invites them, and then looks again whether anybody is left.
  private func gather(_ local: LocalEndpoint) {
    guard let type = local.adhoc?.type, let all = adhocLocals[type] else { return }
    let fellows = local.group.members[local.id]?.cohort.relations.fellows ?? SlotSet()
    var isLeft = false
    var isAwaited = false
    var isInvited = false
    var full: Set<Int> = []
    all.forEach { _, other in
      guard other.peer !== local.peer else { return }
      let isNear = other.group === local.group
      if isNear ? fellows.contains(other.slot) : isInvited || full.contains(other.group.serial) { return }
      isLeft = true
      guard mayMeet(local, other) else { return }
      isAwaited = true
      switch local.adhoc?.failures[other.peer.id] ?? other.adhoc?.failures[local.peer.id] {
      case nil: isInvited = isInvited || !isNear
      case .full: full.insert(other.group.serial)
      case .some: break
      }
      if local.adhoc?.invitations[other.peer.id] == nil {
        invite(other.peer.id, after: settings.adhocPatience, by: local)
      }
      if other.adhoc?.invitations[local.peer.id] == nil { invite(local.peer.id, after: .zero, by: other) }
    }
    local.adhoc?.gathersAt = isLeft ? now + settings.adhocPatience * 2 : nil
    if isLeft { timers.set(.adhoc(local.id), now + settings.adhocPatience * 2) }
    let joinsUntil = local.adhoc?.joinsUntil
    local.adhoc?.joinsUntil = isAwaited ? joinsUntil ?? now + settings.adhocPatience * 4 : nil
    if joinsUntil != nil, !isAwaited, local.group.localCount == 1 { hurryTurns(of: local.group) }
  }

  private func mayMeet(_ local: LocalEndpoint, _ other: LocalEndpoint) -> Bool {
    !local.isLocked && !other.isLocked && !forbids(local, other) && !forbids(other, local)
      && (local.group === other.group
        ? local.needs.agrees(with: other.needs)
        : local.group.bounds.needs.agrees(with: other.group.bounds.needs))
  }

  private func forbids(_ local: LocalEndpoint, _ other: LocalEndpoint) -> Bool {
    let peer = other.peer.id
    return local.blocked.contains(peer) || local.banned.contains(peer)
      || local.refusals.forbid(peer, at: now) && !sabotage.contains(.asksAgain)
      || local.group.members(of: peer).contains { $0.isRefused(by: local.slot) }
  }

  // MARK: Invited

  /// Accepts the invitations that wait for a person, who has now decided on all of this type; later ones are accepted, too.
  private func answerWaiting(for local: LocalEndpoint) {
    guard let type = local.adhoc?.type else { return }
    let waiting = incoming.values { invitation in
      guard invitation.peer === local.peer, case .asked = invitation.state else { return false }
      if case .service(type, _) = invitation.request.call { return true }
      return false
    }
    local.adhoc?.waiting = waiting.map(\.id)
    acceptNext(local)
  }

  /// Accepts one invitation at a time: once that session is joined, it introduces most of the others.
  func adhocInvited(_ invitation: IncomingInvitation, _ local: LocalEndpoint) {
    guard local.adhoc?.accepted == nil, local.adhoc?.restsSince == nil else {
      local.adhoc?.waiting.append(invitation.id)
      return
    }
    local.adhoc?.accepted = invitation.id
    accept(invitation, with: local)
  }

  func adhocAnswered(_ invitation: IncomingInvitation) {
    for local in invitation.peer.endpoints.compactMap({ endpoints[$0] })
    where local.adhoc?.accepted == invitation.id {
      local.adhoc?.accepted = nil
      local.adhoc?.restsSince = now
      timers.set(.adhoc(local.id), now + Self.introductionTime)
    }
  }

  /// The time that introductions take to reach everybody.
  private static let introductionTime: Duration = .milliseconds(100)

  /// One invitation joins two sessions, and each further one would make all members introduce each other again. So one
  /// member of a session accepts first, and the others in turn, in case that one cannot.
  private func turn(of local: LocalEndpoint, since rest: Instant) -> Instant {
    rest + Self.introductionTime + Self.turnTime * min(local.group.countOfPeers(before: local.peer.id), Self.lineMax)
  }

  private static let turnTime: Duration = .milliseconds(10)
  private static let lineMax = 100

  private func acceptNext(_ local: LocalEndpoint) {
    local.adhoc?.restsSince = nil
    while local.adhoc?.accepted == nil, local.adhoc?.restsSince == nil, let id = local.adhoc?.waiting.first {
      local.adhoc?.waiting.removeFirst()
      guard let invitation = incoming[id], case .asked = invitation.state else { continue }
      if isFellow(invitation.inviter, of: local) {
        decline(invitation, .already)
      } else {
        adhocInvited(invitation, local)
      }
    }
  }

  func handleAdhocTimer(_ local: LocalEndpoint) {
    var next = Instant.distantFuture
    if let rest = local.adhoc?.restsSince {
      let turn = turn(of: local, since: rest)
      if turn <= now { acceptNext(local) } else { next = turn }
    }
    if let due = local.adhoc?.gathersAt {
      if due <= now { gather(local) } else { next = min(next, due) }
    }
    guard let adhoc = local.adhoc else { return }
    for peer in adhoc.invitations.keys {
      guard let due = adhoc.invitations[peer] else { continue }
      let instance = Discovery.ServiceInstance(type: adhoc.type, peer: peer)
      // A fellow comes back to the list when it is lost, so that a crowd that has formed has nothing to do.
      let isNeeded = !isFellow(peer, of: local) || sabotage.contains(.mutualInvitationFault)
      guard isNeeded, discovery.visible[instance] != nil else {
        local.adhoc?.invitations[peer] = nil
        continue
      }
      if due > now {
        next = min(next, due)
        continue
      }
      // A later retry: a pair that was refused or lost may be free again.
      let again = now + settings.adhocPatience * 2
      local.adhoc?.invitations[peer] = again
      next = min(next, again)
      invite(peer, in: local)
    }
    if next < .distantFuture { timers.set(.adhoc(local.id), next) }
  }

  // MARK: Turns

  /// So many endpoints of a group invite a peer at a time.
  private static let invitersMax = 4
  /// So many peers of a host are invited at a time.
  private static let inviteesMax = 16

  func setTurn(in place: Discovery.Place, of group: Group, at due: Instant) {
    let known = group.turns[place]?.due ?? .distantFuture
    group.turns[place, default: AdhocTurn(due: due)].due = min(due, known)
    timers.set(.turns(group.serial), due)
  }

  private func hurryTurns(of group: Group) { for place in group.turns.keys { setTurn(in: place, of: group, at: now) } }

  /// Endpoints have come to the group: their pairs with those nearby are looked after from now on.
  func adhocMoved(to group: Group) {
    adhocLocals.forEach { type, _ in
      discovery.invitable[type]?.forEach { host, _ in
        setTurn(in: .init(type: type, host: host), of: group, at: now + settings.adhocPatience)
      }
    }
  }

  func handleTurns(of group: Group) {
    var next = Instant.distantFuture
    for place in group.turns.keys {
      if let due = group.turns[place]?.due, due <= now { takeTurn(in: place, of: group) }
      if let due = group.turns[place]?.due { next = min(next, due) }
    }
    if next < .distantFuture { timers.set(.turns(group.serial), next) }
  }

  /// Invites peers of a host that somebody of the group is not connected with: those first that were not invited since
  /// all had their turn, and of these the ones found last.
  private func takeTurn(in place: Discovery.Place, of group: Group) {
    guard var turn = group.turns.removeValue(forKey: place), let found = discovery.invitable(in: place) else { return }
    let all = group.allLocals.filter { $0.adhoc?.type == place.type }
    let locals = all.filter { ($0.adhoc?.joinsUntil ?? now) <= now }
    guard !locals.isEmpty else {
      if let due = all.compactMap({ $0.adhoc?.joinsUntil }).min() { setTurn(in: place, of: group, at: due) }
      return
    }
    var slots = SlotSet()
    for local in locals { slots.insert(local.slot) }
    let isFaulty = sabotage.contains(.mutualInvitationFault)
    let left = found.peers.keys.filter { isFaulty || !slots.subtracting(group.fellows(of: $0)).isEmpty }
    guard !left.isEmpty else { return }
    if !left.contains(where: { !turn.tried.contains($0) }) { turn.tried.removeAll() }
    for peer in left.reversed().filter({ !turn.tried.contains($0) }).prefix(Self.inviteesMax) {
      turn.tried[peer] = true
      let inviters = locals.filter { $0.peer.id != peer && (isFaulty || !isFellow(peer, of: $0)) }
      var count = 0
      for place in inviters.indices where count < Self.invitersMax {
        let local = inviters[(turn.round * Self.invitersMax + place) % inviters.count]
        if invite(peer, in: local) { count += 1 }
      }
    }
    turn.round += 1
    // A later retry: a pair that was refused or lost may be free again.
    turn.due = min(now + settings.adhocPatience * 2, group.turns[place]?.due ?? .distantFuture)
    group.turns[place] = turn
  }

  @discardableResult
  private func invite(_ peer: PeerID, in local: LocalEndpoint) -> Bool {
    guard let type = local.adhoc?.type, !local.refusals.forbid(peer, at: now) || sabotage.contains(.asksAgain),
      !local.isLocked, !local.blocked.contains(peer), !local.banned.contains(peer),
      !local.group.members(of: peer).contains(where: { $0.isRefused(by: local.slot) }),
      let host = hostAdvertising(of: peer, type), host.isSelf || host.asked.count < Self.heldMax,
      !host.asked.contains(where: { $0.local === local && $0.to == peer })
    else { return false }
    invite(peer, at: host, by: .service(type, isAdhoc: true), to: local, timeout: Self.adhocTimeout)
    return true
  }

  /// A person may be asked, who needs as long as for any other invitation.
  private static let adhocTimeout: Duration = .seconds(30)
  /// A program without a person to ask answers sooner.
  static let adhocAnswerMax: Duration = .seconds(10)
}
