public import Wire

/// Discovery: what peers advertise, and what the browsing ones are told.
struct Discovery {
  /// Who a medium sees, by record.
  var sightings = Table<SightingID, Sighting>()
  /// Peers that are to be seen, by type and peer.
  var visible = Table<Spot, Visible>()

  struct Spot: Hashable {
    var type: ServiceType
    var peer: PeerID
  }

  struct Visible {
    var name: DisplayName
    var info: DiscoveryInfo
    var host: HostID
  }

  func knows(_ host: HostID) -> Bool { sightings.contains { $0.host == host } }
}

extension Engine {
  // MARK: Peers

  /// Adds a peer that this host carries; the crypto holds its key's private half.
  @discardableResult
  public func addPeer(_ key: PublicKey, name: DisplayName, at now: Instant) -> PeerID {
    enter(now)
    defer { settle() }
    let id = peerID(of: key)
    if let peer = peers[id] {
      peer.name = name
      return id
    }
    let statement = Carrier.signedBytes(peer: key, host: hostKey, incarnation: incarnation)
    let carrier = Carrier(peer: key, incarnation: incarnation, signature: crypto.sign(statement, with: key))
    let peer = LocalPeer(id: id, key: key, name: name, carrier: carrier)
    peers[id] = peer
    restore(peer)
    return id
  }

  /// The peer leaves everything that it is in.
  public func removePeer(_ id: PeerID, at now: Instant) {
    enter(now)
    defer { settle() }
    guard let peer = peers[id] else { return }
    for local in endpoints.values where local.peer === peer { closeSession(local) }
    for type in peer.advertised.keys { withdraw(peer, type) }
    for type in peer.browsed.keys { stopBrowsing(peer, type) }
    peers[id] = nil
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
    enter(now)
    defer { settle() }
    advertise(try local(peer: id), type, info)
  }

  public func stopAdvertising(_ id: PeerID, _ type: ServiceType, at now: Instant) {
    enter(now)
    if let peer = peers[id] { withdraw(peer, type) }
    settle()
  }

  func advertise(_ peer: LocalPeer, _ type: ServiceType, _ info: DiscoveryInfo) {
    guard peer.advertised[type] != info else { return }
    peer.advertised[type] = info
    emit(.publish(peer: peer.id, type: type, name: peer.name, info: info))
    review(.init(type: type, peer: peer.id))
    tellBrowsers(of: type, peer)
  }

  func withdraw(_ peer: LocalPeer, _ type: ServiceType) {
    guard peer.advertised.contains(type) else { return }
    peer.advertised[type] = nil
    emit(.withdraw(peer: peer.id, type: type))
    review(.init(type: type, peer: peer.id))
    tellBrowsers(of: type, peer)
  }

  // MARK: Browsing

  public func startBrowsing(_ id: PeerID, _ type: ServiceType, at now: Instant) throws(EngineError) {
    enter(now)
    defer { settle() }
    browse(try local(peer: id), type)
  }

  public func stopBrowsing(_ id: PeerID, _ type: ServiceType, at now: Instant) {
    enter(now)
    if let peer = peers[id] { stopBrowsing(peer, type) }
    settle()
  }

  func browse(_ peer: LocalPeer, _ type: ServiceType) {
    guard !peer.browsed.contains(type) else { return }
    let isFirst = !peers.contains { $0.browsed.contains(type) }
    peer.browsed[type] = true
    if isFirst { emit(.look(for: type)) }
    discovery.visible.forEach { spot, seen in
      if spot.type == type, spot.peer != peer.id {
        emit(.found(by: peer.id, type: type, peer: spot.peer, name: seen.name, info: seen.info))
      }
    }
    for host in hosts.values { scheduleProbe(host) }
  }

  func stopBrowsing(_ peer: LocalPeer, _ type: ServiceType) {
    guard peer.browsed.contains(type) else { return }
    peer.browsed[type] = nil
    if !peers.contains(where: { $0.browsed.contains(type) }) { emit(.lookNoMore(for: type)) }
  }

  private func browsers(of spot: Discovery.Spot) -> [LocalPeer] {
    peers.values.filter { $0.id != spot.peer && $0.browsed.contains(spot.type) }
  }

  // MARK: Sightings

  /// A medium sees a record, for the first time or changed.
  public func sighted(_ id: SightingID, _ sighting: Sighting, at now: Instant) {
    enter(now)
    defer { settle() }
    guard sighting.host != hostID else { return }
    let old = discovery.sightings[id]
    guard old != nil || discovery.sightings.count < Self.sightingsMax else { return }
    discovery.sightings[id] = sighting
    let host = host(sighting.host)
    host.learn(sighting.addresses)
    if old == nil, host.isVanished {
      host.isVanished = false
      host.probesMissed = 0
      reviewAll(of: host)
    }
    scheduleProbe(host)
    let spot = Discovery.Spot(type: sighting.type, peer: sighting.peer)
    if let old, Discovery.Spot(type: old.type, peer: old.peer) != spot {
      review(.init(type: old.type, peer: old.peer))
    }
    review(spot)
    if !host.presences.isEmpty || outgoing.contains(where: { $0.host === host && $0.isPending }) {
      host.dialsAgain = nil
      reach(host)
    }
  }

