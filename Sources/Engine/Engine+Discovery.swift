public import Wire

/// Service discovery: local peers that advertise and browse, and the peers that browsers report.
extension Engine {
  // MARK: Peers

  /// Adds a peer that this host carries; the crypto holds its private key.
  @discardableResult
  public func addPeer(_ key: PublicKey, name: DisplayName, at now: Instant) -> PeerID {
    beginMutation(now, addingPeer: true)
    defer { finishMutation() }
    let id = peerID(of: key)
    if let peer = peers[id] {
      peer.name = name
      return id
    }
    let peer = LocalPeer(id: id, key: key, name: name, dirty: dirty) { [crypto, hostKey, incarnation] in
      let statement = Carrier.signedBytes(peer: key, host: hostKey, incarnation: incarnation)
      return Carrier(peer: key, incarnation: incarnation, signature: crypto.sign(statement, with: key))
    }
    peers[id] = peer
    restoreRefusals(of: peer)
    notifyAway(peer)
    restoreSessions(of: peer)
    return id
  }

  /// Removes a peer, which leaves all its sessions.
  public func removePeer(_ id: PeerID, at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    guard let peer = peers[id] else { return }
    for local in peer.endpoints.compactMap({ endpoints[$0] }) { closeSession(local) }
    for type in peer.advertised.keys { withdraw(peer, type) }
    for type in peer.browsed.keys { stopBrowsing(peer, type) }
    peers[id] = nil
    dirty.touch(peer: id)
  }

  func local(peer id: PeerID) throws(EngineError) -> LocalPeer {
    guard let peer = peers[id] else { throw EngineError(.invalidParameter, "this host carries no peer \(id)") }
    return peer
  }

  // MARK: Advertising

  /// Advertises a peer, or changes what it advertises.
  public func startAdvertising(_ id: PeerID, _ type: ServiceType, info: DiscoveryInfo, at now: Instant)
    throws(EngineError)
  {
    beginMutation(now)
    defer { finishMutation() }
    let peer = try local(peer: id)
    peer.advertisedByHand[type] = info
    reviewAdvertising(peer, type)
  }

  public func stopAdvertising(_ id: PeerID, _ type: ServiceType, at now: Instant) {
    beginMutation(now)
    if let peer = peers[id] {
      peer.advertisedByHand[type] = nil
      reviewAdvertising(peer, type)
    }
    finishMutation()
  }

  /// A program that advertises, and sessions in ad hoc mode, do not end each other's advertising. The program's discovery
  /// info goes first, and then that of the latest session.
  func reviewAdvertising(_ peer: LocalPeer, _ type: ServiceType) {
    let info = peer.advertisedByHand[type] ?? peer.adhocModes.last { $0.type == type }?.info
    if let info { advertise(peer, type, info) } else { withdraw(peer, type) }
  }

  func advertise(_ peer: LocalPeer, _ type: ServiceType, _ info: DiscoveryInfo) {
    guard peer.advertised[type] != info else { return }
    let isFirst = discovery.advertisers[type, default: 0] == 0
    if !peer.advertised.contains(type) {
      discovery.advertisers[type, default: 0] += 1
      if peer.awaySince != nil { discovery.awayAdvertisers[type, default: 0] += 1 }
    }
    peer.advertised[type] = info
    if isFirst { ownTypesChanged() }
    publish(peer, type, info)
    reviewRoster(of: type)
    review(.init(type: type, peer: peer.id))
  }

  private func withdraw(_ peer: LocalPeer, _ type: ServiceType) {
    guard peer.advertised.contains(type) else { return }
    peer.advertised[type] = nil
    discovery.advertisers[type, default: 1] -= 1
    if peer.awaySince != nil { discovery.awayAdvertisers[type, default: 1] -= 1 }
    if discovery.advertisers[type, default: 0] == 0 { ownTypesChanged() }
    unpublish(peer, type)
    reviewRoster(of: type)
    review(.init(type: type, peer: peer.id))
  }

  // MARK: Browsing

  public func startBrowsing(_ id: PeerID, _ type: ServiceType, at now: Instant) throws(EngineError) {
    beginMutation(now)
    defer { finishMutation() }
    browse(try local(peer: id), type)
  }

  public func stopBrowsing(_ id: PeerID, _ type: ServiceType, at now: Instant) {
    beginMutation(now)
    if let peer = peers[id] { stopBrowsing(peer, type) }
    finishMutation()
  }

  func browse(_ peer: LocalPeer, _ type: ServiceType) {
    guard !peer.browsed.contains(type) else { return }
    peer.browsed[type] = true
    discovery.browsing[type, default: OrderedDictionary()][peer.id] = peer
    browse(for: type)
    discovery.visible.forEach { instance, seen in
      if instance.type == type, instance.peer != peer.id {
        emit(
          .found(
            by: peer.id, type: type, peer: instance.peer, name: seen.name, info: seen.info, awaySince: seen.awaySince))
      }
    }
  }

  func stopBrowsing(_ peer: LocalPeer, _ type: ServiceType) {
    guard peer.browsed.contains(type) else { return }
    peer.browsed[type] = nil
    discovery.browsing[type]?[peer.id] = nil
    if discovery.browsing[type]?.isEmpty == true { discovery.browsing[type] = nil }
    stopBrowsing(for: type)
  }

