/// A kind of things of which somebody may have so many.
enum Allotment: Hashable {
  case peers(ClientID)
  /// Of a peer.
  case advertisers(String)
  case browsers(String)
  case sessions(String)
  /// Of one end of a session.
  case streams(String)
  case resources(String)
  case connections(String)
}

/// Places of things that are being made.
///
/// Law: whoever makes a thing has its place before the first `await`, and gives it back once the thing is there or is not
/// made. So what is there and what is being made are never more than the limit together.
extension Core {
  /// A place for one more, until it is given back.
  func reserve(_ allotment: Allotment) throws(Problem) -> Reservation {
    try checkPlace(allotment)
    if options.sabotage.contains(.reservesNothing) { return Reservation {} }
    reserved[allotment, default: 0] += 1
    return Reservation { [unowned self] in
      let count = reserved[allotment, default: 1]
      reserved[allotment] = count > 1 ? count - 1 : nil
    }
  }

  /// For what is there in the same turn.
  func checkPlace(_ allotment: Allotment) throws(Problem) {
    let (count, countMax, rule) = (count(of: allotment), limit(of: allotment), allotment.rule)
    if count + reserved[allotment, default: 0] < countMax { return }
    throw Problem(.tooMany, allotment.refusal(count, countMax), rule: rule, limit: countMax)
  }

  private func count(of allotment: Allotment) -> Int {
    switch allotment {
    case .peers(let client): peers.values.count { $0.owner == .client(client) }
    case .advertisers(let peer): advertisers.values.count { $0.peer.id == peer }
    case .browsers(let peer): browsers.values.count { $0.peer.id == peer }
    case .sessions(let peer): sessions.values.count { $0.peer.id == peer }
    case .streams(let session): sessions[session]?.streamModels.count ?? 0
    case .resources(let session): sessions[session]?.resourceModels.count ?? 0
    case .connections(let session): sessions[session]?.connectionModels.count ?? 0
    }
  }

  private func limit(of allotment: Allotment) -> Int {
    switch allotment {
    case .peers: options.limits.peersPerClient
    case .advertisers: options.limits.advertisersPerPeer
    case .browsers: options.limits.browsersPerPeer
    case .sessions: options.limits.sessionsPerPeer
    case .streams: options.limits.streamsPerSession
    case .resources: options.limits.resourcesPerSession
    case .connections: Self.connectionsPerSessionMax
    }
  }
}

/// A place of something that is being made.
final class Reservation {
  private var end: (() -> Void)?

  fileprivate init(_ end: @escaping () -> Void) {
    self.end = end
  }

  /// Once: what is there counts from then on.
  func giveBack() { end.take()?() }
}

extension Allotment {
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
