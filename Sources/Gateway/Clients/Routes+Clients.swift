internal import Nearby
internal import Notation
internal import Reactor
internal import Store
internal import Web

extension Routes {
  static let codeSecondsMax: Int64 = 86_400
  /// Limit for the clients of one code: those of a party, not of a town.
  static let codeUsesMax: Int64 = 1_000
  static let codeLabelBytesMax = 63

  static let clients: [Route] = [
    Route(.post, "/v1/pairing-codes", .role(.operator), body: .json, .now(makeCode)),
    Route(.get, "/v1/pairing-codes", .role(.operator), .collection(facets: []) { core, _ in core.codeList }),
    Route(
      .get, "/v1/pairing-codes/{code}", .role(.operator),
      .now { core, call in try core.item(call[0], in: core.codeList, "pairing code", call) }),
    Route(
      .delete, "/v1/pairing-codes/{code}", .role(.operator),
      .now { core, call in
        if let code = core.clients.openCodes.first(where: { $0.id == call[0] }) {
          try call.need().checkRank(over: code.role)
        }
        try call.checkMatch(core.codeList[call[0]])
        if core.clients.revokeCode(call[0]) { core.codeList.remove(call[0]) }
        return .nothing
      }),
    Route(.post, "/v1/pairings", .anyone, body: .json, .later(pair)),
    Route(
      .get, "/v1/clients", .role(.operator),
      .collection(facets: [Facet("role", of: Role.self)]) { core, _ in core.clientList }),
    Route(
      .get, "/v1/clients/{client}", .role(.viewer),
      .now { core, call in
        let client = try call.need()
        let id = client.meant(by: call[0])
        if id == client.id, let item = core.clientList[id.text] { return .item(item) }
        return try core.item(id.text, in: core.clientList, "client", call)
      }),
    Route(.delete, "/v1/clients/{client}", .role(.viewer), .later(revoke)),
    Route(
      .get, "/v1/clients/{client}/queues", .role(.viewer),
      .now { core, call in
        let client = try call.need()
        let id = client.meant(by: call[0])
        guard id == client.id || client.role >= .operator, core.clients.clients[id] != nil else {
          throw Problem.missing("client", call[0])
        }
        return .json(core.queues(of: id))
      }),
    Route(.get, "/v1/clients/{client}/export", .role(.viewer), .live(export)),
    Route(
      .get, "/v1/audit", .role(.operator),
      .collection(facets: [
        Facet("deed", of: AuditLog.Action.self), Facet("by", of: AuditLog.ActorKind.self), "client",
      ]) {
        core, _ in
        core.audit.list
      }),
  ]

  private static func makeCode(_ core: Core, _ call: Call) throws -> Reply {
    let client = try call.need()
    var fields = try call.fields()
    let role = try fields.word("role", of: Role.self) ?? .member
    let scopes = try fields.scopes("scopes") ?? client.scopes
    let time = try fields.integer("seconds", in: 10...codeSecondsMax)
    let uses = try fields.integer("uses", in: 1...codeUsesMax) ?? 1
    let label = try fields.text("label", max: codeLabelBytesMax)
    try fields.end()
    try call.connection.requirePrivate("pairing codes are made")
    guard role < client.role || client.role == .admin else {
      throw Problem(
        .forbidden,
        "a client can create codes only for roles below its own, '\(client.role.rawValue)': on the gateway's machine "
          + "'vicinity pair --role \(role.rawValue)' makes one",
        field: "role", rule: "role")
    }
    guard scopes.isSubset(of: client.scopes) else {
      throw Problem(
        .forbidden,
        "a client can create codes only within its own scopes, \(client.scopes.words.joined(separator: ", ")): on the "
          + "gateway's machine 'vicinity pair --role \(role.rawValue)' makes one, with --scope for each scope",
        field: "scopes", rule: "scope")
    }
    guard uses == 1 || role <= .member else {
      throw Problem(
        .forbidden,
        "a code for several clients is for members and viewers only: create one for each '\(role.rawValue)'",
        field: "uses", rule: "role")
    }
    let code = try core.clients.makeCode(
      role, scopes, lasting: time.map { .seconds($0) }, uses: Int(uses), label: label, for: client.id)
    core.show(code)
    var json = core.json(code)
    if case .object(let members) = json {
      json = .object(members + [.init("code", .text(Secrets.shown(code: code.text)))])
    }
    var reply = Reply.json(json, 201)
    reply.headers = [.init(name: "Location", value: "/v1/pairing-codes/\(code.id)")]
    return reply
  }

