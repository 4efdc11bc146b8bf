import Engine
import Wire

/// A file that a program offers, generated from its number.
struct Source {
  let number: Int
  let plan: Offering
  let content: Content
  /// The offset of the next read; one elsewhere makes those before it void.
  var next: UInt64 = 0
  var series = 0
}

/// A file that a program stores: chunks that wait for the disk, and the written length.
struct SimFile {
  /// Nil where a stranger sends it.
  let number: Int?
  var waiting: [Chunk] = []
  var next: UInt64
  var stored: UInt64
  var isWriting = false
  /// Bytes written before a chunk came again are void.
  var series = 0
  var damagesLeft: Int

  struct Chunk {
    var offset: UInt64
    var end: UInt64
    var isIntact: Bool
  }
}

/// The programs of the peers that send and receive resources, and their disks.
extension World {
  func offer(
    _ plan: Offering, to target: PeerRef, _ peer: SimPeer, _ endpoint: EndpointID, _ host: SimHost, _ engine: Engine
  ) {
    guard let member = model.connected(of: endpoint, at: target) else { return }
    let number = model.resources.count
    let content = Content(number, of: 2)
    let info = ResourceInfo(
      name: Model.name(ofResource: number), type: "application/octet-stream",
      size: plan.knowsSize ? UInt64(plan.bytes) : nil, root: root(of: plan, content, host.crypto))
    do {
      let id = try engine.offer(info, from: endpoint, to: member, at: host.local(now))
      tally.resources += 1
      model.offers(id, plan, from: endpoint, to: member, at: host)
      host.sources[id] = Source(number: number, plan: plan, content: content)
      log(host, "\(peer.ref) offers file \(number) to \(model.label(member)), \(plan.bytes) bytes")
      if let cancel = plan.cancel, cancel.isSenders { later(host, after: cancel.after, .cancelResource(id)) }
    } catch {
      log(host, "\(peer.ref) cannot offer: \(error)")
      model.violate(.callsThatMakeSenseWork, "\(peer.ref) cannot offer a resource to a connected member: \(error)")
    }
  }

  private func root(of plan: Offering, _ content: Content, _ crypto: ToyCrypto) -> Digest? {
    guard plan.root == .known else { return plan.root == .unknown ? nil : Digest(Bytes32(1, 2, 3, 4)) }
    var tree = ChunkTree()
    for digest in digests(of: content.bytes(from: 0, count: plan.bytes), crypto) { tree.append(digest, crypto) }
    return tree.root(crypto)
  }

  private func digests(of bytes: [UInt8], _ crypto: ToyCrypto) -> [Digest] {
    let span = bytes.span.bytes
    return stride(from: 0, to: bytes.count, by: Limits.chunkBytes).map { start in
      crypto.leaf(of: span.extracting(start..<min(start + Limits.chunkBytes, bytes.count)))
    }
  }

  func cancelResource(_ id: ResourceID, _ host: SimHost, _ engine: Engine) {
    guard let number = host.sources[id]?.number ?? host.files[id]?.number else { return }
    log(host, "file \(number) is cancelled by its \(host.sources[id] == nil ? "receiver" : "sender")")
    model.ends(number, with: .cancelled)
    engine.cancelResource(id, at: host.local(now))
  }

  // MARK: Sending

  func onDisk(_ host: SimHost, _ reaction: Reaction) {
    let time = max(host.filesFreeAt, now) + Int64(disks.below(faults.fileDelay * 1_000 + 1)) * 1_000 + 20_000
    host.filesFreeAt = time
    events.push(.program(host: host.index, run: host.run, reaction), at: time)
  }

  func read(_ id: ResourceID, from offset: UInt64, bytes: Int, _ host: SimHost) {
    guard let source = host.sources[id] else { return }
    if offset != source.next { host.sources[id]?.series += 1 }
    host.sources[id]?.next = offset + UInt64(bytes)
    onDisk(host, .supply(id, from: offset, bytes: bytes, series: host.sources[id]?.series ?? 0))
  }

  func supply(_ id: ResourceID, from offset: UInt64, bytes: Int, series: Int, _ host: SimHost, _ engine: Engine) {
    guard let source = host.sources[id] else { return }
    let size = UInt64(source.plan.bytes)
    let end = min(offset + UInt64(bytes), size)
    if let unreadableAt = source.plan.unreadableAt, end > unreadableAt {
      log(host, "file \(source.number) cannot be read at \(unreadableAt)")
      model.ends(source.number, with: .unreadable)
      return engine.cannotRead(id, at: host.local(now))
    }
    let supplied = source.content.bytes(from: offset, count: Int(end - min(offset, end)))
    do {
      try engine.supply(
        supplied, digests: digests(of: supplied, host.crypto), isLast: end == size, of: id, from: offset,
        at: host.local(now))
    } catch {
      model.check(.callsThatMakeSenseWork, series != source.series) {
        "file \(source.number) cannot be supplied from \(offset), as was asked: \(error)"
      }
    }
  }

  // MARK: Damage

