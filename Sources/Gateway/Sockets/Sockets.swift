internal import Notation
internal import Reactor
internal import Web

/// All WebSockets: those of `vicinity.v1`, and those that routes have of their own.
final class Sockets {
  static let subprotocol = "vicinity.v1"
  static let messageBytesMax = 2 << 20

  private unowned let core: Core
  private var clients: [ObjectIdentifier: SocketClient] = [:]
  /// The number of WebSockets of each client that has some, after they have connected.
  private var countByClient: [ClientID: Int] = [:]
  /// WebSockets of single streams, by number, until all their received bytes are written.
  var streams: [UInt64: StreamSocket] = [:]
  /// The grace periods of clients that have left.
  private var absences: [ClientID: Timer] = [:]

  init(_ core: Core) {
    self.core = core
  }

  func decide(_ head: Head) throws(Problem) -> SocketDecision {
    guard let match = core.router.match(head.path), let route = match[.get],
      case .socket(let subprotocol, let open) = route.work
    else {
      throw Problem(.notFound, "there is no WebSocket at \(QuotedText.of(head.target)); it is at /v1/socket")
    }
    let agreed = try agree(on: subprotocol, head)
    do {
      let (owner, reading) = try open(core, head, route, match.captures)
      return .accept(subprotocol: agreed, owner: owner, reading: reading)
    } catch {
      throw Problem(wrapping: error)
    }
  }

  /// Subprotocol negotiation; nil where the client offers none.
  private func agree(on subprotocol: String, _ head: Head) throws(Problem) -> String? {
    let offered = head.headers.all("Sec-WebSocket-Protocol").flatMap { header in
      header.split(separator: ",").map { $0.filter { $0 != " " } }
    }
    guard offered.isEmpty || offered.contains(subprotocol) else {
      throw Problem(
        .badRequest,
        "this WebSocket speaks '\(subprotocol)', and none of \(QuotedText.of(offered.joined(separator: ", ")))",
        field: "Sec-WebSocket-Protocol")
    }
    return offered.isEmpty ? nil : subprotocol
  }

  func add(_ client: SocketClient, _ socket: WebSocket) { clients[ObjectIdentifier(socket)] = client }

  /// A WebSocket of the client has authenticated.
  func connected(_ client: ClientID) {
    countByClient[client, default: 0] += 1
    if let absence = absences.removeValue(forKey: client) { core.reactor.cancel(absence) }
  }

  func remove(_ socket: WebSocket) {
    guard let client = clients.removeValue(forKey: ObjectIdentifier(socket))?.view?.id else { return }
    countByClient[client] = countByClient[client].flatMap { $0 > 1 ? $0 - 1 : nil }
    core.presence.restartTimer(of: client)
    startGracePeriod(of: client)
  }

  /// Starts a client's grace period: without a new WebSocket in time its connection peers are removed.
  func startGracePeriod(of client: ClientID) {
    guard absences[client] == nil, countByClient[client] == nil else { return }
    absences[client] = core.reactor.schedule(after: core.options.reconnectTimeout) { [weak self] in
      guard let self else { return }
      absences[client] = nil
      core.removeConnectionPeers(of: client)
    }
  }

  /// Whether a client has a WebSocket, of either kind.
  func hasSocket(_ client: ClientID) -> Bool {
    countByClient[client] != nil || streams.values.contains { $0.view?.id == client }
  }

  func viewer(of socket: WebSocket) -> ClientView? { clients[ObjectIdentifier(socket)]?.view }

  subscript(key: ObjectIdentifier) -> SocketClient? { clients[key] }

  var count: Int { clients.count }
  var all: some Swift.Collection<SocketClient> { clients.values }

  func queues(of client: ClientID) -> [JSON.Member] {
    [
      .init("sockets", .list(clients.values.filter { $0.view?.id == client }.map(\.queues))),
      .init("streamSockets", .list(streams.values.filter { $0.view?.id == client }.map(\.queues))),
    ]
  }

  /// Closes the WebSockets of one client, for example when its token is revoked.
  func close(of client: ClientID, _ code: CloseCode, _ reason: String) {
    for socket in clients.values where socket.view?.id == client { socket.close(code, reason) }
    for socket in streams.values where socket.view?.id == client { socket.end(code, reason) }
  }

  func closeAll(_ code: CloseCode, _ reason: String) {
    for socket in clients.values { socket.close(code, reason) }
    for socket in streams.values { socket.end(code, reason) }
  }

  /// Closes the WebSockets of channels: their clients reconnect and resume without a loss.
  func closeChannels(_ code: CloseCode, _ reason: String) {
    for socket in clients.values { socket.close(code, reason) }
  }

  func ended(_ collection: Collection) {
    for client in clients.values { client.ended(collection) }
  }
}
