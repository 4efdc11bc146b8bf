internal import Nearby
internal import Notation
internal import Web

extension Routes {
  static let gateway: [Route] = [
    Route(.get, "/v1/gateway", .anyone, .now { core, call in .json(core.about(to: call.client)) }),
    Route(
      .patch, "/v1/gateway", .role(.admin), body: .json, .later { core, call in try await core.changeSettings(call) }),
    Route(
      .get, "/v1/gateway/diagnostics", .role(.operator), .later { core, _ in .json(try await core.diagnose()) }),
    Route(
      .get, "/v1/links", .role(.viewer),
      .later { core, call in
        let isOperator = try call.need().role >= .operator
        return .json(["items": .list(await core.host.links.map { $0.json(withAddress: isOperator) })])
      }),
    Route(.get, "/v1/gateway/authority", .anyone, .now { core, _ in try core.authority() }),
    Route(.get, "/v1/events", .role(.viewer), .collection(facets: ["event"]) { core, _ in core.events.list }),
    Route(
      .get, "/v1/socket", .anyone,
      .socket(Sockets.subprotocol) { core, head, _, _ in
        (SocketClient(core, head), .messages(bytesMax: Sockets.messageBytesMax))
      }),
    Route(.post, "/v1/qr-codes", .role(.viewer), body: .json, .now { _, call in try qrCode(call) }),
    Route(.get, "/openapi.json", .anyone, .later { core, _ in .kept(try await core.needContract().json) }),
    Route(.get, "/docs", .anyone, .later { core, _ in .page(try await core.needContract().page) }),
    Route(
      .get, "/docs/js", .anyone,
      .now { core, _ in
        guard let page = core.site.clientPage(below: core.access.base) else {
          throw Problem(.notFound, "this gateway was started without the JavaScript client: see --site")
        }
        return page
      }),
    Route(.get, "/docs/style.css", .anyone, .now { _, _ in .kept(Stylesheet.asset) }),
    Route(.get, "/problems", .anyone, .now { core, call in problems(call, below: core.access.base) }),
    Route(.get, "/problems/{kind}", .anyone, .now { core, call in try problem(call, below: core.access.base) }),
  ]

  /// Limit for a text in a QR code that a phone still reads from a screen.
  static let qrTextBytesMax = 512

  /// Draws a text as a QR code. It is a POST, since what is in a URL is logged, and codes hold secrets.
  private static func qrCode(_ call: Call) throws(Problem) -> Reply {
    var fields = try call.fields()
    let text = try fields.needText("text", max: qrTextBytesMax)
    try fields.end()
    guard let code = QRCode(text) else {
      throw Problem(.invalidParameter, "an empty text is no QR code", field: "text", rule: "length")
    }
    return Reply(200, .bytes(Array(code.svg.utf8), type: "image/svg+xml"))
  }

  /// All kinds of problems, for people who look for one.
  private static func problems(_ call: Call, below base: BasePath) -> Reply {
    if MediaRange.names(call.headers["Accept"], "text/html") { return .page(Problem.Kind.index(below: base)) }
    let lines = Problem.Kind.allCases.map { "\($0.rawValue) (\($0.status)): \($0.explanation)\n" }
    return Reply(200, .bytes(Array(lines.joined().utf8), type: "text/plain; charset=utf-8"))
  }

  /// For people who follow the link of a problem, in a browser or by curl.
  private static func problem(_ call: Call, below base: BasePath) throws(Problem) -> Reply {
    guard let kind = Problem.Kind(rawValue: call[0]) else { throw .missing("problem", call[0]) }
    if MediaRange.names(call.headers["Accept"], "text/html") { return .page(kind.page(below: base)) }
    let text = "\(kind.title) (\(kind.status), \(kind.rawValue))\n\n\(kind.explanation)\n"
    return Reply(200, .bytes(Array(text.utf8), type: "text/plain; charset=utf-8"))
  }
}

extension Core {
  /// A description of the gateway. Everybody may know its name and version; the rest is for paired clients.
  func about(to client: ClientView?) -> JSON {
    var members: [JSON.Member] = [
      .init("name", .text(name)), .init("version", .text(Gateway.version)),
      .init("time", .text(Timestamp.now.description)),
    ]
    if let certificate {
      var https: [JSON.Member] = [.init("fingerprint", .text(certificate.fingerprint))]
      if let authority = certificate.authority { https.append(.init("authority", .text(authority.fingerprint))) }
      members.append(.init("https", .object(https)))
    }
    if let client, client.role == .admin {
      members.append(.init("settings", ["logLevel": .text(log.level.rawValue), "changed": settings.json]))
    }
    if !access.base.text.isEmpty { members.append(.init("basePath", .text(access.base.text))) }
    guard let client else { return .object(members) }
    members += [
      .init("host", .text(host.id.text)), .init("startedAt", .text(started.description)),
      .init(
        "client",
        [
          "id": .text(client.id.text), "name": .text(client.name), "role": .text(client.role.rawValue),
          "scopes": client.scopes.json, "resourceBytes": .number(disk.used[.client(client.id)]),
          "historyBytes": .number(disk.reservedForHistory[.client(client.id)]),
        ]),
      .init("addresses", .list(addresses.map(JSON.text))), .init("urls", .list(urls.map(JSON.text))),
      .init(
        "discovery",
        discoveryError.map { ["state": "unavailable", "cause": .text($0.cause), "cure": .text($0.cure)] }
          ?? ["state": "available"]),
      .init("limits", limits),
      .init("sockets", .number(sockets.count)),
    ]
    return .object(members)
  }

  func needContract() throws(Problem) -> Contract {
    guard let contract else {
      throw Problem(.notFound, "this gateway was started without its contract, openapi/vicinity.json")
    }
    return contract
  }
}

extension HostLink {
  /// Addresses are for operators.
  fileprivate func json(withAddress isOperator: Bool) -> JSON {
    var members: [JSON.Member] = [
      .init("host", .text(host.text)), .init("medium", .text(medium)), .init("standby", .bool(isStandby)),
    ]
    if isOperator, let address { members.append(.init("address", .text(address))) }
    if let roundTrip { members.append(.init("roundTripMilliseconds", .real(roundTrip / .milliseconds(1)))) }
    members.append(.init("bytesSent", .number(bytesSent)))
    if let bytesReceived { members.append(.init("bytesReceived", .number(bytesReceived))) }
    return .object(members + quality)
  }

  /// Its relay, rate and loss, as far as there are any.
  var quality: [JSON.Member] {
    [
      relay.map { .init("via", .text($0.text)) }, bytesPerSecond.map { .init("bytesPerSecond", .number($0)) },
      loss.map { .init("loss", .real($0)) },
    ].compactMap(\.self)
  }
}
