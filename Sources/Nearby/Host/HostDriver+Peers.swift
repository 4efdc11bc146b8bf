internal import Engine
internal import Media
internal import Wire

/// Advertising, browsing, inviting.
extension HostDriver {
  // MARK: Advertising

  func advertise(
    _ peer: PeerID, _ type: String, _ info: [String: String], _ until: Until, _ invitations: Mailbox<Invitation>,
    _ monitor: DiscoveryMonitor
  ) throws -> Interest {
    let interest = Interest(peer: peer, type: try ServiceType(type))
    let info = try DiscoveryInfo(info)
    guard advertised[interest] == nil else {
      throw NearbyError(.invalidParameter, "the peer is advertised as \(type) already: update or stop that one")
    }
    try call { engine, now throws(EngineError) in try engine.startAdvertising(peer, interest.type, info: info, at: now)
    }
    advertised[interest] = Advertisement(invitations: invitations, until: until, monitor: monitor)
    monitor.set(network?.standing(ofAdvertised: peer, interest.type))
    advise(peer, info.warning)
    return interest
  }

  func update(_ interest: Interest, _ info: [String: String]) throws {
    let info = try DiscoveryInfo(info)
    guard advertised[interest] != nil else {
      throw NearbyError(.invalidParameter, "this advertiser was stopped: start another one")
    }
    try call { engine, now throws(EngineError) in
      try engine.startAdvertising(interest.peer, interest.type, info: info, at: now)
    }
    advise(interest.peer, info.warning)
  }

  func stopAdvertising(_ interest: Interest) {
    guard let one = advertised.removeValue(forKey: interest) else { return }
    one.end()
    call { $0.stopAdvertising(interest.peer, interest.type, at: $1) }
  }

  // MARK: Browsing

  func browse(
    _ peer: PeerID, _ type: String, _ until: Until, _ events: Mailbox<BrowserEvent>, _ monitor: DiscoveryMonitor
  ) throws -> (Interest, UInt64) {
    let interest = Interest(peer: peer, type: try ServiceType(type))
    let state = interests[interest] ?? InterestState()
    interests[interest] = state
    let number = state.add(InterestState.Reader(events: events, until: until, monitor: monitor))
    try call { engine, now throws(EngineError) in try engine.startBrowsing(peer, interest.type, at: now) }
    monitor.set(network?.standing(ofSearchFor: interest.type))
    return (interest, number)
  }

  func found(_ interest: Interest) -> [FoundPeer] {
    interests[interest].map { Array($0.found.values) } ?? []
  }

  func stopBrowsing(_ interest: Interest, _ number: UInt64) {
    guard let state = interests[interest], state.remove(number) else { return }
    guard state.isEmpty else { return }
    interests[interest] = nil
    call { $0.stopBrowsing(interest.peer, interest.type, at: $1) }
  }

  /// Returns the number for `stopBrowsingTypes`.
  func browseTypes(_ types: Mailbox<[String]>) -> UInt64 {
    lastTypeBrowser += 1
    typeBrowsers[lastTypeBrowser] = types
    if !typesInUse.isEmpty { types.put(latest: typesInUse) }
    call { $0.startBrowsingTypes(at: $1) }
    return lastTypeBrowser
  }

  func stopBrowsingTypes(_ number: UInt64) {
    guard let browser = typeBrowsers.removeValue(forKey: number) else { return }
    browser.finish()
    if typeBrowsers.isEmpty { typesInUse = [] }
    call { $0.stopBrowsingTypes(at: $1) }
  }

  // MARK: Discovery state

  func standingChanged(of type: ServiceType?) {
    guard let network else { return }
    for (interest, one) in advertised where type == nil || interest.type == type {
      one.monitor.set(network.standing(ofAdvertised: interest.peer, interest.type))
    }
    for (interest, state) in interests where type == nil || interest.type == type {
      state.set(network.standing(ofSearchFor: interest.type))
    }
    for port in sessions.values {
      if let adhoc = port.adhocType, type == nil || adhoc == type { reviewAdhoc(port, adhoc) }
    }
  }

  /// The state of ad hoc mode is the worse of its halves.
  func reviewAdhoc(_ port: SessionPort, _ type: ServiceType) {
    guard let network else { return }
    let halves = [
      network.standing(ofAdvertised: port.state.peer, type), network.standing(ofSearchFor: type),
    ]
    let failed = halves.first { if case .failed? = $0 { true } else { false } }
    let isNews = port.state.adhoc.set(failed ?? (halves.contains(nil) ? nil : .active))
    if isNews, port.isObserved { hostExtension?.observer.adhocChanged(port.state.adhoc.state, in: port.state.id) }
  }

  // MARK: Being away

