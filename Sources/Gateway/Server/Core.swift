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

  /// The latest number of an upload, an export, a socket of a stream or a read from history.
  private var lastNumber: UInt64 = 0
  let idempotency = Idempotency()
  /// The memory of large responses.
  let responseBudget: ResponseBudget
  /// The loop's time, shared between clients.
  let fairQueue: FairQueue
  private(set) lazy var heapTrimmer = HeapTrimmer(on: reactor)

  private(set) lazy var channels = Channels(
    meters, viewer: { [unowned self] in sockets.viewer(of: $0) }, onEnded: { [unowned self] in sockets.ended($0) })
  private(set) lazy var sessionList = channels.collection("/v1/sessions", Collection.Limits()) { [unowned self] in
    sessionCounts.schedule()
  }
  private(set) lazy var pageRounds = PageRounds(on: reactor)
  private(set) lazy var clientList = channels.collection("/v1/clients")
  private(set) lazy var codeList = channels.collection("/v1/pairing-codes")
  private(set) lazy var identityList = channels.collection("/v1/identities")
  private(set) lazy var anchorList = channels.collection("/v1/anchors")
  private(set) lazy var trustedPeerList = channels.collection("/v1/trusted-peers")
  private(set) lazy var bluetoothPairingList = channels.collection(
    "/v1/bluetooth-pairings", keeping: Self.bluetoothPairingsMax)
  /// The open ones, by their IDs.
  var bluetoothPairings: [String: BluetoothPairingModel] = [:]
  private(set) lazy var audit = AuditLog(channels.collection("/v1/audit"), store, log)
  private(set) lazy var events = EventLog(channels.collection("/v1/events", keeping: EventLog.countMax), log)

  private(set) lazy var peers = Registry<PeerModel>(channels.collection("/v1/peers"))
  /// Advice about peers that are not added yet.
  var earlyAdvice: [Advice] = []
  private(set) lazy var advertisers = Registry<AdvertiserModel>(channels.collection("/v1/advertisers"))
  private(set) lazy var browsers = Registry<BrowserModel>(channels.collection("/v1/browsers"))
  private(set) lazy var invitations = Registry<InvitationModel>(channels.collection("/v1/invitations"))
  var sessions = SessionDirectory()
  private(set) lazy var sessionEvents = SessionEventQueue(
    on: reactor, list: { [weak self] in self?.list($0, $1) }, handle: { [weak self] in self?.handle($0) })
  private(set) lazy var sessionCounts = SessionCounts(self)
  /// Delivery statuses that come while their message is being sent; nil while none is.
  var earlyStatuses: [(message: UInt64, recipients: [EndpointID], status: DeliveryStatus)]?
  var messageFacets = MessageFacets()
  var memberCache = MemberCache()
  private(set) lazy var disk = DiskSpace(FreeDiskSpace(options.limits.diskFreeBytes, of: options.folder)) {
    [unowned self] in currentLimits
  }
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
    sessionStore.onEvent = { [weak self] event, sessions in self?.sessionEvents.enqueue(event, in: sessions) }
    sessionStore.onMembers = { [weak self] in self?.sessionEvents.enqueue($0, $1, in: $2) }
    sessionStore.onAdhoc = { [weak self] in self?.sessionEvents.enqueue(.adhoc($0), in: [$1]) }
    sessionStore.onClosed = { [weak self] in self?.sessionEvents.enqueue(.closed, in: [$0]) }
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
    lastNumber += 1
    return lastNumber
  }

  /// The queues of a client, and its requests that wait for changes.
  func queues(of client: ClientID) -> JSON {
    let seen = clients.lastSeen(client).map { [JSON.Member("lastSeenAt", .text($0.description))] } ?? []
    let waiting = channels.followerCount(of: client)
    return .object(
      seen + sockets.queues(of: client)
        + [
          .init("followers", .number(waiting)), .init("largeAnswers", responseBudget.json(of: client)),
          .init("usage", clients.account(of: client).map(fairQueue.json(of:)) ?? .null),
        ])
  }
}
