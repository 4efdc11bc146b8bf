internal import Engine
internal import Media
internal import Reactor
internal import Store
internal import Wire

/// A host on its loop: the engine, what carries out its wishes, and the program's own objects that it tells.
///
/// Law: the engine is called through `call` alone. That is one mutation, and all that comes of it, before anything else;
/// what is told only goes into mailboxes.
final class HostDriver: EngineDriver {
  static let conditionsMax = 256
  static let adviceMax = 32
  /// A program that does not read what it asked for is told no more.
  static let eventsMax = 65_536
  /// Of a resource under way: so much keeps the loops and the disks of both sides busy where four threads share two
  /// processors, each waiting for its turn.
  private static let resourceWindowBytes = 8 << 20

  let reactor: Reactor
  /// Until the end: whoever tells of something here finds it.
  let loop: Loop
  let disk: Disk
  let crypto: OpenSSLCrypto
  let keys: KeyStore
  /// How addresses of the web are fetched.
  let web: WebFetch.Options
  private let conditions: Mailbox<Condition>
  private let advice: Mailbox<Advice>
  private let engine: Engine
  /// Nil for a host that begins anew each time.
  let store: HostStore?
  /// What it carries for a program of this package.
  let hostExtension: HostExtension?
  var writes = WriteQueue()
  /// Sessions of an earlier run that their program has not taken up yet.
  var restored: [PeerID: [SessionState]] = [:]
  /// Of an earlier run's transfers; nil once all of that is taken up.
  var restoredFiles: [ResourceID: HostStore.KeptFile]?
  private var lan: LAN?
  private var alarm: (deadline: Instant, timer: Timer)?
  private(set) var isDraining = false

  var sessions: [EndpointID: SessionPort] = [:]
  var interests: [Interest: InterestState] = [:]
  /// Who looks for service types, and those that are in use, as long as anybody does.
  var typeBrowsers: [UInt64: Mailbox<[String]>] = [:]
  var typesInUse: [String] = []
  var lastTypeBrowser: UInt64 = 0
  var advertised: [Interest: Advertisement] = [:]
  var invitations: [InvitationID: Promise<Reason>] = [:]
  /// Who waits for an invitation, or for its peer to be connected then.
  var joinings: [InvitationID: Joining] = [:]
  /// Who wants to know what becomes of a message.
  var inquiries: [MessageID: (inquiry: Inquiry, left: Int)] = [:]
  var readers: [StreamID: StreamState] = [:]
  var writers: [StreamID: StreamWriterState] = [:]
  var transfers: [ResourceID: HostTransfer] = [:]
  var decisions: [DecisionID: TrustDecision] = [:]
  var comparisons: [ComparisonID: Comparison] = [:]
  /// What the disk is to do once the outputs are drained.
  var deferredActions: [() -> Void] = []
  private(set) var isStopping = false
  private var isLettingGo = false
  private var stopWaiters: [CheckedContinuation<Void, Never>] = []

  init(
    _ keys: KeyStore, _ store: HostStore?, _ hostExtension: HostExtension?, _ conditions: Mailbox<Condition>,
    _ advice: Mailbox<Advice>, _ options: HostOptions, on loop: Loop
  ) throws {
    self.loop = loop
    self.keys = keys
    self.store = store
    self.hostExtension = hostExtension
    restoredFiles = store?.files
    self.conditions = conditions
    self.advice = advice
    reactor = loop.reactor
    disk = try Disk()
    web = options.fetching
    crypto = OpenSSLCrypto(keys: [keys.hostKey])
    var settings = Settings()
    settings.isDurable = store != nil
    settings.resourceWindowBytes = Self.resourceWindowBytes
    engine = Engine(
      host: keys.hostKey.publicKey, incarnation: keys.incarnation, settings: settings, crypto: crypto,
      seed: try Digest(bytes: OpenSSLCrypto.randomBytes(Digest.byteCount)), restoring: store?.facts ?? [], at: Self.now)
    try addRestoredPeers()
    let network = try options.lan
    do throws(SystemError) {
      lan = try LAN(key: keys.hostKey, network, on: reactor, driver: self)
    } catch {
      throw NearbyError(error, listeningAt: network.places, port: network.port)
    }
    // After the network's own first word.
    reactor.soon { [weak self] in self?.takeUp() }
  }

