import Wire

/// What a host that advertises many peers tells of them over a link instead of in records of their own.
extension Engine {
  func take(_ browse: Browse, from link: Link) throws(Violation) {
    guard link.browses.count < Self.browsesMax else {
      throw Violation(.busy, "more than \(Self.browsesMax) service types browsed over one link")
    }
    link.browses[browse.type] = true
    for peer in peers.values {
      if let info = peer.advertised[browse.type] {
        say(Advertised(type: browse.type, peer: peer.id, name: peer.name, info: info), on: link)
      }
    }
  }

  private static let browsesMax = 64

  func take(_ end: BrowseEnd, from link: Link) { link.browses[end.type] = nil }

  func take(_ advertised: Advertised, from link: Link) throws(Violation) {
    _ = advertised
    throw Violation(.protocolViolation, "a roster that was not asked for")
  }

  func take(_ withdrawn: Withdrawn, from link: Link) {}

  func tellBrowsers(of type: ServiceType, _ peer: LocalPeer) {
    for link in links.values where link.browses.contains(type) {
      if let info = peer.advertised[type] {
        say(Advertised(type: type, peer: peer.id, name: peer.name, info: info), on: link)
      } else {
        say(Withdrawn(type: type, peer: peer.id), on: link)
      }
    }
  }

  func rosterAppearance(of spot: Discovery.Spot) -> Discovery.Visible? { nil }
}