  func setAway(_ peer: PeerID, since moment: ContinuousClock.Instant?) throws {
    let since = moment.map { begun.inside + ($0 - begun.outside) }
    try call { engine, now throws(EngineError) in try engine.setAway(peer, since: since, at: now) }
  }

  // MARK: Until

  /// A member is connected: ends advertising, browsing and ad hoc mode that were to last until then.
  func endAutomatically(connectedIn ports: [SessionPort]) {
    let advertised = advertised.filter { $0.value.until != .stopped }
    let interests = interests.filter { !$0.value.numbers(where: { $0 != .stopped }).isEmpty }
    for port in ports where !advertised.isEmpty || !interests.isEmpty || port.adhocUntil != .stopped {
      let (session, peer) = (port.state.id, port.state.peer)
      let isFull = isFull(session)
      for (interest, one) in advertised where interest.peer == peer && one.until.ends(isFull: isFull) {
        deferredActions.append { [self] in stopAdvertising(interest) }
      }
      for (interest, state) in interests where interest.peer == peer {
        for number in state.numbers(where: { $0.ends(isFull: isFull) }) {
          deferredActions.append { [self] in stopBrowsing(interest, number) }
        }
      }
      guard port.adhocUntil.ends(isFull: isFull) else { continue }
      port.adhocUntil = .stopped
      deferredActions.append { [self] in stopAdhoc(session) }
      report(.adhocEnded, port)
    }
  }

  // MARK: Inviting

  func invite(
    _ peer: PeerID, to session: EndpointID, as type: String, context: [UInt8], timeout: Duration
  ) throws -> (InvitationID, Promise<Reason>) {
    let type = try ServiceType(type)
    return try call { engine, now throws(EngineError) in
      let id = try engine.invite(peer, as: type, to: session, context: context, timeout: timeout, at: now)
      return (id, join(peer, in: session, by: id))
    }
  }

  private func join(_ peer: PeerID, in session: EndpointID, by id: InvitationID) -> Promise<Reason> {
    let joining = Joining(session: session, peer: peer)
    joinings[id] = joining
    return joining.meeting
  }

  func connectionData(of session: EndpointID) throws -> [UInt8] {
    try call { engine, now throws(EngineError) in try engine.connectionData(of: session, at: now) }
  }

  func connect(
    _ session: EndpointID, to peer: PeerID, with data: [UInt8], timeout: Duration
  ) throws -> (InvitationID, Promise<Reason>) {
    try call { engine, now throws(EngineError) in
      let id = try engine.connect(session, to: peer, with: data, timeout: timeout, at: now)
      return (id, join(peer, in: session, by: id))
    }
  }

  func cancel(_ id: InvitationID) {
    call { $0.cancel(id, at: $1) }
  }

  func accept(_ id: InvitationID, from peer: PeerID, with session: EndpointID) throws -> Promise<Reason> {
    try call { engine, now throws(EngineError) in
      try engine.accept(id, with: session, at: now)
      return join(peer, in: session, by: id)
    }
  }

  func decline(_ id: InvitationID) throws {
    try call { engine, now throws(EngineError) in try engine.decline(id, at: now) }
  }
}

/// An advertised type of a peer, and the mailbox of its invitations.
struct Advertisement {
  let invitations: Mailbox<Invitation>
  let until: Until
  let monitor: DiscoveryMonitor

  func end() {
    invitations.finish()
    monitor.finish()
  }
}

/// The peers found for one interest, and the browsers that share it.
final class InterestState {
  private(set) var found: [PeerID: FoundPeer] = [:]
  private var browsers: [UInt64: Reader] = [:]
  private var last: UInt64 = 0

  struct Reader {
    let events: Mailbox<BrowserEvent>
    let until: Until
    let monitor: DiscoveryMonitor

    func end() {
      events.finish()
      monitor.finish()
    }
  }

  var isEmpty: Bool { browsers.isEmpty }

  func add(_ browser: Reader) -> UInt64 {
    last += 1
    browsers[last] = browser
    for peer in found.values { browser.events.put(.found(peer)) }
    return last
  }

  func set(_ standing: DiscoveryStanding?) {
    for browser in browsers.values { browser.monitor.set(standing) }
  }

  func numbers(where test: (Until) -> Bool) -> [UInt64] {
    browsers.filter { test($0.value.until) }.map(\.key)
  }

  func remove(_ number: UInt64) -> Bool {
    guard let browser = browsers.removeValue(forKey: number) else { return false }
    browser.end()
    return true
  }

  func report(_ event: BrowserEvent) {
    switch event {
    case .found(let peer), .updated(let peer): found[peer.id] = peer
    case .lost(let peer): found[peer.id] = nil
    }
    // A full mailbox ends its browser, which shows the reader that it has missed something.
    for browser in browsers.values where browser.events.put(event) == .full { browser.end() }
  }

  func end() {
    for browser in browsers.values { browser.end() }
  }
}
