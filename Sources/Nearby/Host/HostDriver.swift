internal import Engine
internal import Media
internal import Reactor
internal import Store
internal import Wire

/// The driver of one engine, on the host's loop: it calls the engine, carries out its outputs, and reports to the
/// program's own objects.
///
/// Invariant: the engine is called through `call` alone. That is one mutation and all its outputs, before anything
/// else; events only go into mailboxes.
final class HostDriver: EngineDriver {
  static let conditionsMax = 256
  static let adviceMax = 32
  static let pairingsMax = 16
  /// A full mailbox ends a subscription.
  static let eventsMax = 65_536
  /// The window of a resource in progress: enough to keep the loops and the disks of both sides busy where four threads
  /// share two processors, each waiting for its turn.
  private static let resourceWindowBytes = 8 << 20

  let reactor: Reactor
  /// Retained until the end, for callbacks.
  let loop: Loop
  let disk: Disk
  let crypto: OpenSSLCrypto
  let keys: KeyStore
  let web: WebFetch.Options
  private let conditions: Mailbox<Condition>
  private let advice: Mailbox<Advice>
  private let pairingQuestions: Mailbox<BluetoothPairing>
  /// The open ones, by their numbers.
  private var pairings: [UInt64: BluetoothPairing] = [:]
  private let engine: Engine
  /// Nil for a host without a store.
  let store: HostStore?
  /// The extension of a program of this package.
  let hostExtension: HostExtension?
  var writes = WriteQueue()
  /// Sessions of an earlier run that their program has not taken up yet.
  var restored: [PeerID: [SessionState]] = [:]
  /// Files of an earlier run's transfers; nil once all of them are taken up.
  var restoredFiles: [ResourceID: HostStore.KeptFile]?
  private(set) var network: HostNetwork?
  private var alarm: (deadline: Instant, timer: Timer)?
  private(set) var isDraining = false

  var sessions: [EndpointID: SessionPort] = [:]
  let members = MemberTable()
  var interests: [Interest: InterestState] = [:]
  /// Browsers of service types, and the types in use, as long as there is a browser.
  var typeBrowsers: [UInt64: Mailbox<[String]>] = [:]
  var typesInUse: [String] = []
  var lastTypeBrowser: UInt64 = 0
  var advertised: [Interest: Advertisement] = [:]
  var invitations: [InvitationID: Promise<Reason>] = [:]
  /// Callers that wait for an invitation, or for its peer to be connected then.
  var joinings: [InvitationID: Joining] = [:]
  /// Callers that wait for the delivery status of a message.
  var inquiries: [MessageID: (inquiry: Inquiry, left: Int)] = [:]
  var readers: [StreamID: StreamState] = [:]
  var writers: [StreamID: StreamWriterState] = [:]
  var transfers: [ResourceID: HostTransfer] = [:]
  var decisions: [DecisionID: TrustDecision] = [:]
  var comparisons: [ComparisonID: Comparison] = [:]
  /// Comparisons that were begun here and have not ended: the session, and with whom.
  var ownComparisons: [ComparisonID: (session: EndpointID, peer: PeerID)] = [:]
  /// Work for after the outputs are drained.
  var deferredActions: [() -> Void] = []
  private(set) var isStopping = false
  private var isClosingNetwork = false
  private var stopWaiters: [CheckedContinuation<Void, Never>] = []

