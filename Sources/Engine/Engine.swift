public import Wire

/// Everything that a host decides: who is nearby, who is invited, who is in which session, what is delivered.
///
/// Law: it has no clock, no chance and no socket. Each call is one mutation at a given moment; after it, drain
/// `nextOutput()` until nil and look at `nextDeadline`. The same calls give the same outputs, in every process.
public final class Engine {
  public let hostID: HostID
  public let incarnation: Incarnation
  public internal(set) var settings: Settings
  package var sabotage: Sabotage = []

  let hostKey: PublicKey
  let crypto: any Crypto
  var entropy: Entropy
  var now: Instant

  // What is drained.
  private var outputs: [Output?] = []
  private var drained = 0
  private let arena = ByteQueue()
  var timers = Timers()

  // What is known. Tables where they are walked, dictionaries where they are only asked.
  var hosts = OrderedDictionary<HostID, RemoteHost>()
  var links = OrderedDictionary<LinkID, Link>()
  var dials = OrderedDictionary<DialID, HostID>()
  /// Hosts that are to be dialled, of which only others have spoken.
  var strangers = OrderedDictionary<HostID, Bool>()
  var peers = OrderedDictionary<PeerID, LocalPeer>()
  var endpoints = OrderedDictionary<EndpointID, LocalEndpoint>()
  var endpointsByIndex = OrderedDictionary<UInt32, LocalEndpoint>()
  var groups = OrderedDictionary<Int, Group>()
  let discovery = Discovery()
  var outgoing = OrderedDictionary<InvitationID, OutgoingInvitation>()
  var incoming = OrderedDictionary<InvitationID, IncomingInvitation>()
  /// Of these, those that were accepted and are not confirmed.
  var promised = OrderedDictionary<InvitationID, IncomingInvitation>()
  var decisions = OrderedDictionary<DecisionID, Decision>()
  var comparisons = OrderedDictionary<ComparisonID, CodeComparison>()
  var flows = Flows()
  var store = Store()
  let dirty: DirtySet

  private var lastNumber: UInt64 = 0
  private(set) var lastIndex: UInt32 = 0
  private var linksToTell: [LinkID] = []
  /// Whether a link has shown life since the others last had the chance to do so along with it.
  var hasSentHeartbeat = false
  /// Where cohorts have changed since they were last put together.
  var dirtyPresences: [Presence] = []
  /// Links whose first bytes have been read, and may lie in outputs.
  private var linksRead: [Link] = []
  /// The memory into which links read, one after the other, while none of their frames is cut.
  let spare = ByteQueue()
  /// By which local peers reach each other, once they do.
  var loopback: Link?

  /// `seed` is secret and random; the engine draws all its ids and nonces from it. `facts` is what an earlier run of
  /// this host had stored, if it is to go on from there; the host then adds its peers again before anything else.
  public init(
    host: PublicKey, incarnation: Incarnation, settings: Settings, crypto: any Crypto, seed: Digest,
    restoring facts: [Fact] = [], at now: Instant
  ) {
    hostKey = host
    hostID = HostID(digest: crypto.hash(HostID.preimage(of: host)))
    self.incarnation = incarnation
    self.settings = settings
    self.crypto = crypto
    self.now = now
    entropy = Entropy(seed: seed)
    dirty = DirtySet(isKept: settings.isDurable)
    restore(facts)
  }

  /// Groups, members and hosts know each other both ways while they live here.
  deinit {
    for group in groups.values { group.empty() }
    for host in hosts.values { host.empty() }
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

  /// Does what has fallen due.
  public func advance(to now: Instant) {
    beginMutation(now)
    while let timer = timers.popDue(at: now) { fire(timer) }
    if hasSentHeartbeat { sendDueHeartbeats() }
    finishMutation()
  }

  // MARK: For the extensions

  func emit(_ output: Output) { outputs.append(output) }

  /// Keeps bytes for an output.
  func compose(_ size: Int, _ write: (inout OutputRawSpan) -> Void) -> Payload {
    let start = arena.count
    arena.append(size, write)
    return Payload(queue: arena, range: start..<arena.count)
  }

  func keep(_ bytes: RawSpan) -> Payload { compose(bytes.byteCount) { $0.put(raw: bytes) } }

  /// Notes that the first bytes of what a link brought are read: they go once no output needs them.
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

  /// Hands what local peers have for each other to the engine itself.
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

  /// Ends a mutation: passes on what local peers have for each other, and says what is to be sent and stored.
  func finishMutation() {
    pumpLoopback()
    mergeAlikeCohorts()
    flushStore()
    for id in linksToTell where links.contains(id) { emit(.wantsToSend(id)) }
    linksToTell.removeAll(keepingCapacity: true)
  }

  /// Notes that a link has bytes to send. Its host is told once, and then fills until there is nothing.
  func wake(_ link: Link) {
    if link.wantsToSend { return }
    link.wantsToSend = true
    if !link.isLoopback { linksToTell.append(link.id) }
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
    case .link(let id): if let link = links[id] { linkDue(link) }
    case .bond(let id): if let bond = hosts[id]?.bond { bondDue(bond) }
    case .host(let id): if let host = hosts[id] { hostDue(host) }
    case .invitation(let id): invitationDue(id)
    case .decision(let id): decisionDue(id)
    case .comparison(let id): comparisonDue(id)
    case .group(let serial): if let group = groups[serial] { groupDue(group) }
    case .adhoc(let id): if let endpoint = endpoints[id] { adhocDue(endpoint) }
    case .resource(let id): resourceDue(id)
    case .restoring: break
    }
  }
}
