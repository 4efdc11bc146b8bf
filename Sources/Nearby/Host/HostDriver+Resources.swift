internal import Engine
internal import Media
internal import Reactor
internal import Wire

/// Resources: the engine's reads and writes, done by the disk's thread.
extension HostDriver {
  // MARK: Sending

  func offer(
    _ source: OpenSource, name: String?, type: String?, from id: EndpointID, to member: EndpointID
  ) throws -> TransferState {
    let name = name ?? source.name
    let info = ResourceInfo(name: name, type: type ?? source.type ?? MediaType.guess(from: name), size: source.size)
    let resource = try call { engine, now throws(EngineError) in
      let resource = try engine.offer(info, from: id, to: member, at: now)
      if let file = source.content.file { enqueue { $0.keep(file.row(resource, named: name)) } }
      return resource
    }
    let state = TransferState(resource, name, sending: source.content.file)
    transfers[resource] = HostTransfer(state, .sends(source.content))
    return state
  }

  /// Begins to fetch: the promise has the content's description.
  func fetch(_ address: String) throws -> Promise<Result<OpenSource, NearbyError>> {
    let source = WebSource(try WebURL(address), web, on: reactor)
    source.begin()
    return source.head
  }

  func read(_ id: ResourceID, from offset: UInt64, _ count: Int) {
    guard let transfer = transfers[id], case .sends(let content) = transfer.part else { return }
    switch content {
    case .file(let file):
      let spare = Disk.SpareMemory(takeSpare(of: id))
      supply(id, from: offset) { try await $0.read(file, from: offset, count, into: spare) }
    case .bytes(let all):
      let start = min(all.count, Int(offset))
      let end = min(all.count, start + count)
      supply(id, from: offset) { await $0.piece(Array(all[start..<end]), isLast: end == all.count) }
    case .web(let source):
      deferredActions.append {
        source.read(from: offset, count) { [weak self] result in
          self?.supply(id, from: offset) { disk in
            let piece = try result.get()
            return await disk.piece(piece.bytes, isLast: piece.isLast)
          }
        }
      }
    }
  }

  private func supply(
    _ id: ResourceID, from offset: UInt64, _ read: @escaping @Sendable (Disk) async throws -> Disk.Piece
  ) {
    reactor.spawn { [loop, disk] in
      do {
        let piece = try await read(disk)
        await loop.go { try? $0.supply(piece, id, from: offset) }
      } catch {
        await loop.go { $0.call { $0.cannotRead(id, at: $1) } }
      }
    }
  }

  func supply(_ piece: Disk.Piece, _ id: ResourceID, from offset: UInt64) throws {
    try call { engine, now throws(EngineError) in
      try engine.supply(
        piece.bytes, digests: piece.digests, isLast: piece.isLast, of: id, from: offset, at: now)
    }
  }

  func cancel(_ id: ResourceID) { call { $0.cancelResource(id, at: $1) } }

  // MARK: Receiving

  func offered(_ id: ResourceID, _ view: ResourceView) {
    guard let port = sessions[view.to], let member = port.member(view.from) else { return }
    let state = TransferState(id, view.info.name)
    transfers[id] = HostTransfer(state, .waits)
    report(.resource(IncomingResource(state, view.info, from: member, loop)), port)
  }

  func accept(_ id: ResourceID, _ target: TargetFile) throws {
    guard let transfer = transfers[id] else {
      throw NearbyError(.unavailable, "this offer has ended: its sender took it back, or its time was over")
    }
    guard case .waits = transfer.part else { throw NearbyError(.invalidParameter, "this was accepted already") }
    transfer.part = .receives(IncomingFile(target, syncs: store != nil))
    do {
      try call { engine, now throws(EngineError) in
        try engine.accept(id, at: now)
        enqueue { $0.keep(target.row(id)) }
      }
    } catch {
      transfer.part = .waits
      throw error
    }
  }

  func decline(_ id: ResourceID) {
    call { engine, now in
      // One that has ended meanwhile is as good as declined.
      try? engine.decline(id, at: now)
    }
  }

  func store(_ id: ResourceID, at offset: UInt64, _ payload: Payload, _ digest: Digest) {
    guard let incomingFile = transfers[id]?.incomingFile else { return }
    payload.withBytes { incomingFile.append($0, digest, at: offset) }
    writeSoon(id, incomingFile)
  }

  /// At most one batch is with the disk.
  private func writeSoon(_ id: ResourceID, _ incomingFile: IncomingFile) {
    guard !incomingFile.isWriting, incomingFile.hasBatch else { return }
    incomingFile.isWriting = true
    deferredActions.append { [self] in write(id, incomingFile) }
  }

