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

  // MARK: Beside the link in use

  /// A link has just been taken into use: another medium may be wanted beside it.
  func prepareToDialBeside(_ bond: Bond) {
    guard settings.media.count > 1 else { return }
    bond.host.besideFailures = 0
    bond.host.dialsBeside = now + besidePause(for: bond.host)
    dialBeside(bond.host)
  }

  /// Dials a better medium than that of the link in use, or a worse one for standby.
  func dialBeside(_ host: RemoteHost) {
    guard settings.media.count > 1, host.dial == nil, let bond = host.bond, bond.isOpen, bond.next == nil,
      let used = bond.link, used.features.contains(.standby), !host.presences.isEmpty
    else { return }
    let candidates = mediaBeside(used, of: host)
    guard !candidates.isEmpty else { return }
    // A medium that comes and goes does not take the bond with it each time.
    let upgradesAt = max(host.dialsBeside ?? now, bond.mediumChanged.map { $0 + Self.upgradePause } ?? now)
    let due = candidates.allSatisfy { isBetter($0, than: used) } ? upgradesAt : host.dialsBeside ?? now
    guard due <= now else { return timers.set(.host(host.id), due) }
    let ready = candidates.filter { upgradesAt <= now || !isBetter($0, than: used) }
    if ready.count < candidates.count { timers.set(.host(host.id), upgradesAt) }
    guard !ready.isEmpty else { return }
    let better = ready.filter { isBetter($0, than: used) }
    let worse = ready.filter { !better.contains($0) }
    // Neither keeps the other waiting for ever.
    let wanted = better.isEmpty || !worse.isEmpty && host.besideFailures % 2 == 1 ? worse : better
    let addresses = byRank(addresses(of: host).filter { medium(of: $0).map(wanted.contains) ?? false })
    let dial = DialID(rawValue: number())
    host.dial = (dial, addresses, true)
    dials[dial] = host.id
    emit(.dial(dial, host: host.id, addresses: addresses))
  }

  /// The media that are wanted beside the link in use: all better ones, and worse ones while none is
  /// on standby.
  private func mediaBeside(_ used: Link, of host: RemoteHost) -> [MediumID] {
    let live = host.links.filter { !$0.isClosing && !$0.isRetired }
    let hasStandby = live.contains(where: \.isStandby)
    var media: [MediumID] = []
    for address in addresses(of: host) {
      guard let medium = medium(of: address), !media.contains(medium), !live.contains(where: { $0.medium == medium }),
        isBetter(medium, than: used) || !hasStandby
      else { continue }
      media.append(medium)
    }
    return media
  }

  private func isBetter(_ medium: MediumID, than used: Link) -> Bool {
    profile(of: medium).rank < used.profile.rank || sabotage.contains(.upgradesAnyhow)
  }

  /// The hysteresis of upgrades.
  private static let upgradePause: Duration = .seconds(5)

  /// The lower host dials first, so that not both do at once.
  private func besidePause(for host: RemoteHost) -> Duration { hostID < host.id ? .zero : .seconds(3) }

  /// Something about media has changed, so that a dial may succeed now.
  func hurryBeside(_ host: RemoteHost) {
    guard let again = host.dialsBeside else { return }
    host.dialsBeside = min(again, now + besidePause(for: host))
  }

  func dialBesideFailed(_ host: RemoteHost) {
    guard settings.media.count > 1 else { return }
    host.besideFailures += 1
    let pause = min(Self.besidePauseMax, .milliseconds(500) * (1 << min(host.besideFailures, 5)))
    host.dialsBeside = now + pause
    timers.set(.host(host.id), now + pause)
  }

  /// A medium that comes back unannounced is found within this time.
  private static let besidePauseMax: Duration = .seconds(10)
}
