import Wire

/// Hearsay: hosts that this one does not receive itself, and relays that lead to them.
///
/// A relay proves nothing: a host that it reports is asked over a link of its own, which proves its key, and until then
/// no browser gets a report of it. A relay that lies costs a dial.
extension Engine {
  /// Looks for relays as long as a peer here browses or has a session.
  func reviewRelaySearch() {
    if !circuits.hasBegun { beginRelaying() }
    let isWanted = looksForRelays && (!endpoints.isEmpty || discovery.hasBrowsers)
    guard isWanted != circuits.isSearching else { return }
    circuits.isSearching = isWanted
    if isWanted { return browse(for: .relays) }
    stopBrowsing(for: .relays)
    for relay in circuits.hearsay.keys {
      circuits.doubt(relay)
      dropDoubted(of: relay)
    }
  }

  /// A record has gone: where it was a relay's, another relay is asked in its place.
  func askNextRelays() {
    guard discovery.browsers[.relays] != nil else { return }
    for relay in discovery.relaysAsked { if let host = hosts[relay] { askForRosters(of: host) } }
  }

  // MARK: Ways

  /// Whether circuits may be opened over the link: there is one hop, to a host that relays.
  func isWay(_ link: Link) -> Bool { link.features.contains(.relay) && !link.profile.isRelayed && relayMedium != nil }

  /// The link in use to a host has changed.
  func reviewWay(over link: Link) {
    guard relayMedium != nil else { return }
    circuits.expiries[link.host.id] = nil
    if isWay(link) {
      guard !circuits.ways.contains(link.host.id) else { return }
      circuits.ways[link.host.id] = true
      // It may lead to hosts that were not reached.
      for host in hosts.values where host.links.isEmpty && isWanted(host) { ensureLink(host) }
    } else {
      circuits.ways[link.host.id] = nil
    }
  }

  /// Handles the loss of the last link to a host. Its reports count for a while, in which it may be back.
  func lostWay(_ host: HostID) {
    guard circuits.ways.removeValue(forKey: host) != nil else { return }
    circuits.doubt(host)
    circuits.expiries[host] = now + Self.hearsayLife
    timers.set(.circuits, now + Self.hearsayLife)
  }

  private static let hearsayLife: Duration = .seconds(8)

  func expireHearsay() {
    for relay in circuits.expiries.keys {
      guard let end = circuits.expiries[relay] else { continue }
      if end <= now {
        circuits.expiries[relay] = nil
        dropDoubted(of: relay)
      } else {
        timers.set(.circuits, end)
      }
    }
  }

  /// The relays by which a host may be reached: those that report it first, and those last that have failed it. So a
  /// relay that loses links, or tampers with them, holds up a host once while there is another.
  func relayAddresses(of host: RemoteHost) -> [Address] {
    guard !host.isSelf, !circuits.ways.isEmpty,
      !sabotage.contains(.relaysOnce) || host.bond?.hasBeenOpen != true
    else { return [] }
    let failed = sabotage.contains(.triesAlike) ? [] : host.failedRelays.filter { circuits.ways.contains($0) }
    let last = Set(failed)
    var (reporting, others): ([HostID], [HostID]) = ([], [])
    circuits.ways.forEach { relay, _ in
      if relay == host.id || last.contains(relay) { return }
      if circuits.isHeard(host.id, by: relay) { reporting.append(relay) } else { others.append(relay) }
    }
    return (reporting + others + failed).prefix(Self.waysMax).map { .relay($0) }
  }

  /// Relays that are tried one after another.
  private static let waysMax = 4

  // MARK: Reports

  func handle(_ heard: Heard, from link: Link) throws(ProtocolViolation) {
    let relay = link.host.id
    guard let isAsked = link.rosterTypes[.relays] else {
      throw ProtocolViolation(.protocolViolation, "hosts are reported heard to nobody who asked")
    }
    guard isAsked, relayMedium != nil else { return }
    for host in heard.hosts where host != hostID && host != relay {
      if heard.isHeard {
        guard circuits.heard(by: relay) < Self.heardMax || circuits.isHeard(host, by: relay) else { continue }
        circuits.addReport(of: host, by: relay)
        askForRosters(of: self.host(host))
      } else {
        for relay in sabotage.contains(.believesRelays) ? circuits.hearsay.keys : [relay] {
          removeReport(of: host, by: relay)
        }
      }
    }
  }

  private func removeReport(of host: HostID, by relay: HostID) {
    circuits.removeReport(of: host, by: relay)
    guard !circuits.isHeard(host) else { return }
    endRosters(of: host)
    if let host = hosts[host] { forgetIfUnknown(host) }
  }

  /// All present reports of a relay have come, or its link is gone for good.
  func dropDoubted(of relay: HostID) { for host in circuits.doubted(of: relay) { removeReport(of: host, by: relay) } }

  /// A dial of a host has failed: one that is known by hearsay is lost, since no record of it says that it is there.
  func unreached(_ host: RemoteHost) {
    refuseCircuits(to: host)
    guard isHearsay(host.id), !host.isVanished, openLink(to: host) == nil else { return }
    host.isVanished = true
    for instance in discovery.instances(of: host.id) { review(instance) }
  }

  /// Whether a host is known by hearsay alone, so that its link is the only sign of it.
  func isHearsay(_ host: HostID) -> Bool { discovery.media(of: host).isEmpty && circuits.isHeard(host) }

  /// The types about which a host is asked that has no records here: all that are browsed.
  func typesToAsk(of host: HostID) -> [ServiceType] {
    let types = discovery.rosterTypes(of: host)
    guard types.isEmpty, relayMedium != nil, isHearsay(host) else { return types }
    return discovery.browsedTypes
  }
}

extension Address {
  /// The way to a host through a relay.
  // `try!`: 30 bytes are within the limits of an address.
  static func relay(_ host: HostID) -> Address {
    try! Address(MediumProfile.relay.addressPrefix + Array(host.text.utf8))
  }
}
