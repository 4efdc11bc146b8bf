public import Wire

/// Reaching: which hosts a link is wanted to, where they are dialled, and when again.
extension Engine {
  /// Whether anything here needs a link to the host.
  func isWanted(_ host: RemoteHost) -> Bool {
    !host.presences.isEmpty || !host.asked.isEmpty || host.asking.contains { $0.isPending }
      || comparisons.contains { $0.host === host } || !typesToAsk(of: host.id).isEmpty
      || hasCircuits(to: host)
  }

  /// Dials the host if a link is wanted and there is none.
  func ensureLink(_ host: RemoteHost) {
    if host.isSelf {
      if host.links.isEmpty {
        open(LinkID(rawValue: .max), to: host, exporter: Digest(.init(0, 0, 0, 0)), isDialed: true, datagramBytesMax: 0)
      }
      return
    }
    guard isWanted(host) else { return }
    if host.links.contains(where: { !$0.isClosing }) { return dialBeside(host) }
    if let again = host.dialsAgain, again > now {
      timers.set(.host(host.id), again)
      return
    }
    let addresses = inOrder(addresses(of: host), of: host)
    if let dial = host.dial {
      host.dial?.isBeside = false
      return addAddresses(dial.id, of: host, to: addresses.filter { !dial.addresses.contains($0) })
    }
    guard !addresses.isEmpty else { return }
    if host.key == nil, dials.count >= Self.strangersDialledMax {
      strangers[host.id] = true
      return
    }
    let dial = DialID(rawValue: number())
    host.dial = (dial, addresses, false)
    dials[dial] = host.id
    emit(.dial(dial, host: host.id, addresses: addresses))
  }

  /// Adds newly learned addresses to the dial in progress.
  func addAddresses(_ dial: DialID, of host: RemoteHost, to addresses: [Address]) {
    guard let known = host.dial?.addresses.count, known < Self.dialledMax, !addresses.isEmpty else { return }
    let more = Array(addresses.prefix(Self.dialledMax - known))
    host.dial?.addresses += more
    emit(.dialAlso(dial, addresses: more))
  }

  /// A host's own addresses, those from others and those of its records, before it moves and after; a host does not
  /// have more records than that.
  private static let dialledMax = 48

  /// The best first: addresses that both its records and itself say, then of its records, of its last greeting, of
  /// connection data, and of other hosts.
  func addresses(of host: RemoteHost) -> [Address] {
    let shown = discovery.addresses(of: host.id)
    var addresses = host.ownAddresses.filter(shown.contains)
    for address in shown + host.ownAddresses + host.given + host.rumoured where !addresses.contains(address) {
      addresses.append(address)
    }
    return relayMedium == nil ? addresses : addresses + relayAddresses(of: host)
  }

  /// Sets where this host can be reached from now on, the best address first; every later `hello` and entry carries it.
  public func setAddresses(_ addresses: [Address], at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    guard addresses != settings.addresses else { return }
    settings.addresses = addresses
    // This host is on another network, which may reach others.
    for host in hosts.values {
      hurryBeside(host, isOwnMedium: true)
      if host.dialsAgain != nil {
        host.dialsAgain = nil
        ensureLink(host)
      } else {
        dialBeside(host)
      }
    }
  }

  /// A member may introduce hosts that do not exist: only this many are dialled at a time.
  private static let strangersDialledMax = 64

  /// A dial has ended: the next waiting strangers have their turn.
  func dialStrangers() {
    while dials.count < Self.strangersDialledMax, let next = strangers.removeFirst() {
      if let host = hosts[next.key] { ensureLink(host) }
    }
  }

  func ended(_ dial: DialID, of host: RemoteHost, hasFailed: Bool) {
    var isBeside = false
    if let known = host.dial, known.id == dial {
      isBeside = known.isBeside
      host.dial = nil
    }
    if hasFailed, host.dial == nil { dialFailed(host, isBeside: isBeside) }
  }

  /// Schedules the next dial, with exponential backoff.
  func dialFailed(_ host: RemoteHost, isBeside: Bool) {
    if isBeside { return dialBesideFailed(host) }
    if relayMedium != nil { unreached(host) }
    host.dialFailures += 1
    let pauseMax = host.bond?.hasBeenOpen == true ? Self.suspendedPauseMax : Self.dialPauseMax
    let pause = min(pauseMax, .milliseconds(250) * (1 << min(host.dialFailures, 6)))
    host.dialsAgain = now + pause
    timers.set(.host(host.id), now + pause)
  }

  /// A suspension is short, and a link that comes back late in it must still be found.
  private static let suspendedPauseMax: Duration = .milliseconds(500)
  /// A host that comes back is found within this time.
  private static let dialPauseMax: Duration = .seconds(5)

  func handleHostTimer(_ host: RemoteHost) {
    if let again = host.dialsAgain {
      if again <= now {
        host.dialsAgain = nil
        ensureLink(host)
      } else {
        timers.set(.host(host.id), again)
      }
    }
    dialBeside(host)
    handleProbeTimer(host)
    forgetIfUnknown(host)
  }

  /// Forgets a host with no state beyond what another contact would bring. References to it do not mean a later entry
  /// of the same host.
  func forgetIfUnknown(_ host: RemoteHost) {
    forgetAwayIfCut(from: host)
    guard hosts[host.id] === host, host.links.isEmpty, host.bond?.hasBeenOpen != true, host.dial == nil, !host.isSelf,
      !isWanted(host), !discovery.knows(host.id), !circuits.isHeard(host.id), host.asking.isEmpty
    else { return }
    hosts[host.id] = nil
    host.empty()
  }
}
