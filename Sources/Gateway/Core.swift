internal import Engine
internal import Glibc
internal import Media
internal import Nearby
internal import Notation
internal import Reactor
internal import Store
internal import Web

/// A gateway on its host's loop: what there is, who may see it, and what becomes of it.
///
/// Law: everything here belongs to the loop's thread. What waits for something does so in a task of `start`, which finds
/// again by its id what it is about: meanwhile it may have gone.
final class Core {
  let host: Host
  let reactor: Reactor
  let options: GatewayOptions
  let clients: Clients
  let access: Access
  let router: Router
  let site: Site
  let archive: Archive
  let contract: Contract?
  let started: Timestamp
  let meters: Meters
  let log: Log
  var addresses: [String] = []
  let certificateSource: CertificateSource
  var certificate: WebCertificate?
  var certificateTrouble: String?
  /// Where those connect who ask.
  weak var front: Front?
  /// Who answers them, as long as there is a front.
  weak var service: Service?
  var pairingDesk: PairingDesk?
  var discoveryTrouble: (cause: String, cure: String)?
  /// Another host with this one's key was met.
  var conflict: HostID?
  var isDiagnosing = false
  var isStopping = false
  /// No more than what is under way.
  var isDraining = false
  private(set) lazy var sockets = Sockets(self)
  private(set) lazy var attendance = Attendance(self)
  /// Nil when nobody has it any more: then this is about to go, too.
  weak let gateway: Gateway?

  /// Of all channels that live as long as this process.
  private let epoch = Secrets.epoch()
  private var collections: [String: Collection] = [:]
  private var lastNumber = 0
  private var lastUpload: UInt64 = 0
  private var memory = Idempotency()
  /// The memory of large answers.
  let answers: AnswerBudget
  /// The time of the loop.
  let fairQueue: FairQueue

  private(set) lazy var peerList = collection("/v1/peers")
  private(set) lazy var advertiserList = collection("/v1/advertisers")
  private(set) lazy var browserList = collection("/v1/browsers")
  private(set) lazy var invitationList = collection("/v1/invitations")
  private(set) lazy var sessionList = collection("/v1/sessions")
  private(set) lazy var clientList = collection("/v1/clients")
  private(set) lazy var codeList = collection("/v1/pairing-codes")
  private(set) lazy var identityList = collection("/v1/identities")
  private(set) lazy var anchorList = collection("/v1/anchors")
  private(set) lazy var trustedPeerList = collection("/v1/trusted-peers")
  private(set) lazy var auditList = collection("/v1/audit")
  static let eventsMax = 1_000
  private(set) lazy var eventList = collection("/v1/events", keeping: Self.eventsMax)

  var peers: [String: PeerModel] = [:]
  /// About peers that are not added yet.
  var earlyAdvice: [Advice] = []
  var advertisers: [String: AdvertiserModel] = [:]
  var browsers: [String: BrowserModel] = [:]
  var invitations: [String: InvitationModel] = [:]
  var sessions: [String: SessionModel] = [:]
  /// By their resources.
  var diskUse = DiskUse()
  /// By what their sessions may keep of messages.
  var historyUse = DiskUse()
  var diskRoom: DiskRoom
  var lastDeed = 0
  var lastStoredDeed = 0
  /// By the kind of who did them, in order.
  var deedsKept: [String: ArraySlice<Int>] = [:]
  /// Bodies under way.
  var uploads: [UInt64: Upload] = [:]
  /// Of uploads, to the disk.
  var syncsUnderWay = 0
  var downloads: [String: StreamDownload] = [:]
  /// Who waits for what an attic has.
  var awaitingNews: [UInt64: (News?) -> Void] = [:]
  /// Who waits for the digests of resources, by their ids.
  var digestsAwaited: [String: [(Result<ContentDigest?, Problem>) -> Void]] = [:]
  /// How many contents were not what they had been before this start.
  var damagedFileCount = 0
  var scrub = ScrubFindings()
  var exports: [ClientID: Export] = [:]
  /// Places of things that are being made.
  var reserved: [Allotment: Int] = [:]
  /// Serializes changes of one resource, by its path.
  let changes = Turns()

