internal import Nearby
internal import Notation

/// What a client may ask of a session that it opens.
struct SessionWishes {
  enum Trust: String, CaseIterable { case any, ask, firstUse, anchors }

  var encryption = Encryption.required
  var trust = Trust.any
  var maxPeers = 256
  var acceptsResources = true
  var history = History()

  /// What is kept of its messages for those who come later or come back; it lasts as long as this process.
  struct History {
    var count = 10_000
    var bytes = 16 << 20
  }
}

/// A peer's own end of a session.
final class SessionModel {
  let session: Session
  let peer: PeerModel
  let wishes: SessionWishes
  let createdAt: Timestamp
  let members: Collection
  let messages: Collection
  let streams: Collection
  let resources: Collection
  let certificates: Collection
  let connections: Collection
  var isLocked = false
  var adhoc: String?
  var blocked: Set<String> = []
  /// Those that are there, by their endpoint.
  var present: [String: MemberModel] = [:]
  var streamModels: [String: StreamModel] = [:]
  var resourceModels: [String: ResourceModel] = [:]
  var connectionModels: [String: ConnectionModel] = [:]
  var decisions: [String: TrustDecision] = [:]
  /// Of messages whose fate is not known for all.
  var deliveries: [Receipt.ID: Delivery] = [:]
  /// Those that have to be told.
  var changedDeliveries: Set<Receipt.ID> = []

  init(
    _ session: Session, _ peer: PeerModel, _ wishes: SessionWishes, at time: Timestamp,
    _ collection: (String, SessionWishes.History?) -> Collection
  ) {
    self.session = session
    self.peer = peer
    self.wishes = wishes
    createdAt = time
    let path = "/v1/sessions/\(session.id.text)"
    members = collection("\(path)/members", nil)
    messages = collection("\(path)/messages", wishes.history)
    streams = collection("\(path)/streams", nil)
    resources = collection("\(path)/resources", nil)
    certificates = collection("\(path)/certificates", nil)
    connections = collection("\(path)/connections", nil)
  }

  var id: String { session.id.text }
  var path: String { "/v1/sessions/\(id)" }
  var owner: Owner { peer.owner }
  var collections: [Collection] { [members, messages, streams, resources, certificates, connections] }
  var connected: [MemberModel] { present.values.filter { $0.isConnected } }

  var json: JSON {
    var members: [JSON.Member] = [
      .init("id", .text(id)), .init("peer", .text(peer.id)), .init("encryption", .text("\(wishes.encryption)")),
      .init("trust", .text(wishes.trust.rawValue)), .init("maxPeers", .number(wishes.maxPeers)),
      .init("connected", .number(connected.count)), .init("locked", .bool(isLocked)),
      .init("blocked", .list(blocked.sorted().map(JSON.text))),
      .init(
        "history",
        ["keep": "memory", "count": .number(wishes.history.count), "bytes": .number(wishes.history.bytes)]),
    ]
    if let adhoc { members.append(.init("adhoc", .text(adhoc))) }
    members.append(.init("createdAt", .text(createdAt.description)))
    return .object(members)
  }
}

/// A remote member, as it was last told.
final class MemberModel {
  let member: Member
  var state: MemberState
  var isSuspended = false

  init(_ member: Member, _ state: MemberState) {
    self.member = member
    self.state = state
  }

  var isConnected: Bool { state == .connected }

  func json(isVerified: Bool) -> JSON {
    var members: [JSON.Member] = [
      .init("id", .text(member.id.text)), .init("peer", .text(member.peer.text)),
      .init("displayName", .text(member.name)), .init("state", .text(word)), .init("suspended", .bool(isSuspended)),
      .init("verified", .bool(isVerified)), .init("carriedBy", .text(member.host.text)),
    ]
    if case .notConnected(let reason) = state {
      members.append(.init("reason", .text("\(reason)")))
      members.append(.init("detail", .text(reason.sentence)))
    }
    return .object(members)
  }

  private var word: String {
    switch state {
    case .connecting: "connecting"
    case .connected: "connected"
    case .notConnected: "notConnected"
    }
  }
}

extension Core {
  static let sessionsPerPeerMax = 256

  func openSession(of peer: PeerModel, _ wishes: SessionWishes) async throws -> SessionModel {
    guard sessions.values.count(where: { $0.peer === peer }) < Self.sessionsPerPeerMax else {
      throw Problem(
        .tooMany, "a peer is in at most \(Self.sessionsPerPeerMax) sessions at a time", rule: "sessions",
        limit: Self.sessionsPerPeerMax)
    }
    var options = SessionOptions()
    options.encryption = wishes.encryption
    options.peersMax = wishes.maxPeers
    options.resources.acceptsUnasked = false
    if wishes.trust != .any { options.trust = .ask(timeout: .seconds(60)) }
    let session = try await peer.peer.openSession(options)
    guard peers[peer.id] != nil else { throw Problem(.gone, "the peer was removed meanwhile") }
    let model = SessionModel(session, peer, wishes, at: Timestamp.now) { path, history in
      collection(
        path, keeping: history?.count ?? .max, bytes: history?.bytes ?? .max, ring: history == nil ? 1 << 20 : 4 << 20)
    }
    sessions[model.id] = model
    publish(model)
    tell("sessionOpened", about: model.path, model.owner)
    let id = model.id
    start { core in
      for await event in session.events { await core.told(event, in: id) }
      core.closed(id)
    }
    return model
  }

