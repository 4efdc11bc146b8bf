public import Wire

/// Media: which of them leads to a host, and by which a link to it goes.
extension Engine {
  /// The medium of the link to a host that is in use, or was before it went.
  public func medium(of host: HostID) -> MediumID? { hosts[host]?.bond?.medium }

  func profile(of medium: MediumID) -> MediumProfile { settings.media[medium.rawValue] }

  /// The medium whose prefix the address has; of several, the one with the longest. Nil where none has it.
  func medium(of address: Address) -> MediumID? {
    var best: MediumID?
    for (place, profile) in settings.media.enumerated() where address.bytes.starts(with: profile.addressPrefix) {
      let known = best.map { settings.media[$0.rawValue].addressPrefix.count } ?? -1
      if profile.addressPrefix.count > known { best = MediumID(rawValue: place) }
    }
    return best
  }

  /// The best medium's addresses first; within a medium the order stays.
  func byRank(_ addresses: [Address]) -> [Address] {
    guard settings.media.count > 1 else { return addresses }
    let ranks = addresses.map { medium(of: $0).map { profile(of: $0).rank } ?? .max }
    return addresses.indices.sorted { (ranks[$0], $0) < (ranks[$1], $1) }.map { addresses[$0] }
  }

  /// Before any link was open, it is not known which medium brings the next.
  var longestSuspension: Duration { settings.media.map(\.suspensionMax).max() ?? .zero }
}
