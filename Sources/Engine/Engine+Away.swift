public import Wire

/// Away: peers whose programs are absent for now.
///
/// Invariant: a host reports its own peers only, over the bond's link, and only to hosts that browse for their types
/// and hosts of their groups. On each new link it reports all of it again: for groups at once, for types when they are
/// asked for. A report stands as long as there is a link to its host, or one is wanted.
extension Engine {
  // MARK: Sending

  /// Sets since when the program of a local peer is away; nil: it is present.
  public func setAway(_ id: PeerID, since moment: Instant?, at now: Instant) throws(EngineError) {
    beginMutation(now)
    defer { finishMutation() }
    let peer = try local(peer: id)
    let since = moment.map { min($0, self.now) }
    guard since != peer.awaySince else { return }
    let change = (since == nil ? 0 : 1) - (peer.awaySince == nil ? 0 : 1)
    peer.awaySince = since
    for type in peer.advertised.keys {
      discovery.awayAdvertisers[type, default: 0] += change
      reviewRoster(of: type)
      review(.init(type: type, peer: id))
    }
    notifyAway(peer)
    if let own = hosts[hostID] { emitAway([id], of: own) }
  }

  /// Sends a peer's present state to all hosts that it concerns, and to those that had an earlier one.
  func notifyAway(_ peer: LocalPeer) {
    for link in links.values {
      if peer.awaySince == nil ? link.sentAway.remove(peer.id) != nil : concerns(peer, link) { send(peer, over: link) }
    }
  }

  /// Sends it to a host that has just learned of the peer.
  func sendIfAway(_ peer: LocalPeer, over link: Link) {
    if peer.awaySince != nil, !link.sentAway.contains(peer.id) { send(peer, over: link) }
  }

  private func send(_ peer: LocalPeer, over link: Link) {
    guard link.readsAway, !link.isLoopback, let bond = link.host.bond, bond.link === link, bond.isOpen else { return }
    if peer.awaySince != nil { link.sentAway.insert(peer.id) }
    send(Away(peers: [absence(of: peer)]), on: link)
  }

  /// Sends the whole state on a link that has just been taken into use.
  func sendAwayPeers(over bond: Bond) {
    guard let link = bond.link, link.readsAway, !link.isLoopback, !sabotage.contains(.forgetsAwayPeers) else { return }
    let peers = peers.values(where: { $0.awaySince != nil && concerns($0, link) })
    link.sentAway = Set(peers.map(\.id))
    let absences = peers.map(absence)
    var start = 0
    repeat {
      let end = min(start + Limits.awayPeersMax, absences.count)
      send(Away(isLast: end == absences.count, peers: Array(absences[start..<end])), on: link)
      start = end
    } while start < absences.count
  }

  private func absence(of peer: LocalPeer) -> Away.Absence {
    let milliseconds = peer.awaySince.map { UInt64(max(0, (now - $0).nanoseconds / 1_000_000)) }
    return Away.Absence(peer: peer.id, milliseconds: milliseconds.map { min($0, Limits.awayMillisecondsMax) })
  }

  /// Whether the host at the other end browses for a type of the peer, or is in a group with it.
  private func concerns(_ peer: LocalPeer, _ link: Link) -> Bool {
    peer.advertised.keys.contains { link.browses.contains($0) }
      || peer.endpoints.contains { endpoints[$0]?.group.presences[link.host.id] != nil }
  }

  // MARK: Receiving

  /// Marks all of it stale: the host will send it anew.
  func expectAwayPeers(at host: RemoteHost) {
    for peer in host.away.keys { host.away[peer]?.isStale = true }
  }

  func handle(_ away: Away, from link: Link) throws(ProtocolViolation) {
    let host = link.host
    var changed: Set<PeerID> = []
    for absence in away.peers {
      guard let milliseconds = absence.milliseconds else {
        if host.away.removeValue(forKey: absence.peer) != nil { changed.insert(absence.peer) }
        continue
      }
      let since = now + .milliseconds(-Int64(milliseconds))
      let known = host.away[absence.peer]
      guard known != nil || host.away.count < Self.awayMax else {
        throw ProtocolViolation(.busy, "more than \(Self.awayMax) peers of one host away")
      }
      // The same report again: only its travel time differs.
      let isSame = known.map { abs((since - $0.since).nanoseconds) < Self.awayTolerance.nanoseconds } ?? false
      host.away[absence.peer] = (isSame ? known?.since ?? since : since, false)
      if !isSame { changed.insert(absence.peer) }
    }
    awayChanged(changed, at: host)
    // Answers are still to come if this host has asked for types.
    if away.isLast, link.rosterFence == 0 { dropStaleAway(at: host) }
  }

  /// The report is complete: peers that it did not name are present.
  func dropStaleAway(at host: RemoteHost) {
    let stale = host.away.keys.filter { host.away[$0]?.isStale == true }
    for peer in stale { host.away[peer] = nil }
    awayChanged(Set(stale), at: host)
  }

  /// As many as a host may advertise.
  private static let awayMax = 16_384
  private static let awayTolerance: Duration = .seconds(10)

  /// Without a link, and where none is wanted, the host could not report a return any more.
  func forgetAwayIfCut(from host: RemoteHost) {
    if !host.away.isEmpty, host.links.allSatisfy(\.isClosing), !isWanted(host) { forgetAwayPeers(at: host) }
  }

  /// Forgets the reports of a host, so that all its peers count as present.
  func forgetAwayPeers(at host: RemoteHost) {
    let peers = Set(host.away.keys)
    host.away.removeAll()
    awayChanged(peers, at: host)
  }

  private func awayChanged(_ peers: Set<PeerID>, at host: RemoteHost) {
    if peers.isEmpty { return }
    for instance in discovery.instances(of: host.id) where peers.contains(instance.peer) { review(instance) }
    emitAway(peers, of: host)
  }

  private func emitAway(_ peers: Set<PeerID>, of host: RemoteHost) {
    for presence in host.presences.values {
      for member in presence.members.values where peers.contains(member.peer) {
        member.cohort.viewsChanged()
        let slots = member.connected.union(member.connecting)
        if let locals = presence.group.locals(in: slots) { emit(.away(member.view, of: locals)) }
      }
    }
  }
}