  private static func pair(_ core: Core, _ call: Call) async throws -> Reply {
    var fields = try call.fields()
    let code = try fields.needText("code", max: 64)
    let name = try fields.text("name") ?? "client"
    let wantsCookie = try fields.bool("cookie") ?? false
    try fields.end()
    // Checked before the code is used up: a page makes a peer of this name, and would be paired without one.
    do throws(NearbyError) {
      try Peer.check(name: name)
    } catch {
      throw Problem(error, field: "name", rule: "P-ID-1")
    }
    let paired = Result { try core.clients.pair(code, name: name, over: call.connection) }
    core.refreshCodes()
    let (client, token, spent) = try paired.get()
    core.showUses(of: spent.id)
    try await core.keep(client, letInBy: spent.maker.map(AuditLog.Actor.client) ?? .machine)
    core.meters.paired()
    core.events.publish("paired", about: "/v1/clients/\(client.id)", .operators, [.init("name", .text(name))])
    var members: [JSON.Member] = [
      .init("client", .text(client.id.text)), .init("name", .text(name)), .init("role", .text(client.role.rawValue)),
      .init("scopes", client.scopes.json),
    ]
    if let end = client.expiresAt { members.append(.init("expiresAt", .text(end.description))) }
    var headers = [Problem.Field(name: "Location", value: "/v1/clients/\(client.id)")]
    if wantsCookie {
      members.append(.init("csrf", .text(core.clients.csrf(for: token))))
      headers.append(core.access.setCookieHeader(token, over: call.connection))
    } else {
      members.append(.init("token", .text(token)))
    }
    var reply = Reply.json(.object(members), 201)
    reply.headers = headers
    return reply
  }

  /// Revokes a token: operators may revoke any, and clients their own.
  private static func revoke(_ core: Core, _ call: Call) async throws -> Reply {
    let client = try call.need()
    let id = client.meant(by: call[0])
    guard client.role >= .operator || client.id == id else {
      throw Problem.lacking(.operator, client, to: "revoking another client's token")
    }
    if id != client.id, let other = core.clients.clients[id] { try client.checkRank(over: other.role) }
    let wasThere = core.clients.clients[id] != nil
    try call.checkMatch(core.clientList[id.text])
    try await core.revoke(id)
    if wasThere { core.audit.add(.revoked, about: "/v1/clients/\(id)", by: .client(client.id)) }
    var reply = Reply.nothing
    if id == client.id, client.usesCookie { reply.headers = [core.access.clearCookieHeader(over: call.connection)] }
    return reply
  }

  private static func export(_ core: Core, _ call: Call, _ exchange: Exchange) throws {
    let client = try call.need()
    guard client.meant(by: call[0]) == client.id else {
      throw Problem(.forbidden, "a client can export only its own data, whatever its role", rule: "own")
    }
    guard client.scopes == .all else {
      throw Problem.lacking(.all, client, to: "an export, which has all that is kept,")
    }
    try Export.answer(client, call, exchange, in: core)
  }
}