  @discardableResult
  func publish(_ session: SessionModel) -> Item {
    var facets = ["peer": session.peer.id]
    facets["adhoc"] = session.adhoc
    return sessionList.put(session.id, session.json, owner: session.owner, facets: facets)
  }

  func remove(_ model: SessionModel) {
    closed(model.id)
    let session = model.session
    start { _ in await session.close() }
  }

  private func closed(_ id: String) {
    guard let model = sessions.removeValue(forKey: id) else { return }
    for resource in model.resourceModels.values { resource.discard() }
    sessionList.remove(id)
    for collection in model.collections { end(collection) }
    tell("sessionClosed", about: model.path, model.owner)
  }

  /// One that the client may look at.
  func session(_ id: String, for client: ClientView) throws(Problem) -> SessionModel {
    guard let session = sessions[id], session.owner.isSeen(by: client) else { throw .nothing("session", id) }
    return session
  }

  /// One that the client may act in.
  func ownSession(_ id: String, for client: ClientView) throws(Problem) -> SessionModel {
    let session = try session(id, for: client)
    guard session.owner.isRuled(by: client) else { throw .notYours() }
    return session
  }

  // MARK: What happens in it

  private func told(_ event: SessionEvent, in id: String) async {
    guard let model = sessions[id] else { return }
    switch event {
    case .member(let member, let state): stands(member, state, model)
    case .suspended(let member, let isSuspended):
      guard let known = model.present[member.id.text] else { return }
      known.isSuspended = isSuspended
      publish(known, in: model)
    case .message(let message): received(message, in: model)
    case .stream(let reader): opened(reader, in: model)
    case .resource(let resource): await offered(resource, in: model)
    case .decision(let decision): await asked(decision, in: model)
    // The gateway's host has no store: nothing goes on from before.
    case .comparison, .sending: break
    case .fate(let receipt, let members, let fate): told(fate, for: members, of: receipt, in: model)
    case .undelivered(let members, let fate):
      for member in members {
        tell(
          "undelivered", about: "\(model.members.path)/\(member.id)", model.owner,
          [.init("displayName", .text(member.name)), .init("fate", .text("\(fate)"))])
      }
    }
  }

  private func stands(_ member: Member, _ state: MemberState, _ model: SessionModel) {
    let id = member.id.text
    let known = model.present[id] ?? MemberModel(member, state)
    model.present[id] = known
    known.state = state
    known.isSuspended = false
    publish(known, in: model)
    var members: [JSON.Member] = [.init("displayName", .text(member.name))]
    if case .notConnected(let reason) = state {
      members.append(.init("reason", .text("\(reason)")))
      forgetOldMembers(of: model)
    }
    let word = state == .connected ? "connected" : state == .connecting ? "connecting" : "notConnected"
    tell(word, about: "\(model.members.path)/\(id)", model.owner, members)
    publish(model)
  }

  /// Those who left stay to be looked at, up to a number.
  private func forgetOldMembers(of model: SessionModel) {
    let gone = model.present.values.filter { if case .notConnected = $0.state { true } else { false } }
    guard gone.count > Self.goneMembersMax,
      let oldest = gone.map(\.member.id.text).min(by: { a, b in
        (model.members[a]?.position.offset ?? 0) < (model.members[b]?.position.offset ?? 0)
      })
    else { return }
    model.present[oldest] = nil
    model.members.remove(oldest)
  }

  private static let goneMembersMax = 256

  private func publish(_ known: MemberModel, in model: SessionModel) {
    let json = known.json(isVerified: host.knownPeer(known.member.peer) != nil)
    model.members.put(
      known.member.id.text, json, owner: model.owner,
      facets: ["peer": known.member.peer.text, "state": json["state"]?.text ?? ""])
  }

  // MARK: Decisions

  private func asked(_ decision: TrustDecision, in model: SessionModel) async {
    switch model.wishes.trust {
    case .any: try? await decision.admit()
    case .firstUse: await firstUse(decision)
    case .anchors:
      if case .trusted = host.evaluate(decision.chain) {
        try? await decision.admit()
      } else {
        try? await decision.refuse()
      }
    case .ask:
      let id = Secrets.id()
      model.decisions[id] = decision
      model.certificates.put(
        id,
        [
          "id": .text(id), "peer": .text(decision.member.peer.text), "displayName": .text(decision.member.name),
          "chain": .list(decision.certificates.map { ["subject": .text($0.subject), "issuer": .text($0.issuer)] }),
          "state": "pending",
        ], owner: model.owner)
      tell("decision", about: "\(model.certificates.path)/\(id)", model.owner)
    }
  }

  /// A peer of a name that is known under another key is not let in.
  private func firstUse(_ decision: TrustDecision) async {
    let member = decision.member
    let isOther = host.knownPeers.contains { $0.name.text == member.name && $0.id != member.peer }
    if isOther { try? await decision.refuse() } else { try? await decision.admit() }
  }
}