  init(
    _ host: Host, _ archive: Archive, _ options: GatewayOptions, _ log: Log, _ gateway: Gateway
  ) throws(Problem) {
    self.log = log
    self.host = host
    self.options = options
    self.archive = archive
    self.gateway = gateway
    reactor = host.reactor
    answers = AnswerBudget(on: host.reactor)
    fairQueue = FairQueue(on: host.reactor, turnTime: options.turnTime)
    diskRoom = DiskRoom(options.limits.diskFreeBytes, of: options.folder)
    var letting = Clients.Limits(options.limits, codeTime: options.codeLife)
    letting.needsPrivateWay = options.isHTTPSOnly
    clients = Clients(
      OpenSSLCrypto(keys: []), letting, clock: { Timestamp.now }, steadyClock: { Instant.now })
    let names = MachineName.all + options.hostNames.sorted()
    access = try Access(clients, options, names: names, of: host.id)
    certificateSource = CertificateSource(
      options, title: "Vicinity gateway \(host.id.text.prefix(8)): \(options.name)",
      names: ["localhost"] + names.filter(MachineName.isSound))
    router = Router(Routes.all)
    site = Site(options.site, Folder.files)
    let base = access.base
    if let first = base.first, site.owns(first) {
      throw Problem(
        .invalidParameter,
        "the base path \(base.text) begins as the dashboard's own paths do, with /\(first): choose another with --base-path"
      )
    }
    contract = try options.contract.map { (path) throws(Problem) in try Contract(at: path, below: base) }
    started = Timestamp.now
    meters = Meters(routes: router.routes.count)
    archive.reactor = host.reactor
    archive.onUnreliable = { [weak self] message, session in self?.heard(message, in: session) }
    archive.onDamage = { [log] in
      log(
        .error, for: .operator, "damaged",
        "a stored message is not what it was: the disk or its memory may be failing; restore a backup where it matters")
    }
  }

  var store: Writer { archive.writer }

  // MARK: Work that waits

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
    return collection(path, limits, epoch: epoch ?? self.epoch)
  }

  /// Of things that are told once and not kept.
  func datagramCollection(_ path: String) -> Collection { collection(path, .datagrams, epoch: epoch) }

  private func collection(_ path: String, _ limits: Collection.Limits, epoch: String) -> Collection {
    lastNumber += 1
    let collection = Collection(
      path: path, number: lastNumber, epoch: epoch, limits: limits, onDropped: { [meters] in meters.dropped($0) }
    ) { [unowned self] socket in
      sockets.viewer(of: socket)
    }
    collections[path] = collection
    return collection
  }

  func collection(at path: String) -> Collection? { collections[path] }

  func end(_ collection: Collection) {
    sockets.ended(collection)
    collection.end()
    collections[collection.path] = nil
  }

  /// Whoever follows something is at its end.
  func release() {
    for collection in collections.values { collection.release() }
  }

  /// Whoever followed something as this client is sent away.
  func dismiss(_ client: ClientID) {
    for collection in collections.values { collection.dismiss(client) }
  }

  /// What waits for a client, or waits with it for news.
  func queues(of client: ClientID) -> JSON {
    let seen = clients.lastSeen(client).map { [JSON.Member("lastSeenAt", .text($0.description))] } ?? []
    let waiting = collections.values.reduce(0) { $0 + $1.followerCount(of: client) }
    return .object(
      seen + sockets.queues(of: client)
        + [
          .init("followers", .number(waiting)), .init("largeAnswers", answers.json(of: client)),
          .init("usage", clients.account(of: client).map(fairQueue.json(of:)) ?? .null),
        ])
  }

  /// Whether it has an event stream, or waits for news.
  func follows(_ client: ClientID) -> Bool { collections.values.contains { $0.followerCount(of: client) > 0 } }

  func count<Kind: Follower>(of kind: Kind.Type) -> Int {
    collections.values.reduce(0) { $0 + $1.count(of: kind) }
  }

  // MARK: Events

  /// For the console of whoever may see it.
  func tell(_ event: String, about path: String, _ owner: Owner, _ members: [JSON.Member] = []) {
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
  func recall(_ call: Call) throws(Problem) -> Reply? { try memory.recall(call, at: Instant.now) }
  func remember(_ reply: Reply, to call: Call) { memory.remember(reply, to: call) }

  func forget(_ call: Call) { memory.forget(call) }
  func forget(_ client: ClientID) {
    memory.forget(client)
    answers.forget(client)
  }

  func once(_ call: Call, _ work: () throws -> Reply) throws -> Reply {
    if let reply = try recall(call) { return reply }
    do {
      let reply = try work()
      remember(reply, to: call)
      return reply
    } catch {
      memory.forget(call)
      throw error
    }
  }
}
