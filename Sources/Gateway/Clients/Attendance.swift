internal import Engine
internal import Nearby
internal import Notation
internal import Reactor
internal import Web

/// Which clients are there: the peers of one that is not are away.
///
/// A client is there while it has a WebSocket or a request under way, an event stream as well as an upload, and for
/// `GatewayOptions.awayTime` after the last that was heard of it. With whatever it says next it is there again, at once.
/// Until a client has said something since the gateway was started, it is not there. The gateway's own peer is never away.
final class Attendance {
  private unowned let core: Core
  private let reactor: Reactor
  /// When it is looked whether they are still there.
  private var looks: [ClientID: Timer] = [:]
  private var underWay: [ClientID: [WeakExchange]] = [:]

  private struct WeakExchange {
    weak var exchange: Exchange?
    var isOver: Bool { exchange?.isGone ?? true }
  }

  init(_ core: Core) {
    self.core = core
    reactor = core.reactor
  }

  deinit {
    for look in looks.values { reactor.cancel(look) }
  }

  /// Nobody has said anything yet: peers of earlier runs are away.
  func begin() async throws {
    core.clients.onReturn = { [weak self] in self?.returned($0) }
    let now = ContinuousClock.now
    for peer in core.peers.values {
      guard case .client(let id) = peer.owner else { continue }
      core.clients.goes(id)
      try await peer.peer.setAway(since: now)
      peer.awaySince = Timestamp.now
      core.publish(peer)
    }
  }

  /// Checks from time to time whether a client is still there, as long as it has a peer.
  func watch(_ client: ClientID) {
    if looks[client] == nil { look(at: client, after: core.options.awayTime) }
  }

  /// A request of the client is under way for as long as it takes.
  func serves(_ client: ClientID, _ exchange: Exchange) {
    var exchanges = underWay[client, default: []]
    if exchanges.count >= Self.underWaySweep { exchanges.removeAll(where: \.isOver) }
    underWay[client] = exchanges + [WeakExchange(exchange: exchange)]
  }

  private static let underWaySweep = 32

  /// It had a WebSocket, or followed something, until now.
  func left(_ client: ClientID) {
    core.clients.markSeen(client)
    if let look = looks.removeValue(forKey: client) { reactor.cancel(look) }
    watch(client)
  }

  /// It has no token any more, and no peer.
  func forget(_ client: ClientID) {
    if let look = looks.removeValue(forKey: client) { reactor.cancel(look) }
    underWay[client] = nil
  }

  private func look(at client: ClientID, after time: Duration) {
    looks[client] = reactor.schedule(after: time) { [weak self] in
      guard let self else { return }
      looks[client] = nil
      look(at: client)
    }
  }

  private func look(at client: ClientID) {
    underWay[client]?.removeAll(where: \.isOver)
    if underWay[client]?.isEmpty == true { underWay[client] = nil }
    let own = core.peers.values.filter { $0.owner == .client(client) }
    // Of a client without a peer nobody sees whether it is there.
    if own.isEmpty { return }
    if isHere(client) { core.clients.markSeen(client) }
    let now = Instant.now
    let seen = core.clients.lastHeard(client) ?? now
    let end = seen + core.options.awayTime
    guard end <= now else { return look(at: client, after: end - now) }
    core.clients.goes(client)
    setAway(own, since: now - seen)
  }

  private func isHere(_ client: ClientID) -> Bool {
    underWay[client] != nil || core.sockets.holds(client) || core.follows(client)
  }

  private func returned(_ client: ClientID) {
    setAway(core.peers.values.filter { $0.owner == .client(client) }, since: nil)
    watch(client)
  }

  /// Nil: they are here again.
  private func setAway(_ peers: [PeerModel], since age: Duration?) {
    let moment = age.map { ContinuousClock.now - $0 }
    for model in peers {
      model.awaySince = moment.map(Timestamp.init)
      core.publish(model)
      core.tell(age == nil ? "here" : "away", about: model.path, model.owner)
      let peer = model.peer
      // One that is removed meanwhile is no more to be seen.
      core.start { _ in try? await peer.setAway(since: moment) }
    }
  }
}
