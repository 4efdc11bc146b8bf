internal import Nearby
internal import Notation
internal import Reactor
internal import Web

/// The presence of clients: the peers of an absent client are shown as away.
///
/// Presence is a lease: a client is present while it has a WebSocket or a request under way, an event stream as well as
/// an upload, and for `GatewayOptions.awayTime` after its last activity. Any activity makes it present again, at once.
/// After a start of the gateway a client is absent until its first activity. The gateway's own peer is never away.
final class ClientPresence {
  private unowned let core: Core
  private let reactor: Reactor
  /// The timers of the next checks, by client.
  private var checkTimers: [ClientID: Timer] = [:]
  private var underWay: [ClientID: [WeakExchange]] = [:]

  private struct WeakExchange {
    weak var exchange: Exchange?
    var isOver: Bool { exchange?.isOver ?? true }
  }

  init(_ core: Core) {
    self.core = core
    reactor = core.reactor
  }

  deinit {
    for timer in checkTimers.values { reactor.cancel(timer) }
  }

  /// Marks the peers of earlier runs as away, since no client has been active yet.
  func begin() async throws {
    core.clients.onReturn = { [weak self] in self?.markPresent($0) }
    let now = ContinuousClock.now
    for peer in core.peers.values {
      guard case .client(let id) = peer.owner else { continue }
      core.clients.markAway(id)
      try await peer.peer.setAway(since: now)
      peer.awaySince = Timestamp.now
      core.publish(peer)
    }
  }

  /// Checks from time to time whether a client is present, as long as it has a peer.
  func watch(_ client: ClientID) {
    if checkTimers[client] == nil { scheduleCheck(of: client, after: core.options.awayTime) }
  }

  /// Keeps the client present while the request is under way.
  func trackRequest(of client: ClientID, _ exchange: Exchange) {
    var exchanges = underWay[client, default: []]
    if exchanges.count >= Self.underWaySweep { exchanges.removeAll(where: \.isOver) }
    underWay[client] = exchanges + [WeakExchange(exchange: exchange)]
  }

  private static let underWaySweep = 32

  /// The client's last activity ends now: it had a WebSocket, or followed a collection.
  func restartTimer(of client: ClientID) {
    core.clients.markActive(client)
    if let timer = checkTimers.removeValue(forKey: client) { reactor.cancel(timer) }
    watch(client)
  }

  /// Forgets a client that has no token and no peer any more.
  func forget(_ client: ClientID) {
    if let timer = checkTimers.removeValue(forKey: client) { reactor.cancel(timer) }
    underWay[client] = nil
  }

  /// Clients are checked together, once in a while: thousands of idle ones do not keep the loop awake.
  private static let stepMax: Duration = .seconds(1)
  /// For short times, as in tests: a check is late by a small part of the time.
  private var step: Duration { min(Self.stepMax, max(core.options.awayTime / 16, .milliseconds(1))) }

  private func scheduleCheck(of client: ClientID, after time: Duration) {
    checkTimers[client] = reactor.schedule(after: time, onStepOf: step) { [weak self] in
      guard let self else { return }
      checkTimers[client] = nil
      check(client)
    }
  }

  private func check(_ client: ClientID) {
    underWay[client]?.removeAll(where: \.isOver)
    if underWay[client]?.isEmpty == true { underWay[client] = nil }
    if isPresent(client) { core.clients.markActive(client) }
    let now = Instant.now
    let seen = core.clients.lastActivity(of: client) ?? now
    let end = seen + core.options.awayTime
    guard end <= now else { return scheduleCheck(of: client, after: end - now) }
    let own = core.peers.values.filter { $0.owner == .client(client) }
    // The presence of a client without a peer is visible to nobody.
    if own.isEmpty { return }
    core.clients.markAway(client)
    setAway(own, since: now - seen)
  }

  private func isPresent(_ client: ClientID) -> Bool {
    underWay[client] != nil || core.sockets.hasSocket(client) || core.channels.follows(client)
  }

  private func markPresent(_ client: ClientID) {
    setAway(core.peers.values.filter { $0.owner == .client(client) }, since: nil)
    watch(client)
  }

  /// An age of nil marks them as present again.
  private func setAway(_ peers: [PeerModel], since age: Duration?) {
    let moment = age.map { ContinuousClock.now - $0 }
    for model in peers {
      model.awaySince = moment.map(Timestamp.init)
      core.publish(model)
      core.events.publish(age == nil ? "here" : "away", about: model.path, model.owner)
      let peer = model.peer
      // A peer that is removed meanwhile is no longer visible.
      core.start { _ in try? await peer.setAway(since: moment) }
    }
  }
}
