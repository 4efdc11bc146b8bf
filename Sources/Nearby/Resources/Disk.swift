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

  struct Chunk: Sendable {
    var offset: UInt64
    var bytes: [UInt8]
    var digest: Digest
  }

  enum Written: Sendable {
    case through(UInt64)
    /// The chunk there is not what it should be; what came before it is stored.
    case damaged(UInt64, stored: UInt64)
    /// Not what comes next: it was on its way when the transfer began anew.
    case late
    case failed
  }

  private let reactor: Reactor
  private let crypto = OpenSSLCrypto(keys: [])
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
    Piece(bytes: bytes, digests: digests(of: bytes), isLast: isLast)
  }

  private func digests(of bytes: [UInt8]) -> [Digest] {
    stride(from: 0, to: bytes.count, by: Limits.chunkBytes).map { start in
      // A UInt8 has no padding to show.
      crypto.leaf(of: bytes.span.bytes.extracting(start..<min(bytes.count, start + Limits.chunkBytes)))
    }
  }

  // MARK: Writing

  func create(_ name: String, in folder: String) throws -> TargetFile { try TargetFile(name, in: folder) }

  /// With `syncs`, what is told to be stored would be there after a power cut.
  func write(_ chunks: [Chunk], to target: TargetFile, syncs: Bool) -> Written {
    let written = write(chunks, to: target)
    return syncs && !target.sync() ? .failed : written
  }

  private func write(_ chunks: [Chunk], to target: TargetFile) -> Written {
    for chunk in chunks {
      guard chunk.offset == target.end else {
        if chunk.offset < target.end { continue }
        return .late
      }
      guard crypto.leaf(of: chunk.bytes.span.bytes) == chunk.digest else {
        return .damaged(chunk.offset, stored: target.end)
      }
      do {
        try target.append(chunk.bytes)
      } catch {
        return .failed
      }
    }
    return .through(target.end)
  }

  /// Gives the whole file its name.
  func finish(_ target: TargetFile) throws -> String { try target.finish() }

  func remove(_ target: TargetFile) { target.remove() }

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
