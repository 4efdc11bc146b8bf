import Wire

/// Probing, the failure detector for hosts without a link: whether those whose records are seen are still there.
///
/// A host is lost once nothing of it is left on any medium: its probes are unanswered where hosts answer probes, and
/// elsewhere its records are taken back.
///
/// Invariant: a host that dies is reported lost within 8 s and the travel time: its link is silent for 3 s, or it
/// answered a probe up to 3 s before; then five probes in 4.5 s stay unanswered. At 10 % datagram loss a probe of a
/// living host fails in 19 of 100 cases, so five in a row in 1 of 4,000 rounds of 3 s: one false loss in three and a
/// half hours.
extension Engine {
  public func probeAnswered(_ id: SightingID, at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    guard let host = discovery.host(of: id).flatMap({ hosts[$0] }) else { return }
    if let medium = discovery.medium(of: id), let probed = host.probed.removeValue(forKey: medium) {
      host.roundTrips[medium] = now - probed
    }
    host.probesUnanswered = 0
    if host.probesAgain != nil { host.probesAgain = now + settings.probeInterval }
    if host.isVanished { markReachable(host) }
  }

  func markReachable(_ host: RemoteHost) {
    host.isVanished = false
    host.probesUnanswered = 0
    for instance in discovery.instances(of: host.id) { review(instance) }
    askForRosters(of: host)
  }

  func scheduleProbe(_ host: RemoteHost) {
    guard !host.isSelf, host.probesAgain == nil, !probedRecords(of: host).isEmpty else { return }
    let pause =
      switch host.isVanished || sabotage.contains(.probesAtLeisure) ? 0 : host.probesUnanswered {
      case 0: settings.probeInterval
      case 1: settings.probeInterval / 2
      default: settings.probeInterval / 4
      }
    host.probesAgain = now + pause
    timers.set(.host(host.id), now + pause)
  }

  /// Probes a host at once whose link fell silent or broke, if anybody browses for it.
  func probeAtOnce(_ host: RemoteHost) {
    guard host.probesAgain != nil, host.probesUnanswered == 0, !host.isVanished,
      !sabotage.contains(.probesAtLeisure)
    else { return }
    host.probesAgain = now
    handleProbeTimer(host)
  }

  func handleProbeTimer(_ host: RemoteHost) {
    guard let due = host.probesAgain else { return }
    guard due <= now else { return timers.set(.host(host.id), due) }
    host.probesAgain = nil
    let records = probedRecords(of: host)
    guard !records.isEmpty else { return host.probesUnanswered = 0 }
    if openLink(to: host) != nil {
      // The link has heartbeats, and more often.
      host.probesUnanswered = 0
    } else {
      // A connected host is not lost: the suspension ends first, or the host is back.
      if host.probesUnanswered >= Self.probesUnansweredMax, !host.isVanished, host.bond?.isSuspended != true {
        host.isVanished = true
        if isLost(host) { forgetTypes(of: host) }
        for instance in discovery.instances(of: host.id) { review(instance) }
      }
      // An answer may be to any of several probes, and then says nothing of the round trip.
      let isFirst = host.probesUnanswered == 0
      host.probesUnanswered += 1
      for id in records {
        if let medium = discovery.medium(of: id) { host.probed[medium] = isFirst ? now : nil }
        emit(.probe(id))
      }
    }
    scheduleProbe(host)
  }

  private static let probesUnansweredMax = 5

  /// One record for each medium where the host may answer.
  private func probedRecords(of host: RemoteHost) -> [SightingID] {
    discovery.browsedRecords(of: host.id).filter { profile(of: $0.medium).isProbed }.map(\.id)
  }

  /// Whether its probes are unanswered, and no other medium sees it.
  func isLost(_ host: RemoteHost) -> Bool {
    host.isVanished && discovery.media(of: host.id).allSatisfy { profile(of: $0).isProbed }
  }
}
