internal import Notation
internal import Reactor
internal import Web

/// The core's HTTP handler: it authenticates and authorizes requests, runs them, and sends the responses.
final class Service: WebHandler {
  /// Limit for bodies that are JSON.
  static let jsonBytesMax = 1 << 20
  /// Limit for a response that an idle connection caches.
  private static let cachedBytesMax = 4 << 10

  private let core: Core
  private var exchanges: [UInt64: Exchange] = [:]
  private var lastExchange: UInt64 = 0

  init(_ core: Core) {
    self.core = core
  }

  // MARK: Requests

  func read(_ head: Head) throws(WebFault) -> Head { core.access.base.read(try core.access.proxies.read(head)) }
  func isShared(_ client: SocketAddress) -> Bool { core.access.proxies.contains(client) }

  func refused(_ client: SocketAddress, at limit: ConnectionLimit) {
    let cure =
      switch limit {
      case .connections: "connections-max is reached"
      case .address: "connections-per-address-max is reached"
      case .descriptors: "this process may open no more files: raise the limit (ulimit -n, or LimitNOFILE of the unit)"
      }
    core.log(
      .warning, for: .operator, "connectionRefused", "a connection from \(client.bareText) was closed at once: \(cure)",
      [.init("address", .text(client.bareText)), .init("limit", .text(limit.rawValue))])
  }

  func begin(_ exchange: Exchange) {
    let head = exchange.head
    do throws(Problem) {
      if let request = exchange.headContext.content as? CachedRequest { return try serve(request, exchange) }
      try admit(head)
      if let response = core.access.redirection(of: head) { return exchange.respond(response) }
      if let response = core.access.base.redirection(of: head) { return core.respond(response, to: exchange) }
      if let file = core.site.file(at: head.path) {
        exchange.tag = Meters.siteTag
        return try serve(file, exchange)
      }
      guard let match = core.router.match(head.path) else {
        throw Problem(.notFound, "\(QuotedText.of(head.target)) does not exist; /docs lists all paths")
      }
      if head.method == .options { return exchange.respond(options(match.methods, head)) }
      guard let route = match[head.method] else { throw Problem(head.method, notAmong: match.methods) }
      let request = CachedRequest(route, Call(head, match.captures))
      exchange.headContext.content = request
      try serve(request, exchange)
    } catch {
      refuse(error, exchange)
    }
  }

  private func serve(_ file: Asset, _ exchange: Exchange) throws(Problem) {
    switch exchange.head.method {
    case .get, .head: answer(Site.reply(file), exchange)
    case .options: exchange.respond(options(Site.methods, exchange.head))
    case let method: throw Problem(method, notAmong: Site.methods)
    }
  }

  /// The request of a head; it follows from the head's bytes, so it is cached for when the connection repeats them.
  private final class CachedRequest {
    let route: Route
    let call: Call
    /// The last client with a token, which may ask again for as long as that is valid.
    var client: CachedClient?
    /// The last response.
    var response: CachedResponse?

    init(_ route: Route, _ call: Call) {
      self.route = route
      self.call = call
    }
  }

  private final class CachedResponse {
    let reply: Reply
    let response: Response

    init(_ reply: Reply, _ response: Response) {
      self.reply = reply
      self.response = response
    }
  }

  private final class CachedClient {
    let entry: TokenCache.Entry
    let call: Call

    init(_ entry: TokenCache.Entry, _ call: Call) {
      self.entry = entry
      self.call = call
    }
  }

  private func serve(_ request: CachedRequest, _ exchange: Exchange) throws(Problem) {
    exchange.tag = request.route.number
    if let cached = request.client, core.clients.revalidate(cached.entry) {
      return collectBody(request, cached.call, exchange)
    }
    let entry = try core.access.bearer(of: exchange.head)
    let call = try call(request, exchange.head, of: entry)
    request.client = entry.map { CachedClient($0, call) }
    collectBody(request, call, exchange)
  }

  private func call(_ request: CachedRequest, _ head: Head, of entry: TokenCache.Entry?) throws(Problem) -> Call {
    let route = request.route
    let client = if let entry { entry.view } else { try core.access.client(byCookieOf: head, at: route) }
    var isNearby = false
    if case .nearby = route.access { isNearby = core.access.isNearby(head) }
    let call = request.call.asked(by: client, isNearby: isNearby)
    try core.access.check(call, route)
    if let coding = head.headers["Content-Encoding"], coding.lowercased() != "identity" {
      throw Problem(
        .unsupportedMediaType,
        "bodies are not decompressed: send it without the Content-Encoding \(QuotedText.of(coding))",
        field: "Content-Encoding")
    }
    return call
  }

