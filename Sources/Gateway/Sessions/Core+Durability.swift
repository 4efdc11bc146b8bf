internal import Nearby
internal import Notation
internal import Reactor
internal import Store

/// Sessions that are restored after a restart.
extension Core {
  private static let pruneInterval: Duration = .seconds(60)
  /// The pause between pieces, in which live work continues.
  private static let prunePause: Duration = .milliseconds(100)

  /// Applies retention now, and from time to time.
  func prune() {
    let hasMore = sessionStore.prune(at: Timestamp.now)
    reactor.schedule(after: hasMore ? Self.prunePause : Self.pruneInterval) { [weak self] in self?.prune() }
  }

  /// Whether the peer is restored after a restart.
  func isDurable(_ peer: PeerModel) -> Bool { sessionStore.isDurable && peer.lifetime == .stored }

  func retention(of parameters: SessionParameters, for peer: PeerModel) throws(Problem) -> SessionParameters.Retention {
    guard let retention = parameters.retention else {
      return SessionParameters.Retention(kind: isDurable(peer) ? .durable : .memory)
    }
    guard retention.kind != .durable || isDurable(peer) else {
      throw Problem(
        .unsupported,
        sessionStore.isDurable
          ? "the peer and its sessions end with its WebSocket, so they cannot have a durable history: use 'memory'"
          : "this gateway has ephemeral keys, so it cannot have a durable history: use 'memory'",
        field: "history.keep", rule: "lasting")
    }
    return retention
  }

  /// Fails at once while the store has no room, so that requests do not wait for it. The first one to find that out
  /// waits.
  func requireStore(_ undone: String) throws(Problem) {
    guard host.storeIsFailing else { return }
    throw .noSpace(
      "nothing can be stored at the moment, and so nothing was \(undone): make room on the gateway's disk",
      rule: "stored")
  }

  /// The same for a change that takes room on the disk.
  func requireDiskSpace(_ undone: String) throws(Problem) {
    try requireStore(undone)
    try disk.requireFree(undone)
  }

  /// The same for the data of a peer: nothing is stored where the peer is not durable.
  func requireDiskSpace(for peer: PeerModel, _ undone: String) throws(Problem) {
    if isDurable(peer) { try requireDiskSpace(undone) }
  }

  /// The same for an answer: a refusal takes no more room than before.
  func requireDiskSpace(for peer: PeerModel, toAnswer isAccepted: Bool) throws(Problem) {
    guard isDurable(peer) else { return }
    if isAccepted { try requireDiskSpace("answered") } else { try requireStore("answered") }
  }

  /// Stores the session's present state; returns when it would survive a power cut.
  func keep(_ model: SessionModel) async {
    // A session that has ended meanwhile must not be restored.
    guard var stored = model.stored, sessions[model.id] === model else { return }
    stored.settings = model.settings.bytes
    await sessionStore.write(PendingWrite { [stored] in try $0.keep(stored) }, host)
  }

  /// Restores the sessions of a peer from before this start.
  func restore(_ peer: PeerModel) async throws {
    for session in try await peer.peer.restoredSessions() {
      guard let (row, resources) = sessionStore.takeStored(session.id), let settings = try? JSON(parsing: row.settings)
      else {
        await session.close()
        continue
      }
      let (parameters, retention) = SessionParameters.restored(from: settings)
      let model = SessionModel(
        session, peer, parameters, retention, sessionStore.history(of: session.id),
        at: Timestamp(milliseconds: row.created), in: crowd(of: settings["adhoc"]?.text, for: peer), self)
      model.stored = row
      model.isLocked = settings["locked"] == true
      model.blocked = Set((settings["blocked"]?.list ?? []).compactMap(\.text))
      model.adhoc = settings["adhoc"]?.text
      model.adhocUntil = settings["adhocUntil"]?.integer.map(Timestamp.init(milliseconds:))
      register(model)
      disk.restore(retention, of: model.owner)
      begin(model)
      var contents: [String: ResourceContent] = [:]
      let restored = resources.compactMap { ResourceModel($0, in: options.folder, &contents) }
      for resource in restored {
        model.resourceModels[resource.id] = resource
        // The host resumes it and will say so, though a power cut came before the resource had stored that.
        if let path = resource.content.path, session.resumes(path, to: resource.remote.member) {
          resource.waitsForMember = false
        }
      }
      // Each content has all its resources now.
      for resource in restored {
        // The resource had ended, and its content was still to be discarded.
        if !resource.hasContent { resource.discard() }
        publish(resource, in: model)
      }
      let isOver = model.adhocUntil.map { $0 <= .now } ?? false
      if let type = model.adhoc, !isOver { try? await session.startAdhoc(type) }
      watchAdhoc(of: model)
    }
  }
}

extension SessionModel {
  /// Its stored form.
  var settings: JSON {
    var members: [JSON.Member] = [
      .init("encryption", .text("\(parameters.encryption)")), .init("trust", .text(parameters.trust.rawValue)),
      .init("maxPeers", .number(parameters.maxPeers)), .init("acceptsResources", .bool(parameters.acceptsResources)),
      .init("keep", .text(retention.kind.rawValue)), .init("count", .number(retention.limits.count)),
      .init("bytes", .number(retention.limits.bytes)), .init("locked", .bool(isLocked)),
      .init("blocked", .list(blocked.sorted().map(JSON.text))),
    ]
    if let age = retention.limits.age { members.append(.init("age", .number(Int(age.components.seconds)))) }
    if let adhoc { members.append(.init("adhoc", .text(adhoc))) }
    if let adhocUntil { members.append(.init("adhocUntil", .number(adhocUntil.milliseconds))) }
    return .object(members)
  }
}

extension SessionParameters {
  /// A value that is unknown, as that of another release, becomes the default.
  static func restored(from settings: JSON) -> (SessionParameters, Retention) {
    var parameters = SessionParameters()
    let encryption = settings["encryption"]?.text.flatMap(EncryptionWord.init(rawValue:))
    parameters.encryption = encryption?.encryption ?? parameters.encryption
    parameters.trust = settings["trust"]?.text.flatMap(Trust.init(rawValue:)) ?? parameters.trust
    parameters.maxPeers = settings["maxPeers"]?.integer.map(Int.init) ?? parameters.maxPeers
    parameters.acceptsResources = settings["acceptsResources"] != false
    var retention = Retention()
    retention.kind = settings["keep"]?.text.flatMap(Retention.Kind.init(rawValue:)) ?? retention.kind
    retention.limits.count = settings["count"]?.integer.map(Int.init) ?? retention.limits.count
    retention.limits.bytes = settings["bytes"]?.integer.map(Int.init) ?? retention.limits.bytes
    retention.limits.age = settings["age"]?.integer.map { .seconds($0) }
    return (parameters, retention)
  }
}
