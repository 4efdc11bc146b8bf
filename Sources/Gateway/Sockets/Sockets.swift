internal import Reactor
internal import Web

/// All WebSockets of `vicinity.v1`.
final class Sockets {
  static let subprotocol = "vicinity.v1"
  static let messageBytesMax = 2 << 20

  private unowned let core: Core
  private var clients: [ObjectIdentifier: SocketClient] = [:]
  /// Until when those are waited for who have left.
  private var absences: [ClientID: Timer] = [:]

  init(_ core: Core) {
    self.core = core
  }

  func decide(_ head: Head) throws(Problem) -> SocketDecision {
    guard head.path == ["v1", "socket"] else {
      throw Problem(.notFound, "there is no WebSocket at \(PlainName.of(head.target)); it is at /v1/socket")
    }
    let offered = head.headers.all("Sec-WebSocket-Protocol").flatMap { header in
      header.split(separator: ",").map { $0.filter { $0 != " " } }
    }
    guard offered.isEmpty || offered.contains(Self.subprotocol) else {
      throw Problem(
        .badRequest,
        "this WebSocket speaks '\(Self.subprotocol)', and none of \(PlainName.of(offered.joined(separator: ", ")))",
        field: "Sec-WebSocket-Protocol")
    }
    return .accept(
      subprotocol: offered.isEmpty ? nil : Self.subprotocol, owner: SocketClient(core, head),
      reading: .messages(bytesMax: Self.messageBytesMax))
  }

  func add(_ client: SocketClient, _ socket: WebSocket) { clients[ObjectIdentifier(socket)] = client }
  func remove(_ socket: WebSocket) {
    if let client = clients.removeValue(forKey: ObjectIdentifier(socket))?.view?.id { wait(for: client) }
  }

  /// A client without a WebSocket loses the peers that live with it, unless it comes in time.
  func wait(for client: ClientID) {
    guard absences[client] == nil, !clients.values.contains(where: { $0.view?.id == client }) else { return }
    absences[client] = core.reactor.schedule(after: core.options.graceTime) { [weak self] in
      guard let self else { return }
      absences[client] = nil
      core.removeConnectionPeers(of: client)
    }
  }

  func came(_ client: ClientID) {
    if let absence = absences.removeValue(forKey: client) { core.reactor.cancel(absence) }
  }

  func viewer(of socket: WebSocket) -> ClientView? { clients[ObjectIdentifier(socket)]?.view }

  subscript(key: ObjectIdentifier) -> SocketClient? { clients[key] }

  var count: Int { clients.count }
  var all: some Swift.Collection<SocketClient> { clients.values }

  /// Those of one client, as when its token is revoked.
  func close(of client: ClientID, _ code: UInt16, _ reason: String) {
    for socket in clients.values where socket.view?.id == client { socket.close(code, reason) }
  }

  func closeAll(_ code: UInt16, _ reason: String) {
    for socket in clients.values { socket.close(code, reason) }
  }

  func ended(_ collection: Collection) {
    for client in clients.values { client.ended(collection) }
  }
}
