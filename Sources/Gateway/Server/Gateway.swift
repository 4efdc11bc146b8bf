internal import Media
public import Nearby
internal import Reactor
internal import Store
internal import Web

/// A gateway: a nearby host whose peers, sessions and data are REST resources and WebSocket channels, on the port of
/// the host's links.
///
/// ```swift
/// let gateway = try await Gateway.start(GatewayOptions(folder: "/var/lib/vicinity"))
/// print(try await gateway.makePairingCode(), await gateway.host.addresses)
/// ```
public actor Gateway {
  public static let version = "0.2.0"
  /// The scopes that a token may have.
  public static let scopes = Scope.allCases.map(\.rawValue)
  /// The name of its database, in its folder.
  static let storeName = "gateway.db"

  public nonisolated let host: Host
  private nonisolated let reactor: Reactor
  private nonisolated let store: Writer
  private nonisolated let coreHolder: CoreHolder
  private var scrubber: Scrubber?
  nonisolated let scrubMeter = ScrubMeter()
  private var core: Core? {
    get { coreHolder.core }
    set { coreHolder.core = newValue }
  }

  /// Conditions of its host, for one reader.
  public nonisolated let conditions: AsyncStream<Condition>
  private nonisolated let conditionContinuation: AsyncStream<Condition>.Continuation

  /// Records for operators, clients and developers, for one reader.
  public nonisolated let log: AsyncStream<LogRecord>
  private nonisolated let logContinuation: AsyncStream<LogRecord>.Continuation

  private init(_ host: Host, _ store: Writer) {
    (log, logContinuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Log.waitingMax))
    // A reader that is behind gets the latest ones.
    (conditions, conditionContinuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(64))
    self.host = host
    self.store = store
    reactor = host.reactor
    coreHolder = CoreHolder(host)
  }

  deinit { scrubber?.stopSoon() }

  public nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  public static func start(_ options: GatewayOptions) async throws -> Gateway {
    try checkStore(of: options.folder)
    for folder in SessionStore.folders { try Folder.make("\(options.folder)/\(folder)") }
    // Keys and certificate are checked before the store is migrated: where they fail, an earlier release still works.
    var hosted = options.host
    hosted.awaitsAcceptor = true
    let keys = try Host.prepare(hosted)
    try CertificateSource.check(options)
    let store = try Writer("\(options.folder)/\(storeName)", schema: .gateway)
    let sessionStore = try await SessionStore.open(
      store, in: options.folder, isDurable: options.host.keys != .ephemeral)
    let hostExtension =
      sessionStore.isDurable
      ? HostExtension(store, peers: try await restoredPeers(store), sessionStore)
      : HostExtension(nil, peers: [], sessionStore)
    let host = try await Host.start(hosted, prepared: keys, carrying: hostExtension)
    let gateway = Gateway(host, store)
    try await gateway.open(options, sessionStore)
    return gateway
  }

  /// The keys of stored peers. Those of an earlier release are stored with their public keys from now on.
  private static func restoredPeers(_ store: Writer) async throws -> [(key: SigningKey, name: String)] {
    let stored = try await store.perform { try $0.peers() }
    let peers = stored.compactMap { peer in peer.key.map { (peer: peer, key: $0) } }
    let unknown = peers.filter { $0.peer.publicKey != $0.key.publicKey.bytes }.map {
      ($0.peer.id, $0.key.publicKey.bytes)
    }
    if !unknown.isEmpty { try await store.perform { for (id, key) in unknown { try $0.learn(key, of: id) } } }
    return peers.map { ($0.key, $0.peer.name) }
  }

  /// Refuses a missing store beside files: a new store would know none of them, and they would all be removed.
  private static func checkStore(of folder: String) throws(Problem) {
    let store = "\(folder)/\(storeName)"
    guard Folder.isEmptyFile(store) else { return }
    for part in SessionStore.folders where Folder.holdsFiles("\(folder)/\(part)") {
      throw Problem(
        .unavailable,
        "\(store), the database of the files in \(folder)/\(part), is missing: restore it from a backup, or move \(folder) "
          + "away to start empty; nothing was changed")
    }
  }

  private func open(_ options: GatewayOptions, _ sessionStore: SessionStore) async throws {
    let core = try Core(host, sessionStore, options, Log(options.logLevel, on: reactor, to: logContinuation), self)
    self.core = core
    try await core.open()
    guard let network = host.network else { throw Problem(.unavailable, "the host was stopped") }
    // The network retains the front, and the front the core: so the front does not retain the network.
    let service = Service(core)
    core.service = service
    let front = Front(on: reactor, handler: service, limits: core.webLimits, identity: core.certificate?.identity) {
      [unowned network] in
      network.takeLink($0)
    }
    core.front = front
    network.acceptor = front
    try core.openControlSocket()
    core.log(
      .info, for: .operator, "started", "the gateway is up",
      [
        .init("version", .text(Self.version)), .init("host", .text(host.id.text)),
        .init("addresses", .text(core.addresses.joined(separator: " "))),
      ])
    if let reason = core.unreadiness { core.log(.warning, for: .operator, "unready", reason) }
    core.heapTrimmer.start()
    if options.scrubTime > .zero {
      scrubber = try Scrubber(options, self)
      scrubber?.start()
    }
  }

  /// The gateway's URLs, with HTTPS first, and the fingerprint of its certificate.
  public var web: GatewayAddresses {
    core.map { core in
      GatewayAddresses(
        urls: core.urls, local: core.localURL, fingerprint: core.fingerprint,
        hasOwnAuthority: core.certificate?.authority != nil)
    } ?? GatewayAddresses(urls: [], local: nil, fingerprint: "", hasOwnAuthority: false)
  }

  /// A code by which a client becomes an operator, or gets the given role; it is for one use and ends soon.
  public func makePairingCode(role: String = "operator") throws -> String { try makePairingTicket(role: role).code }

  /// The same, with its lifetime and the page that takes it.
  public func makePairingTicket(role: String = "operator") throws -> PairingTicket {
    guard let core else { throw Problem(.unavailable, "the gateway has stopped") }
    return try core.makeTicket(role)
  }

  /// Returns once the loop has run it: a gateway that hangs does not answer.
  public func waitForLoop() {}

  /// Graceful shutdown: takes nothing new, and lets requests, streams and resources that are under way end within the
  /// time; after that, stop the gateway. Clients are disconnected with a request to come back.
  public func drain(within time: Duration) async { await core?.drain(within: time) }

  /// The amount of work that is under way.
  public var workUnderWay: Int { core?.workUnderWay ?? 0 }

  /// Stops the gateway. A durable gateway does not leave its sessions: they resume when it is started again.
  public func stop() async {
    await scrubber?.stop()
    core?.controlSocket = nil
    core?.isStopping = true
    core?.sockets.closeAll(.restart, "the gateway stops: reconnect")
    await core?.radios?.stopOwn()
    if core?.sessionStore.isDurable == true { await host.suspend() } else { await host.stop() }
    await store.close()
    core?.log.close()
    core = nil
    conditionContinuation.finish()
  }

  /// The store of sessions, for tests.
  var sessionStore: SessionStore? { core?.sessionStore }
  /// The number of kinds of resources that are being made.
  var quotaReservationCount: Int { core?.quotaReservations.count ?? 0 }
  var diskReserved: UInt64 { core?.disk.free.reserved ?? 0 }

  nonisolated func report(_ condition: Condition) { conditionContinuation.yield(condition) }

  nonisolated func start(_ body: @escaping @Sendable (Core) async -> Void) {
    reactor.spawn { await self.run(body) }
  }

  /// Runs a closure on the core; nil once the gateway has stopped.
  func answer<Value: Sendable>(_ body: @Sendable (Core) -> Value) -> Value? { core.map(body) }

  func run(_ body: @Sendable (Core) async -> Void) async {
    if let core { await body(core) }
  }
}

/// Holds a gateway's core, and releases it on its loop, where nothing uses it any more.
private final class CoreHolder: @unchecked Sendable {
  // `@unchecked`: the core is used on the loop alone.

  var core: Core?
  private let host: Host

  init(_ host: Host) {
    self.host = host
  }

  deinit {
    // Unsafe for the compiler only: nothing else has it any more.
    nonisolated(unsafe) let core = core
    host.reactor.spawn { [host] in
      if let network = host.network {
        network.acceptor?.close()
        network.acceptor = nil
      }
      withExtendedLifetime(core) {}
    }
  }
}