  /// Counts one more browser of a type: a peer that browses, or a session in ad hoc mode. Neither ends the other's
  /// search.
  func browse(for type: ServiceType) {
    let others = discovery.browsers[type, default: 0]
    discovery.browsers[type] = others + 1
    guard others == 0 else { return }
    if type != .hosts || !isOpenRelay { emit(.browse(for: type)) }
    for host in hosts.values {
      scheduleProbe(host)
      askForRosters(of: host)
    }
  }

  func stopBrowsing(for type: ServiceType) {
    let others = discovery.browsers[type, default: 1] - 1
    discovery.browsers[type] = others == 0 ? nil : others
    guard others == 0 else { return }
    if type != .hosts || !isOpenRelay { emit(.stopBrowsing(for: type)) }
    endRosters(of: type)
  }

  private func browsers(of instance: Discovery.ServiceInstance) -> [LocalPeer] {
    discovery.browsing[instance.type]?.values { $0.id != instance.peer } ?? []
  }

  // MARK: Sightings

  /// A medium sees a record of a peer, for the first time or changed.
  public func sighted(_ id: SightingID, _ sighting: Sighting, at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    guard let host = seen(sighting.host, id) else { return }
    let old = discovery.sightings[id]?.instance
    discovery.add(sighting, as: id)
    appeared(host)
    if let old, old != sighting.instance { review(old) }
    review(sighting.instance)
  }

  /// A medium sees a record of a host that reports its peers over a link.
  public func sightedRoster(
    _ id: SightingID, of host: HostID, type: ServiceType, addresses: [Address], medium: MediumID = .first,
    at now: Instant
  ) {
    beginMutation(now)
    defer { finishMutation() }
    guard let host = seen(host, id) else { return }
    discovery.add(Discovery.RosterRecord(host: host.id, type: type, addresses: addresses, medium: medium), as: id)
    if type == .hosts { reviewReception(of: host.id) }
    appeared(host)
    askForRosters(of: host)
  }

  private func seen(_ id: HostID, _ record: SightingID) -> RemoteHost? {
    guard id != hostID, discovery.host(of: record) != nil || discovery.recordCount < Self.recordsMax else { return nil }
    return host(id)
  }

  /// Ten times what was ever seen on one network.
  private static let recordsMax = 65_536

  private func appeared(_ host: RemoteHost) {
    if host.isVanished { markReachable(host) }
    scheduleProbe(host)
    hurryBeside(host)
    if isWanted(host) {
      host.dialsAgain = nil
      ensureLink(host)
    }
  }

  public func sightingGone(_ id: SightingID, at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    guard let remote = discovery.host(of: id) else { return }
    let instance = discovery.sightings[id]?.instance
    // The last known addresses are better than none, for an endpoint that still wants the host.
    hosts[remote]?.learn(byHearsay: discovery.addresses(of: id))
    discovery.remove(id)
    if let instance {
      review(instance)
    } else {
      endRosters(of: remote)
      reviewReception(of: remote)
      askNextRelays()
    }
    guard let host = hosts[remote] else { return }
    // It may have been there by this medium alone.
    if host.isVanished { for instance in discovery.instances(of: remote) { review(instance) } }
    forgetIfUnknown(host)
  }

  /// Brings browsers up to date with the sightings of a peer.
  func review(_ instance: Discovery.ServiceInstance) {
    let before = discovery.visible[instance]
    let after = appearance(of: instance)
    if sabotage.contains(.keepsGhosts), before != nil, after == nil { return }
    discovery.visible[instance] = after
    reviewInvitable(instance)
    switch (before, after) {
    case (nil, let seen?):
      for browser in browsers(of: instance) {
        emit(
          .found(
            by: browser.id, type: instance.type, peer: instance.peer, name: seen.name, info: seen.info,
            awaySince: seen.awaySince))
      }
      adhocFound(instance)
    case (let old?, let seen?):
      if old.host != seen.host { adhocFound(instance) }
      guard old.name != seen.name || old.info != seen.info || old.awaySince != seen.awaySince else { return }
      for browser in browsers(of: instance) {
        emit(
          .updated(
            by: browser.id, type: instance.type, peer: instance.peer, name: seen.name, info: seen.info,
            awaySince: seen.awaySince))
      }
    case (_?, nil):
      for browser in browsers(of: instance) { emit(.lost(by: browser.id, type: instance.type, peer: instance.peer)) }
    case (nil, nil): break
    }
  }

  private func appearance(of instance: Discovery.ServiceInstance) -> Discovery.Appearance? {
    if let own = peers[instance.peer] {
      return own.advertised[instance.type].map {
        .init(name: own.name, info: $0, host: hostID, awaySince: own.awaySince)
      }
    }
    func isThere(_ host: HostID) -> Bool { hosts[host].map { !isLost($0) } ?? true }
    var seen = discovery.appearances(of: instance).first { isThere($0.host) }
    if let sighting = discovery.sightings(of: instance).first(where: { isThere($0.host) }) {
      seen = .init(name: sighting.name, info: sighting.info, host: sighting.host)
    }
    if let host = seen?.host { seen?.awaySince = hosts[host]?.away[instance.peer]?.since }
    return seen
  }

  /// The host to ask for a peer: where it is seen, or else where it is a member.
  func hostAdvertising(of peer: PeerID, _ type: ServiceType) -> RemoteHost? {
    if let seen = discovery.visible[.init(type: type, peer: peer)] { return host(seen.host) }
    if peers[peer] != nil { return host(hostID) }
    for group in groups.values {
      if let member = group.members(of: peer).first { return member.host }
    }
    return nil
  }
}
