internal import Nearby
internal import Notation

/// A peer that this gateway carries, for a client or for itself.
final class PeerModel {
  enum Lifetime: String, CaseIterable {
    /// As long as the client's WebSocket and its grace period.
    case connection
    case stored
  }

  let peer: Peer
  let owner: Owner
  let lifetime: Lifetime
  let createdAt: Timestamp
  /// Since when its client is absent; nil while it is present.
  var awaySince: Timestamp?
  var sessionCount = 0
  /// The number of its client; nil for the gateway's own peer.
  var clientNumber: Int?

  init(_ peer: Peer, _ owner: Owner, _ lifetime: Lifetime, at time: Timestamp) {
    self.peer = peer
    self.owner = owner
    self.lifetime = lifetime
    createdAt = time
  }

  var id: String { peer.id.text }
  var path: String { "/v1/peers/\(id)" }

  var json: JSON {
    var members: [JSON.Member] = [
      .init("id", .text(id)), .init("displayName", .text(peer.name)), .init("lifetime", .text(lifetime.rawValue)),
      .init("isGateway", .bool(owner == .gateway)), .init("createdAt", .text(createdAt.description)),
    ]
    if let awaySince { members.append(.init("awaySince", .text(awaySince.description))) }
    return .object(members)
  }
}

extension Core {
  @discardableResult
  func add(_ peer: PeerModel) -> Item? {
    peers[peer.id] = peer
    events.publish("peerAdded", about: peer.path, peer.owner, [.init("displayName", .text(peer.peer.name))])
    for advice in earlyAdvice.filter({ $0.peer == peer.peer.id }) { report(advice) }
    earlyAdvice.removeAll { $0.peer == peer.peer.id }
    if case .client(let client) = peer.owner {
      presence.watch(client)
      peer.clientNumber = clients.clients[client]?.number
    }
    return publish(peer)
  }

  @discardableResult
  func publish(_ peer: PeerModel) -> Item? {
    guard exists(peer) else { return nil }
    return peers.list.put(peer.id, peer.json, owner: peer.owner, facets: ["lifetime": peer.lifetime.rawValue])
  }

  /// Announces advice to those who see its peer. A name is advised on before its peer is stored and added here.
  func report(_ advice: Advice) {
    guard let peer = peers[advice.peer.text] else {
      earlyAdvice = earlyAdvice.suffix(Self.earlyAdviceMax - 1) + [advice]
      return
    }
    events.publish(
      "advice", about: peer.path, peer.owner,
      [.init("displayName", .text(peer.peer.name)), .init("text", .text(advice.description))])
  }

  /// Few peers are being made at a time, and some of them are never added.
  private static let earlyAdviceMax = 32

  /// The peer, if the client may act as it.
  func peer(_ id: String, for client: ClientView) throws(Problem) -> PeerModel {
    guard let peer = peers[id], peer.owner.isSeen(by: client) else { throw .missing("peer", id) }
    guard peer.owner.isChangeable(by: client) else {
      throw .lacking(.operator, client, to: "acting as the gateway's own peer")
    }
    return peer
  }

  /// The peer that a body names; it may be left out if the client has only one.
  func peer(in fields: inout Fields, for client: ClientView) throws(Problem) -> PeerModel {
    if let id = try fields.text("peer") { return try peer(id, for: client) }
    let own = peers.values.filter { $0.owner == .client(client.id) }
    if own.count == 1, let peer = own.first { return peer }
    throw Problem(
      .invalidParameter,
      own.isEmpty
        ? "'peer' is missing, and you have no peer yet: make one (POST /v1/peers)"
        : "'peer' is missing, and you have \(own.count) peers: say which", field: "peer", rule: "required")
  }

  func removeConnectionPeers(of client: ClientID) {
    for peer in peers.values where peer.owner == .client(client) && peer.lifetime == .connection { remove(peer) }
  }

  /// Removes a peer; it leaves everything that it was in.
  func remove(_ peer: PeerModel) {
    guard peers.remove(peer.id) else { return }
    for advertiser in advertisers.values where advertiser.peer === peer { remove(advertiser) }
    for browser in browsers.values where browser.peer === peer { remove(browser) }
    for session in sessions.values where session.peer === peer { remove(session) }
    for invitation in invitations.values where invitation.peer === peer { remove(invitation) }
    peers.list.remove(peer.id)
    events.publish("peerRemoved", about: peer.path, peer.owner, [.init("displayName", .text(peer.peer.name))])
    let peer = peer.peer
    start { _ in await peer.remove() }
  }
}
