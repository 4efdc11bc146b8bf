internal import Nearby
internal import Notation
internal import Reactor

/// An invitation, sent from here or received.
final class InvitationModel {
  enum State: String, CaseIterable { case pending, accepted, declined, timedOut, cancelled, failed }

  let id: String
  /// The local peer.
  let peer: PeerModel
  let isIncoming: Bool
  let remote: String
  let remoteName: String?
  let serviceType: String
  let context: [UInt8]
  let createdAt: Timestamp
  let expiresAt: Timestamp?
  var session: String?
  var state = State.pending
  var problem: Problem?
  /// The invitation, while it can still be answered.
  var invitation: Invitation?
  /// Whether somebody is answering it.
  private(set) var isAnswered = false
  /// The task, while the invitation can still be cancelled.
  var task: Task<Void, Never>?

  init(
    _ peer: PeerModel, isIncoming: Bool, remote: String, name: String?, _ serviceType: String, context: [UInt8],
    session: String?, at time: Timestamp, expiresAt: Timestamp?, id: String = Secrets.id()
  ) {
    self.id = id
    self.peer = peer
    self.isIncoming = isIncoming
    self.remote = remote
    remoteName = name
    self.serviceType = serviceType
    self.context = context
    self.session = session
    createdAt = time
    self.expiresAt = expiresAt
  }

  var path: String { "/v1/invitations/\(id)" }

  /// Returns the invitation to the first caller only.
  func takeInvitation() -> Invitation? {
    guard state == .pending, !isAnswered, let invitation else { return nil }
    isAnswered = true
    return invitation
  }

  var json: JSON {
    var members: [JSON.Member] = [
      .init("id", .text(id)), .init("direction", .text(isIncoming ? "incoming" : "outgoing")),
      .init("peer", .text(peer.id)), .init(isIncoming ? "from" : "to", .text(remote)),
    ]
    if let remoteName { members.append(.init("displayName", .text(remoteName))) }
    members.append(.init("serviceType", .text(serviceType)))
    members += PayloadJSON.members(context, as: "context")
    if let session { members.append(.init("session", .text(session))) }
    members.append(.init("state", .text(state.rawValue)))
    if let problem { members.append(.init("problem", problem.json)) }
    members.append(.init("createdAt", .text(createdAt.description)))
    if let expiresAt { members.append(.init("expiresAt", .text(expiresAt.description))) }
    return .object(members)
  }

  /// The audit entry's members: the peer, and its session.
  var auditMembers: [JSON.Member] {
    [.init("peer", .text(remote)), .init("session", session.map(JSON.text) ?? .null)].filter { $0.value != .null }
  }

  var facets: [String: String] {
    ["peer": peer.id, "state": state.rawValue, "direction": isIncoming ? "incoming" : "outgoing"]
  }
}

extension Core {
  /// Eviction: beyond these limits the oldest ended invitations are removed.
  static let invitationsMax = 1_000
  static let invitationBytesMax = 4 << 20

  /// Publishes its present state to subscribers, and stores it.
  @discardableResult
  func publish(_ invitation: InvitationModel) -> Item? {
    guard let item = show(invitation) else { return nil }
    keep(invitation)
    while invitations.list.count > Self.invitationsMax || invitations.list.bytes > Self.invitationBytesMax,
      let oldest = oldestInvitation(but: invitation)
    {
      remove(oldest)
    }
    return item
  }

  /// Publishes an invitation that the store has already.
  @discardableResult
  func show(_ invitation: InvitationModel) -> Item? {
    guard exists(invitation) else { return nil }
    return invitations.list.put(invitation.id, invitation.json, owner: invitation.peer.owner, facets: invitation.facets)
  }

  private func oldestInvitation(but newest: InvitationModel) -> InvitationModel? {
    func isSooner(_ one: InvitationModel, _ other: InvitationModel) -> Bool {
      let (isPending, otherIsPending) = (one.state == .pending, other.state == .pending)
      return isPending == otherIsPending ? one.createdAt < other.createdAt : otherIsPending
    }
    return invitations.values.lazy.filter { $0 !== newest }.min(by: isSooner)
  }

