internal import Notation
internal import Reactor
internal import Web

/// One WebSocket of `vicinity.v1`: it authenticates, subscribes to channels, and makes requests as by REST.
final class SocketClient: SocketOwner {
  /// Limit on answers queued for a client, large ones not counted.
  static let queuedBytesMax = 8 << 20
  /// Backpressure: while more than this is queued for a client, its requests are neither run nor read.
  static let unreadBytesMax = 64 << 10

  let core: Core
  private let head: Head
  private let connection: RequestConnection
  private(set) var view: ClientView?
  private(set) weak var socket: WebSocket?
  var subscriptions: [String: Subscription] = [:]
  /// Pages of lists, by their paths with queries.
  var pages: [String: LivePage] = [:]
  private var connectDeadline: Timer?
  private var requestsUnderWay = 0
  /// Frames received while its answers wait unread.
  private var pendingFrames: ArraySlice<ClientFrame> = []
  /// The kind of frames for bodies that are no text: binary, where that was agreed on.
  private(set) var bodyKind = MessageKind.text
  private(set) var account: ClientAccount?
  /// Whether it waits in the fair queue.
  private var waitsForTurn = false
  /// Whether its subscriptions that catch up wait there.
  var isResumeQueued = false
  /// Its further frames are ignored.
  private(set) var isClosing = false
  private typealias Place = (parsed: RequestTarget, match: Router.Match, route: Route)
  /// The route of the last request, a cache: mostly the next request has the same one.
  private var lastPlace: (target: String, method: Method, place: Place)?

  init(_ core: Core, _ head: Head) {
    self.core = core
    self.head = head
    connection = RequestConnection(head)
  }

  func opened(_ socket: WebSocket) {
    self.socket = socket
    socket.queuedBytesMax = Self.queuedBytesMax
    socket.resumeBytes = Self.unreadBytesMax / 2
    core.sockets.add(self, socket)
    connectDeadline = core.reactor.schedule(after: core.options.authenticationTimeout) { [unowned self] in
      connectDeadline = nil
      close(.silence, "authentication timed out: send 'connect' first")
    }
  }

  func closed(_ socket: WebSocket, _ code: UInt16) {
    core.meters.closed(code)
    pendingFrames = []
    if let connectDeadline { core.reactor.cancel(connectDeadline) }
    connectDeadline = nil
    for subscription in subscriptions.values { subscription.collection.unsubscribe(socket) }
    subscriptions = [:]
    for channel in pages.keys { unfollow(page: channel) }
    core.sockets.remove(socket)
  }

  /// The client's queues, and their limits.
  var queues: JSON {
    let channels = subscriptions.values.map(\.collection).sorted { $0.path < $1.path }
    return [
      "queuedBytes": .number(socket?.queuedBytes ?? 0), "queuedBytesMax": .number(Self.queuedBytesMax),
      "requests": .number(requestsUnderWay),
      "channels": .list(
        channels.map { channel in
          [
            "channel": .text(channel.path),
            "waiting": .number(socket.map(channel.waitingCount(for:)) ?? 0),
            "dropped": .number(socket.map(channel.droppedCount(for:)) ?? 0),
          ]
        }),
    ]
  }

  /// Queued frames of all channels.
  var waitingCount: Int {
    guard let socket else { return 0 }
    return subscriptions.values.reduce(0) { $0 + $1.collection.waitingCount(for: socket) }
  }

  func close(_ code: CloseCode, _ reason: String) {
    isClosing = true
    for channel in pages.keys { unfollow(page: channel) }
    socket?.close(code.rawValue, reason)
  }

  func lagging(_ socket: WebSocket, in fanout: Fanout) {
    core.log(
      .info, for: .client, "lagging", "a WebSocket is closed as a slow consumer: it is too far behind",
      [.init("client", .text(view?.id.text ?? ""))])
    close(.lagging, "too far behind: reconnect, and subscribe with the last position")
  }

  // MARK: Incoming frames

  func received(_ bytes: UnsafeRawBufferPointer, _ kind: MessageKind, isLast: Bool, from socket: WebSocket) {
    if let view, let account { core.clients.markActive(view.id, account) }
    if kind == .binary {
      guard bodyKind == .binary else {
        return close(.badFrame, "binary frames are not agreed on: send text, or connect with \"binary\": true")
      }
      receive(ClientFrame(binary: bytes), from: socket)
      return runFrames(of: socket)
    }
    var rest = bytes[...]
    while !rest.isEmpty, !isClosing {
      let line = rest.prefix { $0 != UInt8(ascii: "\n") }
      rest = rest[line.endIndex...].dropFirst()
      if !line.isEmpty { receive(ClientFrame(line: Array(UnsafeRawBufferPointer(rebasing: line))), from: socket) }
    }
    runFrames(of: socket)
  }

