import Wire

/// Rosters over a link: a host with many peers reports them there, where each would need a record of its own.
extension Engine {
  // MARK: Sending

  /// Above this many peers of one type a host publishes one record for all; at some fewer, each has its own again
  /// (hysteresis).
  private static let recordsMax = 16
  private static let recordsAgain = 12

  func publish(_ peer: LocalPeer, _ type: ServiceType, _ info: DiscoveryInfo) {
    notifyBrowsers(of: type, peer)
    if discovery.ownRosters.contains(type) { return }
    if discovery.advertisers[type, default: 0] <= Self.recordsMax {
      emit(.publish(peer: peer.id, type: type, name: peer.name, info: info))
    } else {
      discovery.ownRosters.insert(type)
      reviewRoster(of: type)
      for other in peers.values where other !== peer && other.advertised.contains(type) {
        emit(.withdraw(peer: other.id, type: type))
      }
    }
  }

  func unpublish(_ peer: LocalPeer, _ type: ServiceType) {
    notifyBrowsers(of: type, peer)
    guard discovery.ownRosters.contains(type) else { return emit(.withdraw(peer: peer.id, type: type)) }
    guard discovery.advertisers[type, default: 0] <= Self.recordsAgain else { return }
    discovery.ownRosters.remove(type)
    for other in peers.values {
      if let info = other.advertised[type] { emit(.publish(peer: other.id, type: type, name: other.name, info: info)) }
    }
  }

  /// Away peers are reported over links: a host with such a peer has a record for itself beside those of its peers, so
  /// that browsers of the type ask it.
  func reviewRoster(of type: ServiceType) {
    let isNeeded = discovery.ownRosters.contains(type) || discovery.awayAdvertisers[type, default: 0] > 0
    if isNeeded {
      guard discovery.publishedRosters.insert(type).inserted else { return }
      emit(.publishRoster(type))
    } else if discovery.publishedRosters.remove(type) != nil {
      emit(.withdrawRoster(type))
    }
  }

  /// Hosts that have asked over a link are answered there, whatever is published beside: a host that knows this one by
  /// its address alone sees no record.
  private func notifyBrowsers(of type: ServiceType, _ peer: LocalPeer) {
    for link in links.values where link.browses.contains(type) { send(peer, type, over: link) }
  }

  private func send(_ peer: LocalPeer, _ type: ServiceType, over link: Link) {
    if let info = peer.advertised[type] {
      sendIfAway(peer, over: link)
      send(Advertised(type: type, peer: peer.id, name: peer.name, info: info), on: link)
    } else {
      send(Withdrawn(type: type, peer: peer.id), on: link)
    }
  }

  func handle(_ browse: Browse, from link: Link) throws(ProtocolViolation) {
    if link.browses.contains(browse.type) { return }
    guard link.browses.count < Self.browsesMax else {
      throw ProtocolViolation(.busy, "more than \(Self.browsesMax) service types browsed over one link")
    }
    link.browses[browse.type] = true
    if browse.type == .relays { return sendReception(over: link) }
    let advertising = peers.values(where: { $0.advertised.contains(browse.type) })
    try sendLater(advertising.map { .peer($0.id, browse.type) }, over: link)
  }

  func handle(_ ping: Ping, from link: Link) throws(ProtocolViolation) {
    if link.pending.isEmpty {
      send(Pong(token: ping.token), on: link)
    } else {
      try sendLater([.pong(ping.token)], over: link)
    }
  }

  private func sendLater(_ frames: [Link.PendingFrame], over link: Link) throws(ProtocolViolation) {
    guard link.pending.count < Self.pendingMax else {
      throw ProtocolViolation(.slow, "\(Self.pendingMax) answers that wait to be read")
    }
    for telling in frames { link.pending.append(telling) }
    if !frames.isEmpty { wake(link) }
  }

  /// Some types of a host with very many peers.
  private static let pendingMax = 65_536

  /// Sends pending reports as long as the send queue is short.
  func sendPending(over link: Link) {
    while link.control.count < Self.pieceBytes, let next = link.pending.first {
      link.pending.removeFirst()
      switch next {
      case .peer(let id, let type):
        if let peer = peers[id], link.browses.contains(type) { send(peer, type, over: link) }
      case .pong(let token): send(Pong(token: token), on: link)
      }
    }
  }

  private static let pieceBytes = 64 << 10

  private static let browsesMax = 64