  /// Checks the host name by which this gateway is asked, and the page that asks.
  private func admit(_ head: Head) throws(Problem) {
    try core.access.checkHost(head)
    try core.access.checkOrigin(head)
  }

  private func collectBody(_ request: CachedRequest, _ call: Call, _ exchange: Exchange) {
    let account = call.client.flatMap { core.clients.account(of: $0.id) }
    exchange.traffic = account?.traffic
    switch request.route.body {
    case .none, .live:
      run(request, call, exchange, for: account)
    case .json, .bytes:
      var bytesMax = Self.jsonBytesMax
      if case .bytes(let max) = request.route.body { bytesMax = max }
      exchange.collectBody(bytesMax: bytesMax) { [self] body in
        run(request, call.with(body: body), exchange, for: account)
      }
    }
  }

  /// Runs the work when it is its client's turn.
  private func run(_ request: CachedRequest, _ call: Call, _ exchange: Exchange, for account: ClientAccount?) {
    guard let account else { return work(request, call, exchange) }
    if core.fairQueue.admits(account) { return core.fairQueue.run(account) { work(request, call, exchange) } }
    let number = keep(exchange)
    core.fairQueue.add(account) { [weak self] in
      if let self, let exchange = take(number) { work(request, call, exchange) }
    }
  }

  private func work(_ request: CachedRequest, _ call: Call, _ exchange: Exchange) {
    do {
      switch request.route.work {
      case .now(let work):
        answer(try core.idempotency.run(call) { try work(core, call) }, exchange)
      case .collection(let facets, let work):
        try readCollection(try work(core, call), try Listing(call, facets: facets), call, exchange)
      case .live(let work):
        if let client = call.client { core.presence.trackRequest(of: client.id, exchange) }
        try work(core, call, exchange)
      case .socket(let subprotocol, _):
        var problem = Problem(.upgradeRequired, "this is a WebSocket: upgrade, with the subprotocol '\(subprotocol)'")
        problem.headers = [.init(name: "Upgrade", value: "websocket")]
        throw problem
      case .later(let work):
        if let reply = try core.idempotency.recall(call) { return answer(reply, exchange) }
        later(call, exchange, work)
      case .nowOrLater(let now, let work):
        if let reply = try now(core, call) { return answer(reply, exchange) }
        later(call, exchange, work)
      }
    } catch {
      refuse(Problem(wrapping: error), exchange, call.client)
    }
  }

  private func refuse(_ problem: Problem, _ exchange: Exchange, _ client: ClientView? = nil) {
    core.log.refused(problem, core.name(of: exchange), by: client)
    answer(Reply(problem), exchange)
  }

  /// Runs work that waits; until it is done, the exchange is kept here by a number.
  private func later(
    _ call: Call, _ exchange: Exchange, _ work: @escaping @Sendable (Core, Call) async throws -> Reply
  ) {
    let number = keep(exchange)
    if let client = call.client { core.presence.trackRequest(of: client.id, exchange) }
    core.start { core in
      let reply: Reply
      do {
        reply = try await core.perform(call, work)
      } catch {
        let problem = Problem(wrapping: error)
        core.log.refused(problem, core.service?.name(of: number) ?? "a request", by: call.client)
        reply = Reply(problem)
      }
      await core.audit.flush()
      core.idempotency.remember(reply, to: call)
      core.service?.answer(reply, number)
    }
  }

  private func name(of number: UInt64) -> String { exchanges[number].map(core.name) ?? "a request" }

  private func keep(_ exchange: Exchange) -> UInt64 {
    lastExchange += 1
    let number = lastExchange
    exchanges[number] = exchange
    exchange.onAbort = { [weak self] in self?.exchanges[number] = nil }
    return number
  }

  private func take(_ number: UInt64) -> Exchange? {
    guard let exchange = exchanges.removeValue(forKey: number) else { return nil }
    exchange.onAbort = nil
    return exchange
  }

  private func answer(_ reply: Reply, _ number: UInt64) {
    if let exchange = take(number) { answer(reply, exchange) }
  }

  // MARK: Collections