  init(
    _ keys: KeyStore, _ store: HostStore?, _ hostExtension: HostExtension?, _ conditions: Mailbox<Condition>,
    _ advice: Mailbox<Advice>, _ pairings: Mailbox<BluetoothPairing>, _ options: HostOptions, on loop: Loop
  ) throws {
    self.loop = loop
    self.keys = keys
    self.store = store
    self.hostExtension = hostExtension
    restoredFiles = store?.files
    self.conditions = conditions
    self.advice = advice
    pairingQuestions = pairings
    reactor = loop.reactor
    disk = try Disk()
    web = options.fetching
    crypto = OpenSSLCrypto(keys: [keys.hostKey])
    var settings = Settings()
    if let time = options.backlogAgeMax { settings.backlogAgeMax = time }
    let network = try options.network
    settings.media = network.media.map(\.profile)
    settings.relay = options.relayRules
    settings.looksForRelays = options.media.contains(.relay)
    settings.isDurable = store != nil
    settings.resourceWindowBytes = Self.resourceWindowBytes
    engine = Engine(
      host: keys.hostKey.publicKey, incarnation: keys.incarnation, settings: settings, crypto: crypto,
      seed: try Digest(bytes: OpenSSLCrypto.randomBytes(Digest.byteCount)), restoring: store?.facts ?? [], at: Self.now)
    try addRestoredPeers()
    do throws(SystemError) {
      self.network = try HostNetwork(key: keys.hostKey, network, on: reactor, driver: self)
    } catch {
      throw NearbyError(error, listeningAt: network.places, port: network.port)
    }
    // After the network's own first events.
    reactor.soon { [weak self] in self?.restore() }
  }

  var hostID: HostID { engine.hostID }
  var addresses: [String] { network?.addresses.map(\.description) ?? [] }
  var openLinks: [LinkState] { engine.openLinks }
  func usedLink(to host: HostID) -> LinkState? { engine.usedLink(to: host) }
  func mediumName(of host: HostID) -> String? { engine.mediumName(of: host) }
  var relayed: (circuits: Int, bytes: UInt64) { engine.relayed }
  func reach(of peer: PeerID, as type: ServiceType) -> ReachState? { engine.reach(of: peer, as: type) }
  /// The same moment by the engine's clock and by that of programs.
  let begun = (inside: HostDriver.now, outside: ContinuousClock.now)
  static var now: Instant { Instant(nanoseconds: Int64(Reactor.now)) }

  // MARK: The engine

  /// One mutation of the engine, and all its outputs; a caller that waits for one registers within the mutation.
  func call<Result, Failure: Error>(
    _ mutate: (Engine, Instant) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    precondition(!isDraining, "the engine is called from within what it tells")
    defer { drain() }
    return try mutate(engine, Self.now)
  }

  /// Taking back memory does not change the engine's state.
  func takeSpare(of resource: ResourceID) -> [UInt8] { engine.takeSpare(of: resource) }

  /// Whether the session is full; may be called while outputs are handled.
  func isFull(_ session: EndpointID) -> Bool { engine.isFull(session) }

  private func drain() {
    isDraining = true
    while let output = engine.nextOutput() {
      if case .persist(let batch, let facts) = output {
        persist(batch, facts)
      } else if network?.perform(output) != true {
        handle(output)
      }
    }
    isDraining = false
    setAlarm()
    flushWrites()
    if deferredActions.isEmpty { return }
    let due = deferredActions
    deferredActions = []
    for action in due { action() }
  }

  private func setAlarm() {
    let deadline = engine.nextDeadline
    if deadline == alarm?.deadline { return }
    if let alarm { reactor.cancel(alarm.timer) }
    alarm = deadline.map { deadline in
      let timer = reactor.schedule(at: UInt64(max(0, deadline.nanoseconds))) { [unowned self] in
        alarm = nil
        call { $0.advance(to: $1) }
      }
      return (deadline, timer)
    }
  }

  func changed(_ condition: HostNetwork.Condition) {
    conditions.put(Condition(condition))
  }

  func changed(_ pairing: BluetoothPairingEvent) {
    switch pairing {
    case .asked(let question):
      let pairing = BluetoothPairing(question) { [weak loop] isAccepted in
        guard let loop else { throw NearbyError.closed }
        try await loop.run { driver in
          guard driver.network?.answerPairing(question.id, isAccepted: isAccepted) == true else {
            throw NearbyError(.cancelled, "the device does not wait for an answer any more")
          }
        }
      }
      pairings[question.id] = pairing
      // The time for an answer runs out where nobody reads.
      pairingQuestions.put(pairing)
    case .ended(let number, let end):
      pairings.removeValue(forKey: number)?.outcome.settle(BluetoothPairing.End(end))
    }
  }

