internal import Glibc
internal import Media
internal import Nearby
internal import Notation
internal import Reactor
internal import Store
internal import Web

/// A gateway on its host's loop: its resources, the clients that see them, and their changes.
///
/// Invariant: everything here belongs to the loop's thread. Work that waits runs in a task of `start`, which looks up
/// its object again by id: the object may have gone meanwhile.
final class Core {
  let host: Host
  let reactor: Reactor
  let options: GatewayOptions
  /// The settings that were changed while it ran.
  var settings = GatewaySettings()
  /// The limits of the options with those that were changed.
  var currentLimits: GatewayLimits
  let clients: Clients
  let access: Access
  let router: Router
  let site: Site
  let sessionStore: SessionStore
  let contract: Contract?
  let started: Timestamp
  let meters: Meters
  let log: Log
  var addresses: [String] = []
  let certificateSource: CertificateSource
  var certificate: WebCertificate?
  var certificateError: String?
  /// The server that accepts the gateway's connections.
  weak var front: Front?
  /// The handler of its requests, as long as there is a front.
  weak var service: Service?
  var controlSocket: LocalControlSocket?
  var discoveryError: (cause: String, cure: String)?
  /// Another host with this one's key, if one was met.
  var conflict: HostID?
  var isDiagnosing = false
  var isStopping = false
  /// Whether it takes no new work, and only completes the work under way.
  var isDraining = false
  private(set) lazy var sockets = Sockets(self)
  private(set) lazy var presence = ClientPresence(self)
  /// Nil when nothing retains it any more: this object is then released soon, too.
  weak let gateway: Gateway?

  /// The epoch of all channels that live as long as this process.
  private let epoch = Secrets.epoch()
  private var collections: [String: Collection] = [:]
  /// The number of event streams and long polls of each client that has some.
  private var followerCounts: [ClientID: Int] = [:]
  /// The lists that sessions of one ad hoc type share.
  private var crowds: [String: Crowd] = [:]
  private var lastNumber = 0
  private var lastUpload: UInt64 = 0
  private var idempotency = Idempotency()
  /// The memory of large responses.
  let responseBudget: ResponseBudget
  /// The loop's time, shared between clients.
  let fairQueue: FairQueue
  private(set) lazy var heapTrimmer = HeapTrimmer(on: reactor)

  private(set) lazy var peerList = collection("/v1/peers")
  private(set) lazy var advertiserList = collection("/v1/advertisers")
  private(set) lazy var browserList = collection("/v1/browsers")
  private(set) lazy var invitationList = collection("/v1/invitations")
  private(set) lazy var sessionList = collection("/v1/sessions", Collection.Limits()) { [unowned self] in
    scheduleCounts()
  }
  private(set) lazy var clientList = collection("/v1/clients")
  private(set) lazy var codeList = collection("/v1/pairing-codes")
  private(set) lazy var identityList = collection("/v1/identities")
  private(set) lazy var anchorList = collection("/v1/anchors")
  private(set) lazy var trustedPeerList = collection("/v1/trusted-peers")
  private(set) lazy var auditList = collection("/v1/audit")
  static let eventsMax = 1_000
  private(set) lazy var eventList = collection("/v1/events", keeping: Self.eventsMax)

  var peers: [String: PeerModel] = [:]
  /// Advice about peers that are not added yet.
  var earlyAdvice: [Advice] = []
  var advertisers: [String: AdvertiserModel] = [:]
  var browsers: [String: BrowserModel] = [:]
  var invitations: [String: InvitationModel] = [:]
  var sessions: [String: SessionModel] = [:]
  /// The same by their endpoints.
  var sessionsByEndpoint: [EndpointID: SessionModel] = [:]
  /// Events of sessions that are to be handled, in order.
  var pendingEvents: [PendingEvent] = []
  /// The bytes of the messages among them.
  var pendingBytes = 0
  /// Delivery statuses that come while their message is being sent; nil while none is.
  var earlyStatuses: [(message: UInt64, recipients: [EndpointID], status: DeliveryStatus)]?
  var messageFacets = MessageFacets()
  /// The sessions of the latest events: mostly the next one is for the same.
  var latestAudiences: [EventAudience] = []
  var memberCache = MemberCache()
  let binaryForms = BinaryForms()
  /// Members that the rule of a session has admitted, for one entry about each in the audit.
  var admittedMembers: Set<EndpointID> = []
  /// Sessions whose counts of connected members are to be published, and when that was done last.
  var dueSessions: [SessionModel] = []
  var countsPublishedAt = Instant.now
  var areCountsScheduled = false
  /// Disk use by resources, for each owner.
  var diskUse = DiskUse()
  /// Disk use by the messages that sessions may keep, for each owner.
  var historyUse = DiskUse()
  var freeDiskSpace: FreeDiskSpace
  var lastAuditNumber = 0
  var lastStoredAuditNumber = 0
  /// The kept audit entries by the kind of their actor, in order.
  var auditNumbers: [String: ArraySlice<Int>] = [:]
  /// Uploads that are under way.
  var uploads: [UInt64: Upload] = [:]
  /// The number of uploads that are being synced to the disk.
  var syncsUnderWay = 0
  var downloads: [String: StreamDownload] = [:]
  /// Callbacks of reads from stored history.
  var historyCallbacks: [UInt64: (ChangeBatch?) -> Void] = [:]
  var contentIndex = ContentIndex()
  /// Callbacks that wait for the digests of resources, by the paths of their files.
  var digestCallbacks: [String: [(Result<ContentDigest?, Problem>) -> Void]] = [:]
  /// The number of files whose content was not what it had been before this start.
  var damagedFileCount = 0
  var scrub = ScrubFindings()
  /// The machine's Wi-Fi radios; nil until somebody asks.
  var radios: RadioControl?
  var metricHistory = MetricHistory()
  var exports: [ClientID: Export] = [:]
  /// Quota that is reserved for resources that are being made.
  var quotaReservations: [Quota: Int] = [:]
  /// Serializes changes of one resource, by its path.
  let changeLocks = NamedLocks()

