internal import Nearby
internal import Notation
internal import Reactor
internal import Store

/// A client's options for a session that it opens.
struct SessionParameters {
  enum Trust: String, CaseIterable { case any, ask, firstUse, anchors }

  enum EncryptionWord: String, CaseIterable {
    case optional, required, none

    var encryption: Encryption {
      switch self {
      case .optional: .optional
      case .required: .required
      case .none: .none
      }
    }
  }

  var encryption = Encryption.optional
  var trust = Trust.any
  var maxPeers = 256
  var acceptsResources = true
  /// The identity that members are shown.
  var identity: Identity?
  /// Nil for the gateway's default.
  var retention: Retention?
  /// The service type of the ad hoc mode in which it is to begin.
  var adhoc: String?

  /// Retention of its messages, for members and clients that come later or come back.
  struct Retention: Hashable, Sendable {
    enum Kind: String, CaseIterable { case durable, memory, none }

    /// In the store, or as long as this process.
    var kind = Kind.memory
    var limits = History.Limits()

    /// The largest limits that a client may ask for.
    func most(_ limits: GatewayLimits) -> (count: Int64, bytes: Int64) {
      kind == .durable
        ? (Int64(Self.messagesMax), Int64(limits.historyBytes))
        : (Int64(Self.messagesInMemoryMax), Int64(limits.memoryHistoryBytes))
    }
    static let messagesMax = 1_000_000_000
    static let messagesInMemoryMax = 1_000_000

    /// The part of it that is in memory.
    var window: (count: Int, bytes: Int) {
      switch kind {
      case .none: (1, 1_024)
      case .memory: (limits.count, limits.bytes)
      case .durable: (min(limits.count, Snapshot.itemsMax), min(limits.bytes, Snapshot.bytesMax))
      }
    }
  }
}

/// A peer's own end of a session.
final class SessionModel {
  let session: Session
  let peer: PeerModel
  let parameters: SessionParameters
  let createdAt: Timestamp
  let retention: SessionParameters.Retention
  /// The history, if it is durable.
  let history: (any DurableHistory)?
  /// The sessions with which it shares its members, and its messages where they are in memory alone.
  let crowd: Crowd?
  let sharedMessages: SharedList?
  /// Its number in the crowd.
  let slot: Int
  let members: Collection
  let messages: Collection
  /// Unreliable messages, which are not kept.
  private(set) lazy var datagrams = using(core.channels.datagramCollection("\(path)/datagrams"))
  private(set) lazy var streams = using(core.channels.collection("\(path)/streams"))
  private(set) lazy var resources = using(core.channels.collection("\(path)/resources"))
  private(set) lazy var certificates = using(core.channels.collection("\(path)/certificates"))
  private(set) lazy var connections = using(core.channels.collection("\(path)/connections"))
  private(set) lazy var comparisons = using(core.channels.collection("\(path)/comparisons"))
  /// Those of them that anybody has used: most sessions have messages alone.
  private var used: [Collection] = []
  private unowned let core: Core
  /// The row of a session that is restored after a restart.
  var stored: StoredSession?
  var isLocked = false
  var adhoc: String?
  /// The end of ad hoc mode; nil for none.
  var adhocUntil: Timestamp?
  /// The next check whether that time is over.
  var adhocWatch: Timer?
  var blocked: Set<String> = []
  var counts = MemberCounts()
  /// Whether its count is to be published.
  var isPublishingDue = false
  /// Peers that were invited and did not join, by their IDs, oldest first; each has its place among the members.
  var invitees: [String] = []
  var streamModels: [String: StreamModel] = [:]
  var resourceModels: [String: ResourceModel] = [:]
  var connectionModels: [String: ConnectionModel] = [:]
  var comparisonModels: [String: ComparisonModel] = [:]
  var decisions: [String: TrustDecision] = [:]
  /// Messages whose delivery status is not final for all recipients.
  var deliveries: [Receipt.ID: Delivery] = [:]
  /// Deliveries whose changes are to be published.
  var changedDeliveries: Set<Receipt.ID> = []

