internal import Nearby
internal import Notation
internal import Reactor
internal import Store
internal import Wire

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
  func isLasting(_ peer: PeerModel) -> Bool { sessionStore.isLasting && peer.lifetime == .stored }

  func keeping(of wishes: SessionWishes, for peer: PeerModel) throws(Problem) -> SessionWishes.Keeping {
    guard let keeping = wishes.keeping else {
      return SessionWishes.Keeping(keep: isLasting(peer) ? .durable : .memory)
    }
    guard keeping.keep != .durable || isLasting(peer) else {
      throw Problem(
        .unsupported,
        sessionStore.isLasting
          ? "the peer lives with its WebSocket, and its sessions do too: keep the history in memory"
          : "this gateway keeps its keys nowhere, so that nothing of it lasts: keep the history in memory",
        field: "history.keep", rule: "lasting")
    }
    return keeping
  }

  /// Fails at once while the store has no room, so that requests do not wait for it. The first one to find that out
  /// waits.
  func needStore(_ undone: String) throws(Problem) {
    guard host.storeIsFailing else { return }
    throw .noSpace(
      "nothing can be stored at the moment, and so nothing was \(undone): make room on the gateway's disk",
      rule: "stored")
  }

  /// The same for a change that takes room on the disk.
  func needRoom(_ undone: String) throws(Problem) {
    try needStore(undone)
    try needDisk(undone)
  }

  /// The same for the data of a peer: nothing is stored where the peer is not durable.
  func needRoom(for peer: PeerModel, _ undone: String) throws(Problem) {
    if isLasting(peer) { try needRoom(undone) }
  }

  /// The same for an answer: a refusal takes no more room than before.
  func needRoom(for peer: PeerModel, toAnswer isAccepted: Bool) throws(Problem) {
    guard isLasting(peer) else { return }
    if isAccepted { try needRoom("answered") } else { try needStore("answered") }
  }

  /// Stores the session's present state; returns when it would survive a power cut.
  func keep(_ model: SessionModel) async {
    // A session that has ended meanwhile must not be restored.
    guard var stored = model.stored, sessions[model.id] === model else { return }
    stored.settings = model.settings.bytes
    await sessionStore.write(PendingWrite { [stored] in try $0.keep(stored) }, host)
  }

  /// Restores the sessions of a peer from before this start.
  func takeUp(_ peer: PeerModel) async throws {
    for session in try await peer.peer.restoredSessions() {
      guard let (row, resources) = sessionStore.takeStored(session.id), let settings = try? JSON(parsing: row.settings)
      else {
        await session.close()
        continue
      }
      let (wishes, keeping) = SessionWishes.restored(from: settings)
      let model = SessionModel(
        session, peer, wishes, keeping, sessionStore.histories[session.id], at: Timestamp(milliseconds: row.created),
        makeCollection, datagrams: datagramCollection)
      model.stored = row
      model.isLocked = settings["locked"] == true
      model.blocked = Set((settings["blocked"]?.list ?? []).compactMap(\.text))
      model.adhoc = settings["adhoc"]?.text
      sessions[model.id] = model
      historyUse.change(model.owner, from: 0, to: keeping.onDisk)
      begin(model)
      for resource in resources.compactMap({ ResourceModel($0, in: options.folder) }) {
        model.resourceModels[resource.id] = resource
        // The host resumes it and will say so, though a power cut came before the resource had stored that.
        if let path = resource.path, session.resumedFiles.contains(path) { resource.waitsForMember = false }
        // The resource had ended, and its content was still to be discarded.
        if !resource.hasContent { resource.discard() }
        publish(resource, in: model)
      }
      if let type = model.adhoc { try? await session.startAdhoc(type) }
    }
  }
}

extension SessionModel {
  /// Its stored form.
  var settings: JSON {
    var members: [JSON.Member] = [
      .init("encryption", .text("\(wishes.encryption)")), .init("trust", .text(wishes.trust.rawValue)),
      .init("maxPeers", .number(wishes.maxPeers)), .init("acceptsResources", .bool(wishes.acceptsResources)),
      .init("keep", .text(keeping.keep.rawValue)), .init("count", .number(keeping.limits.count)),
      .init("bytes", .number(keeping.limits.bytes)), .init("locked", .bool(isLocked)),
      .init("blocked", .list(blocked.sorted().map(JSON.text))),
    ]
    if let age = keeping.limits.age { members.append(.init("age", .number(Int(age.components.seconds)))) }
    if let adhoc { members.append(.init("adhoc", .text(adhoc))) }
    return .object(members)
  }
}

extension SessionWishes {
  /// A value that is unknown, as that of another release, becomes the default.
  static func restored(from settings: JSON) -> (SessionWishes, Keeping) {
    var wishes = SessionWishes()
    let encryption = settings["encryption"]?.text.flatMap(EncryptionWord.init(rawValue:))
    wishes.encryption = encryption?.encryption ?? wishes.encryption
    wishes.trust = settings["trust"]?.text.flatMap(Trust.init(rawValue:)) ?? wishes.trust
    wishes.maxPeers = settings["maxPeers"]?.integer.map(Int.init) ?? wishes.maxPeers
    wishes.acceptsResources = settings["acceptsResources"] != false
    var keeping = Keeping()
    keeping.keep = settings["keep"]?.text.flatMap(Keeping.Keep.init(rawValue:)) ?? keeping.keep
    keeping.limits.count = settings["count"]?.integer.map(Int.init) ?? keeping.limits.count
    keeping.limits.bytes = settings["bytes"]?.integer.map(Int.init) ?? keeping.limits.bytes
    keeping.limits.age = settings["age"]?.integer.map { .seconds($0) }
    return (wishes, keeping)
  }
}
