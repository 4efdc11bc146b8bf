import Engine
import Wire

/// One peer's browsing of one type, and the peers that it was shown.
struct Browsing {
  var peer: PeerID
  var host: Int
  var type: ServiceType
  var found: [Found] = []

  struct Found {
    var peer: PeerID
    var at: Int64
    var awaySince: Instant?
  }

  func hasFound(_ peer: PeerID) -> Bool { found.contains { $0.peer == peer } }
}

/// Found and lost.
extension Model {
  func browses(_ peer: SimPeer, _ type: Int, _ on: Bool) {
    let type = World.types[type]
    if on {
      guard !browsing.contains(where: { $0.peer == peer.id && $0.type == type }) else { return }
      browsing.append(Browsing(peer: peer.id, host: peer.ref.host, type: type))
    } else {
      browsing.removeAll { $0.peer == peer.id && $0.type == type }
    }
  }

  private func browsing(_ peer: PeerID, _ type: ServiceType, at host: SimHost) -> Int? {
    browsing.firstIndex { $0.peer == peer && $0.type == type && $0.host == host.index }
  }

  func found(_ by: PeerID, _ type: ServiceType, _ peer: PeerID, awaySince: Instant?, at host: SimHost) {
    let word = "\(label(by)) found \(label(peer))"
    check(.neverFindsItself, by != peer) { word }
    guard let place = browsing(by, type, at: host) else {
      return check(.foundThenLost, isBrowsingAdhoc(by)) { word + " and does not browse" }
    }
    check(.foundThenLost, !browsing[place].hasFound(peer)) { word + " twice" }
    browsing[place].found.append(.init(peer: peer, at: now, awaySince: awaySince))
  }

  func updated(_ by: PeerID, _ type: ServiceType, _ peer: PeerID, awaySince: Instant?, at host: SimHost) {
    guard let place = browsing(by, type, at: host) else { return }
    check(.foundThenLost, browsing[place].hasFound(peer)) {
      "\(label(by)) is told more of \(label(peer)), which it never found"
    }
    guard let found = browsing[place].found.firstIndex(where: { $0.peer == peer }) else { return }
    browsing[place].found[found].awaySince = awaySince
  }

  func lost(_ by: PeerID, _ type: ServiceType, _ peer: PeerID, at host: SimHost) {
    guard let place = browsing(by, type, at: host) else { return }
    check(.foundThenLost, browsing[place].hasFound(peer)) {
      "\(label(by)) lost \(label(peer)), which it never found"
    }
    browsing[place].found.removeAll { $0.peer == peer }
  }

  /// Ad hoc mode browses by itself.
  private func isBrowsingAdhoc(_ peer: PeerID) -> Bool { order.contains { $0.peer == peer && $0.wasAdhoc } }

  /// A dead host is reported lost within 10 s, and what was in flight meanwhile.
  func checkDeadAreLost() {
    for one in browsing where !isMalicious[one.host] && isHostUp[one.host] {
      for found in one.found {
        guard let place = peerPlaces[found.peer], let dead = deadFor(peers[place].ref.host, at: one.host) else {
          continue
        }
        let unprobed = plan.media.allSatisfy(\.profile.isProbed) ? 0 : Self.unprobedRecordLife
        check(.deadHostsAreLostInTime, min(dead, now - found.at) < 10_000_000_000 + unprobed) {
          "\(label(one.peer)) has not lost \(peers[place].ref), which has been dead for \(dead / 1_000_000) ms"
        }
      }
    }
  }

  /// In a healed world everybody finds all advertising peers, and no others.
  func checkFound(_ world: World) {
    for one in browsing where !isMalicious[one.host] {
      guard let type = World.types.firstIndex(of: one.type), !isUnsettled[one.host] else { continue }
      for peer in peers where peer.id != one.peer && !isMalicious[peer.ref.host] && !isUnsettled[peer.ref.host] {
        guard isWatched(peer.ref) else { continue }
        let isThere =
          peer.isThere && isHostUp[peer.ref.host]
          && (peer.advertised[type] != nil || peer.endpoints.contains { endpoints[$0]?.adhoc == type })
        let isFound = one.hasFound(peer.id)
        check(.foundIsThere, isThere == isFound) {
          isFound
            ? "\(label(one.peer)) still sees \(peer.ref), which advertises no more"
            : "\(label(one.peer)) does not find \(peer.ref), which advertises"
        }
      }
    }
  }
}
