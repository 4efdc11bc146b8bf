import Engine
import Wire

/// The owner's actions with streams and resources, rightly and wrongly.
extension EngineFuzz {
  func callFlow() {
    let now = stage.now
    let engine = stage.engine
    let program = stage.program
    switch source.u8() % 20 {
    case 0, 1: openStream()
    case 2:
      if let id = program.writer(source.u8()) {
        program.write(source.pick([0, 1, 1_000, 20_000, 60_000, 200_000]), to: id, engine, at: now)
      }
    case 3: if let id = program.writer(source.u8()) { engine.closeStream(id, at: now) }
    case 4: if let id = program.reader(source.u8()) { engine.closeStream(id, at: now) }
    case 5:
      let number = source.u8()
      if let id = source.flag ? program.writer(number) : program.reader(number) {
        engine.cancelStream(id, source.pick([.cancelled, .lost, .tooLarge]), at: now)
      }
    case 6, 7:
      if let id = program.reader(source.u8()) {
        program.use(source.pick([0, -1, 1, 5_000, 16_384, 100_000, .max]), of: id, engine, at: now)
      }
    case 8, 9: offer()
    case 10, 11: if let id = program.outgoing(source.u8()) { program.supply(id, engine, at: now) }
    case 12: if let id = program.outgoing(source.u8()) { supplyWrongly(id) }
    case 13: if let id = program.outgoing(source.u8()) { engine.cannotRead(id, at: now) }
    case 14: if let id = program.incoming(source.u8()) { decide(id) }
    case 15, 16: if let id = program.incoming(source.u8()) { program.store(id, engine, at: now) }
    case 17: if let id = program.incoming(source.u8()) { storeWrongly(id) }
    case 18:
      let number = source.u8()
      if let id = source.flag ? program.outgoing(number) : program.incoming(number) {
        engine.cancelResource(id, at: now)
      }
    default: program.isPrompt.toggle()
    }
  }

  private func member() -> (EndpointID, EndpointID)? {
    let endpoint = stage.endpoint(source.u8())
    let members = stage.engine.connectedMembers(of: endpoint)
    return members.isEmpty ? nil : (endpoint, members[Int(source.u8()) % members.count])
  }

  private func openStream() {
    guard let (endpoint, member) = member() else { return }
    let name = source.pick(["", "t", String(repeating: "n", count: 256)])
    if let id = try? stage.engine.openStream(name, from: endpoint, to: member, at: stage.now) {
      stage.program.began(id)
    }
  }

  private func offer() {
    guard let (endpoint, member) = member() else { return }
    let bytes: UInt64 = source.pick([0, 1, 100, 16_384, 16_385, 40_000, 150_000])
    let sizes: [UInt64?] = [nil, bytes, bytes, bytes + 1, 1 << 41, Limits.flowBytesMax, .max]
    let roots: [Digest?] = [nil, nil, nil, Digest(.init(1, 2, 3, 4))]
    let info = ResourceInfo(name: source.pick(["g", "g", ""]), size: source.pick(sizes), root: source.pick(roots))
    if let id = try? stage.engine.offer(info, from: endpoint, to: member, at: stage.now) {
      stage.program.began(id, bytes: bytes)
    }
  }

  private func supplyWrongly(_ id: ResourceID) {
    let chunk = Limits.chunkBytes
    let kind = source.u8() % 8
    guard let read = kind == 0 ? 0..<UInt64(chunk) : stage.program.takeRead(of: id) else { return }
    var (offset, count, isLast) = (read.lowerBound, Int(read.upperBound - read.lowerBound), false)
    switch kind {
    case 1: count += chunk
    case 2: count = min(count, 100)
    case 3: (count, isLast) = (min(count, 100), true)
    case 4: (count, isLast) = (0, source.flag)
    case 5: offset = offset &+ source.u64()
    case 6: isLast = true
    default: break
    }
    var digests = FlowProgram.digests(from: offset % UInt64(1 << 40), count)
    if kind == 7 {
      if source.flag { digests = digests.dropLast() } else { digests = digests.map { _ in Digest(.init(1, 1, 1, 1)) } }
    }
    try? stage.engine.supply(
      FlowProgram.bytes(from: offset, count), digests: digests, isLast: isLast, of: id, from: offset, at: stage.now)
  }

  private func decide(_ id: ResourceID) {
    if source.u8() < 200 {
      // The engine may request or deliver bytes within `accept`.
      stage.program.accepted(id)
      try? stage.engine.accept(id, at: stage.now)
    } else {
      try? stage.engine.decline(id, at: stage.now)
    }
  }

  private func storeWrongly(_ id: ResourceID) {
    let entry = stage.program.incoming[id]
    let told = entry?.told ?? 0
    let offset = source.pick([0, 1, told, told &+ 1, entry?.stored ?? 0, told &- 1, .max])
    switch source.u8() % 5 {
    case 0: stage.engine.cannotStore(id, at: stage.now)
    case 1: stage.engine.damaged(id, at: offset, at: stage.now)
    case 2: stage.engine.kept(id, at: stage.now)
    case 4:
      let digests = FlowProgram.digests(from: offset % UInt64(1 << 40), source.pick([0, 1, 100_000, 5 << 20]))
      stage.engine.rehashed(id, from: offset, digests: digests, at: stage.now)
    default:
      stage.program.stored(id, through: offset)
      stage.engine.stored(id, through: offset, at: stage.now)
    }
  }
}