  func remove(_ invitation: InvitationModel) {
    guard invitations.remove(invitation.id) else { return }
    invitation.task?.cancel()
    invitations.list.remove(invitation.id)
    forget(invitation)
  }

  // MARK: Incoming

  func invited(_ invitation: Invitation, by id: String) {
    guard let advertiser = advertisers[id] else { return }
    let model = InvitationModel(
      advertiser.peer, isIncoming: true, remote: invitation.from.text, name: invitation.name, invitation.type,
      context: invitation.context, session: advertiser.session, at: Timestamp.now,
      expiresAt: Timestamp.now + invitation.timeLeft)
    model.invitation = invitation
    invitations[model.id] = model
    publish(model)
    events.publish("invited", about: model.path, model.peer.owner, [.init("displayName", .text(invitation.name))])
    let id = model.id
    if advertiser.invitations == .accept {
      let owner = model.peer.owner
      return start { core in await core.accept(id, as: .rule(of: owner)) }
    }
    start { core in core.ended(id, await invitation.ended) }
  }

  /// Accepts into the session that it names, or a new one.
  func accept(_ id: String, as actor: AuditLog.Actor) async {
    guard let model = invitations[id], let invitation = model.takeInvitation() else { return }
    do {
      let session: SessionModel
      if let id = model.session, let there = sessions[id] {
        session = there
      } else {
        session = try await openSession(of: model.peer, SessionParameters())
        // Nothing else needs this session.
        guard exists(model) else { return remove(session) }
        model.session = session.id
      }
      try await invitation.accept(with: session.session)
      settle(id, .accepted)
      audit.add(.accepted, about: model.path, by: actor, model.auditMembers)
    } catch {
      settle(id, .failed, Problem(wrapping: error))
    }
  }

  private func ended(_ id: String, _ reason: Reason) {
    switch reason {
    case .none: settle(id, .accepted)
    // A peer that blocks the inviter declines its pending invitation.
    case .declined, .blocked: settle(id, .declined)
    case .timedOut: settle(id, .timedOut)
    case .cancelled: settle(id, .cancelled)
    default: settle(id, .failed, Problem(.notConnected, "the invitation ended: \(reason.sentence)"))
    }
  }

  // MARK: Outgoing

  func send(_ model: InvitationModel, from session: SessionModel, timeout: Duration) -> Item? {
    invitations[model.id] = model
    let item = publish(model)
    let (id, invitee, type, context) = (model.id, model.remote, model.serviceType, model.context)
    model.task = reactor.spawn { [session = session.session, gateway = self.gateway] in
      do {
        try await session.invite(try PeerID(text: invitee), as: type, context: context, timeout: timeout)
        await gateway?.run { $0.settle(id, .accepted) }
      } catch {
        let error = error as? NearbyError
        await gateway?.run { $0.failed(id, error) }
      }
    }
    return item
  }

  private func failed(_ id: String, _ error: NearbyError?) {
    let problem = error.map { Problem($0) }
    switch error?.reason {
    case .declined?: settle(id, .declined, problem)
    case .timedOut?: settle(id, .timedOut, problem)
    case .cancelled?: settle(id, .cancelled, problem)
    default: settle(id, .failed, problem ?? Problem(.unknown, "the invitation failed"))
    }
  }

  func settle(_ id: String, _ state: InvitationModel.State, _ problem: Problem? = nil) {
    guard let model = invitations[id], model.state == .pending else { return }
    model.state = state
    model.problem = problem
    model.invitation = nil
    publish(model)
    events.publish("invitationEnded", about: model.path, model.peer.owner, [.init("state", .text(state.rawValue))])
  }

  func invitation(_ id: String, for client: ClientView) throws(Problem) -> InvitationModel {
    guard let invitation = invitations[id], invitation.peer.owner.isSeen(by: client) else {
      throw .missing("invitation", id)
    }
    guard invitation.peer.owner.isChangeable(by: client) else { throw .lackingOwnership(client) }
    return invitation
  }
}
