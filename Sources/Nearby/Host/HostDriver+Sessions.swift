internal import Engine
internal import Reactor
internal import Wire

/// Sessions: opening, sending, leaving, and the decisions of their owners about members.
extension HostDriver {
  /// The number of messages that one session sends before others have their turn.
  private static let postsPerTurnMax = 1_024

  func openSession(_ peer: PeerID, _ options: SessionOptions) throws -> SessionState {
    let settings = try options.settings
    if let identity = options.identity { crypto.hold(identity.held) }
    let id = try call { engine, now throws(EngineError) in try engine.openSession(peer, settings, at: now) }
    return openPort(id, of: peer)
  }

  func openPort(_ id: EndpointID, of peer: PeerID) -> SessionState {
    let state = SessionState(id, of: peer, members) { [loop] in loop.post { $0.markCaughtUp(id) } }
    sessions[id] = SessionPort(state)
    return state
  }

  func closeSession(_ id: EndpointID) {
    guard let port = sessions.removeValue(forKey: id) else { return }
    if let patience = port.patience { reactor.cancel(patience) }
    call { $0.closeSession(id, at: $1) }
    port.end()
    if port.isObserved { hostExtension?.observer.closed(id) }
  }

  /// From now on the session's events go to the host's observer; returns those from before, and nil where it has ended.
  func observe(_ id: EndpointID) -> [SessionEvent]? {
    guard let port = sessions[id] else { return nil }
    port.isObserved = true
    markCaughtUp(id)
    return port.state.mailbox.takeAll()
  }

  /// Reads the shared clock, once it is synchronized or has had a second for that.
  func readClock(of id: EndpointID) -> Promise<Result<SessionTime, NearbyError>> {
    let promise = Promise<Result<SessionTime, NearbyError>>()
    readClock(of: id, until: Self.now + .seconds(1), promise)
    return promise
  }

  private func readClock(
    of id: EndpointID, until deadline: Instant, _ promise: Promise<Result<SessionTime, NearbyError>>
  ) {
    do {
      let (reading, moment) = try call { engine, now throws(EngineError) in
        (try engine.readClock(of: id, at: now), now)
      }
      if reading.isSynchronized || moment >= deadline {
        promise.settle(.success(SessionTime(reading, at: clock(moment), moment)))
      } else {
        reactor.schedule(after: .milliseconds(10)) { [unowned self] in readClock(of: id, until: deadline, promise) }
      }
    } catch {
      promise.settle(.failure(NearbyError(error)))
    }
  }

  func leave(_ id: EndpointID) { call { $0.leave(id, at: $1) } }

  func startAdhoc(_ id: EndpointID, _ type: String, _ info: [String: String], _ until: Until) throws {
    let (type, info) = (try ServiceType(type), try DiscoveryInfo(info))
    try call { engine, now throws(EngineError) in try engine.startAdhoc(id, type, info: info, at: now) }
    guard let port = sessions[id] else { return }
    (port.adhocUntil, port.adhocType) = (until, type)
    port.state.adhoc.reset()
    reviewAdhoc(port, type)
    advise(port.state.peer, info.warning)
  }

  func stopAdhoc(_ id: EndpointID) {
    sessions[id]?.adhocType = nil
    call { $0.stopAdhoc(id, at: $1) }
  }

  func remove(_ member: EndpointID, from id: EndpointID, ban: Bool) throws {
    try call { engine, now throws(EngineError) in try engine.remove(member, from: id, ban: ban, at: now) }
  }

  func lock(_ id: EndpointID, _ locked: Bool) { call { $0.lock(id, locked, at: $1) } }

  func block(_ peer: PeerID, from id: EndpointID, _ blocked: Bool) {
    call { $0.block(peer, from: id, blocked, at: $1) }
  }

  func compare(_ local: PeerID, with remote: PeerID, in session: EndpointID) throws -> ComparisonID {
    try call { engine, now throws(EngineError) in
      let id = try engine.compare(local, with: remote, at: now)
      self.ownComparisons[id] = (session, remote)
      return id
    }
  }

  func conclude(_ id: ComparisonID, matches: Bool) throws {
    try call { engine, now throws(EngineError) in try engine.conclude(id, matches: matches, at: now) }
  }

  func decide(_ id: DecisionID, _ admit: Bool) throws {
    try call { engine, now throws(EngineError) in try engine.decide(id, admit, at: now) }
  }

  // MARK: Backpressure

  /// How long a program may stay behind: no longer than its senders wait for a slow host.
  private static let patienceMax: Duration = .seconds(10)

  /// The weight of an event without content in a mailbox.
  static let eventWeight = 256

  /// Reports an event to the programs of these sessions: once to the host's observer, and to the mailboxes of the others.
  func report(_ event: SessionEvent, _ ports: [SessionPort], weight: Int = HostDriver.eventWeight) {
    let readers = EventReaders(ports)
    if !readers.observed.isEmpty { hostExtension?.observer.handle(event, in: readers.observed) }
    for port in readers.mailboxes { put(event, port, weight) }
  }

  /// Reports the new state of members likewise.
  func report(_ members: [Member], _ state: MemberState, _ ports: [SessionPort]) {
    let readers = EventReaders(ports)
    if !readers.observed.isEmpty { hostExtension?.observer.changed(members, state, in: readers.observed) }
    for port in readers.mailboxes {
      for member in members { put(.member(member, state), port, Self.eventWeight) }
    }
  }

  func report(_ event: SessionEvent, _ port: SessionPort) { report(event, [port]) }

  private func put(_ event: SessionEvent, _ port: SessionPort, _ weight: Int) {
    switch port.state.mailbox.put(event, weight: weight) {
    case .low:
      break
    case .high:
      if port.patience == nil { deferredActions.append { [self] in markBehind(port) } }
    case .full:
      if port.hasOverflowed { return }
      port.hasOverflowed = true
      deferredActions.append { [self] in closeSession(port.state.id) }
    }
  }

