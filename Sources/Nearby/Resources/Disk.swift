internal import Engine
internal import Glibc
internal import Media
internal import Reactor
internal import Wire

/// Files and hashes, on a thread of their own: a slow disk holds up no link.
actor Disk {
  struct Piece: Sendable {
    var bytes: [UInt8]
    var digests: [Digest]
    var isLast: Bool
  }

  /// Memory that is handed over: its taker has it alone.
  final class SpareMemory: @unchecked Sendable {
    // `@unchecked`: the loop makes it for the disk, which takes its contents, once.
    private var bytes: [UInt8]

    init(_ bytes: consuming [UInt8]) { self.bytes = bytes }

    func take() -> [UInt8] {
      defer { bytes = [] }
      return bytes
    }
  }

  /// A contiguous run of chunks: all are whole, but for a resource's last.
  ///
  /// Its memory is reused: filling it costs no more than the bytes.
  final class Batch: @unchecked Sendable {
    // `@unchecked`: the loop fills it, and hands it to the disk, and gets it back when that is done.

    private(set) var offset: UInt64 = 0
    private(set) var bytes: [UInt8] = []
    private(set) var digests: [Digest] = []

    var end: UInt64 { offset + UInt64(bytes.count) }

    func append(_ chunk: RawSpan, _ digest: Digest, at offset: UInt64) {
      if bytes.isEmpty { self.offset = offset }
      chunk.withUnsafeBytes { bytes.append(contentsOf: $0) }
      digests.append(digest)
    }

    /// The start of the first damaged chunk of these, or the end of all.
    func intactEnd(of chunks: Range<Int>) -> Int {
      let bytes = bytes
      // A UInt8 has no padding to show.
      let leaves = Digest.ofChunks(bytes.span.bytes.extracting(chunks))
      let told = digests[(chunks.lowerBound / Limits.chunkBytes)...]
      let intact = zip(leaves, told).prefix { $0 == $1 }.count
      return min(chunks.upperBound, chunks.lowerBound + intact * Limits.chunkBytes)
    }

    func removeAll() {
      bytes.removeAll(keepingCapacity: true)
      digests.removeAll(keepingCapacity: true)
    }
  }

  enum Written: Sendable {
    case through(UInt64)
    /// The chunk at this offset is damaged; the bytes before it are stored.
    case damaged(UInt64, stored: UInt64)
    /// Not the next bytes: they were in flight when the transfer began anew.
    case late
    case failed(NearbyError)
  }

  nonisolated let reactor: Reactor
  private var holding: HoldingPlace?

  init() throws(SystemError) {
    reactor = try Reactor()
    reactor.start()
  }

  isolated deinit {
    reactor.stop()
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  /// It does not throw: a caller without an actor stays on this thread after an error thrown by one, where Swift 6.3
  /// optimizes.
  func attempt<Success: Sendable>(_ body: @Sendable () throws -> Success) -> Result<Success, any Error> {
    Result { try body() }
  }

  // MARK: Reading

  func open(_ path: String) throws -> OpenSource {
    let file = try SourceFile(path)
    return OpenSource(.file(file), name: lastComponent(of: path), size: file.size)
  }

  func read(_ file: SourceFile, from offset: UInt64, _ count: Int, into spare: SpareMemory) throws -> Piece {
    let bytes = try file.read(count, from: offset, into: spare.take())
    return piece(bytes, isLast: bytes.count < count)
  }

  func piece(_ bytes: [UInt8], isLast: Bool) -> Piece {
    // A UInt8 has no padding to show.
    Piece(bytes: bytes, digests: Digest.ofChunks(bytes.span.bytes), isLast: isLast)
  }

  // MARK: Writing

  func create(_ name: String, in folder: String, hashes: Bool = false) throws -> TargetFile {
    try TargetFile(name, in: folder, hashes: hashes)
  }

  /// With `syncs`, stored bytes survive a power cut.
  func write(_ batch: Batch, to target: TargetFile, syncs: Bool) -> Written {
    guard batch.offset <= target.end else { return .late }
    let bytes = batch.bytes
    // Bytes that are there already were in flight when the transfer began anew.
    var intact = min(bytes.count, Int(target.end - batch.offset))
    var end = intact
    do {
      while intact == end, end < bytes.count {
        end = min(bytes.count, end + Self.checkedAtOnce)
        let start = intact
        intact = batch.intactEnd(of: start..<end)
        // A UInt8 has no padding to show.
        try target.append(bytes.span.bytes.extracting(start..<intact))
      }
      if syncs { try target.sync() }
    } catch {
      return .failed(NearbyError(wrapping: error))
    }
    return intact == bytes.count
      ? .through(target.end) : .damaged(batch.offset + UInt64(intact), stored: target.end)
  }

  /// So little that it is still in the processor's cache when it is written, and enough to hash many chunks at once.
  private static let checkedAtOnce = 256 << 10

  /// The digests of the chunks that the file has there; none of what cannot be read.
  func digests(of target: TargetFile, from offset: UInt64, _ count: Int) -> [Digest] {
    // A UInt8 has no padding to show.
    Digest.ofChunks(target.read(count, from: offset).span.bytes)
  }

  /// The path of the whole file, and the digest of its content where that was hashed.
  func finish(_ target: TargetFile) -> Result<(path: String, digest: Digest?), NearbyError> {
    Result { (try target.finish(), target.takeDigest()) }.mapError { NearbyError(wrapping: $0) }
  }

  func drop(_ target: TargetFile, keepsPlace: Bool) { target.drop(keepsPlace: keepsPlace) }

  // MARK: Holding

  /// For one file that has no place of its own yet.
  func makeHoldingFolder() throws -> String {
    let place = try holding ?? HoldingPlace()
    holding = place
    return try place.makeFolder()
  }

  /// Removes such a folder with its contents.
  nonisolated func discard(_ folder: String) {
    reactor.spawn { await self.remove(folder) }
  }

  private func remove(_ folder: String) { holding?.remove(folder) }

  /// Removes all of them.
  func discardAll() {
    holding?.remove()
    holding = nil
  }
}

func lastComponent(of path: String) -> String {
  path.split(separator: "/").last.map(String.init) ?? path
}

/// The path in a form that does not depend on the current folder.
func absolute(_ path: String) -> String {
  if path.hasPrefix("/") { return path }
  guard let here = getcwd(nil, 0) else { return path }
  defer { free(here) }
  return "\(String(cString: here))/\(path)"
}
