import Testing
import Wire

@testable import Engine

/// A test program for streams and resources: it reads and stores at once, unless a test says otherwise.
struct TestProgram {
  var streams: [StreamID: (name: String, bytes: [UInt8])] = [:]
  /// Sent and received bytes, by name.
  var sources: [String: [UInt8]] = [:]
  var files: [String: [UInt8]] = [:]
  var names: [ResourceID: String] = [:]
  var sizes: [ResourceID: Int] = [:]
  var progress: [ResourceProgress] = []

  var isReading = true
  var isStoring = true
  /// How many chunks it stores.
  var storedMax = Int.max
  /// Whether it answers when a source is to be read.
  var isSupplying = true
  /// How often a chunk is found damaged before it is found well.
  var damages = 0
  var isBroken = false
  /// Whether it can give a whole resource its place; nil before that is asked.
  var isKeeping: Bool? = true
  /// The offsets of reads and writes, in order.
  var readFrom: [UInt64] = []
  var storedFrom: [UInt64] = []
  var rehashedFrom: [UInt64] = []

  func name(of id: StreamID) -> String { streams[id]?.name ?? "?" }
  func name(of id: ResourceID) -> String { names[id] ?? "?" }

  func stream(_ name: String) -> StreamID? { streams.first { $0.value.name == name }?.key }
  func text(_ name: String) -> String {
    String(decoding: streams.values.first { $0.name == name }?.bytes ?? [], as: UTF8.self)
  }
  func resource(_ name: String) -> ResourceID? { names.first { $0.value == name }?.key }
}

extension TestNetwork {
  func carryOutFlow(_ output: Output, of host: Host) {
    switch output {
    case .streamOpened(let id, let name, _, _): host.program.streams[id] = (name, [])
    case .streamed(let id, let bytes):
      host.program.streams[id]?.bytes += bytes.bytes
      if host.program.isReading { host.engine.consumed(bytes.count, of: id, at: now) }
    case .resource(let id, let view):
      host.program.names[id] = view.info.name
      if view.isIncoming, view.bytes == 0 { host.program.files[view.info.name] = [] }
    case .read(let id, let offset, let count): read(id, offset, count, host)
    case .store(let id, let offset, let chunk, let digest): store(id, offset, chunk.bytes, digest, host)
    case .rehash(let id, let offset, let count):
      host.program.rehashedFrom.append(offset)
      let bytes = host.program.files[host.program.name(of: id)]?.dropFirst(Int(offset)).prefix(count) ?? []
      host.engine.rehashed(id, from: offset, digests: Self.digests(of: Array(bytes), crypto), at: now)
    case .keep(let id):
      switch host.program.isKeeping {
      case true: host.engine.kept(id, at: now)
      case false: host.engine.cannotStore(id, at: now)
      case nil: break
      }
    case .progress(_, let progress): host.program.progress.append(progress)
    default: break
    }
  }

  private func read(_ id: ResourceID, _ offset: UInt64, _ count: Int, _ host: Host) {
    host.program.readFrom.append(offset)
    guard host.program.isSupplying else { return }
    guard let source = host.program.sources[host.program.name(of: id)], !host.program.isBroken else {
      return host.engine.cannotRead(id, at: now)
    }
    let bytes = Array(source.dropFirst(Int(offset)).prefix(count))
    do {
      try host.engine.supply(
        bytes, digests: Self.digests(of: bytes, crypto), isLast: Int(offset) + bytes.count == source.count, of: id,
        from: offset, at: now)
    } catch {
      Issue.record(error)
    }
  }

  static func digests(of bytes: [UInt8], _ crypto: ToyCrypto) -> [Digest] {
    stride(from: 0, to: bytes.count, by: Limits.chunkBytes).map { start in
      let chunk = Array(bytes[start..<min(bytes.count, start + Limits.chunkBytes)])
      return crypto.leaf(of: chunk.span.bytes)
    }
  }

  private func store(_ id: ResourceID, _ offset: UInt64, _ chunk: [UInt8], _ digest: Digest, _ host: Host) {
    host.program.storedFrom.append(offset)
    if host.program.isBroken { return host.engine.cannotStore(id, at: now) }
    let name = host.program.name(of: id)
    // Chunks after a damaged one come again after it.
    guard offset <= UInt64(host.program.files[name]?.count ?? 0) else { return }
    let isIntact = crypto.leaf(of: chunk.span.bytes) == digest
    if host.program.damages > 0 || !isIntact {
      host.program.damages -= 1
      return host.engine.damaged(id, at: offset, at: now)
    }
    guard host.program.isStoring, offset < UInt64(host.program.storedMax) &* 16_384 || host.program.storedMax == .max
    else {
      return
    }
    host.program.files[name, default: []].removeSubrange(Int(offset)...)
    host.program.files[name, default: []] += chunk
    host.engine.stored(id, through: offset + UInt64(chunk.count), at: now)
  }

  /// The host comes back with its stored state, and its peer with it.
  func restart(_ testPeer: TestPeer, incarnation: UInt64 = 2, damage: ([Fact]) -> [Fact] = { $0 }) throws -> TestPeer {
    try restart([testPeer], incarnation: incarnation, damage: damage)[0]
  }

  /// The same with several peers.
  func restart(_ peers: [TestPeer], incarnation: UInt64 = 2, damage: ([Fact]) -> [Fact] = { $0 }) throws -> [TestPeer] {
    let old = peers[0].host
    kill(old)
    let facts = old.facts.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { Fact(key: $0.key, value: $0.value) }
    let host = try host(
      old.name, old.engine.settings, incarnation: incarnation, key: old.key, restoring: damage(facts))
    host.facts = old.facts
    host.program = old.program
    host.program.readFrom = []
    host.program.storedFrom = []
    return try peers.map { testPeer in
      let key = crypto.key(named: "peer " + testPeer.name.lowercased())
      let peer = host.engine.addPeer(key, name: try DisplayName("again"), at: now)
      host.endpoints.append(testPeer.endpoint)
      return TestPeer(network: self, name: testPeer.name, host: host, peer: peer, endpoint: testPeer.endpoint)
    }
  }
}

extension TestPeer {
  func open(_ name: String, to other: TestPeer) throws -> StreamID {
    let id = try engine.openStream(name, from: endpoint, to: other.endpoint, at: network.now)
    host.program.streams[id] = (name, [])
    return id
  }

  func write(_ text: String, to stream: StreamID) throws {
    try engine.write(Array(text.utf8), to: stream, at: network.now)
  }

  /// Offers bytes under a name, with or without their size.
  @discardableResult
  func offer(_ name: String, _ bytes: [UInt8], to other: TestPeer, isSizeKnown: Bool = true) throws -> ResourceID {
    let info = ResourceInfo(name: name, size: isSizeKnown ? UInt64(bytes.count) : nil)
    let id = try engine.offer(info, from: endpoint, to: other.endpoint, at: network.now)
    host.program.names[id] = name
    host.program.sources[name] = bytes
    return id
  }

  func file(_ name: String) -> [UInt8]? { host.program.files[name] }

  /// Its transcript without members and their pairs.
  func takeFlows() -> [String] {
    take().filter { $0.contains(" ended: ") || $0.contains("stream") || $0.hasSuffix("?") || $0.contains(" from ") }
  }
}

/// Bytes that differ from place to place.
func pattern(_ count: Int) -> [UInt8] {
  let period = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
  return (0...count / period.count).flatMap { period.prefix(max(0, min(period.count, count - $0 * period.count))) }
}
