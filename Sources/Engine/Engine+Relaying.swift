import Wire

/// Relaying: circuits between hosts that have no common medium, by a host that has several.
///
/// A relay reports the hosts that it receives, as far as the other side of a link has not the medium, and leads circuits
/// there. It learns which hosts talk, and sizes and times: the bytes are those of a link between the two, under TLS.
extension Engine {
  /// Whether this host leads circuits to others: with one medium there is nobody whom it alone reaches.
  var isRelay: Bool { settings.relay != nil && settings.media.count { !$0.isRelayed } > 1 && relayMedium != nil }

  /// Whether it also relays for hosts that it shares no session with, and so tells them which hosts it receives.
  var isOpenRelay: Bool { isRelay && settings.relay?.isForMembers != true }

  /// Whether relays are looked for beyond the members of own sessions.
  var looksForRelays: Bool { relayMedium != nil && settings.looksForRelays }

  var features: Hello.Features {
    guard relayMedium != nil else { return Self.features }
    return isRelay ? Self.features.union([.circuits, .relay]) : Self.features.union(.circuits)
  }

  // MARK: Circuits to others

  /// Leads a circuit on to another host, over a link that may have to be dialled first.
  func relay(_ open: CircuitOpen, from link: Link) {
    func refuse(_ reason: Reason) { send(CircuitEnd(circuit: open.circuit, reason: reason), on: link) }
    guard let rules = settings.relay, isRelay, isOpenRelay || mayLead(link, to: open.to) else {
      return refuse(.declined)
    }
    guard circuits.relayedCount < rules.circuitsMax, mayAdd(to: link.host) || sabotage.contains(.relaysForAll)
    else {
      return refuse(.busy)
    }
    guard open.to != link.host.id, let host = hosts[open.to], openLink(to: host) != nil || isReceived(host) else {
      return refuse(.unreachable)
    }
    let leg = CircuitLeg(
      on: link, number: open.circuit, from: host.id, isOpenedHere: false, far: .awaited(host.id),
      due: now + Self.farTimeMax)
    circuits(of: link).add(leg)
    circuits.relayedCount += 1
    expectAnswer(of: leg)
    if let onward = openLink(to: host) { connect(leg, over: onward) } else { ensureLink(host) }
  }

  /// Whether both hosts have joined a session of this one, by whatever groups it has in common with them.
  private func areMembers(_ one: RemoteHost, _ other: RemoteHost) -> Bool {
    guard !sabotage.contains(.declinesMembers) else { return false }
    return one.presences.keys.contains { group in
      [one, other].allSatisfy { $0.presences[group]?.isConnected == true }
    }
  }

  private func mayLead(_ link: Link, to far: HostID) -> Bool {
    guard link.gate.isOpen, let host = hosts[far], openLink(to: host)?.gate.isOpen == true else { return false }
    return areMembers(link.host, host)
  }

  /// Ends the circuits of hosts that are members no more.
  func reviewRelayed() {
    circuits.mustReview = false
    guard circuits.relayedCount > 0, !isOpenRelay else { return }
    for link in links.values {
      for leg in link.circuits?.legs.values ?? [] where !leg.isOpenedHere {
        guard case .leg(let onward) = leg.far, !areMembers(link.host, onward.link.host) else { continue }
        refuse(leg, .declined)
      }
    }
  }

  /// The time for a link to the far end and its answer; the host that asked waits a second longer.
  private static let farTimeMax: Duration = .seconds(5)

  /// Whether the host may have one more, over whichever of its links.
  private func mayAdd(to host: RemoteHost) -> Bool {
    let count = host.links.reduce(0) { $0 + ($1.circuits?.legs.count ?? 0) }
    return count < settings.relay?.circuitsPerHostMax ?? 0
  }

