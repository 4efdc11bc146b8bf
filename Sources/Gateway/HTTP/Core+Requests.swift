internal import Nearby
internal import Notation
internal import Store

/// A request of a peer, or to it, that is restored after a restart.
protocol PersistedRequest: RegisteredModel {
  static var kind: PersistedRequestKind { get }
  var id: String { get }
  var peer: PeerModel { get }
  /// Its stored form.
  var settings: JSON { get }
}

enum PersistedRequestKind: String { case advertiser, browser, invitation }

extension AdvertiserModel: PersistedRequest {
  static var kind: PersistedRequestKind { .advertiser }
  var settings: JSON { json }
}

extension BrowserModel: PersistedRequest {
  static var kind: PersistedRequestKind { .browser }
  var settings: JSON { json }
}

extension InvitationModel: PersistedRequest {
  static var kind: PersistedRequestKind { .invitation }
}

extension Core {
  /// Stores its present state, with the store's next batch.
  func keep(_ request: some PersistedRequest) {
    // A row must not bring back a request that was deleted, alone or with its peer.
    guard isDurable(request.peer), exists(request.peer), exists(request) else { return }
    let row = StoredRequest(
      id: request.id, kind: type(of: request).kind.rawValue, peer: request.peer.id, settings: request.settings.bytes)
    sessionStore.enqueue(PendingWrite { try $0.keep(row) }, host)
  }

  func forget(_ request: some PersistedRequest) {
    guard isDurable(request.peer) else { return }
    let id = request.id
    sessionStore.enqueue(PendingWrite { try $0.removeRequest(id) }, host)
  }

  /// Returns when the writes of a peer until now would survive a power cut.
  func waitForWrites(of peer: PeerModel) async {
    if isDurable(peer) { await sessionStore.write(PendingWrite { _ in }, host) }
  }

  /// Returns when the removals until now would survive a power cut. Returns at once where the disk is full: the client
  /// may be deleting to make room.
  func waitForRemovals() async {
    if sessionStore.isDurable, !host.storeIsFailing { await sessionStore.write(PendingWrite { _ in }, host) }
  }

  /// The response to the deletion of a missing resource: it may have been deleted just before, and not durably yet.
  func replyToMissing() async -> Reply {
    await waitForRemovals()
    return .nothing
  }

  /// Restores the requests of earlier runs, once the peers and the sessions are restored.
  func restoreRequests() async throws {
    for row in try await store.perform({ try $0.requests() }) {
      guard let peer = peers[row.peer], let settings = try? JSON(parsing: row.settings) else { continue }
      switch PersistedRequestKind(rawValue: row.kind) {
      case .advertiser: await restore(AdvertiserModel(row.id, settings, peer))
      case .browser: await restoreBrowser(row.id, settings, peer)
      case .invitation: restore(InvitationModel(row.id, settings, peer))
      // A kind of a later release.
      case nil: break
      }
    }
  }

  private func restore(_ model: AdvertiserModel?) async {
    guard let model else { return }
    if model.invitations == .adhoc, model.session.flatMap({ sessions[$0] }) == nil { return forget(model) }
    do {
      try await begin(model)
    } catch {
      model.status = .failed(Problem(wrapping: error))
      advertisers[model.id] = model
      publish(model)
    }
  }

  private func restoreBrowser(_ id: String, _ settings: JSON, _ peer: PeerModel) async {
    let until = Until(settings)
    guard let type = settings["serviceType"]?.text, let browser = try? await peer.peer.browse(type, until: until)
    else { return }
    begin(BrowserModel(peer, browser, until, id: id) { channels.collection($0) })
  }

  private func restore(_ model: InvitationModel?) {
    guard let model else { return }
    invitations[model.id] = model
    if model.state == .pending {
      settle(
        model.id, .failed,
        Problem(.unavailable, "the gateway was restarted before the invitation was answered: invite again"))
    } else {
      show(model)
    }
  }
}

extension AdvertiserModel {
  /// Restores its state from before a restart.
  fileprivate convenience init?(_ id: String, _ settings: JSON, _ peer: PeerModel) {
    guard let type = settings["serviceType"]?.text,
      let invitations = settings["invitations"]?.text.flatMap(Invitations.init(rawValue:))
    else { return nil }
    var info: [String: String] = [:]
    for member in settings["discoveryInfo"]?.members ?? [] { info[member.name] = member.value.text }
    self.init(peer, type, info, invitations, session: settings["session"]?.text, until: Until(settings), id: id)
  }
}

extension Until {
  /// Restores the stored value, also from a release that had none.
  fileprivate init(_ settings: JSON) { self = settings["until"]?.text.flatMap(Until.init(rawValue:)) ?? .stopped }
}

extension InvitationModel {
  var settings: JSON {
    guard case .object(var members) = json else { return json }
    members.append(.init("created", .number(createdAt.milliseconds)))
    if let expiresAt { members.append(.init("expires", .number(expiresAt.milliseconds))) }
    return .object(members)
  }

  /// Restores its state from before a restart.
  fileprivate convenience init?(_ id: String, _ settings: JSON, _ peer: PeerModel) {
    let isIncoming = settings["direction"] == "incoming"
    guard let remote = settings[isIncoming ? "from" : "to"]?.text, let type = settings["serviceType"]?.text,
      let state = settings["state"]?.text.flatMap(State.init(rawValue:)), let created = settings["created"]?.integer
    else { return nil }
    self.init(
      peer, isIncoming: isIncoming, remote: remote, name: settings["displayName"]?.text, type,
      context: PayloadJSON.bytes(settings, "context"), session: settings["session"]?.text,
      at: Timestamp(milliseconds: created), expiresAt: settings["expires"]?.integer.map(Timestamp.init(milliseconds:)),
      id: id)
    self.state = state
    problem = settings["problem"].flatMap(Problem.init(asKept:))
  }
}

extension Problem {
  /// Restores a problem from its JSON.
  init?(asKept json: JSON) {
    guard let kind = json["type"]?.text?.split(separator: "/").last.flatMap({ Kind(rawValue: String($0)) }),
      let detail = json["detail"]?.text
    else { return nil }
    self.init(kind, detail, field: json["field"]?.text, rule: json["rule"]?.text)
  }
}
