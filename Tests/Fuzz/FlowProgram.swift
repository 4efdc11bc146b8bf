import Engine
import Glibc
import Wire

/// A host's program with its streams and resources, used at once or at its own pace, and the checks of its engine.
///
/// Invariant: reports of a flow come between its beginning and its one end; bytes that were reported and not used stay
/// within a window, and so do reads past the receiver's position; and the data of an honest member arrive as they were
/// sent.
final class FlowProgram {
  struct Reader {
    var isHonest: Bool
    var isCalm: Bool
    var told: UInt64 = 0
    var used: UInt64 = 0
  }

  struct Writer {
    var isCalm: Bool
    var written: UInt64 = 0
  }

  struct Incoming {
    var isHonest: Bool
    var isCalm: Bool
    var isAccepted: Bool
    var told: UInt64
    var stored: UInt64
    /// Pieces that were reported and not stored.
    var pieces: [(range: Range<UInt64>, isIntact: Bool)] = []
  }

  struct Outgoing {
    var isCalm: Bool
    /// How much there is to read, whatever was announced.
    var bytes: UInt64
    var wasRestored = false
    var asked: UInt64 = 0
    var reads: [Range<UInt64>] = []
  }

  private let crypto: FuzzCrypto
  private let settings: Settings
  /// Members whose flows are held to what they should carry.
  var honest: Set<EndpointID> = []
  /// Whether reads, chunks and bytes are dealt with as they come.
  var isPrompt = false

  private(set) var readers: [StreamID: Reader] = [:]
  private(set) var writers: [StreamID: Writer] = [:]
  private(set) var incoming: [ResourceID: Incoming] = [:]
  private(set) var outgoing: [ResourceID: Outgoing] = [:]
  private var endedStreams: [StreamID: Reason] = [:]
  private var endedResources: [ResourceID: Reason] = [:]
  /// Bytes of calm flows that have come here, and how the calm flows have ended.
  private(set) var calmBytes: UInt64 = 0
  private(set) var calmEnds: [Reason] = []

  init(_ settings: Settings, _ crypto: FuzzCrypto) {
    self.settings = settings
    self.crypto = crypto
  }

  private var streamWindow: UInt64 { UInt64(max(Limits.chunkBytes, settings.streamWindowBytes)) }
  private var resourceWindow: UInt64 { UInt64(max(2 * Limits.chunkBytes, settings.resourceWindowBytes)) }
  private var readWindow: UInt64 { UInt64(max(4 * Limits.chunkBytes, settings.resourceWindowBytes)) }

  // MARK: What flows carry

  static let calmName = "calm"
  /// The sizes of a stream and a resource, of which neither fits a window.
  static let calmStreamBytes: UInt64 = 40_000
  static let calmResourceBytes: UInt64 = 81_920

  static func bytes(from offset: UInt64, _ count: Int) -> [UInt8] {
    let start = Int(offset % UInt64(patternPeriod))
    return Array(pattern[start..<start + min(count, patternPeriod)])
  }

  private static let patternPeriod = 16 * Limits.chunkBytes
  private static let pattern = (0..<2 * patternPeriod).map { number in
    let place = number % patternPeriod
    return UInt8(truncatingIfNeeded: place &* 31 &+ place >> 8)
  }
  private static let chunkDigests = (0..<16).map { number in
    FuzzCrypto().leaf(of: bytes(from: UInt64(number * Limits.chunkBytes), Limits.chunkBytes).span.bytes)
  }

  /// The digest of what flows carry there; whole chunks are hashed once for all inputs.
  static func digest(from offset: UInt64, _ count: Int) -> Digest {
    let chunk = UInt64(Limits.chunkBytes)
    guard count == Limits.chunkBytes, offset % chunk == 0 else {
      return FuzzCrypto().leaf(of: bytes(from: offset, count).span.bytes)
    }
    return chunkDigests[Int(offset / chunk % 16)]
  }

  /// A comparison that is instrumented byte by byte would cost more than all the rest.
  private static func carries(_ bytes: [UInt8], at offset: UInt64) -> Bool {
    let start = Int(offset % UInt64(patternPeriod))
    guard bytes.count <= patternPeriod else { return false }
    return bytes.withUnsafeBytes { bytes in
      pattern.withUnsafeBytes { pattern in
        // Neither is empty, so both have a base.
        bytes.isEmpty || memcmp(bytes.baseAddress!, pattern.baseAddress! + start, bytes.count) == 0
      }
    }
  }

  private func digest(of bytes: [UInt8], at offset: UInt64) -> Digest {
    Self.carries(bytes, at: offset)
      ? Self.digest(from: offset, bytes.count) : crypto.leaf(of: bytes.span.bytes)
  }

  // MARK: Told