  /// Reads changes that the channel no longer has from its stored history, once memory is reserved.
  private func readCollection(
    _ collection: Collection, _ listing: Listing, _ call: Call, _ exchange: Exchange,
    keeping reservation: ResponseReservation? = nil
  ) throws(Problem) {
    guard collection.needsHistory(listing) else {
      return try respondWithCollection(collection, listing, call, exchange, nil, keeping: reservation)
    }
    guard let reservation else {
      return try wait(for: listing.historyBytesMax, collection, listing, call, exchange)
    }
    let (number, path) = (keep(exchange), collection.path)
    core.start { core in
      do {
        // It may have ended meanwhile.
        guard let collection = core.channels.collection(at: path) else {
          throw Problem(.gone, "the session was left meanwhile")
        }
        let recalled = try await collection.readHistory(listing)
        guard let service = core.service, let exchange = service.take(number) else { return }
        try service.respondWithCollection(collection, listing, call, exchange, recalled, keeping: reservation)
      } catch {
        let problem = Problem(wrapping: error)
        core.log.refused(problem, core.service?.name(of: number) ?? "a request", by: call.client)
        core.service?.answer(Reply(problem), number)
      }
    }
  }

  /// Reads again once memory is reserved for the response.
  private func wait(
    for bytes: Int, _ collection: Collection, _ listing: Listing, _ call: Call, _ exchange: Exchange
  ) throws(Problem) {
    let (client, number, path) = (try call.need(), keep(exchange), collection.path)
    core.responseBudget.reserve(bytes, for: client.id) { [weak self] reserved in
      guard let self, let exchange = take(number) else { return }
      do throws(Problem) {
        let reservation = try reserved.get()
        guard let collection = core.channels.collection(at: path) else {
          throw Problem(.gone, "the session was left meanwhile")
        }
        try readCollection(collection, listing, call, exchange, keeping: reservation)
      } catch {
        refuse(error, exchange, call.client)
      }
    }
  }

  private func respondWithCollection(
    _ collection: Collection, _ listing: Listing, _ call: Call, _ exchange: Exchange, _ recalled: HistoryResult?,
    keeping reservation: ResponseReservation?
  ) throws(Problem) {
    let client = try call.need()
    if MediaRange.names(call.headers["Accept"], "text/event-stream") {
      // A HEAD request has nothing to follow.
      if call.method == .head { return core.respond(EventStream.head(), to: exchange) }
      return EventStream(collection, listing, client, recalled, keeping: reservation).begin(exchange, in: core)
    }
    guard MediaRange.accepts(call.headers["Accept"], "application/json") else {
      throw Problem(.notAcceptable, "a list comes as application/json or text/event-stream")
    }
    if listing.since != nil, listing.wait > 0, !core.isDraining, recalled == nil,
      !listing.hasChanges(collection, for: client)
    {
      return LongPoll(collection, listing, client, core.reactor).begin(exchange) { [self] listing in
        do throws(Problem) {
          try respondWithCollection(collection, try listing.get(), call, exchange, nil, keeping: nil)
        } catch {
          refuse(error, exchange, call.client)
        }
      }
    }
    let reply = listing.reply(of: collection, for: client, recalled)
    // A large reply is a list of shared bytes until its memory is reserved.
    if let bytes = reply.largeBytes, reservation == nil {
      return try wait(for: bytes, collection, listing, call, exchange)
    }
    answer(reply.keeping(reservation), exchange)
  }

  // MARK: Responses

  /// The same request mostly has the same response as before, which is cached.
  private func answer(_ reply: Reply, _ exchange: Exchange) {
    let request = exchange.headContext.content as? CachedRequest
    if let cached = request?.response, cached.reply.isSame(as: reply) {
      return core.send(cached.response, to: exchange)
    }
    let response = response(for: reply, exchange.head)
    request?.response =
      reply.bytesCount <= Self.cachedBytesMax && reply.largeBytes == nil ? CachedResponse(reply, response) : nil
    core.send(response, to: exchange)
  }

  private func response(for reply: Reply, _ head: Head) -> Response {
    let content = reply.content
    let isLook = reply.status == 200 && (head.method == .get || head.method == .head)
    if isLook, content?.type == "application/json" || reply.largeBytes != nil,
      !MediaRange.accepts(head.headers["Accept"], "application/json")
    {
      return response(for: Reply(Problem(.notAcceptable, "this comes as application/json")), head)
    }
    var response = Response(reply.status)
    response.headers.reserve(reply.headers.count + 6)
    var tag = reply.tag?.description
    let isCompressed = isLook && reply.isCompressed && Compression.isAccepted(by: head.headers["Accept-Encoding"])
    if let tag, isLook, EntityTag.match(head.headers["If-None-Match"], tag, by: .weak) {
      response.status = 304
    } else if let content {
      response.headers.append("Content-Type", content.type)
      if isCompressed { response.headers.append("Content-Encoding", "gzip") }
      response.body = .bytes(isCompressed ? reply.compressed : content.bytes)
    } else if case .pieces(let pieces) = reply.body {
      response.headers.append("Content-Type", "application/json")
      response.body = .source(PiecesSource(pieces), length: pieces.count)
    }
    if isCompressed { tag = tag.map(EntityTag.compressed) }
    if let tag { response.headers.append("ETag", tag) }
    for field in reply.headers { response.headers.append(field.name, core.access.base.value(of: field)) }
    core.access.addCommonHeaders(to: &response, for: head)
    return response
  }