extension Core {
  /// The list of codes never shows the codes themselves.
  func json(_ code: Clients.Code) -> JSON {
    let label = code.label.map { [JSON.Member("label", .text($0))] } ?? []
    return .object(
      [
        .init("id", .text(code.id)), .init("role", .text(code.role.rawValue)), .init("scopes", code.scopes.json),
        .init("uses", .number(code.usesLeft)), .init("expiresAt", .text(code.expiresAt.description)),
      ] + label)
  }

  /// Shows how often a code may still be used, where it may.
  func showUses(of id: String) {
    if let code = clients.openCodes.first(where: { $0.id == id }) { show(code) }
  }

  func show(_ code: Clients.Code) { codeList.put(code.id, json(code), owner: .operators) }

  func refreshCodes() {
    let open = Set(clients.openCodes.map(\.id))
    for code in codeList.page(after: 0, atMost: .max, for: .console, where: [:]).items where !open.contains(code.id) {
      codeList.remove(code.id)
    }
  }

  func show(_ client: Clients.Client) {
    var members: [JSON.Member] = [
      .init("id", .text(client.id.text)), .init("name", .text(client.name)), .init("role", .text(client.role.rawValue)),
      .init("scopes", client.scopes.json), .init("createdAt", .text(client.createdAt.description)),
    ]
    if let end = client.expiresAt { members.append(.init("expiresAt", .text(end.description))) }
    clientList.put(client.id.text, .object(members), owner: .operators, facets: ["role": client.role.rawValue])
    if let end = client.expiresAt { watch(client.id, until: end) }
  }

  /// Ends a client's subscriptions when its token expires, and some time later all that was its own. It checks
  /// repeatedly, since the machine's clock may be set.
  private func watch(_ client: ClientID, until end: Timestamp, expiredSince since: Instant? = nil) {
    let left = Duration.milliseconds(max(0, end.milliseconds - Timestamp.now.milliseconds))
    let time = min(since == nil ? left : options.expiredTime, Self.watchInterval)
    reactor.schedule(after: time) { [weak self] in
      guard let self, clients.clients[client] != nil else { return }
      if clients.hasValidToken(client) { return watch(client, until: end) }
      if let since, Instant.now - since >= options.expiredTime { return removeExpired(client, until: end) }
      if since == nil {
        sockets.close(of: client, .forbidden, "the token has expired: pair again")
        channels.endFollowers(of: client)
      }
      watch(client, until: end, expiredSince: since ?? Instant.now)
    }
  }

  private func removeExpired(_ client: ClientID, until end: Timestamp) {
    start { core in
      do {
        try await core.revoke(client)
        core.audit.add(.expired, about: "/v1/clients/\(client)", by: .machine)
      } catch {
        // The store may be closed or full: it is tried again.
        core.watch(client, until: end, expiredSince: Instant.now)
      }
    }
  }

  private static let watchInterval: Duration = .seconds(60)

  /// Stores a client together with its audit entry; if that fails, the client is removed.
  func keep(_ client: Clients.Client, letInBy actor: AuditLog.Actor) async throws {
    let action = audit.number(
      .paired, about: "/v1/clients/\(client.id)", by: actor,
      [.init("role", .text(client.role.rawValue)), .init("scopes", client.scopes.json)])
    do {
      try await store.perform { [stored = client.stored, row = action.row] in
        try $0.add(stored)
        try $0.add(row)
      }
    } catch {
      clients.revoke(client.id)
      throw error
    }
    guard clients.clients[client.id] != nil else {
      throw Problem(.gone, "this client was deleted meanwhile: pair again")
    }
    show(client)
    audit.report(action)
  }
}

extension ClientView {
  /// The client that a path names; `self` is the caller.
  func meant(by text: String) -> ClientID { text == "self" ? id : ClientID(text: text) }

  /// Throws if the other ranks above the caller.
  func checkRank(over other: Role) throws(Problem) {
    guard other <= role else { throw Problem.lacking(other, self) }
  }

  /// The gateway's own view, which sees everything.
  static let console = ClientView(id: ClientID(text: "console"), name: "console", role: .admin)
}