  private func receive(_ frame: ClientFrame, from socket: WebSocket) {
    if pendingFrames.isEmpty, canRunFrame(from: socket) { takeTurn(frame) } else { pendingFrames.append(frame) }
  }

  /// Whether the client reads its answers, and has a share of this turn left.
  private func canRunFrame(from socket: WebSocket) -> Bool {
    socket.queuedBytes <= Self.unreadBytesMax && (account.map(core.fairQueue.admits) ?? true)
  }

  private func takeTurn(_ frame: ClientFrame) {
    if let account { core.fairQueue.run(account) { handle(frame) } } else { handle(frame) }
  }

  /// Runs received frames, or waits for the client to read, or for its turn; meanwhile the socket is not read.
  private func runFrames(of socket: WebSocket) {
    if waitsForTurn || isClosing { return }
    while canRunFrame(from: socket), !isClosing, let frame = pendingFrames.popFirst() { takeTurn(frame) }
    let isBackpressured = socket.queuedBytes > Self.unreadBytesMax
    if isBackpressured { socket.requestWritable() } else if !pendingFrames.isEmpty { waitForTurn() }
    let reads = pendingFrames.isEmpty && !isBackpressured
    if socket.isReading != reads, !isClosing { socket.isReading = reads }
  }

  private func waitForTurn() {
    guard let account else { return }
    waitsForTurn = true
    core.fairQueue.add(account) { [weak self] in
      guard let self else { return }
      waitsForTurn = false
      if !isClosing, let frame = pendingFrames.popFirst() { handle(frame) }
      if let socket { runFrames(of: socket) }
    }
  }

  func writable(_ socket: WebSocket) {
    runFrames(of: socket)
    resumeSubscriptions(socket)
    resumePages()
  }

  private func handle(_ frame: ClientFrame) {
    var id = JSON.null
    do {
      var fields = try Fields(try frame.json())
      id = try self.id(&fields)
      if let connect = try fields.object("connect") {
        try fields.end()
        return try say(.ok, id, self.connect(connect))
      }
      guard let view else {
        throw Problem.unauthorized("authenticate first: {\"id\": 1, \"connect\": {\"token\": \"…\"}}")
      }
      if let request = try fields.object("request") {
        try fields.end()
        try self.request(request, frame.body, id, view)
      } else if frame.body != nil {
        throw Problem(.invalidParameter, "a binary message holds a 'request', whose body its bytes are")
      } else if let subscribe = try fields.object("subscribe") {
        try fields.end()
        try self.subscribe(subscribe, id, view)
      } else if let unsubscribe = try fields.object("unsubscribe") {
        try fields.end()
        try say(.ok, id, self.unsubscribe(unsubscribe))
      } else {
        try fields.end()
        throw Problem(
          .invalidParameter,
          "a frame holds 'connect', 'subscribe', 'unsubscribe' or 'request', and this one none of them")
      }
    } catch {
      let problem = Problem(wrapping: error)
      core.log.refused(problem, "a frame of a WebSocket", by: view)
      say(.problem, id, problem.json)
      if view == nil { close(problem.kind == .unauthorized ? .unauthorized : .badFrame, problem.detail) }
    }
  }

  private func id(_ fields: inout Fields) throws(Problem) -> JSON {
    guard let id = fields.value("id") else { throw fields.missing("id") }
    switch id {
    case .integer, .text: return id
    default: throw fields.wrong("id", "is \(id.kind) and must be a number or a string")
    }
  }

  enum Word: String { case ok, problem }

  func say(_ word: Word, _ id: JSON, _ json: JSON) {
    send(JSON.object([.init("id", id), .init(word.rawValue, json)]).bytes)
  }

  // MARK: Connect

  private func connect(_ connect: Fields) throws(Problem) -> JSON {
    var connect = connect
    let token = try connect.text("token") ?? core.access.cookie(of: head)
    let isBinary = try connect.bool("binary") ?? false
    try connect.end()
    guard view == nil else { throw Problem(.conflict, "this WebSocket is connected already") }
    guard let token, let view = try core.access.client(token: token, over: connection) else {
      throw .unauthorized("this token is unknown, revoked or expired: pair again")
    }
    self.view = view
    bodyKind = isBinary ? .binary : .text
    account = core.clients.account(of: view.id)
    socket?.traffic = account?.traffic
    core.sockets.connected(view.id)
    if let connectDeadline { core.reactor.cancel(connectDeadline) }
    connectDeadline = nil
    return [
      "client": .text(view.id.text), "name": .text(view.name), "role": .text(view.role.rawValue),
      "scopes": view.scopes.json, "binary": .bool(isBinary),
      "limits": [
        "messageBytes": .number(Sockets.messageBytesMax),
        "subscriptions": .number(core.currentLimits.subscriptionsPerSocket),
        "requests": .number(core.currentLimits.requestsPerSocket),
      ],
    ]
  }