  private func write(_ id: ResourceID, _ incomingFile: IncomingFile) {
    let batch = incomingFile.nextBatch()
    reactor.spawn { [loop, disk, target = incomingFile.target, syncs = incomingFile.syncs] in
      let outcome = await disk.write(batch, to: target, syncs: syncs)
      await loop.go { $0.wrote(batch, outcome, id) }
    }
  }

  private func wrote(_ batch: Disk.Batch, _ outcome: Disk.Written, _ id: ResourceID) {
    guard let incomingFile = transfers[id]?.incomingFile else { return }
    incomingFile.isWriting = false
    incomingFile.takeBack(batch)
    call { engine, now in
      switch outcome {
      case .through(let offset): engine.stored(id, through: offset, at: now)
      case .damaged(let offset, let stored):
        engine.stored(id, through: stored, at: now)
        engine.damaged(id, at: offset, at: now)
      case .late: break
      case .failed(let fault):
        incomingFile.fault = fault
        engine.cannotStore(id, at: now)
      }
      writeSoon(id, incomingFile)
    }
  }

  /// Reads a part of a file from before a restart again.
  func rehash(_ id: ResourceID, from offset: UInt64, _ count: Int) {
    guard let target = transfers[id]?.incomingFile?.target else { return }
    reactor.spawn { [loop, disk] in
      let digests = await disk.digests(of: target, from: offset, count)
      await loop.go { driver in
        driver.call { engine, now in
          engine.rehashed(id, from: offset, digests: digests, at: now)
          // It continues where the file is as it was stored; nothing is written to it before that.
          if let bytes = engine.progress(of: id)?.bytes { _ = target.resume(from: bytes) }
        }
      }
    }
  }

  /// Gives the whole file its name; the transfer succeeds only when that is done for good.
  func keep(_ id: ResourceID) {
    guard let incomingFile = transfers[id]?.incomingFile else { return }
    reactor.spawn { [loop, disk, target = incomingFile.target] in
      let outcome = await disk.finish(target)
      await loop.go { $0.kept(outcome, id) }
    }
  }

  private func kept(_ outcome: Result<(path: String, digest: Digest?), NearbyError>, _ id: ResourceID) {
    guard let transfer = transfers[id], let incomingFile = transfer.incomingFile else { return }
    call { engine, now in
      switch outcome {
      case .success(let (path, digest)):
        incomingFile.path = path
        transfer.state.learn(digest)
        engine.kept(id, at: now)
      case .failure(let fault):
        incomingFile.fault = fault
        engine.cannotStore(id, at: now)
      }
    }
  }

  func ended(_ id: ResourceID, _ reason: Reason) {
    guard let transfer = transfers.removeValue(forKey: id) else { return }
    hostExtension?.observer.ended(id.rawValue, reason, at: transfer.incomingFile?.path)
    if case .sends(.web(let source)) = transfer.part { deferredActions.append { source.cancel() } }
    guard let incomingFile = transfer.incomingFile else {
      enqueue { $0.forget(id) }
      guard case .sends = transfer.part else { return transfer.state.end(reason) }
      // A program that sees the end may remove the file, which would be missed if the end was not known after a
      // restart.
      return afterWrite { [state = transfer.state] in state.end(reason) }
    }
    let (state, target, fault) = (transfer.state, incomingFile.target, incomingFile.fault)
    if reason == .none, let path = incomingFile.path {
      return release(target, of: id) { state.end(.success(path)) }
    }
    enqueue { $0.forget(id) }
    drop(target, keepsPlace: false) { if let fault { state.end(.failure(fault)) } else { state.end(reason) } }
  }

  /// A file received whole has its name: the hidden name is removed once the engine's end of the transfer is stored,
  /// and the row after it.
  private func release(_ target: TargetFile, of id: ResourceID, _ released: @escaping @Sendable () -> Void) {
    let release = { [self, loop] in
      drop(target, keepsPlace: true) {
        released()
        loop.post { driver in
          driver.enqueue { $0.forget(id) }
          driver.flushWrites()
        }
      }
    }
    afterWrite(release)
  }

  /// Runs the action once the engine's present changes are stored, or never will be.
  private func afterWrite(_ action: @escaping () -> Void) {
    if store == nil { action() } else { writes.next.afterwards.append { _ in action() } }
  }

  /// Removes the hidden file, with its final name or without.
  func drop(_ target: TargetFile, keepsPlace: Bool, _ dropped: @escaping @Sendable () -> Void = {}) {
    reactor.spawn { [disk] in
      await disk.drop(target, keepsPlace: keepsPlace)
      dropped()
    }
  }
}