  init(
    _ host: Host, _ sessionStore: SessionStore, _ options: GatewayOptions, _ log: Log, _ gateway: Gateway
  ) throws(Problem) {
    self.log = log
    self.host = host
    self.options = options
    currentLimits = options.limits
    self.sessionStore = sessionStore
    self.gateway = gateway
    reactor = host.reactor
    responseBudget = ResponseBudget(on: host.reactor)
    fairQueue = FairQueue(on: host.reactor, turnTime: options.turnTime)
    freeDiskSpace = FreeDiskSpace(options.limits.diskFreeBytes, of: options.folder)
    var letting = Clients.Limits(options.limits, codeTime: options.pairingCodeLifetime)
    letting.needsPrivateConnection = options.isHTTPSOnly
    clients = Clients(letting, clock: { Timestamp.now }, steadyClock: { Instant.now })
    let names = MachineName.all + options.hostNames.sorted()
    access = try Access(clients, options, names: names, of: host.id)
    certificateSource = CertificateSource(
      options, title: "Vicinity gateway \(host.id.text.prefix(8)): \(options.name)",
      names: ["localhost"] + names.filter(MachineName.isSound))
    router = Router(Routes.all)
    site = Site(options.dashboardFolder, Folder.files)
    let base = access.base
    if let first = base.first, site.owns(first) {
      throw Problem(
        .invalidParameter,
        "the base path \(base.text) begins as the dashboard's own paths do, with /\(first): choose another with --base-path"
      )
    }
    let canTry = site.canTry
    contract = try options.contract.map { (path) throws(Problem) in
      try Contract(at: path, below: base, canTry: canTry)
    }
    started = Timestamp.now
    meters = Meters(routes: router.routes.count)
    sessionStore.reactor = host.reactor
    sessionStore.onUnreliable = { [weak self] message, sessions in self?.receiveUnreliable(message, in: sessions) }
    sessionStore.onEvent = { [weak self] event, sessions in self?.enqueue(event, in: sessions) }
    sessionStore.onMembers = { [weak self] in self?.enqueue($0, $1, in: $2) }
    sessionStore.onAdhoc = { [weak self] in self?.enqueue(PendingEvent(kind: .adhoc($0), sessions: [$1])) }
    sessionStore.onClosed = { [weak self] in self?.enqueue(PendingEvent(kind: .closed, sessions: [$0])) }
    sessionStore.onSettled = { [weak self] in self?.settle($0, for: $1, $2, in: $3) }
    sessionStore.onDamage = { [log] in
      log(
        .error, for: .operator, "damaged",
        "a stored message is corrupt (checksum mismatch): the disk or its memory may be failing; restore a backup if needed"
      )
    }
  }

  var store: Writer { sessionStore.writer }

  // MARK: Asynchronous work

  func start(_ body: @escaping @Sendable (Core) async -> Void) { gateway?.start(body) }

  func number() -> UInt64 {
    lastUpload += 1
    return lastUpload
  }

  // MARK: Collections

  func collection(
    _ path: String, keeping count: Int = .max, bytes: Int = .max, ring: Int = 1 << 20, epoch: String? = nil
  ) -> Collection {
    var limits = Collection.Limits()
    limits.itemsMax = count
    limits.itemsBytesMax = bytes
    limits.ringBytesMax = ring
    return collection(path, limits, epoch: epoch)
  }

  /// A collection of items that are published once and not kept.
  func datagramCollection(_ path: String) -> Collection { collection(path, .datagrams, binaryForms) }

