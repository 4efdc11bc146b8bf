internal import Engine
internal import Media
internal import Reactor
public import Wire

/// How this host reaches a peer that is found, at one moment.
public struct PeerReach: Hashable, Sendable {
  /// The host that carries the peer.
  public let host: HostID
  /// The name of the medium of the link in use, such as `lan`; without a link the best one that shows the peer.
  public let medium: String
  /// The link in use, with its rate, its loss and its relay; nil without one.
  public let link: HostLink?
  /// The shortest round trip of the link's last minutes, or the time of the last answer to a probe; nil before either is
  /// known.
  public let roundTrip: Duration?
}

extension Browser {
  /// How the host reaches a found peer; nil for one that is not found, or is this host's own.
  public func reach(of peer: PeerID) async -> PeerReach? {
    try? await loop.run { [interest] in $0.reach(of: peer, as: interest) }
  }
}

extension HostDriver {
  func reach(of peer: PeerID, as interest: Interest) -> PeerReach? {
    guard let reach = reach(of: peer, as: interest.type) else { return nil }
    let link = reach.link.map(measure)
    return PeerReach(
      host: reach.host, medium: reach.medium, link: link, roundTrip: link?.roundTrip ?? reach.roundTrip)
  }
}