  func report(_ condition: Condition) {
    conditions.put(condition)
  }

  /// Nil for nothing to say.
  func advise(_ peer: PeerID, _ sentence: String?) {
    if let sentence { advice.put(Advice(peer: peer, description: sentence)) }
  }

  // MARK: Peers

  func addPeer(_ key: SigningKey, named name: DisplayName) -> PeerID {
    crypto.hold(key)
    let peer = call { $0.addPeer(key.publicKey, name: name, at: $1) }
    advise(peer, name.warning)
    return peer
  }

  func removePeer(_ id: PeerID) {
    for (session, port) in sessions where port.state.peer == id { closeSession(session) }
    for interest in advertised.keys where interest.peer == id { stopAdvertising(interest) }
    for (interest, state) in interests where interest.peer == id {
      interests[interest] = nil
      state.end()
    }
    call { $0.removePeer(id, at: $1) }
  }

  /// Restores its sessions too; the engine takes them up with the next other call.
  func addRestoredPeer(_ key: SigningKey, named name: DisplayName) -> [SessionState] {
    crypto.hold(key)
    let peer = engine.addPeer(key.publicKey, name: name, at: Self.now)
    return engine.sessions(of: peer).map { openPort($0, of: peer) }
  }

  // MARK: The end

  /// Leaves every session, so that the others are notified at once, and then closes the network.
  func stop() {
    for session in sessions.keys { call { $0.closeSession(session, at: $1) } }
    suspend()
  }

  /// Stops without leaving the sessions.
  func suspend() {
    if isStopping { return }
    isStopping = true
    endDelay()
    // Unstored changes are not sent.
    if writes.current == nil { closeNetwork() }
  }

  func closeNetwork() {
    if isClosingNetwork { return }
    isClosingNetwork = true
    // A released host does not wait for this.
    network?.stop { [weak self] in self?.ended() }
  }

  /// Whether there is still a network to carry out outputs.
  var isUp: Bool { network != nil }

  func wait(for continuation: CheckedContinuation<Void, Never>) {
    if network == nil { return continuation.resume() }
    stopWaiters.append(continuation)
  }

  private func ended() {
    network = nil
    if let alarm { reactor.cancel(alarm.timer) }
    alarm = nil
    for session in sessions.values { session.patience.map(reactor.cancel) }
    release()
    for action in writes.giveUp() { action(false) }
    conditions.finish()
    advice.finish()
    pairingQuestions.finish()
    let waiters = stopWaiters
    stopWaiters = []
    reactor.spawn { [store] in
      await store?.writer.close()
      for waiter in waiters { waiter.resume() }
    }
    loop.release()
  }

  private func release() {
    for (id, port) in sessions {
      port.state.end()
      if port.isObserved { hostExtension?.observer.closed(id) }
    }
    for interest in interests.values { interest.end() }
    for browser in typeBrowsers.values { browser.finish() }
    for one in advertised.values { one.end() }
    for invitation in invitations.values { invitation.settle(.stopping) }
    for joining in joinings.values { joining.meeting.settle(.stopping) }
    for entry in inquiries.values { if case .once(let outcome) = entry.inquiry { outcome.settle(.unknown) } }
    for reader in readers.values { reader.end(.stopping) }
    for writer in writers.values { writer.end(.stopping) }
    for transfer in transfers.values { transfer.state.end(.stopping) }
    for decision in decisions.values { decision.outcome.settle(()) }
    for comparison in comparisons.values { comparison.outcome.settle(.stopping) }
    for pairing in pairings.values { pairing.outcome.settle(.cancelled) }
  }
}

/// A peer that is to be connected; the promise is settled once it is, or cannot be.
struct Joining {
  var session: EndpointID
  var peer: PeerID
  var meeting = Promise<Reason>()
}

/// A local peer's interest in peers of a type.
struct Interest: Hashable {
  var peer: PeerID
  var type: ServiceType
}
