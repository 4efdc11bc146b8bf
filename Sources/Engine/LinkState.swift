public import Wire

/// A link to another host, as this host uses it.
public struct LinkState: Hashable, Sendable {
  public let id: LinkID
  public let host: HostID
  /// The name of its medium.
  public let medium: String
  /// Whether the system loses nothing on it.
  public let isLossless: Bool
  /// The relay of the circuit that it goes over; nil for a direct one.
  public let relay: HostID?
  /// Whether it is kept beside the link in use.
  public let isStandby: Bool
  /// The shortest round trip of the last minute; nil before it is measured, and on a medium where the system measures it.
  public let roundTrip: Duration?
}

extension Engine {
  /// The links to other hosts that are in use, and those that are kept beside them.
  public var openLinks: [LinkState] {
    links.values.compactMap { link in
      guard !link.isLoopback, !link.isClosing, link.isStandby || link.host.bond?.link === link else { return nil }
      return LinkState(link)
    }
  }

  /// The link in use to a host.
  public func usedLink(to host: HostID) -> LinkState? { hosts[host].flatMap(openLink).map(LinkState.init) }
}

extension LinkState {
  fileprivate init(_ link: Link) {
    id = link.id
    host = link.host.id
    medium = link.profile.name
    isLossless = link.profile.isLossless
    relay = link.relay
    isStandby = link.isStandby
    roundTrip = link.roundTrips.shortest
  }
}

/// How this host reaches a peer of another one.
public struct ReachState: Hashable, Sendable {
  public let host: HostID
  /// The name of the medium: of the link in use, or else the best one that shows the peer.
  public let medium: String
  /// The link in use.
  public let link: LinkState?
  /// The shortest round trip of the link's last minute, or the time of the host's latest answer to a probe by the medium.
  public let roundTrip: Duration?
}

extension Engine {
  /// How a found peer is reached; nil for one that is not found, or is this host's own.
  public func reach(of peer: PeerID, as type: ServiceType) -> ReachState? {
    guard let id = discovery.visible[.init(type: type, peer: peer)]?.host, id != hostID, let host = hosts[id] else {
      return nil
    }
    let link = openLink(to: host)
    let shown = discovery.media(of: id).min { profile(of: $0).rank < profile(of: $1).rank }
    guard let medium = link?.medium ?? shown else { return nil }
    return ReachState(
      host: id, medium: profile(of: medium).name, link: link.map(LinkState.init),
      roundTrip: link?.roundTrips.shortest ?? host.roundTrips[medium])
  }
}