  init(
    _ session: Session, _ peer: PeerModel, _ parameters: SessionParameters, _ retention: SessionParameters.Retention,
    _ history: (any DurableHistory)?, at time: Timestamp, in crowd: Crowd?, _ core: Core
  ) {
    self.session = session
    self.core = core
    self.crowd = crowd
    self.retention = retention
    self.history = history
    self.peer = peer
    self.parameters = parameters
    createdAt = time
    let path = "/v1/sessions/\(session.id.text)"
    let shared = crowd.map { core.channels.collection("\(path)/members", of: $0.members) }
    members = shared ?? core.channels.collection("\(path)/members")
    slot = shared?.slot ?? 0
    if let view = history as? LogView {
      sharedMessages = nil
      messages = view.list(at: "\(path)/messages", in: core)
    } else if let crowd, retention.kind == .memory {
      let shared = core.channels.collection("\(path)/messages", of: crowd.messages(Core.limits(of: retention)))
      (sharedMessages, messages) = (shared, shared)
    } else {
      sharedMessages = nil
      messages = core.channels.collection(
        "\(path)/messages", Core.limits(of: retention), core.channels.binaryForms, epoch: history?.session.epoch)
    }
    (history as? History)?.attach(messages, peer.owner)
    crowd?.add(self, at: slot)
    members.partCounts = { [weak self] in [.init("connected", .number(self?.counts.connected ?? 0))] }
  }

  var id: String { session.id.text }
  var path: String { "/v1/sessions/\(id)" }
  var owner: Owner { peer.owner }
  var collections: [Collection] { [members, messages] + used }

  private func using(_ collection: Collection) -> Collection {
    used.append(collection)
    return collection
  }
  /// Its members, present or gone, as it sees them now.
  var knownMembers: [MemberModel] { members.all.compactMap(\.member) }
  var connected: [MemberModel] { knownMembers.filter(\.isConnected) }

  /// The member with this endpoint.
  func known(_ endpoint: String) -> MemberModel? { members[endpoint]?.member }
  func known(_ endpoint: EndpointID) -> MemberModel? { known(endpoint.text) }

  /// The member with this endpoint, or one of this peer.
  func find(_ text: String) -> MemberModel? {
    if let known = known(text) { return known }
    guard let peer = try? PeerID(text: text) else { return nil }
    return knownMembers.first { $0.member.peer == peer }
  }

  var json: JSON {
    var members: [JSON.Member] = [
      .init("id", .text(id)), .init("peer", .text(peer.id)), .init("encryption", .text("\(parameters.encryption)")),
      .init("trust", .text(parameters.trust.rawValue)), .init("maxPeers", .number(parameters.maxPeers)),
      .init("connected", .number(counts.connected)), .init("locked", .bool(isLocked)),
      .init("blocked", .list(blocked.sorted().map(JSON.text))),
      .init(
        "history",
        .object(
          [
            .init("keep", .text(retention.kind.rawValue)), .init("count", .number(retention.limits.count)),
            .init("bytes", .number(retention.limits.bytes)),
          ] + (retention.limits.age.map { [.init("age", .number(Int($0.components.seconds)))] } ?? []))),
    ]
    if let adhoc {
      members.append(.init("adhoc", .text(adhoc)))
      if let adhocUntil { members.append(.init("adhocUntil", .text(adhocUntil.description))) }
      if let problem = DiscoveryStatus(session.adhocState).problem {
        members.append(.init("adhocProblem", problem.json))
      }
    }
    members.append(.init("createdAt", .text(createdAt.description)))
    return .object(members)
  }
}

extension Core {
  /// The limit on a WebSocket's lag in the messages of a session.
  static let messagesRingBytesMax = 4 << 20
  /// The time limit of a decision on a member.
  static let decisionTime: Duration = .seconds(60)