  /// Ten times what was ever seen on one network.
  private static let sightingsMax = 65_536

  public func sightingGone(_ id: SightingID, at now: Instant) {
    enter(now)
    defer { settle() }
    guard let sighting = discovery.sightings[id] else { return }
    discovery.sightings[id] = nil
    review(.init(type: sighting.type, peer: sighting.peer))
    if let host = hosts[sighting.host] { forgetIfUnknown(host) }
  }

  /// Brings what browsers were told of a peer up to what is to be seen of it.
  private func review(_ spot: Discovery.Spot) {
    let before = discovery.visible[spot]
    let after = appearance(of: spot)
    if sabotage.contains(.keepsGhosts), before != nil, after == nil { return }
    discovery.visible[spot] = after
    let browsers = browsers(of: spot)
    switch (before, after) {
    case (nil, let seen?):
      for browser in browsers {
        emit(.found(by: browser.id, type: spot.type, peer: spot.peer, name: seen.name, info: seen.info))
      }
      adhocFound(spot)
    case (let old?, let seen?):
      guard old.name != seen.name || old.info != seen.info else { return }
      for browser in browsers {
        emit(.updated(by: browser.id, type: spot.type, peer: spot.peer, name: seen.name, info: seen.info))
      }
    case (_?, nil):
      for browser in browsers { emit(.lost(by: browser.id, type: spot.type, peer: spot.peer)) }
    case (nil, nil): break
    }
  }

  private func appearance(of spot: Discovery.Spot) -> Discovery.Visible? {
    if let own = peers[spot.peer] {
      return own.advertised[spot.type].map { .init(name: own.name, info: $0, host: hostID) }
    }
    if let sighting = discovery.sightings.first(where: {
      $0.peer == spot.peer && $0.type == spot.type && hosts[$0.host]?.isVanished != true
    }) {
      return .init(name: sighting.name, info: sighting.info, host: sighting.host)
    }
    return rosterAppearance(of: spot)
  }

  /// The host to ask for a peer: where it is seen, or else where it is a member.
  func whereabouts(of peer: PeerID, _ type: ServiceType) -> RemoteHost? {
    if let seen = discovery.visible[.init(type: type, peer: peer)] { return host(seen.host) }
    if peers[peer] != nil { return host(hostID) }
    for group in groups.values {
      if let member = group.members.first(where: { $0.peer == peer }) { return member.host }
    }
    return nil
  }

  private func reviewAll(of host: RemoteHost) {
    for sighting in discovery.sightings.values where sighting.host == host.id {
      review(.init(type: sighting.type, peer: sighting.peer))
    }
  }

  // MARK: Signs of life

  public func probeAnswered(_ id: SightingID, at now: Instant) {
    enter(now)
    defer { settle() }
    guard let sighting = discovery.sightings[id], let host = hosts[sighting.host] else { return }
    host.probesMissed = 0
    if host.isVanished {
      host.isVanished = false
      reviewAll(of: host)
    }
  }

  private func browsedSighting(of host: RemoteHost) -> SightingID? {
    var found: SightingID?
    discovery.sightings.forEach { id, sighting in
      if found == nil, sighting.host == host.id, peers.contains(where: { $0.browsed.contains(sighting.type) }) {
        found = id
      }
    }
    return found
  }

  private func scheduleProbe(_ host: RemoteHost) {
    guard !host.isSelf, host.probesAgain == nil, browsedSighting(of: host) != nil else { return }
    host.probesAgain = now + settings.probeInterval
    timers.set(.host(host.id), now + settings.probeInterval)
  }

  func probeDue(_ host: RemoteHost) {
    guard let due = host.probesAgain else { return }
    guard due <= now else { return timers.set(.host(host.id), due) }
    host.probesAgain = nil
    guard let id = browsedSighting(of: host) else { return }
    if openLink(to: host) != nil {
      // The link asks for signs of life, and more often.
      host.probesMissed = 0
      if host.isVanished {
        host.isVanished = false
        reviewAll(of: host)
      }
    } else {
      if host.probesMissed >= Self.probesMissedMax, !host.isVanished {
        host.isVanished = true
        reviewAll(of: host)
      }
      host.probesMissed += 1
      emit(.probe(id))
    }
    scheduleProbe(host)
  }

  private static let probesMissedMax = 3
}
