internal import Engine
internal import Reactor
internal import Store
internal import Wire

/// A durable host: its store, and its recovery after a restart.
///
/// Invariant: a change of a transfer's file is in the same transaction as the engine's changes of that moment. A file
/// received whole has its final name before the engine hears of that, and its hidden name until that is stored; so it
/// gets no second place after a restart. Its row goes last.
extension HostDriver {
  // MARK: Storing

  /// Adds a change to the engine's batch of this moment, where there is one.
  func enqueue(_ change: (HostStore) -> DatabaseChange) {
    if let store { writes.next.changes.append(change(store)) }
  }

  /// A delivery belongs to the engine's batch of this moment: it is reported only after that is stored.
  func afterCommit(_ action: @escaping () -> Void) {
    if store == nil { return action() }
    writes.next.afterwards.append { isStored in if isStored { action() } }
  }

  func persist(_ batch: UInt64, _ facts: [Fact]) {
    precondition(writes.holds == 0, "a batch in the middle of what belongs together")
    writes.next.batch = batch
    writes.next.facts = facts
  }

  /// Hands queued changes to the store, one transaction at a time.
  func flushWrites() {
    if writes.holds > 0 { return }
    if writes.isDue {
      for write in hostExtension?.observer.takePendingWrites() ?? [] {
        writes.next.changes.append(write.change)
        writes.next.afterwards.append(write.settle)
      }
      writes.seal()
    }
    if writes.begin() { write() }
  }

  /// The body's changes, and all those that it causes in the engine, are one transaction, however often it calls that.
  func inTransaction<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    holdStore()
    defer { releaseStore() }
    return try body()
  }

  private func holdStore() {
    writes.holds += 1
    if writes.holds == 1 { call { engine, _ in engine.holdStore() } }
  }

  private func releaseStore() {
    writes.holds -= 1
    if writes.holds == 0 { call { $0.releaseStore(at: $1) } }
  }

  /// Group commit: a commit costs the same for one change and for many. A loop that is behind needs the processor, and
  /// nobody waits for that commit alone: the changes within a moment are committed together.
  private func delayCommit() {
    if isStopping || !reactor.isBehind { return }
    writes.isDelaying = true
    holdStore()
    reactor.schedule(after: Self.commitDelay) { [weak self] in self?.endDelay() }
  }

  static let commitDelay: Duration = .microseconds(500)

  func endDelay() {
    guard writes.isDelaying else { return }
    writes.isDelaying = false
    releaseStore()
  }

  private func write() {
    guard let store, let load = writes.current else { return }
    if !load.isWritten { return stored() }
    store.write(load.facts, load.changes) { [loop] error in loop.post { $0.wrote(error) } }
  }

  private func wrote(_ error: (any Error)?) {
    guard let error else { return stored() }
    if !writes.isFailing { report(.notStored("\(error)")) }
    writes.isFailing = true
    // A stop does not wait for a disk that may never have room.
    if isStopping { return closeNetwork() }
    reactor.schedule(after: Self.storingAgain) { [weak self] in self?.write() }
  }

  private static let storingAgain: Duration = .seconds(1)

  private func stored() {
    guard let load = writes.end() else { return }
    if writes.isFailing { report(.storedAgain) }
    writes.isFailing = false
    if load.isWritten { delayCommit() }
    if let batch = load.batch { call { $0.persisted(batch, at: $1) } }
    for action in load.afterwards { action(true) }
    flushWrites()
    if isStopping, writes.current == nil { closeNetwork() }
  }

  // MARK: Recovery

  /// Adds the stored peers before any other call, so that the engine restores their sessions.
  func addRestoredPeers() throws {
    guard let store, !store.facts.isEmpty else { return }
    for identity in keys.identities { crypto.hold(identity) }
    let named = try keys.peerNames.map { (key: try keys.peerKey(named: $0), name: $0) }
    let carried = try (hostExtension?.peers ?? []).map { (key: $0.key, name: try DisplayName($0.name)) }
    for (key, name) in named + carried {
      let sessions = addRestoredPeer(key, named: name)
      if let peer = sessions.first?.peer { restored[peer] = sessions }
    }
    reactor.schedule(after: Self.claimTimeout) { [weak self] in self?.closeUnclaimed() }
  }

  private static let claimTimeout: Duration = .seconds(60)

  /// Sessions of an earlier run, once, for their program.
  func takeRestored(_ peer: PeerID) -> [(state: SessionState, files: [ResumedFile])] {
    (restored.removeValue(forKey: peer) ?? []).map { ($0, sessions[$0.id]?.resumedFiles ?? []) }
  }

  private func closeUnclaimed() {
    guard isUp else { return }
    for session in restored.values.joined() { closeSession(session.id) }
    restored = [:]
  }

  /// Lets the engine restore its stored state, and reports it.
  func restore() {
    guard store != nil else { return }
    call { $0.advance(to: $1) }
    for (id, file) in restoredFiles ?? [:] where transfers[id] == nil {
      // It has ended: a file received whole has its place.
      if case .target(let target) = file { drop(target, keepsPlace: true) }
      enqueue { $0.forget(id) }
    }
    restoredFiles = nil
    flushWrites()
  }

  /// The engine reports a transfer from before this start, in progress or waiting for an answer.
  func resume(_ id: ResourceID, _ view: ResourceView) {
    var state = TransferState(id, view.info.name)
    switch (view.isIncoming, restoredFiles?[id]) {
    case (true, .target(let target)) where target.resume(from: view.bytes):
      transfers[id] = HostTransfer(state, .receives(IncomingFile(target, syncs: true)))
    case (true, nil) where !view.isAccepted:
      transfers[id] = HostTransfer(state, .waits)
    case (false, .source(let file)):
      state = TransferState(id, view.info.name, sending: file)
      transfers[id] = HostTransfer(state, .sends(.file(file)))
    default:
      if case .target(let target) = restoredFiles?[id] { drop(target, keepsPlace: false) }
      transfers[id] = HostTransfer(state, .waits)
      deferredActions.append { [self] in
        call { view.isIncoming ? $0.cannotStore(id, at: $1) : $0.cannotRead(id, at: $1) }
      }
    }
    let local = view.isIncoming ? view.to : view.from
    guard let port = sessions[local] else { return }
    if let file = state.file { port.resumedFiles.append(ResumedFile(path: file, member: view.to)) }
    report(of: view.isIncoming ? view.from : view.to, port) { [state, loop] member in
      view.isIncoming
        ? .resource(IncomingResource(state, view.info, from: member, isUnderWay: view.isAccepted, loop))
        : .sending(OutgoingResource(state, to: member, loop))
    }
  }

  func deliverPending(of member: Member, _ port: SessionPort) {
    for event in port.pendingEvents.removeValue(forKey: member.id) ?? [] { report(event(member), port) }
  }

  /// Now, or once the member is there again.
  private func report(of member: EndpointID, _ port: SessionPort, _ event: @escaping (Member) -> SessionEvent) {
    if let member = port.member(member) {
      report(event(member), port)
    } else {
      port.pendingEvents[member, default: []].append(event)
    }
  }
}