  private func markBehind(_ port: SessionPort) {
    let id = port.state.id
    // A reader that has caught up meanwhile has called back already, and will not again.
    guard sessions[id] != nil, port.patience == nil, port.state.mailbox.isHigh else { return }
    port.patience = reactor.schedule(after: Self.patienceMax) { [unowned self] in closeSession(id) }
    call { $0.setBehind(id, true, at: $1) }
  }

  func markCaughtUp(_ id: EndpointID) {
    guard let port = sessions[id], let patience = port.patience else { return }
    reactor.cancel(patience)
    port.patience = nil
    call { $0.setBehind(id, false, at: $1) }
  }

  // MARK: Sending

  /// Hands a session's outbox to the engine, as far as that accepts it.
  func flush(_ state: SessionState) {
    guard let port = sessions[state.id] else { return }
    for post in state.takeOutbox() {
      // An unreliable message does not queue.
      if post.mode == .unreliable { send(post, port) } else { port.append(post) }
    }
    sendWaiting(port)
  }

  private func sendWaiting(_ port: SessionPort) {
    guard !port.isFlushing else { return }
    var left = Self.postsPerTurnMax
    while !port.isStuck, let post = port.first {
      guard left > 0 else {
        port.isFlushing = true
        return reactor.soon { [self] in
          port.isFlushing = false
          sendWaiting(port)
        }
      }
      left -= 1
      send(post, port)
    }
    // Offers meanwhile do not wake the loop until the outbox was seen empty.
    reactor.soon { [self] in flushAgain(port) }
  }

  private func flushAgain(_ port: SessionPort) {
    let posts = port.state.takeOutbox()
    if posts.isEmpty { return }
    for post in posts {
      if post.mode == .unreliable { send(post, port) } else { port.append(post) }
    }
    sendWaiting(port)
  }

  private func send(_ post: SessionState.OutboxEntry, _ port: SessionPort) {
    adviseOnSize(post.bytes.count, post.mode, port)
    do throws(EngineError) {
      try call { engine, now throws(EngineError) in
        // A UInt8 has no padding to show.
        let id = try engine.send(
          post.bytes.span.bytes, contentType: post.contentType, from: port.state.id, to: post.recipients, post.mode,
          receipt: post.inquiry != nil, at: now)
        if let inquiry = post.inquiry { inquiries[id] = (inquiry, post.named.count) }
      }
      done(post, port)
    } catch {
      if post.mode == .reliable, error.code == .unavailable {
        port.isStuck = true
        return
      }
      // They were connected when it was offered, and are not any more.
      let gone = members.known(error.endpoints)
      if !gone.isEmpty { report(.undelivered(to: gone, .undelivered), port) }
      if post.mode == .reliable, port.readdressFirst(without: error.endpoints) {
        if let inquiry = post.inquiry { answer(inquiry, error.endpoints, .undelivered, port) }
        return
      }
      if let inquiry = post.inquiry { answer(inquiry, post.named, .undelivered, port) }
      done(post, port)
    }
  }

  /// Sends past the outbox, for callers on the loop.
  func dispatch(
    _ bytes: [UInt8], _ contentType: String?, from id: EndpointID, to recipients: Recipients, _ mode: Mode,
    _ wantsDeliveryStatus: Bool
  ) throws(NearbyError) -> UInt64 {
    let contentType = try ContentType(ofMessage: contentType)
    if let port = sessions[id] { adviseOnSize(bytes.count, mode, port) }
    do {
      let recipients: RecipientIDs =
        switch recipients {
        case .all: .all
        case .only(let members): .only(members.map(\.id))
        }
      return try call { engine, now throws(EngineError) in
        // A UInt8 has no padding to show.
        try engine.send(
          bytes.span.bytes, contentType: contentType, from: id, to: recipients, mode, receipt: wantsDeliveryStatus,
          at: now
        ).rawValue
      }
    } catch {
      throw NearbyError(wrapping: error)
    }
  }

  /// Once for each session.
  private func adviseOnSize(_ count: Int, _ mode: Mode, _ port: SessionPort) {
    guard mode == .unreliable, count > Limits.unreliableBytesAdvised, !port.hasLargeUnreliable else { return }
    port.hasLargeUnreliable = true
    advise(
      port.state.peer,
      "An unreliable message has \(count) bytes; over \(Limits.unreliableBytesAdvised) it may not fit one "
        + "packet, and then takes the way of reliable messages, and their time. Send less at once.")
  }

  // MARK: Delivery status

  func inform(_ id: MessageID, of recipients: [EndpointID], _ status: DeliveryStatus, _ sender: EndpointID) {
    guard let (inquiry, left) = inquiries[id] else { return }
    inquiries[id] = left > recipients.count ? (inquiry, left - recipients.count) : nil
    answer(inquiry, recipients, status, sessions[sender])
  }

  private func answer(_ inquiry: Inquiry, _ recipients: [EndpointID], _ status: DeliveryStatus, _ port: SessionPort?) {
    switch inquiry {
    case .once(let outcome): outcome.settle(status)
    case .each(let receipt):
      if let port { report(.deliveryStatus(of: receipt, for: members.known(recipients), status), port) }
    }
  }

  private func done(_ post: SessionState.OutboxEntry, _ port: SessionPort) {
    if post.mode == .reliable { port.removeFirst() }
    port.state.sent(post.cost)
  }

  func writable(_ id: EndpointID) {
    guard let port = sessions[id] else { return }
    deferredActions.append { [self] in
      port.isStuck = false
      sendWaiting(port)
    }
  }
}
