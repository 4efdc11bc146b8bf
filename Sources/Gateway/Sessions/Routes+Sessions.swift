internal import Nearby
internal import Notation
internal import Web

extension Routes {
  static let sessions: [Route] = [
    Route(.post, "/v1/sessions", .role(.member), body: .json, .later(open)),
    Route(
      .get, "/v1/sessions", .role(.viewer),
      .collection(facets: ["peer", "adhoc"]) { core, _ in core.currentSessionList }),
    Route(
      .get, "/v1/sessions/{session}", .role(.viewer),
      .now { core, call in
        try core.item(call[0], in: core.currentSessionList, "session", call)
      }),
    Route(.patch, "/v1/sessions/{session}", .role(.member), body: .json, .later(change)),
    Route(
      .delete, "/v1/sessions/{session}", .role(.member),
      .later { core, call in
        let client = try call.need()
        guard core.sessions[call[0]] != nil else { return await core.replyToMissing() }
        let session = try core.ownSession(call[0], for: client)
        try call.checkMatch(core.sessionList[session.id])
        core.remove(session)
        await core.waitForRemovals()
        return .nothing
      }),

    Route(
      .get, "/v1/sessions/{session}/clock", .role(.viewer),
      .later { core, call in
        let time = try await core.session(call[0], for: call.need()).session.clock
        return .json([
          "elapsedMilliseconds": .real(time.elapsed / .milliseconds(1)),
          "boundMilliseconds": .real(time.bound / .milliseconds(1)),
          "source": time.source.map { .text($0.text) } ?? .null,
          "synchronized": .bool(time.isSynchronized), "steps": .integer(Int64(time.steps)),
        ])
      }),

    Route(
      .get, "/v1/sessions/{session}/members", .role(.viewer),
      .collection(facets: ["peer", Facet("state", MemberModel.words), .name]) { core, call in
        try core.session(call[0], for: call.need()).members
      }),
    Route(
      .get, "/v1/sessions/{session}/members/{member}", .role(.viewer),
      .now { core, call in
        try core.item(call[1], in: core.session(call[0], for: call.need()).members, "member", call)
      }),
    Route(
      .delete, "/v1/sessions/{session}/members/{member}", .role(.member), parameters: ["ban"],
      .later { core, call in
        let session = try core.ownSession(call[0], for: call.need())
        let ban = try call.flag("ban")
        guard let known = session.known(call[1]) else {
          core.forgetInvitee(call[1], in: session)
          return .nothing
        }
        try call.checkMatch(session.members[call[1]])
        try await session.session.remove(known.member, ban: ban)
        await core.waitForRemovals()
        return .nothing
      }),

    Route(
      .get, "/v1/sessions/{session}/certificates", .role(.viewer),
      .collection(facets: ["peer"]) { core, call in
        try core.session(call[0], for: call.need()).certificates
      }),
    Route(
      .get, "/v1/sessions/{session}/certificates/{decision}", .role(.viewer),
      .now { core, call in
        try core.item(call[1], in: core.session(call[0], for: call.need()).certificates, "decision", call)
      }),
    Route(.patch, "/v1/sessions/{session}/certificates/{decision}", .role(.member), body: .json, .later(decide)),
  ]

  private static func open(_ core: Core, _ call: Call) async throws -> Reply {
    let client = try call.need()
    var fields = try call.fields()
    let peer = try core.peer(in: &fields, for: client)
    var parameters = SessionParameters()
    if let word = try fields.word("encryption", of: SessionParameters.EncryptionWord.self) {
      parameters.encryption = word.encryption
    }
    parameters.trust = try fields.word("trust", of: SessionParameters.Trust.self) ?? .any
    parameters.maxPeers = try fields.integer("maxPeers", in: 2...1_000_000).map(Int.init) ?? parameters.maxPeers
    parameters.acceptsResources = try fields.word("resources", of: Taking.self) == .accept
    let adhoc = try fields.text("adhoc")
    if let id = try fields.text("identity") { parameters.identity = try identity(id, core, client) }
    if var history = try fields.object("history") {
      var retention = SessionParameters.Retention(kind: core.sessionStore.isDurable ? .durable : .memory)
      retention.kind = try history.word("keep", of: SessionParameters.Retention.Kind.self) ?? retention.kind
      let most = retention.most(core.currentLimits)
      retention.limits.count = try history.integer("count", in: 1...most.count).map(Int.init) ?? retention.limits.count
      retention.limits.bytes =
        try history.integer("bytes", in: 1_024...most.bytes).map(Int.init) ?? retention.limits.bytes
      retention.limits.age = try history.integer("age", in: 1...Self.ageMax).map { .seconds($0) }
      try history.end()
      parameters.retention = retention
    }
    try fields.end()
    parameters.adhoc = adhoc
    let model = try await core.openSession(of: peer, parameters)
    if let adhoc {
      do {
        try await startAdhoc(adhoc, model)
      } catch {
        core.remove(model)
        throw error
      }
    }
    await core.keep(model)
    return .created(try core.publish(model).orGone("session"), at: model.path)
  }

