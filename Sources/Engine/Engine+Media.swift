public import Wire

/// Media: which of them leads to a host, and by which a link to it goes.
extension Engine {
  /// The medium of the link to a host that is in use, or was before it went.
  public func medium(of host: HostID) -> MediumID? { hosts[host]?.bond?.medium }

  /// The name of that medium; nil for this host itself.
  public func mediumName(of host: HostID) -> String? {
    host == hostID ? nil : medium(of: host).map { profile(of: $0).name }
  }

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

  /// The best medium's addresses first, but those of a medium that was lost behind the others, which may answer where it
  /// does not; relays come last, and within a medium the order stays.
  func inOrder(_ addresses: [Address], of host: RemoteHost) -> [Address] {
    guard settings.media.count > 1 else { return addresses }
    let places = addresses.indices.map { index in
      guard let medium = medium(of: addresses[index]) else { return (1, Int.max, Int.max, index) }
      let (profile, loss) = (profile(of: medium), host.lostMedia.firstIndex(of: medium) ?? -1)
      return (profile.isRelayed ? 1 : 0, loss, profile.rank, index)
    }
    return places.sorted(by: <).map { addresses[$0.3] }
  }

  /// Before any link was open, it is not known which medium brings the next. A relay does not, where it is a member: it
  /// leads to members that were connected.
  var longestSuspension: Duration {
    settings.media.filter { looksForRelays || !$0.isRelayed }.map(\.suspensionMax).max() ?? .zero
  }

  // MARK: Beside the link in use

  /// A link has just been taken into use: another medium may be wanted beside it.
  func prepareToDialBeside(_ bond: Bond) {
    guard settings.media.count > 1 else { return }
    bond.host.besideFailures = 0
    bond.host.dialsBeside = now + besidePause(for: bond.host)
    dialBeside(bond.host)
  }

  /// Takes a better medium than that of the link in use, or dials one, or a worse one for standby.
  func dialBeside(_ host: RemoteHost) {
    guard settings.media.count > 1, let bond = host.bond, bond.next == nil, let used = bond.link,
      used.features.contains(.standby), !host.presences.isEmpty || host.carriesCircuits || used.profile.isRelayed
    else { return }
    guard bond.isOpen else { return dialReserve(for: bond) }
    upgrade(bond, from: used)
    // One change at a time: a link that is about to be greeted may be the next one.
    let isNextOpen = host.links.contains { $0 !== used && !$0.isStandby && !$0.isRetired && !$0.isClosing }
    guard host.dial == nil, !isNextOpen else { return }
    let candidates = mediaBeside(used, of: host).filter { !sabotage.contains(.linksLate) || !isTooSoon($0, for: bond) }
    guard !candidates.isEmpty else { return }
    if let due = host.dialsBeside, due > now { return timers.set(.host(host.id), due) }
    let better = candidates.filter { isBetter($0, than: used) }
    let worse = candidates.filter { !better.contains($0) }
    // Neither keeps the other waiting for ever.
    let wanted = better.isEmpty || !worse.isEmpty && host.besideFailures % 2 == 1 ? worse : better
    dialBeside(host, at: addresses(of: host, by: wanted))
  }

  /// Promotes the best link on standby if it is better than the one in use and has waited for its time.
  private func upgrade(_ bond: Bond, from used: Link) {
    guard let best = bestStandby(of: bond.host), isBetter(best.medium, than: used) else { return }
    // The lower host first, so that not both do at once.
    let due = upgradesAt(bond) + besidePause(for: bond.host)
    guard due <= now else { return timers.set(.host(bond.host.id), due) }
    promote(best, for: bond)
  }

  private func dialBeside(_ host: RemoteHost, at addresses: [Address]) {
    let dial = DialID(rawValue: number())
    host.dial = (dial, addresses, true)
    dials[dial] = host.id
    emit(.dial(dial, host: host.id, addresses: addresses))
  }