  /// The disk changes a byte of files that a host has received in part.
  func spoilFiles(of host: SimHost) {
    guard faults.spoiltFiles > 0 else { return }
    for (_, file) in host.files.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      guard let number = file.number, file.stored > 0, model.resources[number].receiver.ended == nil,
        disks.chance(perMille: faults.spoiltFiles)
      else { continue }
      let place = UInt64(disks.below(Int(file.stored)))
      log(host, "byte \(place) of file \(number) changes on the disk")
      model.spoils(number, at: place)
    }
  }

  /// Reads a part of a stored file again, as it is by now.
  func rehash(_ id: ResourceID, from offset: UInt64, bytes: Int, _ host: SimHost, _ engine: Engine) {
    // The bytes of a stranger's file are not kept.
    guard let number = host.files[id]?.number else {
      return engine.rehashed(id, from: offset, digests: [], at: host.local(now))
    }
    let resource = model.resources[number]
    var part = resource.content.bytes(from: offset, count: bytes)
    if let place = resource.spoiltAt, place >= offset, place - offset < UInt64(bytes) { part[Int(place - offset)] ^= 1 }
    engine.rehashed(id, from: offset, digests: digests(of: part, host.crypto), at: host.local(now))
  }

  // MARK: Receiving

  func resource(_ id: ResourceID, _ view: ResourceView, _ host: SimHost) {
    let place = model.place(of: id, at: host)
    let plan = place.map { model.resources[$0.number].plan }
    if !view.isIncoming {
      guard let number = place?.number, let plan else { return }
      host.sources[id] = Source(number: number, plan: plan, content: model.resources[number].content)
      return
    }
    let isNew = host.files[id] == nil
    host.files[id] = SimFile(
      number: place?.number, next: view.bytes, stored: view.bytes, damagesLeft: plan?.damages ?? 0)
    if let cancel = plan?.cancel, !cancel.isSenders, isNew { later(host, after: cancel.after, .cancelResource(id)) }
    guard !view.isAccepted else { return }
    switch plan?.answer ?? .accepts {
    case .accepts: later(host, plan?.answerDelay ?? 100, .answer(id, true))
    case .declines: later(host, plan?.answerDelay ?? 100, .answer(id, false))
    case .never: break
    }
  }

  func answer(_ id: ResourceID, _ accepts: Bool, _ host: SimHost, _ engine: Engine) {
    guard let file = host.files[id] else { return }
    log(host, "\(accepts ? "accepts" : "declines") \(file.number.map { "file \($0)" } ?? "a stranger's file")")
    if let number = file.number { model.answers(number, accepts) }
    do {
      if accepts {
        try engine.accept(id, at: host.local(now))
      } else {
        try engine.decline(id, at: host.local(now))
      }
    } catch {
      model.violate(.callsThatMakeSenseWork, "a resource that waits for a decision takes none: \(error)")
    }
  }

  func store(_ id: ResourceID, at offset: UInt64, _ payload: Payload, _ digest: Digest, _ host: SimHost) {
    guard let file = host.files[id] else { return }
    if offset < file.stored { host.files[id]?.stored = offset }
    if offset != file.next {
      // It begins again: waiting chunks will come again too.
      host.files[id]?.waiting = []
    }
    let end = offset + UInt64(payload.count)
    model.check(.windowsHold, end <= file.stored + UInt64(host.plan.settings.resourceWindowBytes)) {
      "\(host.label) is told to store up to \(end), and has stored \(file.stored)"
    }
    let isIntact = payload.withBytes { host.crypto.leaf(of: $0) } == digest
    host.files[id]?.next = end
    host.files[id]?.waiting.append(SimFile.Chunk(offset: offset, end: end, isIntact: isIntact))
    startWriting(id, host)
  }

  private func startWriting(_ id: ResourceID, _ host: SimHost) {
    guard let file = host.files[id], !file.isWriting, !file.waiting.isEmpty else { return }
    host.files[id]?.isWriting = true
    host.files[id]?.waiting = []
    onDisk(host, .wrote(id, file.waiting, series: file.series))
  }

  /// Some chunks are on the disk, or turn out to be damaged, or do not fit.
  func wrote(_ id: ResourceID, _ chunks: [SimFile.Chunk], series: Int, _ host: SimHost, _ engine: Engine) {
    guard let file = host.files[id] else { return }
    host.files[id]?.isWriting = false
    guard file.series == series else { return startWriting(id, host) }
    let plan = file.number.map { model.resources[$0].plan }
    var through: UInt64?
    var bad: SimFile.Chunk?
    for chunk in chunks {
      if let number = file.number, let unwritableAt = plan?.unwritableAt, chunk.end > unwritableAt {
        log(host, "file \(number) cannot be written at \(unwritableAt)")
        model.ends(number, with: .unwritable)
        return engine.cannotStore(id, at: host.local(now))
      }
      let isHit = file.damagesLeft > 0 && chunk.end * 2 >= UInt64(plan?.bytes ?? 0)
      if !chunk.isIntact || isHit {
        bad = chunk
        break
      }
      through = chunk.end
    }
    if let through {
      host.files[id]?.stored = max(file.stored, through)
      engine.stored(id, through: through, at: host.local(now))
      if let number = file.number {
        let taken = engine.progress(of: id)?.bytes ?? through
        model.says(stored: through, of: number, taken: taken, at: host)
      }
      settle(host)
    }
    if let bad, host.engine === engine, host.files[id] != nil {
      log(host, "\(file.number.map { "file \($0)" } ?? "a stranger's file") is damaged at \(bad.offset)")
      host.files[id]?.damagesLeft -= 1
      host.files[id]?.waiting = []
      host.files[id]?.series += 1
      if let number = file.number { model.damages(number) }
      engine.damaged(id, at: bad.offset, at: host.local(now))
    }
    startWriting(id, host)
  }
}
