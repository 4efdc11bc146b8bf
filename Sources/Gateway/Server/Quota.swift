/// A kind of thing whose number is limited for each owner.
enum Quota: Hashable {
  case peers(ClientID)
  /// Limits of a peer.
  case advertisers(String)
  case browsers(String)
  case sessions(String)
  /// Limits of one end of a session.
  case streams(String)
  case resources(String)
  case connections(String)
}

/// Reservations of things that are being made.
///
/// Invariant: the maker of a thing reserves its place before the first `await`, and releases it once the thing exists
/// or its making has failed. So existing things and things being made together never exceed the limit.
extension Core {
  /// Reserves a place for one more, until it is released.
  func reserve(_ quota: Quota) throws(Problem) -> Reservation {
    try checkPlace(quota)
    if options.sabotage.contains(.reservesNothing) { return Reservation {} }
    quotaReservations[quota, default: 0] += 1
    return Reservation { [unowned self] in
      let count = quotaReservations[quota, default: 1]
      quotaReservations[quota] = count > 1 ? count - 1 : nil
    }
  }

  /// Checks the limit for things that are made in the same turn.
  func checkPlace(_ quota: Quota, for wanted: Int = 1) throws(Problem) {
    let (count, countMax, rule) = (count(of: quota), limit(of: quota), quota.rule)
    if count + quotaReservations[quota, default: 0] + wanted <= countMax { return }
    throw Problem(.tooMany, quota.refusal(count, countMax), rule: rule, limit: countMax)
  }

  private func count(of quota: Quota) -> Int {
    switch quota {
    case .peers(let client): peers.values.count { $0.owner == .client(client) }
    case .advertisers(let peer): advertisers.values.count { $0.peer.id == peer }
    case .browsers(let peer): browsers.values.count { $0.peer.id == peer }
    case .sessions(let peer): peers[peer]?.sessionCount ?? 0
    case .streams(let session): sessions[session]?.streamModels.count ?? 0
    case .resources(let session): sessions[session]?.resourceModels.count ?? 0
    case .connections(let session): sessions[session]?.connectionModels.count ?? 0
    }
  }

  private func limit(of quota: Quota) -> Int {
    switch quota {
    case .peers: currentLimits.peersPerClient
    case .advertisers: currentLimits.advertisersPerPeer
    case .browsers: currentLimits.browsersPerPeer
    case .sessions: currentLimits.sessionsPerPeer
    case .streams: currentLimits.streamsPerSession
    case .resources: currentLimits.resourcesPerSession
    case .connections: Self.connectionsPerSessionMax
    }
  }
}

/// The reserved place of a thing that is being made.
final class Reservation {
  private var end: (() -> Void)?

  fileprivate init(_ end: @escaping () -> Void) {
    self.end = end
  }

  /// Releases the place, once: an existing thing counts itself.
  func release() { end.take()?() }
}

extension Quota {
  fileprivate var rule: String {
    switch self {
    case .peers: "peers"
    case .advertisers: "advertisers"
    case .browsers: "browsers"
    case .sessions: "sessions"
    case .streams: "streams"
    case .resources: "resources"
    case .connections: "connections"
    }
  }

  fileprivate func refusal(_ count: Int, _ countMax: Int) -> String {
    switch self {
    case .peers: "a client has at most \(countMax) peers: delete one"
    case .advertisers, .browsers: "a peer has at most \(countMax) \(rule) at a time: delete one"
    case .sessions: "a peer is in at most \(countMax) sessions at a time"
    case .streams: "the session has \(count) streams: delete those that have ended"
    case .resources: "the session has \(count) resources: delete those that are done"
    case .connections: "the session has \(count) connections by data: delete those that have ended"
    }
  }
}