  private func connect(_ leg: CircuitLeg, over link: Link) {
    guard !link.profile.isRelayed, link.features.contains(.circuits) else { return refuse(leg, .declined) }
    guard mayAdd(to: link.host) || sabotage.contains(.relaysForAll) else { return refuse(leg, .busy) }
    let asker = leg.link.host
    let onward = openLeg(over: link, to: link.host.id, from: asker.id, far: .leg(leg), within: Self.farTimeMax)
    leg.far = .leg(onward)
    // A circuit needs a better medium, and one on standby, as members do.
    for host in [asker, link.host] { dialBeside(host) }
  }

  /// A link is gone over which the far end of a circuit was asked, and had not answered: it is asked over the next one.
  func reconnect(_ leg: CircuitLeg, after link: Link) {
    leg.far = .awaited(link.host.id)
    if let next = openLink(to: link.host), next !== link { connect(leg, over: next) }
  }

  private func awaited(by host: HostID) -> [CircuitLeg] {
    circuits.pending.filter { if case .awaited(host) = $0.far { true } else { false } }
  }

  /// Whether a link to the host is wanted for circuits, or for reports to it.
  func hasCircuits(to host: RemoteHost) -> Bool {
    guard relayMedium != nil else { return false }
    return host.carriesCircuits || isOpenRelay && host.links.contains { $0.browses.contains(.relays) }
      || !awaited(by: host.id).isEmpty
  }

  /// A link to the host is in use from now on.
  func connectCircuits(over link: Link) {
    for leg in awaited(by: link.host.id) { connect(leg, over: link) }
  }

  /// The host does not answer at any of its addresses.
  func refuseCircuits(to host: RemoteHost) {
    for leg in awaited(by: host.id) { refuse(leg, .unreachable) }
  }

  // MARK: Who is received

  private func isReceived(_ host: RemoteHost) -> Bool { circuits.receivedBy[host.id] != nil }

  /// Looks for the records that hosts have of themselves, from the first moment on.
  func beginRelaying() {
    circuits.hasBegun = true
    if isOpenRelay { emit(.browse(for: .hosts)) }
  }

  /// Brings the reports up to date with the records of a host.
  func reviewReception(of host: HostID) {
    guard isOpenRelay else { return }
    let before = circuits.receivedBy[host] ?? []
    let after = discovery.mediaOfOwnRecord(of: host)
    guard before != after else { return }
    circuits.receivedBy[host] = after.isEmpty ? nil : after
    for medium in settings.media.indices where !settings.media[medium].isRelayed {
      let id = MediumID(rawValue: medium)
      let (was, isNow) = (isFar(before, id), isFar(after, id))
      guard was != isNow else { continue }
      circuits.missing[medium, default: 0] += isNow ? 1 : -1
      show(on: id)
      for link in links.values where link.medium == id && link.host.id != host && link.browses.contains(.relays) {
        send(Heard(isHeard: isNow, hosts: [host]), on: link)
      }
    }
  }

  /// Whether a host that is received by these media is received by others than this one alone.
  private func isFar(_ media: [MediumID], _ medium: MediumID) -> Bool { !media.isEmpty && !media.contains(medium) }

  /// Announces this host as a relay on a medium where it has hosts to report.
  private func show(on medium: MediumID) {
    let isNeeded = circuits.missing[medium.rawValue, default: 0] > 0
    guard isNeeded != circuits.shownOn.contains(medium) else { return }
    if isNeeded { circuits.shownOn.insert(medium) } else { circuits.shownOn.remove(medium) }
    emit(isNeeded ? .publishRelay(medium) : .withdrawRelay(medium))
  }

  /// Answers `browse` for relays.
  func sendReception(over link: Link) {
    guard isOpenRelay, !link.profile.isRelayed, !sabotage.contains(.hearsNobody) else { return }
    var hosts: [HostID] = []
    circuits.receivedBy.forEach { host, media in
      if host != link.host.id, isFar(media, link.medium), hosts.count < Self.heardMax { hosts.append(host) }
    }
    for start in stride(from: 0, to: hosts.count, by: Limits.heardHostsMax) {
      send(Heard(isHeard: true, hosts: Array(hosts[start...].prefix(Limits.heardHostsMax))), on: link)
    }
  }

  /// The hosts that one relay may report.
  static let heardMax = 256
}