  func hear(_ output: Output, _ engine: Engine, at now: Instant) {
    switch output {
    case .streamOpened(let id, let name, let from, _):
      precondition(readers[id] == nil && writers[id] == nil && endedStreams[id] == nil, "a stream opened twice")
      let isHonest = honest.contains(from)
      readers[id] = Reader(isHonest: isHonest, isCalm: isHonest && name == Self.calmName)
    case .streamed(let id, let payload): hear(id, payload.bytes, engine, at: now)
    case .streamWritable(let id): precondition(writers[id] != nil, "room in a stream that is not written")
    case .streamEnded(let id, let reason):
      precondition(endedStreams.updateValue(reason, forKey: id) == nil, "a stream ended twice")
      let (reader, writer) = (readers.removeValue(forKey: id), writers.removeValue(forKey: id))
      precondition(reader != nil || writer != nil, "the end of a stream that never began")
      if reader?.isCalm ?? writer?.isCalm ?? false { calmEnds.append(reason) }
    case .resource(let id, let view): hear(id, view)
    case .read(let id, let offset, let count): read(id, offset, count, engine, at: now)
    case .store(let id, let offset, let payload, let digest): store(id, offset, payload.bytes, digest, engine, at: now)
    case .rehash(let id, let offset, let count):
      guard let entry = incoming[id] else { preconditionFailure("a file that is not received is read again") }
      precondition(count > 0 && offset + UInt64(count) <= entry.stored, "a part is read again that was not stored")
      engine.rehashed(id, from: offset, digests: Self.digests(from: offset, count), at: now)
    case .keep(let id):
      precondition(incoming[id] != nil, "what did not come is to be kept")
      engine.kept(id, at: now)
    case .progress(let id, let progress):
      precondition(incoming[id] != nil || outgoing[id] != nil, "progress of what is not under way")
      precondition(progress.size.map { progress.bytes <= $0 } ?? true, "progress past the end")
    case .resourceEnded(let id, let reason):
      precondition(endedResources.updateValue(reason, forKey: id) == nil, "a resource ended twice")
      let (entry, source) = (incoming.removeValue(forKey: id), outgoing.removeValue(forKey: id))
      precondition(entry != nil || source != nil || isRestarting, "the end of a resource that never began")
      if entry?.isCalm ?? source?.isCalm ?? false { calmEnds.append(reason) }
    default: break
    }
  }

  private func hear(_ id: StreamID, _ bytes: [UInt8], _ engine: Engine, at now: Instant) {
    guard var reader = readers[id] else { preconditionFailure("bytes of a stream that is not read") }
    if reader.isHonest {
      precondition(Self.carries(bytes, at: reader.told), "an honest member's bytes came otherwise")
    }
    reader.told += UInt64(bytes.count)
    precondition(reader.told - reader.used <= streamWindow, "more bytes of a stream than its window")
    if reader.isCalm { calmBytes += UInt64(bytes.count) }
    readers[id] = reader
    if isPrompt, !reader.isCalm { use(bytes.count, of: id, engine, at: now) }
  }

  private func hear(_ id: ResourceID, _ view: ResourceView) {
    precondition(incoming[id] == nil && outgoing[id] == nil && endedResources[id] == nil, "a resource told twice")
    if view.isIncoming {
      let isHonest = honest.contains(view.from)
      incoming[id] = Incoming(
        isHonest: isHonest, isCalm: isHonest && view.info.name == Self.calmName, isAccepted: view.isAccepted,
        told: view.bytes, stored: view.bytes)
    } else {
      outgoing[id] = Outgoing(
        isCalm: view.info.name == Self.calmName, bytes: min(view.info.size ?? 100_000, 150_000), wasRestored: true)
    }
  }

  private func read(_ id: ResourceID, _ offset: UInt64, _ count: Int, _ engine: Engine, at now: Instant) {
    guard var source = outgoing[id] else { preconditionFailure("a read of what is not sent") }
    precondition(count > 0 && offset % UInt64(Limits.chunkBytes) == 0, "a read of \(count) bytes at \(offset)")
    let end = offset + UInt64(count)
    if let confirmed = engine.progress(of: id)?.bytes {
      precondition(offset == source.asked || offset <= confirmed, "reads that leave out some")
      // The source is read again after a restart, a window at a time, up to its receiver's position.
      let known = source.wasRestored ? max(confirmed, source.reads.first?.lowerBound ?? offset) : confirmed
      precondition(end <= known + readWindow, "a read past the window")
    }
    source.asked = end
    source.reads.append(offset..<end)
    outgoing[id] = source
    if isPrompt || source.isCalm { supply(id, engine, at: now) }
  }

  private func store(
    _ id: ResourceID, _ offset: UInt64, _ bytes: [UInt8], _ digest: Digest, _ engine: Engine, at now: Instant
  ) {
    guard var entry = incoming[id] else { preconditionFailure("a chunk of what is not received") }
    precondition(entry.isAccepted, "a chunk of what is not accepted")
    precondition(offset == entry.told || offset <= entry.stored, "chunks that leave out some")
    let end = offset + UInt64(bytes.count)
    precondition(end <= entry.stored + resourceWindow, "more chunks than their window")
    let isIntact = digest == self.digest(of: bytes, at: offset)
    if entry.isHonest, isIntact {
      precondition(Self.carries(bytes, at: offset), "an honest member's chunk came otherwise")
    }
    if offset != entry.told { entry.pieces.removeAll() }
    entry.told = end
    entry.pieces.append((offset..<end, isIntact))
    incoming[id] = entry
    if isPrompt, !entry.isCalm { store(id, engine, at: now) }
  }