  // MARK: Channels

  private func subscribe(_ subscribe: Fields, _ id: JSON, _ view: ClientView) throws {
    var subscribe = subscribe
    let channel = try subscribe.needText("channel")
    let since = try subscribe.text("since").map { (text) throws(Problem) in
      try Position.parsing(text, field: "subscribe.since")
    }
    try subscribe.end()
    guard subscriptions[channel] == nil, pages[channel] == nil else {
      throw Problem(.conflict, "this channel is subscribed already")
    }
    guard subscriptions.count + pages.count < core.currentLimits.subscriptionsPerSocket else {
      throw Problem(
        .tooMany, "a WebSocket follows \(core.currentLimits.subscriptionsPerSocket) channels at most",
        limit: core.currentLimits.subscriptionsPerSocket)
    }
    let (collection, listing) = try place(of: channel, view)
    guard let listing else {
      // A path can be written in several ways.
      guard subscriptions[collection.path] == nil else {
        throw Problem(.conflict, "this channel is subscribed already: \(collection.path)")
      }
      return follow(collection, since, id, view)
    }
    try follow(collection, page: listing, as: channel, since, id, view)
  }

  func send(_ frame: [UInt8]) {
    guard frame.withUnsafeBytes({ socket?.send($0, .text) ?? true }) else {
      return close(.lagging, "too far behind: reconnect, and subscribe with the last position")
    }
  }

  /// The list that a channel is, and its page where it has a query.
  private func place(of channel: String, _ view: ClientView) throws -> (Collection, Listing?) {
    guard channel.hasPrefix("/"), let target = try? RequestTarget(channel, .get),
      let match = core.router.match(target.path), let route = match[.get],
      case .collection(let facets, let work) = route.work
    else {
      throw Problem(
        .notFound, "\(QuotedText.of(channel)) is no channel: every collection of /docs is one",
        field: "subscribe.channel")
    }
    let call = Call(.get, target.path, match.captures, query: target.query, of: view, over: connection)
    try core.access.check(call, route)
    return (try work(core, call), channel.contains("?") ? try Listing(call, facets: facets) : nil)
  }

  private func unsubscribe(_ unsubscribe: Fields) throws(Problem) -> JSON {
    var unsubscribe = unsubscribe
    let path = try unsubscribe.needText("channel")
    try unsubscribe.end()
    if unfollow(page: path) { return ["channel": .text(path)] }
    guard let collection = subscriptions.removeValue(forKey: path)?.collection else {
      throw Problem(.notFound, "\(QuotedText.of(path)) is not subscribed", field: "unsubscribe.channel")
    }
    if let socket { collection.unsubscribe(socket) }
    return ["channel": .text(path)]
  }

  func ended(_ collection: Collection) {
    endPages(of: collection)
    guard subscriptions.removeValue(forKey: collection.path) != nil else { return }
    if let socket { collection.unsubscribe(socket) }
    send(Array("{\"n\":\(collection.number),\"end\":true}".utf8))
  }

  // MARK: Requests

  private func request(_ request: Fields, _ bytes: [UInt8]?, _ id: JSON, _ view: ClientView) throws {
    var request = request
    let method = Method(try request.needText("method"))
    let target = try request.needText("path")
    let body = request.value("body")
    let headers = try request.dictionary("headers", max: 16) ?? [:]
    try request.end()
    if bytes != nil, body != nil {
      throw request.wrong("body", "must be absent in a binary message: the bytes behind the frame are the body")
    }
    guard requestsUnderWay < core.currentLimits.requestsPerSocket else {
      throw Problem.rateLimited(
        "\(core.currentLimits.requestsPerSocket) requests are in progress on this WebSocket", after: 1,
        limit: core.currentLimits.requestsPerSocket)
    }
    let (parsed, match, route) = try place(target, method)
    var fields = Headers()
    for (name, value) in headers { fields.append(name, value) }
    let call = Call(
      method, parsed.path, match.captures, query: parsed.query, headers: fields,
      body: bytes ?? Self.bytes(of: body, for: route), of: view, over: connection)
    try core.access.check(call, route)
    switch route.work {
    case .now(let work): say(id, try core.idempotency.run(call) { try work(core, call) })
    case .collection(let facets, let work):
      try readCollection(try work(core, call), try Listing(call, facets: facets), call, id, view)
    case .later(let work):
      if let reply = try core.idempotency.recall(call) { return say(id, reply) }
      later(call, id, work)
    case .nowOrLater(let now, let work):
      if let reply = try now(core, call) { return say(id, reply) }
      later(call, id, work)
    case .live, .socket:
      throw Problem(.unsupported, "uploads and downloads need HTTP", field: "request.path")
    }
  }