  func openSession(of peer: PeerModel, _ parameters: SessionParameters) async throws -> SessionModel {
    let reservation = try reserve(.sessions(peer.id))
    defer { reservation.release() }
    var options = SessionOptions()
    options.encryption = parameters.encryption
    options.peersMax = parameters.maxPeers
    options.resources.acceptsUnasked = false
    options.identity = parameters.identity
    if parameters.trust != .any { options.trust = .ask(timeout: Self.decisionTime) }
    let retention = try retention(of: parameters, for: peer)
    try requireDiskSpace(for: peer, "opened")
    try disk.reserve(retention, for: peer.owner)
    var isOpen = false
    defer { if !isOpen { disk.release(retention, of: peer.owner) } }
    let session = try await peer.peer.openSession(options)
    guard exists(peer) else { throw Problem(.gone, "the peer was removed meanwhile") }
    let now = Timestamp.now
    let stored = StoredSession(
      id: session.id.text, host: host.id.text, peer: peer.id, settings: [], created: now.milliseconds,
      epoch: Secrets.epoch(), number: sessionStore.number())
    let crowd = crowd(of: parameters.adhoc, for: peer)
    let history =
      retention.kind == .durable
      ? sessionStore.begin(stored, retention.limits, of: session.id, adhoc: crowd?.type) : nil
    let model = SessionModel(session, peer, parameters, retention, history, at: now, in: crowd, self)
    register(model)
    reservation.release()
    isOpen = true
    if isDurable(peer) { model.stored = history?.session ?? stored }
    await keep(model)
    guard exists(model) else { throw Problem(.gone, "the peer was removed meanwhile") }
    begin(model)
    events.publish("sessionOpened", about: model.path, model.owner)
    return model
  }

  static func limits(of retention: SessionParameters.Retention) -> Collection.Limits {
    var limits = Collection.Limits()
    (limits.itemsMax, limits.itemsBytesMax) = retention.window
    limits.ringBytesMax = messagesRingBytesMax
    return limits
  }

  /// The crowd of a session that begins in ad hoc mode. Only its client sees such a session, whatever roles change.
  func crowd(of adhoc: String?, for peer: PeerModel) -> Crowd? {
    guard let adhoc, case .client = peer.owner else { return nil }
    return channels.crowd(of: adhoc)
  }

  func begin(_ model: SessionModel) {
    publish(model)
    let session = model.session
    guard let events = session.observe() else {
      return start { core in
        for await event in session.events { core.sessionEvents.enqueue(event, in: [session.id]) }
        core.sessionEvents.enqueue(.closed, in: [session.id])
      }
    }
    for event in events { sessionEvents.enqueue(event, in: [session.id]) }
    adhocStateChanged(DiscoveryStatus(session.adhocState), in: model)
  }

  func adhocStateChanged(_ status: DiscoveryStatus, in model: SessionModel) {
    guard model.adhoc != nil else { return }
    publish(model)
    for advertiser in advertisers.values where advertiser.invitations == .adhoc && advertiser.session == model.id {
      set(status, of: advertiser)
    }
  }

  @discardableResult
  func publish(_ session: SessionModel) -> Item? {
    guard exists(session) else { return nil }
    var facets = ["peer": session.peer.id]
    facets["adhoc"] = session.adhoc
    return sessionList.put(session.id, session.json, owner: session.owner, facets: facets)
  }

  func remove(_ model: SessionModel) {
    closed(model.id)
    let session = model.session
    start { _ in await session.close() }
  }

  func register(_ model: SessionModel) {
    sessions.add(model)
    model.peer.sessionCount += 1
  }

  func closed(_ id: String) {
    guard let model = sessions.remove(id) else { return }
    model.peer.sessionCount -= 1
    for resource in model.resourceModels.values {
      disk.remove(resource, of: model.owner)
      endUpload(to: resource)
    }
    disk.release(model.retention, of: model.owner)
    if !resumesAfterRestart(model) {
      if model.stored == nil {
        discardFiles(of: model)
      } else {
        sessionStore.end(model.session.id) { [weak self] in self?.discardFiles(of: model) }
      }
    }
    sessionList.remove(id)
    for collection in model.collections { channels.end(collection) }
    if let crowd = model.crowd, crowd.remove(at: model.slot) { channels.forget(crowd) }
    sessionCounts.remove(model)
    events.publish("sessionClosed", about: model.path, model.owner)
  }