  // MARK: Done

  func began(_ id: StreamID, isCalm: Bool = false) { writers[id] = Writer(isCalm: isCalm) }
  func began(_ id: ResourceID, bytes: UInt64, isCalm: Bool = false) {
    outgoing[id] = Outgoing(isCalm: isCalm, bytes: bytes)
  }

  func accepted(_ id: ResourceID) { incoming[id]?.isAccepted = true }

  func write(_ count: Int, to id: StreamID, _ engine: Engine, at now: Instant) {
    guard let writer = writers[id] else { return }
    do {
      try engine.write(Self.bytes(from: writer.written, count), to: id, at: now)
      writers[id]?.written += UInt64(count)
    } catch {}
  }

  func use(_ count: Int, of id: StreamID, _ engine: Engine, at now: Instant) {
    guard let reader = readers[id] else { return }
    readers[id]?.used = min(reader.told, reader.used + UInt64(max(0, count)))
    engine.consumed(count, of: id, at: now)
  }

  /// Answers the oldest read, as it was asked.
  func supply(_ id: ResourceID, _ engine: Engine, at now: Instant) {
    guard let source = outgoing[id], let read = takeRead(of: id) else { return }
    let end = min(read.upperBound, source.bytes)
    let count = Int(end - min(end, read.lowerBound))
    do {
      try engine.supply(
        Self.bytes(from: read.lowerBound, count), digests: Self.digests(from: read.lowerBound, count),
        isLast: end == source.bytes, of: id, from: read.lowerBound, at: now)
    } catch {
      preconditionFailure("a read that was answered as it was asked was refused: \(error)")
    }
  }

  static func digests(from offset: UInt64, _ count: Int) -> [Digest] {
    stride(from: 0, to: count, by: Limits.chunkBytes).map {
      digest(from: offset + UInt64($0), min(Limits.chunkBytes, count - $0))
    }
  }

  func takeRead(of id: ResourceID) -> Range<UInt64>? {
    guard let first = outgoing[id]?.reads.first else { return nil }
    outgoing[id]?.reads.removeFirst()
    return first
  }

  /// Deals with the oldest chunk, as a program that does what it should.
  func store(_ id: ResourceID, _ engine: Engine, at now: Instant) {
    guard let piece = incoming[id]?.pieces.first else { return }
    if piece.isIntact {
      incoming[id]?.pieces.removeFirst()
      stored(id, through: piece.range.upperBound)
      engine.stored(id, through: piece.range.upperBound, at: now)
    } else {
      incoming[id]?.pieces.removeAll()
      engine.damaged(id, at: piece.range.lowerBound, at: now)
    }
  }

  func stored(_ id: ResourceID, through offset: UInt64) {
    guard let entry = incoming[id], offset <= entry.told else { return }
    incoming[id]?.stored = max(entry.stored, offset)
    if entry.isCalm, offset > entry.stored { calmBytes += offset - entry.stored }
  }

  /// Goes on a little with the calm flows, as slow programs do.
  func resumeCalmly(_ engine: Engine, at now: Instant) {
    for (id, reader) in readers where reader.isCalm {
      use(Int(min(reader.told - reader.used, 9_000)), of: id, engine, at: now)
    }
    for (id, entry) in incoming where entry.isCalm { store(id, engine, at: now) }
    for (id, writer) in writers where writer.isCalm && writer.written < Self.calmStreamBytes {
      write(10_000, to: id, engine, at: now)
      if writers[id]?.written == Self.calmStreamBytes { engine.closeStream(id, at: now) }
    }
  }

  // MARK: Over a restart

  private var isRestarting = false

  /// The engine has lost all streams, and reports resources anew.
  func beginRestart(isFaithful: Bool) {
    (readers, writers, incoming, outgoing, endedStreams) = ([:], [:], [:], [:], [:])
    // Ends that were stored are not reported again.
    if !isFaithful { endedResources = [:] }
    isRestarting = true
  }

  /// The numbers of ended resources may be used again.
  func endRestart() {
    endedResources = [:]
    isRestarting = false
  }

  // MARK: What the owner may name

  func reader(_ number: UInt8) -> StreamID? {
    pick(readers.filter { !$0.value.isCalm }.keys.sorted { $0.rawValue < $1.rawValue }, number)
  }
  func writer(_ number: UInt8) -> StreamID? {
    pick(writers.filter { !$0.value.isCalm }.keys.sorted { $0.rawValue < $1.rawValue }, number)
  }
  func incoming(_ number: UInt8) -> ResourceID? {
    pick(incoming.filter { !$0.value.isCalm }.keys.sorted { $0.rawValue < $1.rawValue }, number)
  }
  func outgoing(_ number: UInt8) -> ResourceID? {
    pick(outgoing.filter { !$0.value.isCalm }.keys.sorted { $0.rawValue < $1.rawValue }, number)
  }

  private func pick<T>(_ list: [T], _ number: UInt8) -> T? { list.isEmpty ? nil : list[Int(number) % list.count] }
}
