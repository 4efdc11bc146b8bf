public import Wire

/// The decisions of a host: who is nearby, who is invited, who is in which session, what is delivered.
///
/// Invariant: it has no clock, no random source and no socket. Each call is one mutation at a given moment; after it,
/// drain `nextOutput()` until nil and look at `nextDeadline`. The same calls give the same outputs, in every process.
public final class Engine {
  public let hostID: HostID
  public let incarnation: Incarnation
  public internal(set) var settings: Settings
  package var sabotage: Sabotage = []

  /// The medium of links over circuits; nil where this host takes none.
  let relayMedium: MediumID?
  let hostKey: PublicKey
  let crypto: any Crypto
  var entropy: Entropy
  var now: Instant

  // Outputs.
  private var outputs: [Output?] = []
  private var drained = 0
  private let arena = ByteQueue()
  var timers = Timers()

  // State: ordered dictionaries where it is iterated, dictionaries where it is only looked up.
  var hosts = OrderedDictionary<HostID, RemoteHost>()
  var links = OrderedDictionary<LinkID, Link>()
  var dials = OrderedDictionary<DialID, HostID>()
  /// Hosts to dial that only others have mentioned.
  var strangers = OrderedDictionary<HostID, Bool>()
  var peers = OrderedDictionary<PeerID, LocalPeer>()
  var endpoints = OrderedDictionary<EndpointID, LocalEndpoint>()
  /// The endpoints in ad hoc mode, by its type.
  var adhocLocals = OrderedDictionary<ServiceType, OrderedDictionary<EndpointID, LocalEndpoint>>()
  /// The places where peers were found in the present mutation, for these.
  var adhocNews: [Discovery.Place] = []
  var endpointsByIndex = OrderedDictionary<UInt32, LocalEndpoint>()
  var groups = OrderedDictionary<Int, Group>()
  let discovery = Discovery()
  var outgoing = OrderedDictionary<InvitationID, OutgoingInvitation>()
  var incoming = OrderedDictionary<InvitationID, IncomingInvitation>()
  /// Accepted invitations that are not confirmed yet.
  var promised = OrderedDictionary<InvitationID, IncomingInvitation>()
  var decisions = OrderedDictionary<DecisionID, Decision>()
  var comparisons = OrderedDictionary<ComparisonID, CodeComparison>()
  var flows = Flows()
  let circuits = Circuits()
  var store = Store()
  let dirty: DirtySet

  private var lastNumber: UInt64 = 0
  private(set) var lastIndex: UInt32 = 0
  private var linksToWake: [LinkID] = []
  /// Whether a link has sent a heartbeat since the others last had the chance to send theirs with it.
  var hasSentHeartbeat = false
  /// Presences with changed cohorts, to be merged where alike.
  var dirtyPresences: [Presence] = []
  /// Links with bytes that have been read and may lie in outputs.
  private var linksRead: [Link] = []
  /// The shared receive buffer, used by one link after the other while none of their frames is cut.
  let spare = ByteQueue()
  /// The link between local peers, once there is one.
  var loopback: Link?

  /// `seed` is secret and random; the engine draws all its IDs and nonces from it. `facts` is the stored state of an
  /// earlier run, if it is to be resumed; the host then adds its peers again before anything else.
  public init(
    host: PublicKey, incarnation: Incarnation, settings: Settings, crypto: any Crypto, seed: Digest,
    restoring facts: [Fact] = [], at now: Instant
  ) {
    hostKey = host
    hostID = HostID(digest: crypto.hash(HostID.preimage(of: host)))
    self.incarnation = incarnation
    self.settings = settings
    relayMedium = settings.media.firstIndex(where: \.isRelayed).map(MediumID.init)
    self.crypto = crypto
    self.now = now
    entropy = Entropy(seed: seed)
    dirty = DirtySet(isKept: settings.isDurable, of: hostID)
    restore(facts)
  }

  /// Groups, members and hosts refer to each other while they live here: breaks the cycles.
  deinit {
    for group in groups.values { group.empty() }
    for host in hosts.values { host.empty() }
    // It has cohorts, of groups that were merged as well.
    dirty.clear()
  }

  // MARK: Draining

  public func nextOutput() -> Output? {
    guard drained < outputs.count else { return nil }
    let output = outputs[drained].take()
    drained += 1
    if drained == outputs.count {
      outputs.removeAll(keepingCapacity: true)
      drained = 0
    }
    return output
  }