  static let blockedMax = 1_024
  /// A hundred years, in seconds.
  static let ageMax: Int64 = 3_155_760_000

  /// The identity to be shown; it vouches for a person, so it needs the role 'operator'.
  private static func identity(_ id: String, _ core: Core, _ client: ClientView) throws(Problem) -> Identity {
    guard client.role >= .operator else {
      throw .lacking(.operator, client, to: "showing a security identity", field: "identity")
    }
    guard let identity = try? core.identity(id) else {
      throw Problem(
        .invalidParameter, "there is no identity \(QuotedText.of(id)): /v1/identities lists them", field: "identity")
    }
    return identity
  }

  private enum Taking: String, CaseIterable { case ask, accept }
  private static func startAdhoc(_ type: String, _ model: SessionModel) async throws {
    do {
      try await model.session.startAdhoc(type)
      model.adhoc = type
    } catch {
      var problem = Problem(error)
      if error.code == .invalidParameter { problem.field = "adhoc" }
      throw problem
    }
  }

  private static func change(_ core: Core, _ call: Call) async throws -> Reply {
    let model = try core.ownSession(call[0], for: call.need())
    try call.checkMatch(core.sessionList[model.id])
    var fields = try call.fields()
    let locked = try fields.bool("locked")
    let blocked = try fields.texts("blocked", max: blockedMax).map(Set.init)
    let adhoc = try fields.textOrNull("adhoc")
    let adhocTime = try fields.integer("adhocSeconds", in: 1...Core.adhocSecondsMax).map { Duration.seconds($0) }
    if adhocTime != nil, (adhoc ?? model.adhoc) == nil {
      throw fields.wrong("adhocSeconds", "is for a session in ad hoc mode: set 'adhoc', too", rule: "required")
    }
    try fields.end()
    try core.requireDiskSpace(for: model.peer, "changed")
    let turned = try peers(blocked?.symmetricDifference(model.blocked) ?? [])
    // It may be refused, and then nothing else has changed.
    if let adhoc, adhoc != model.adhoc {
      // The end of the mode before is not that of the new one.
      let end = model.adhocUntil
      model.adhocUntil = nil
      do {
        try await turn(model, adhoc)
      } catch {
        model.adhocUntil = end
        core.watchAdhoc(of: model)
        await core.keep(model)
        throw error
      }
    }
    if adhoc != nil || adhocTime != nil {
      model.adhocUntil = adhocTime.map { Timestamp.now + $0 }
      core.watchAdhoc(of: model)
    }
    if let locked {
      await model.session.lock(locked)
      model.isLocked = locked
    }
    if let blocked {
      for peer in turned { await model.session.block(peer, blocked.contains(peer.text)) }
      model.blocked = blocked
    }
    await core.keep(model)
    return .item(try core.publish(model).orGone("session"))
  }

  /// Turns ad hoc mode on with another service type, or off; if that is refused, restores the old one.
  private static func turn(_ model: SessionModel, _ adhoc: String?) async throws {
    let before = model.adhoc
    await model.session.stopAdhoc()
    model.adhoc = nil
    do {
      if let adhoc { try await startAdhoc(adhoc, model) }
    } catch {
      if let before { try? await startAdhoc(before, model) }
      throw error
    }
  }

  private static func peers(_ texts: Set<String>) throws(Problem) -> [PeerID] {
    var peers: [PeerID] = []
    for text in texts {
      guard let peer = try? PeerID(text: text) else {
        throw Problem(.invalidParameter, "\(QuotedText.of(text)) is no peer ID", field: "blocked", rule: "peerID")
      }
      peers.append(peer)
    }
    return peers
  }

  private enum Verdict: String, CaseIterable { case trust, reject }

  private static func decide(_ core: Core, _ call: Call) async throws -> Reply {
    let session = try core.ownSession(call[0], for: call.need())
    var fields = try call.fields()
    let verdict = try fields.word("decision", of: Verdict.self)
    let remember = try fields.bool("remember") ?? false
    try fields.end()
    guard let verdict else { throw fields.missing("decision") }
    try call.checkMatch(session.certificates[call[1]])
    guard let decision = session.decisions.removeValue(forKey: call[1]) else {
      throw Problem.missing("decision", call[1])
    }
    session.certificates.remove(call[1])
    core.audit.add(
      verdict == .trust ? .accepted : .declined, about: "\(session.certificates.path)/\(call[1])",
      by: .client(try call.need().id), [.init("peer", .text(decision.member.peer.text))])
    switch verdict {
    case .trust:
      try await decision.admit()
      if remember {
        try await core.host.trust(decision.member.peer, as: decision.member.name)
        core.publishKnownPeers()
        core.audit.add(
          .trusted, about: "/v1/trusted-peers/\(decision.member.peer.text)", by: .client(try call.need().id))
      }
    case .reject: try await decision.refuse()
    }
    return .nothing
  }
}
