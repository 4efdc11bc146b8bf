public import Wire

/// Sessions: opening, leaving, and the decisions of their owners about members.
extension Engine {
  public func openSession(_ peer: PeerID, _ settings: SessionSettings, at now: Instant) throws(EngineError)
    -> EndpointID
  {
    beginMutation(now)
    defer { finishMutation() }
    let peer = try local(peer: peer)
    guard settings.peersMax >= Limits.peersMin else {
      throw EngineError(.invalidParameter, "a session has room for \(Limits.peersMin) peers at least")
    }
    if let chain = settings.identity?.chain {
      guard !chain.isEmpty, chain.count <= Limits.chainCertificatesMax else {
        throw EngineError(
          .invalidParameter,
          "a security identity has 1 to \(Limits.chainCertificatesMax) certificates; this one has \(chain.count)")
      }
      let size = chain.reduce(0) { $0 + $1.count }
      guard chain.allSatisfy({ $0.count <= Limits.certificateBytesMax }), size <= Self.chainBytesMax else {
        throw EngineError(
          .invalidParameter,
          "certificates have at most \(Limits.certificateBytesMax) bytes each and \(Self.chainBytesMax) together")
      }
    }
    let group = makeGroup()
    let local = LocalEndpoint(
      id: EndpointID(entropy.id(crypto)), peer: peer, settings: settings,
      incarnation: EndpointIncarnation(host: incarnation, count: 0), index: index(), group: group, slot: 0)
    group.add(local)
    endpoints[local.id] = local
    peer.endpoints.append(local.id)
    endpointsByIndex[local.index] = local
    dirty.touch(local.id)
    return local.id
  }

  /// An identity is shown before a peer is accepted, so its frame must fit the limit of early frames.
  private static let chainBytesMax = Limits.earlyFrameLengthMax - 2 * Limits.identitySignatureBytesMax

  /// Leaves the other members, and ad hoc mode; the session can be used again.
  public func leave(_ endpoint: EndpointID, at now: Instant) {
    beginMutation(now)
    if let local = endpoints[endpoint] { leave(local) }
    finishMutation()
  }

  public func closeSession(_ endpoint: EndpointID, at now: Instant) {
    beginMutation(now)
    if let local = endpoints[endpoint] { closeSession(local) }
    finishMutation()
  }

  private func leave(_ local: LocalEndpoint) {
    stopAdhoc(local)
    for invitation in hosts.values.flatMap(\.asked.values) where invitation.local === local {
      takeBack(invitation, .left)
    }
    leaveGroup(local, .left)
  }

  func closeSession(_ local: LocalEndpoint) {
    leave(local)
    let serial = local.group.serial
    groups[serial]?.empty()
    groups[serial] = nil
    dirty.touch(group: serial)
    dirty.touch(local.id)
    endpointsByIndex[local.index] = nil
    endpoints[local.id] = nil
    local.peer.endpoints.removeAll { $0 == local.id }
  }

  /// Open sessions, the oldest first; after a restart with a store, a peer that was added again has its own back.
  public func sessions(of peer: PeerID) -> [EndpointID] { peers[peer]?.endpoints ?? [] }

  // MARK: Members

  public func members(of endpoint: EndpointID) -> [(MemberView, PairState)] {
    guard let local = endpoints[endpoint] else { return [] }
    return local.group.members.values.compactMap { member in
      if member.isConnected(with: local.slot) { return (member.view, .connected) }
      if member.isConnecting(with: local.slot) { return (member.view, .connecting) }
      return nil
    }
  }

  /// Whether it has as many members, with this one, as the lowest limit among them allows.
  public func isFull(_ endpoint: EndpointID) -> Bool {
    endpoints[endpoint].map { $0.group.standing.size >= $0.group.standing.peersMax } ?? false
  }

  public func connectedMembers(of endpoint: EndpointID) -> [EndpointID] {
    guard let local = endpoints[endpoint] else { return [] }
    return local.group.members.values.filter { $0.isConnected(with: local.slot) }.map(\.id)
  }

  /// Removes a member: no introduction brings it back to this endpoint, only a later invitation; if banned, not that
  /// either.
  public func remove(_ member: EndpointID, from endpoint: EndpointID, ban: Bool, at now: Instant) throws(EngineError) {
    beginMutation(now)
    defer { finishMutation() }
    let local = try local(endpoint)
    guard let member = local.group.members[member] else {
      throw EngineError(.notConnected, "\(member) is no member of this session", endpoints: [member])
    }
    local.removed.insert(member.id)
    if ban { local.banned.insert(member.peer) }
    if !sabotage.contains(.keepsInvitations) { endInvitations(of: member, by: local) }
    let slot = SlotSet(local.slot)
    refuse(member, slot, .removed)
    guard ban else { return }
    for other in local.group.members(of: member.peer) where other !== member {
      refuse(other, slot, .removed)
    }
  }

  /// An invitation from before its removal does not bring a member back, whoever invited whom. The session sees it as a
  /// member still, and no failure beside that.
  private func endInvitations(of member: RemoteMember, by local: LocalEndpoint) {
    for invitation in hosts.values.flatMap(\.asked.values)
    where invitation.local === local && invitation.to == member.peer {
      takeBack(invitation, .removed)
    }
    for invitation in Array(promised.values) {
      guard case .accepted(let answering, _) = invitation.state, answering === local,
        invitation.request.entry.endpoint == member.id
      else { continue }
      decline(invitation, .removed)
    }
  }

  /// A locked session admits nobody whom it does not know.
  public func lock(_ endpoint: EndpointID, _ locked: Bool, at now: Instant) {
    beginMutation(now)
    endpoints[endpoint]?.isLocked = locked
    finishMutation()
  }

  /// A blocked peer's invitations are declined unseen, and this session does not admit it.
  public func block(_ peer: PeerID, from endpoint: EndpointID, _ blocked: Bool, at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    guard let local = endpoints[endpoint] else { return }
    guard blocked else {
      local.blocked.remove(peer)
      return
    }
    local.blocked.insert(peer)
    for invitation in hosts.values.flatMap(\.asking.values)
    where invitation.inviter == peer && invitation.peer === local.peer {
      if case .asked = invitation.state { decline(invitation, .blocked) }
    }
    if sabotage.contains(.keepsBlocked) { return }
    for member in local.group.members(of: peer) { refuse(member, SlotSet(local.slot), .blocked) }
  }
}
