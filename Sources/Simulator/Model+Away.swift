import Engine
import Wire

/// Away peers.
extension Model {
  func away(_ view: MemberView, _ local: EndpointID) {
    guard let here = endpoints[local], here.isWatched else { return }
    guard let pair = here.pairs[view.endpoint], pair.state == .connecting || pair.state == .connected else {
      return violate(
        .awayIsReported, "\(here.label) is told of \(label(view.endpoint)), which it is not in a session with")
    }
    check(.awayIsReported, pair.awaySince != view.awaySince) {
      "\(here.label) is told twice whether \(label(view.endpoint)) is away"
    }
    pair.awaySince = view.awaySince
  }

  /// In a healed world everybody sees, of the peers that it found or is connected with, the away state that their hosts
  /// report.
  func checkAwayPeers(_ world: World, _ standing: [EndpointRecord]) {
    for one in browsing where !isMalicious[one.host] && isHostUp[one.host] && !isUnsettled[one.host] {
      for found in one.found {
        matches(found.awaySince, found.peer, seenAt: one.host, world) {
          "\(label(one.peer)) sees that \(label(found.peer)), whom it found, is \($0)"
        }
      }
    }
    for here in standing where !isUnsettled[here.ref.host] {
      for remote in here.pairOrder {
        guard let pair = here.pairs[remote], pair.state == .connected, let there = endpoints[remote] else { continue }
        matches(pair.awaySince, there.peer, seenAt: here.ref.host, world) {
          "\(here.label) sees that \(there.label), its member, is \($0)"
        }
      }
    }
  }

  private func matches(
    _ told: Instant?, _ peer: PeerID, seenAt host: Int, _ world: World, _ sentence: (String) -> String
  ) {
    guard let place = peerPlaces[peer] else { return }
    let peer = peers[place]
    guard peer.isThere, !isMalicious[peer.ref.host], isHostUp[peer.ref.host], !isUnsettled[peer.ref.host] else {
      return
    }
    let truth = peer.awayAt.map(world.hosts[host].local)
    let isTrue =
      switch (told, truth) {
      case (nil, nil): true
      case (let told?, let truth?): abs((told - truth).components.seconds) <= Self.awayToleranceSeconds
      default: false
      }
    check(.awayIsReported, isTrue) {
      sentence("\(Self.words(told).isEmpty ? "here" : "away")") + ", and it is \(truth == nil ? "here" : "away")"
    }
  }

  /// The travel time of a report, and the difference that counts as the same moment.
  private static let awayToleranceSeconds: Int64 = 15

  static func words(_ awaySince: Instant?) -> String { awaySince == nil ? "" : ", away" }
}