  var hostID: HostID { engine.hostID }
  var network: LAN? { lan }
  var addresses: [String] { lan?.addresses.map(\.description) ?? [] }
  /// One moment by the engine's clock and by that of programs.
  let begun = (inside: HostDriver.now, outside: ContinuousClock.now)
  static var now: Instant { Instant(nanoseconds: Int64(Reactor.now)) }

  // MARK: The engine

  /// One mutation of the engine, and all that comes of it; who is to hear of that is noted within the mutation.
  func call<Result, Failure: Error>(
    _ mutate: (Engine, Instant) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    precondition(!isDraining, "the engine is called from within what it tells")
    defer { drain() }
    return try mutate(engine, Self.now)
  }

  /// What the engine has no more use for changes nothing of it.
  func takeSpare(of resource: ResourceID) -> [UInt8] { engine.takeSpare(of: resource) }

  /// Whether the session takes nobody else; may be asked from within what the engine tells.
  func isFull(_ session: EndpointID) -> Bool { engine.isFull(session) }

  private func drain() {
    isDraining = true
    while let output = engine.nextOutput() {
      if case .persist(let batch, let facts) = output {
        persist(batch, facts)
      } else if lan?.carryOut(output) != true {
        handle(output)
      }
    }
    isDraining = false
    setAlarm()
    advanceStore()
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

  /// What the network tells that is for the program's eyes.
  func changed(_ condition: LAN.Condition) {
    conditions.put(Condition(condition))
  }

  func tell(_ condition: Condition) {
    conditions.put(condition)
  }

  /// Nil is nothing to say.
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

  /// With the sessions that it had; the engine takes them up once it is called for anything else.
  func addRestoredPeer(_ key: SigningKey, named name: DisplayName) -> [SessionState] {
    crypto.hold(key)
    let peer = engine.addPeer(key.publicKey, name: name, at: Self.now)
    return engine.sessions(of: peer).map { openPort($0, of: peer) }
  }

  // MARK: The end

  /// Leaves every session, so that the others hear of it at once, and then lets go of the network.
  func stop() {
    for session in sessions.keys { call { $0.closeSession(session, at: $1) } }
    suspend()
  }

  /// The same without a word.
  func suspend() {
    if isStopping { return }
    isStopping = true
    endDelay()
    // What is not stored is not said.
    if writes.current == nil { letGoOfNetwork() }
  }

  func letGoOfNetwork() {
    if isLettingGo { return }
    isLettingGo = true
    // Whoever let go of the host does not wait for this.
    lan?.stop { [weak self] in self?.ended() }
  }

  /// Until then there is a network to carry out what the engine wants.
  var isUp: Bool { lan != nil }

  func wait(for continuation: CheckedContinuation<Void, Never>) {
    if lan == nil { return continuation.resume() }
    stopWaiters.append(continuation)
  }

  private func ended() {
    lan = nil
    if let alarm { reactor.cancel(alarm.timer) }
    alarm = nil
    for session in sessions.values { session.patience.map(reactor.cancel) }
    letGo()
    for action in writes.giveUp() { action(false) }
    conditions.finish()
    advice.finish()
    let waiters = stopWaiters
    stopWaiters = []
    reactor.spawn { [store] in
      await store?.writer.close()
      for waiter in waiters { waiter.resume() }
    }
    loop.letGo()
  }

  /// Everybody who waits for something hears that it will not come.
  private func letGo() {
    for session in sessions.values { session.state.end() }
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
  }
}

/// A peer is to come into a session; settled once it is connected, or may not.
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