  func handle(_ end: BrowseEnd, from link: Link) { link.browses[end.type] = nil }

  // MARK: Asking

  /// Asks a host that publishes one record for all, over a link that this keeps up.
  func askForRosters(of host: RemoteHost) {
    let types = typesToAsk(of: host.id)
    guard !types.isEmpty else { return }
    guard let link = openLink(to: host) else { return ensureLink(host) }
    let unasked = types.filter { link.rosterTypes[$0] != true }
    guard !unasked.isEmpty else { return }
    for type in unasked {
      link.rosterTypes[type] = true
      send(looksFor: type, true, on: link)
    }
    // The answer to this ping comes after all present reports: a peer that is not among them is gone.
    discovery.beginSnapshot(of: host.id, unasked)
    if unasked.contains(.relays) { circuits.doubt(host.id) }
    link.rosterFence = number()
    send(Ping(token: link.rosterFence), on: link)
  }

  /// Hosts are asked for types by another frame; a host that would not understand it is not asked.
  private func send(looksFor type: ServiceType, _ isOn: Bool, on link: Link) {
    if type == .hosts {
      if link.answersTypes { send(BrowseTypes(isOn: isOn), on: link) }
    } else if isOn {
      send(Browse(type: type), on: link)
    } else {
      send(BrowseEnd(type: type), on: link)
    }
  }

  func isAsked(_ type: FrameType, of link: Link) -> Bool {
    switch type {
    case .advertised, .withdrawn, .away: !link.rosterTypes.isEmpty
    case .advertisedTypes: link.rosterTypes.contains(.hosts)
    case .heard: link.rosterTypes.contains(.relays)
    case .circuitAccept, .circuitEnd, .circuitData, .circuitGrant: link.circuits != nil
    default: false
    }
  }

  func handle(_ pong: Pong, from link: Link) {
    link.roundTrips.take(pong.token, at: now)
    guard pong.token == link.rosterFence, link.rosterFence != 0 else { return }
    link.rosterFence = 0
    for instance in discovery.stale(of: link.host.id) { removeReport(instance, by: link.host.id) }
    dropStaleAway(at: link.host)
    dropDoubted(of: link.host.id)
  }

  func handle(_ advertised: Advertised, from link: Link) throws(ProtocolViolation) {
    guard let isAsked = link.rosterTypes[advertised.type] else {
      throw ProtocolViolation(.protocolViolation, "a roster that was not asked for")
    }
    // It was sent before the end of the browsing arrived.
    if !isAsked { return }
    let host = link.host.id
    guard (discovery.reports[host]?.count ?? 0) < Self.reportsMax else {
      throw ProtocolViolation(.busy, "more than \(Self.reportsMax) peers advertised by one host")
    }
    let instance = Discovery.ServiceInstance(type: advertised.type, peer: advertised.peer)
    discovery.addReport(instance, .init(name: advertised.name, info: advertised.info, host: host))
    review(instance)
  }

  /// Three times the largest measured host.
  private static let reportsMax = 16_384

  func handle(_ withdrawn: Withdrawn, from link: Link) {
    removeReport(.init(type: withdrawn.type, peer: withdrawn.peer), by: link.host.id)
  }

  private func removeReport(_ instance: Discovery.ServiceInstance, by host: HostID) {
    discovery.removeReport(instance, by: host)
    review(instance)
  }

  /// The host's record is gone, or another link to it is in use. Without a record, its reports count for as long as the
  /// link in use keeps them up to date.
  func endRosters(of host: HostID) {
    let types = typesToAsk(of: host)
    let asked = hosts[host].flatMap { openLink(to: $0) }?.rosterTypes
    func isCurrent(_ type: ServiceType) -> Bool { types.contains(type) || asked?[type] == true }
    if !isCurrent(.hosts), let host = hosts[host] { forgetTypes(of: host) }
    for instance in discovery.reports[host]?.keys ?? [] where !isCurrent(instance.type) {
      removeReport(instance, by: host)
    }
  }

  /// Nobody here browses for the type any more.
  func endRosters(of type: ServiceType) {
    for link in links.values where link.rosterTypes[type] == true {
      link.rosterTypes[type] = false
      send(looksFor: type, false, on: link)
      for instance in discovery.reports[link.host.id]?.keys ?? [] where instance.type == type {
        removeReport(instance, by: link.host.id)
      }
    }
  }
}