  func collection(
    _ path: String, _ limits: Collection.Limits, _ binaryForms: BinaryForms? = nil, epoch: String? = nil,
    onFollowed: @escaping () -> Void = {}
  ) -> Collection {
    lastNumber += 1
    return add(
      Collection(
        path: path, number: lastNumber, epoch: epoch ?? self.epoch, limits: limits, binaryForms,
        onDropped: { [meters] in meters.dropped($0) },
        onFollowers: { [unowned self] in countFollowers(of: $0, $1) }, onFollowed: onFollowed
      ) { [unowned self] socket in
        sockets.viewer(of: socket)
      })
  }

  /// A collection of items that others have as well.
  func collection(_ path: String, of items: SharedItems) -> SharedList {
    lastNumber += 1
    return add(
      SharedList(
        path: path, number: lastNumber, of: items, onFollowers: { [unowned self] in countFollowers(of: $0, $1) }))
  }

  private func add<Kind: Collection>(_ collection: Kind) -> Kind {
    collections[collection.path] = collection
    return collection
  }

  private func countFollowers(of client: ClientID, _ change: Int) {
    let count = (followerCounts[client] ?? 0) + change
    followerCounts[client] = count > 0 ? count : nil
  }

  /// The crowd of an ad hoc type: a new one where there is none.
  func crowd(of type: String) -> Crowd {
    if let crowd = crowds[type] { return crowd }
    let crowd = Crowd(type, epoch: epoch, binaryForms)
    crowds[type] = crowd
    return crowd
  }

  func forget(_ crowd: Crowd) { crowds[crowd.type] = nil }

  func collection(at path: String) -> Collection? { collections[path] }

  func end(_ collection: Collection) {
    sockets.ended(collection)
    collection.end()
    collections[collection.path] = nil
  }

  /// Releases the followers of all collections.
  func release() {
    for collection in collections.values { collection.release() }
  }

  /// Ends all followers of a client.
  func endFollowers(of client: ClientID) {
    for collection in collections.values { collection.endFollowers(of: client) }
  }

  /// The queues of a client, and its requests that wait for changes.
  func queues(of client: ClientID) -> JSON {
    let seen = clients.lastSeen(client).map { [JSON.Member("lastSeenAt", .text($0.description))] } ?? []
    let waiting = followerCounts[client] ?? 0
    return .object(
      seen + sockets.queues(of: client)
        + [
          .init("followers", .number(waiting)), .init("largeAnswers", responseBudget.json(of: client)),
          .init("usage", clients.account(of: client).map(fairQueue.json(of:)) ?? .null),
        ])
  }

  /// Whether it has an event stream or a long poll.
  func follows(_ client: ClientID) -> Bool { followerCounts[client] != nil }

  func count<Kind: Follower>(of kind: Kind.Type) -> Int {
    collections.values.reduce(0) { $0 + $1.count(of: kind) }
  }

  // MARK: Events

  /// Publishes an event for the console, to the clients that may see it.
  func publishEvent(_ event: String, about path: String, _ owner: Owner, _ members: [JSON.Member] = []) {
    log(
      .debug, for: .developer, event, "\(event) about \(path)",
      members.map { .init($0.name, .text($0.value.text ?? $0.value.line)) })
    let id = String(eventList.offset + 1)
    eventList.put(
      id,
      .object(
        [
          .init("id", .text(id)), .init("at", .text(Timestamp.now.description)), .init("event", .text(event)),
          .init("about", .text(path)),
        ] + members), owner: owner, facets: ["event": event])
  }

  // MARK: Idempotency

  /// The stored answer where the same client has asked the same before; nil where it has not.
  func recall(_ call: Call) throws(Problem) -> Reply? { try idempotency.recall(call, at: Instant.now) }
  func remember(_ reply: Reply, to call: Call) { idempotency.remember(reply, to: call) }

  func forget(_ call: Call) { idempotency.forget(call) }
  func forget(_ client: ClientID) {
    idempotency.forget(client)
    responseBudget.forget(client)
  }

  func runIdempotently(_ call: Call, _ work: () throws -> Reply) throws -> Reply {
    if let reply = try recall(call) { return reply }
    let reply = try forgetOnError(call, work)
    remember(reply, to: call)
    return reply
  }

  /// The same for work that may only begin here: where it gives nil, the request is still under way.
  func beginIdempotently(_ call: Call, _ work: () throws -> Reply?) throws -> Reply? {
    if let reply = try recall(call) { return reply }
    guard let reply = try forgetOnError(call, work) else { return nil }
    remember(reply, to: call)
    return reply
  }

  private func forgetOnError<Result>(_ call: Call, _ work: () throws -> Result) throws -> Result {
    do { return try work() } catch {
      idempotency.forget(call)
      throw error
    }
  }
}