  private static func bytes(of body: JSON?, for route: Route) -> [UInt8] {
    if case .text(let text)? = body, case .bytes = route.body { return Array(text.utf8) }
    return body?.bytes ?? []
  }

  private func place(_ target: String, _ method: Method) throws(Problem) -> Place {
    if let last = lastPlace, last.target == target, last.method == method { return last.place }
    let parsed = try Self.parse(target, method)
    guard let match = core.router.match(parsed.path), let route = match[method] else {
      throw Problem(.notFound, "there is no \(method.name) at \(QuotedText.of(target))", field: "request.path")
    }
    lastPlace = (target, method, (parsed, match, route))
    return (parsed, match, route)
  }

  /// Reads a collection as HTTP does (`Service.readCollection`).
  private func readCollection(
    _ collection: Collection, _ listing: Listing, _ call: Call, _ id: JSON, _ view: ClientView,
    keeping reservation: ResponseReservation? = nil
  ) throws(Problem) {
    func wait(for bytes: Int) {
      let path = collection.path
      requestsUnderWay += 1
      reserve(bytes, view) { client, reserved in
        client.requestsUnderWay -= 1
        do throws(Problem) {
          let reservation = try reserved.get()
          guard let collection = client.core.channels.collection(at: path) else {
            throw Problem(.gone, "the session was left meanwhile")
          }
          try client.readCollection(collection, listing, call, id, view, keeping: reservation)
        } catch {
          client.core.log.refused(error, "a frame of a WebSocket", by: view)
          client.say(.problem, id, error.json)
        }
      }
    }
    guard collection.needsHistory(listing) else {
      let reply = listing.reply(of: collection, for: view, nil)
      if let bytes = reply.largeBytes, reservation == nil { return wait(for: bytes) }
      return say(id, reply.keeping(reservation))
    }
    guard let reservation else { return wait(for: listing.historyBytesMax) }
    let path = collection.path
    later(call, id) { core, _ in
      guard let collection = core.channels.collection(at: path) else {
        throw Problem(.gone, "the session was left meanwhile")
      }
      return listing.reply(of: collection, for: view, try await collection.readHistory(listing)).keeping(reservation)
    }
  }

  /// Calls back, if the client is still there, once memory is reserved for it.
  func reserve(
    _ bytes: Int, _ view: ClientView, _ tell: @escaping (SocketClient, Result<ResponseReservation, Problem>) -> Void
  ) {
    core.responseBudget.reserve(bytes, for: view.id) { [weak self] reserved in
      if let self, !isClosing { tell(self, reserved) }
    }
  }

  /// Parses the target of a request as HTTP does.
  private static func parse(_ target: String, _ method: Method) throws(Problem) -> RequestTarget {
    do {
      return try RequestTarget(target, method)
    } catch {
      throw Problem(.invalidParameter, error.description, field: "request.path")
    }
  }

  private func later(_ call: Call, _ id: JSON, _ work: @escaping @Sendable (Core, Call) async throws -> Reply) {
    guard let socket else { return }
    let key = ObjectIdentifier(socket)
    requestsUnderWay += 1
    core.start { core in
      let reply: Reply
      do {
        reply = try await core.perform(call, work)
      } catch {
        reply = Reply(Problem(wrapping: error))
      }
      await core.audit.flush()
      core.idempotency.remember(reply, to: call)
      core.sockets[key]?.done(id, reply)
    }
  }

  private func done(_ id: JSON, _ reply: Reply) {
    requestsUnderWay -= 1
    say(id, reply)
  }

  /// The size of all of an answer but its body, where its id and its location are short.
  private static let answerFrameBytes = 192

  private func say(_ id: JSON, _ reply: Reply) {
    var frame: [UInt8] = []
    frame.reserveCapacity(reply.bytesCount + Self.answerFrameBytes)
    frame += "{\"id\":".utf8
    id.write(to: &frame)
    frame += (reply.status < 400 ? ",\"ok\":" : ",\"problem\":").utf8
    if case .pieces(let pieces) = reply.body {
      var whole = Pieces([frame])
      whole.append(pieces)
      whole.append([UInt8(ascii: "}")])
      socket?.send(reserved: [whole])
      return
    }
    if let (bytes, type) = reply.content {
      frame += MediaRange.isJSON(type) ? bytes : JSON.text(Base64.text(bytes)).bytes
    } else {
      frame += "{\"status\":\(reply.status)}".utf8
    }
    if let location = reply.headers.first(where: { $0.name == "Location" })?.value {
      frame += ",\"location\":".utf8
      JSON.text(location).write(to: &frame)
    }
    frame.append(UInt8(ascii: "}"))
    send(frame)
  }
}