  /// When to call `advance` at the latest, if nothing else happens before.
  public var nextDeadline: Instant? { timers.nextDeadline }

  public func advance(to now: Instant) {
    beginMutation(now)
    while let timer = timers.popDue(at: now) { fire(timer) }
    if hasSentHeartbeat { sendDueHeartbeats() }
    finishMutation()
  }

  // MARK: For the extensions

  func emit(_ output: Output) {
    if sabotage.isEmpty { outputs.append(output) } else { outputs += sabotage.reports(of: output) }
  }

  /// Keeps bytes for an output.
  func compose(_ size: Int, _ write: (inout OutputRawSpan) -> Void) -> Payload {
    let start = arena.count
    arena.append(size, write)
    return Payload(queue: arena, range: start..<arena.count)
  }

  func keep(_ bytes: RawSpan) -> Payload { compose(bytes.byteCount) { $0.put(raw: bytes) } }

  /// Marks the first bytes of a link's buffer as read: they are dropped once no output needs them.
  func read(_ size: Int, on link: Link) {
    if link.readBytes == 0 { linksRead.append(link) }
    link.readBytes += size
  }

  private func dropRead() {
    arena.removeAll()
    for link in linksRead {
      link.dropRead()
      link.inbound.lend(to: spare)
    }
    linksRead.removeAll(keepingCapacity: true)
  }

  func beginMutation(_ now: Instant, addingPeer: Bool = false) {
    self.now = max(self.now, now)
    if outputs.isEmpty { dropRead() }
    if store.isRestoring, !addingPeer { finishRestoring() }
  }

  /// Delivers frames between local peers.
  private func pumpLoopback() {
    guard let link = loopback else { return }
    while link.wantsToSend {
      link.wantsToSend = false
      while link.inbound.append(upTo: Self.loopbackPiece, { fill(&$0, for: link) }) > 0 {}
      takeFrames(from: link)
      precondition(!link.isClosing, "this host offends itself")
    }
  }

  private static let loopbackPiece = 64 << 10

  /// Ends a mutation: delivers frames between local peers, and emits the sends and the store batch.
  func finishMutation() {
    if relayMedium != nil { reviewRelaySearch() }
    takeAdhocNews()
    pumpLoopback()
    if circuits.mustReview { reviewRelayed() }
    mergeAlikeCohorts()
    flushStore()
    wakeLinks()
  }

  func wakeLinks() {
    guard !linksToWake.isEmpty else { return }
    for id in linksToWake where links.contains(id) { emit(.wantsToSend(id)) }
    linksToWake.removeAll(keepingCapacity: true)
  }

  /// Marks a link as having bytes to send. The host gets one output, and then calls `fill` until there is nothing.
  func wake(_ link: Link) {
    if link.wantsToSend { return }
    link.wantsToSend = true
    if !link.isLoopback { linksToWake.append(link.id) }
  }

  func number() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  func index() -> UInt32 {
    lastIndex += 1
    return lastIndex
  }

  func skipNumbers(through number: UInt64) { lastNumber = max(lastNumber, number) }

  func skipIndexes(through index: UInt32) { lastIndex = max(lastIndex, index) }

  func peerID(of key: PublicKey) -> PeerID { PeerID(digest: crypto.hash(PeerID.preimage(of: key))) }

  private func fire(_ timer: EngineTimer) {
    switch timer {
    case .link(let id): if let link = links[id] { handleLinkTimer(link) }
    case .bond(let id): if let bond = hosts[id]?.bond { handleBondTimer(bond) }
    case .host(let id): if let host = hosts[id] { handleHostTimer(host) }
    case .invitation(let id): handleInvitationTimer(id)
    case .decision(let id): handleDecisionTimer(id)
    case .comparison(let id): handleComparisonTimer(id)
    case .group(let serial): if let group = groups[serial] { handleGroupTimer(group) }
    case .clock(let serial): if let group = groups[serial] { handleClockTimer(group) }
    case .adhoc(let id): if let endpoint = endpoints[id] { handleAdhocTimer(endpoint) }
    case .turns(let serial): if let group = groups[serial] { handleTurns(of: group) }
    case .resource(let id): handleResourceTimer(id)
    case .circuits: handleCircuitTimer()
    case .restoring: break
    }
  }
}