  private func addresses(of host: RemoteHost, by media: [MediumID]) -> [Address] {
    inOrder(addresses(of: host).filter { medium(of: $0).map(media.contains) ?? false }, of: host)
  }

  /// Whether a medium is being dialled beside the link in use that was not lost.
  func dialsStandingMedium(_ host: RemoteHost) -> Bool {
    guard let dial = host.dial, dial.isBeside else { return false }
    return dial.addresses.contains { medium(of: $0).map { !host.lostMedia.contains($0) } ?? false }
  }

  /// The link that was promoted may be dead like the lost one, and dialling takes time: the media without a link are
  /// dialled while its answer is awaited.
  func dialReserve(for bond: Bond) {
    let host = bond.host
    guard bond.suspendsAt != nil, let promoted = bond.link else { return }
    if let again = host.dialsBeside, again > now { return timers.set(.host(host.id), again) }
    let addresses = addresses(of: host, by: mediaBeside(promoted, of: host))
    if let dial = host.dial {
      addAddresses(dial.id, of: host, to: addresses.filter { !dial.addresses.contains($0) })
    } else if !addresses.isEmpty {
      dialBeside(host, at: addresses)
    }
  }

  /// The media that are wanted beside the link in use: all better ones, and worse ones while none is
  /// on standby.
  private func mediaBeside(_ used: Link, of host: RemoteHost) -> [MediumID] {
    if used.profile.isRelayed, sabotage.contains(.staysWithRelays) { return [] }
    let live = host.links.filter { !$0.isClosing && !$0.isRetired }
    let hasStandby = live.contains { $0.isStandby && $0.medium != used.medium }
    var media: [MediumID] = []
    for address in addresses(of: host) {
      guard let medium = medium(of: address), !media.contains(medium), !live.contains(where: { $0.medium == medium }),
        isBetter(medium, than: used) || !hasStandby && !profile(of: medium).isRelayed
      else { continue }
      media.append(medium)
    }
    return media
  }

  private func isBetter(_ medium: MediumID, than used: Link) -> Bool {
    profile(of: medium).rank < used.profile.rank || sabotage.contains(.upgradesAnyhow)
  }

  /// Whether a link over this medium is an upgrade that must wait: it is on standby until then.
  func isTooSoon(_ medium: MediumID, for bond: Bond) -> Bool {
    guard bond.isOpen, let used = bond.link, used.features.contains(.standby), isBetter(medium, than: used) else {
      return false
    }
    return upgradesAt(bond) > now
  }

  private func upgradesAt(_ bond: Bond) -> Instant {
    bond.mediumChanged.map { $0 + Self.upgradePause } ?? .distantPast
  }

  /// The hysteresis of upgrades: a medium that comes and goes does not take the bond with it each time.
  private static let upgradePause: Duration = .seconds(5)

  /// The lower host dials first, so that not both do at once.
  private func besidePause(for host: RemoteHost) -> Duration { hostID < host.id ? .zero : .seconds(3) }

  /// Something about media has changed, so that a dial may succeed now; one that has begun may still fail. The other host
  /// may not know of a medium of this one that is back, and does not dial it.
  func hurryBeside(_ host: RemoteHost, isOwnMedium: Bool = false) {
    guard let again = host.dialsBeside else { return }
    host.besideFailures = 0
    host.dialsBeside = min(again, now + (isOwnMedium ? .zero : besidePause(for: host)))
    host.isHurried = host.dial?.isBeside == true
  }

  func dialBesideFailed(_ host: RemoteHost) {
    guard settings.media.count > 1 else { return }
    host.besideFailures += 1
    let backoff = min(Self.besidePauseMax, .milliseconds(500) * (1 << min(host.besideFailures, 5)))
    let pause = host.isHurried ? .zero : backoff
    host.isHurried = false
    host.dialsBeside = now + pause
    timers.set(.host(host.id), now + pause)
  }

  /// A medium that comes back unannounced is found within this time.
  private static let besidePauseMax: Duration = .seconds(10)
}
