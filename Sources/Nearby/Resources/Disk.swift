internal import Engine
internal import Glibc
internal import Media
internal import Reactor
internal import Wire

/// Files and hashes, on a thread of their own: whatever a disk takes its time for holds up no link.
actor Disk {
  struct Piece: Sendable {
    var bytes: [UInt8]
    var digests: [Digest]
    var isLast: Bool
  }

  /// Chunks that follow each other, where they lie in one piece: all are whole, but for a resource's last.
  ///
  /// Its memory is used again: filling it costs no more than the bytes.
  final class Batch: @unchecked Sendable {
    // `@unchecked`: the loop fills it, and hands it to the disk, and gets it back when that is done.

    private(set) var offset: UInt64 = 0
    private(set) var bytes: [UInt8] = []
    private(set) var digests: [Digest] = []

    var isEmpty: Bool { bytes.isEmpty }
    var end: UInt64 { offset + UInt64(bytes.count) }

    func append(_ chunk: RawSpan, _ digest: Digest, at offset: UInt64) {
      // The transfer has begun anew from there: what stands here comes again.
      if offset != end { removeAll() }
      if isEmpty { self.offset = offset }
      chunk.withUnsafeBytes { bytes.append(contentsOf: $0) }
      digests.append(digest)
    }

    func removeAll() {
      bytes.removeAll(keepingCapacity: true)
      digests.removeAll(keepingCapacity: true)
    }
  }

  enum Written: Sendable {
    case through(UInt64)
    /// The chunk there is not what it should be; what came before it is stored.
    case damaged(UInt64, stored: UInt64)
    /// Not what comes next: it was on its way when the transfer began anew.
    case late
    case failed(NearbyError)
  }

  private let reactor: Reactor
  private var holding: HoldingPlace?

  init() throws(SystemError) {
    reactor = try Reactor()
    reactor.start()
  }

  isolated deinit {
    reactor.stop()
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  func perform<Result: Sendable>(_ body: @Sendable () throws -> Result) throws -> Result { try body() }

  // MARK: Reading

  func open(_ path: String) throws -> OpenSource {
    let file = try SourceFile(path)
    return OpenSource(.file(file), name: lastComponent(of: path), size: file.size)
  }

  func read(_ file: SourceFile, from offset: UInt64, _ count: Int) throws -> Piece {
    let bytes = try file.read(count, from: offset)
    return piece(bytes, isLast: bytes.count < count)
  }

  func piece(_ bytes: [UInt8], isLast: Bool) -> Piece {
    // A UInt8 has no padding to show.
    Piece(bytes: bytes, digests: ChunkTree.leaves(of: bytes.span.bytes), isLast: isLast)
  }

  // MARK: Writing

  func create(_ name: String, in folder: String) throws -> TargetFile { try TargetFile(name, in: folder) }

  /// With `syncs`, what is told to be stored would be there after a power cut.
  func write(_ batch: Batch, to target: TargetFile, syncs: Bool) -> Written {
    guard batch.offset <= target.end else { return .late }
    // What is there already was on its way when the transfer began anew.
    let first = min(batch.bytes.count, Int(target.end - batch.offset))
    let bytes = batch.bytes
    let intact = intact(bytes, batch.digests, from: first)
    do {
      // A UInt8 has no padding to show.
      try target.append(bytes.span.bytes.extracting(first..<intact))
      if syncs { try target.sync() }
    } catch {
      return .failed(NearbyError(wrapping: error))
    }
    return intact == bytes.count
      ? .through(target.end) : .damaged(batch.offset + UInt64(intact), stored: target.end)
  }

  /// Where the first chunk begins that is not what it should be.
  private func intact(_ bytes: [UInt8], _ digests: [Digest], from first: Int) -> Int {
    // A UInt8 has no padding to show.
    let leaves = ChunkTree.leaves(of: bytes.span.bytes.extracting(droppingFirst: first))
    let told = digests.dropFirst(first / Limits.chunkBytes)
    let intact = zip(leaves, told).prefix { $0 == $1 }.count
    return min(bytes.count, first + intact * Limits.chunkBytes)
  }

  /// Gives the whole file its name.
  func finish(_ target: TargetFile) -> Result<String, NearbyError> {
    Result { try target.finish() }.mapError { NearbyError(wrapping: $0) }
  }

  func drop(_ target: TargetFile, keepsPlace: Bool) { target.drop(keepsPlace: keepsPlace) }

  // MARK: Holding

  /// For one file that has no place of its own yet.
  func makeHoldingFolder() throws -> String {
    let place = try holding ?? HoldingPlace()
    holding = place
    return try place.makeFolder()
  }

  /// Such a folder goes, with what is in it.
  nonisolated func discard(_ folder: String) {
    reactor.spawn { await self.remove(folder) }
  }

  private func remove(_ folder: String) { holding?.remove(folder) }

  /// All of them go.
  func discardAll() {
    holding?.remove()
    holding = nil
  }
}

func lastComponent(of path: String) -> String {
  path.split(separator: "/").last.map(String.init) ?? path
}

/// Which means the same in another folder.
func absolute(_ path: String) -> String {
  if path.hasPrefix("/") { return path }
  guard let here = getcwd(nil, 0) else { return path }
  defer { free(here) }
  return "\(String(cString: here))/\(path)"
}