  /// Whether it only seems to end: the gateway stops, and the session resumes after a restart.
  func resumesAfterRestart(_ model: SessionModel) -> Bool { isStopping && model.stored != nil }

  private func discardFiles(of model: SessionModel) {
    for resource in model.resourceModels.values { resource.discard() }
    Folder.remove(receivedFolder(of: model))
  }

  func receivedFolder(of model: SessionModel) -> String { "\(options.folder)/received/\(model.id)" }

  /// The session, if the client may see it.
  func session(_ id: String, for client: ClientView) throws(Problem) -> SessionModel {
    guard let session = sessions[id], session.owner.isSeen(by: client) else { throw .missing("session", id) }
    return session
  }

  /// The session, if the client may act in it.
  func ownSession(_ id: String, for client: ClientView) throws(Problem) -> SessionModel {
    let session = try session(id, for: client)
    guard session.owner.isChangeable(by: client) else { throw .lackingOwnership(client) }
    return session
  }

  // MARK: Decisions

  func handle(decision: TrustDecision, in id: String) async {
    guard let model = sessions[id] else { return }
    if !decision.chain.isEmpty, var view = model.known(decision.member.id)?.view {
      view.update(decision.member)
      show(view, in: model)
    }
    switch model.parameters.trust {
    case .any: try? await decision.admit()
    case .firstUse: await firstUse(decision, in: model)
    case .anchors:
      if case .trusted = host.evaluate(decision.chain) {
        await decide(decision, .accepted, in: model)
      } else {
        await decide(decision, .declined, in: model)
      }
    case .ask:
      let id = Secrets.id()
      model.decisions[id] = decision
      model.certificates.put(
        id, json(of: decision, as: id), owner: model.owner, facets: ["peer": decision.member.peer.text])
      let place = model.id
      start { core in
        await decision.ended()
        guard let model = core.sessions[place], model.decisions.removeValue(forKey: id) != nil else { return }
        model.certificates.remove(id)
      }
      events.publish("decision", about: "\(model.certificates.path)/\(id)", model.owner)
    }
  }

  private func json(of decision: TrustDecision, as id: String) -> JSON {
    var members: [JSON.Member] = [
      .init("id", .text(id)), .init("peer", .text(decision.member.peer.text)),
      .init("displayName", .text(decision.member.name)), .init("chain", .list(decision.certificates.map(\.json))),
      .init("state", "pending"), .init("expiresAt", .text((Timestamp.now + Self.decisionTime).description)),
    ]
    switch host.evaluate(decision.chain) {
    case .trusted: members.append(.init("trusted", true))
    case .distrusted(let distrust):
      members += [.init("trusted", false), .init("distrust", .text(distrust.description))]
    }
    return .object(members)
  }

  /// Trust on first use: the first peer of a name keeps that name, and a peer with another key is not admitted under
  /// it.
  private func firstUse(_ decision: TrustDecision, in model: SessionModel) async {
    let member = decision.member
    let wasKnown = (host.knownPeers + host.firstUsedPeers).contains { $0.id == member.peer }
    let isKnown = (try? await host.useFirst(member.peer, as: member.name)) ?? false
    publishKnownPeers()
    if isKnown, !wasKnown {
      audit.add(.trusted, about: "/v1/trusted-peers/\(member.peer.text)", by: .rule(of: model.owner))
    }
    await decide(decision, isKnown ? .accepted : .declined, in: model)
  }

  /// Decides by the session's rule.
  private func decide(_ decision: TrustDecision, _ action: AuditLog.Action, in model: SessionModel) async {
    addToAudit(action, of: decision.member, in: model)
    if action == .accepted { try? await decision.admit() } else { try? await decision.refuse() }
  }

  func addToAudit(_ action: AuditLog.Action, of member: Member, in model: SessionModel) {
    audit.add(
      action, about: "\(model.members.path)/\(member.id.text)", by: .rule(of: model.owner),
      [.init("peer", .text(member.peer.text)), .init("session", .text(model.id))])
  }
}
