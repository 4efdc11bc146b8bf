internal import Nearby
internal import Notation
internal import Web

extension Routes {
  /// In seconds.
  static let timeoutMax = 3_600
  static let contextBytesMax = Limits.contextBytesMax

  static let invitations: [Route] = [
    Route(.post, "/v1/invitations", .role(.member), body: .json, .later(invite)),
    Route(
      .get, "/v1/invitations", .role(.viewer),
      .collection(facets: ["peer", Facet("state", of: InvitationModel.State.self), .direction]) { core, _ in
        core.invitations.list
      }),
    Route(
      .get, "/v1/invitations/{invitation}", .role(.viewer),
      .now { core, call in
        try core.item(call[0], in: core.invitations.list, "invitation", call)
      }),
    Route(.patch, "/v1/invitations/{invitation}", .role(.member), body: .json, .later(answer)),
    Route(
      .delete, "/v1/invitations/{invitation}", .role(.member),
      .later { core, call in
        let client = try call.need()
        guard core.invitations[call[0]] != nil else { return await core.replyToMissing() }
        let model = try core.invitation(call[0], for: client)
        try call.checkMatch(core.invitations.list[model.id])
        let invitation = model.invitation
        core.remove(model)
        await invitation?.decline()
        await core.waitForRemovals()
        return .nothing
      }),
  ]

  private static func invite(_ core: Core, _ call: Call) async throws -> Reply {
    let client = try call.need()
    var fields = try call.fields()
    let session = try core.ownSession(fields.needText("session"), for: client)
    let peer = try fields.text("peer")
    let to = try fields.needText("to")
    let type = try fields.needText("serviceType")
    let context = try fields.bytes("context", encodedBy: "encoding", max: contextBytesMax) ?? []
    let timeout = try fields.seconds("timeout", max: Double(timeoutMax)) ?? .seconds(30)
    try fields.end()
    if let peer, peer != session.peer.id {
      throw Problem(.invalidParameter, "the session belongs to another peer, \(session.peer.id)", field: "peer")
    }
    guard (try? PeerID(text: to)) != nil else {
      throw Problem(
        .invalidParameter, "\(QuotedText.of(to)) is no peer ID: take it from a browser's found peers", field: "to",
        rule: "peerID")
    }
    let now = Timestamp.now
    let model = InvitationModel(
      session.peer, isIncoming: false, remote: to, name: nil, type, context: context, session: session.id, at: now,
      expiresAt: now + (timeout > .zero ? timeout : .seconds(30)))
    try core.requireDiskSpace(for: model.peer, "begun")
    let item = try core.send(model, from: session, timeout: timeout).orGone("invitation")
    await core.waitForWrites(of: model.peer)
    return .created(item, at: model.path)
  }

  private enum Answer: String, CaseIterable { case accepted, declined, cancelled }

  private static func answer(_ core: Core, _ call: Call) async throws -> Reply {
    let client = try call.need()
    let model = try core.invitation(call[0], for: client)
    try call.checkMatch(core.invitations.list[model.id])
    var fields = try call.fields()
    let answer = try fields.word("state", of: Answer.self)
    let session = try fields.text("session")
    try fields.end()
    guard let answer else { throw fields.missing("state") }
    guard model.state == .pending else {
      throw Problem(.conflict, "the invitation has ended: it is '\(model.state.rawValue)'", field: "state")
    }
    guard !model.isAnswered else {
      throw Problem(.conflict, "the invitation is being answered already", field: "state")
    }
    try core.requireDiskSpace(for: model.peer, toAnswer: answer == .accepted)
    switch (answer, model.isIncoming) {
    case (.accepted, true):
      if let session {
        guard try core.ownSession(session, for: client).peer === model.peer else {
          throw Problem(.invalidParameter, "the session belongs to another of your peers", field: "session")
        }
        model.session = session
      }
      await core.accept(model.id, as: .client(client.id))
      if let problem = model.problem { throw problem }
    case (.declined, true):
      let invitation = model.takeInvitation()
      core.settle(model.id, .declined)
      await invitation?.decline()
      core.audit.add(.declined, about: model.path, by: .client(client.id), model.auditMembers)
    case (.cancelled, false):
      model.task?.cancel()
      core.settle(model.id, .cancelled)
    case (.cancelled, true):
      throw Problem(
        .conflict, "an invitation that came is 'accepted' or 'declined'; its inviter cancels it", field: "state")
    default:
      throw Problem(.conflict, "an invitation that was made here can only be 'cancelled'", field: "state")
    }
    let item = try core.publish(model).orGone("invitation")
    await core.waitForWrites(of: model.peer)
    return .item(item)
  }
}