  func responded(to exchange: Exchange, with status: Int) {
    let time = Reactor.now - exchange.began
    core.meters.answered(exchange.tag, with: status, after: time)
    if core.log.includes(.debug) {
      core.log(
        .debug, for: .developer, "answered", core.name(of: exchange),
        [.init("status", .number(status)), .init("microseconds", .number(Int(time / 1_000)))])
    }
  }

  private func options(_ methods: String, _ head: Head) -> Response {
    var response = Response(204)
    response.headers.append("Allow", methods)
    core.access.addCORSPermissions(methods, to: &response, for: head)
    core.access.addCommonHeaders(to: &response, for: head)
    return response
  }

  func refuse(_ fault: WebFault, _ head: Head?) -> Response {
    let kinds: [Int: Problem.Kind] = [
      404: .notFound, 405: .methodNotAllowed, 408: .timedOut, 413: .tooLarge, 414: .tooLarge,
      415: .unsupportedMediaType,
      426: .upgradeRequired, 429: .tooMany, 431: .tooLarge, 501: .unsupported, 503: .unavailable, 505: .unsupported,
    ]
    var problem = Problem(
      kinds[fault.status] ?? .badRequest, fault.description, rule: fault.rule, limit: fault.limit)
    var json = problem.json
    // The server's own statuses (408, 431 …) stand as they are.
    if problem.status != fault.status, case .object(var members) = json {
      members[2] = .init("status", .number(fault.status))
      json = .object(members)
    }
    problem.headers = []
    var response = Response(fault.status, .bytes(json.bytes))
    response.headers.append("Content-Type", "application/problem+json")
    if let head { core.access.addCommonHeaders(to: &response, for: head) }
    return response
  }

  // MARK: WebSockets

  func upgrade(_ head: Head) -> SocketDecision {
    do throws(Problem) {
      try admit(head)
      if core.options.isHTTPSOnly { try RequestConnection(head).requirePrivate("a WebSocket begins") }
      if core.isDraining { throw Problem(.unavailable, "the gateway is draining: reconnect in a moment") }
      return try core.sockets.decide(head)
    } catch {
      core.log.refused(error, "a WebSocket", by: nil)
      return .refuse(Response(error))
    }
  }
}

extension Core {
  /// Responds with the headers that every response has.
  func respond(_ response: Response, to exchange: Exchange) {
    var response = response
    access.addCommonHeaders(to: &response, for: exchange.head)
    send(response, to: exchange)
  }

  /// Responds without adding them: the response has them already.
  fileprivate func send(_ response: Response, to exchange: Exchange) {
    var response = response
    if isDraining { response.closes = true }
    exchange.respond(response)
  }

  func respond(_ problem: Problem, to exchange: Exchange) {
    log.refused(problem, name(of: exchange), by: nil)
    respond(Response(problem), to: exchange)
  }

  /// The method and route, without any text from the client.
  func name(of exchange: Exchange) -> String { "\(exchange.head.method.name) \(routeName(exchange.tag))" }

  func routeName(_ tag: Int) -> String {
    if tag == Meters.siteTag { return "dashboard" }
    return tag > 0 && tag <= router.routes.count ? router.routes[tag - 1].pattern : "none"
  }
}

extension Response {
  init(_ problem: Problem) {
    self.init(problem.status, .bytes(problem.json.bytes))
    headers.append("Content-Type", "application/problem+json")
    for field in Reply(problem).headers { headers.append(field.name, field.value) }
  }
}

extension Call {
  /// Checks `If-Match`: a change may name the state that it means.
  func checkMatch(_ item: Item?) throws(Problem) {
    guard let item, let header = headers["If-Match"] else { return }
    guard EntityTag.match(header, item.tag.description, by: .strong) else {
      throw Problem(
        .preconditionFailed, "the item has changed: its ETag is \(item.tag) now; read it again before you change it")
    }
  }
}
