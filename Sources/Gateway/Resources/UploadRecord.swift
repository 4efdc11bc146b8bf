internal import Glibc
internal import Media
internal import Nearby
internal import Notation
internal import Reactor

/// Digests of an upload's synced bytes, to check its file after a restart.
///
/// A part is the bytes that one run of the gateway has written. Parts of earlier runs are only compared: no state of a
/// hash has to outlive its run.
struct UploadRecord {
  struct Part: Equatable, Sendable {
    var start: UInt64
    var end: UInt64
    var digest: ContentDigest
  }

  /// Parts of earlier runs.
  private(set) var restored: [Part] = []
  /// The bytes that this run has written, from `start` on.
  private var start: UInt64 = 0
  var chain = ChunkChain()
  /// The part of this run that would survive a power cut.
  var synced: Part?

  init() {}

  /// The part of this run before `end`, where the chain ends; nil if it is empty.
  func part(through end: UInt64) -> Part? {
    start < end ? Part(start: start, end: end, digest: chain.digest) : nil
  }

  // MARK: Stored form

  init(_ json: JSON?, resumesAt offset: UInt64) {
    restored = (json?.list ?? []).compactMap { part in
      guard let start = part["start"]?.integer, let end = part["end"]?.integer, start >= 0, end > start,
        let digest = part["digest"]?.text.flatMap(ContentDigest.init(base64:))
      else { return nil }
      return Part(start: UInt64(start), end: UInt64(end), digest: digest)
    }
    start = offset
  }

  /// Nil for no parts.
  var json: JSON? {
    let parts = restored + (synced.map { [$0] } ?? [])
    if parts.isEmpty { return nil }
    return .list(
      parts.map { ["start": .number($0.start), "end": .number($0.end), "digest": .text($0.digest.base64)] })
  }
}

/// A running digest of consecutive bytes: BLAKE3 of each chunk, and of that with the digest of all before.
struct ChunkChain: Sendable {
  private var links = Digest(.init(0, 0, 0, 0))
  /// The beginning of the next chunk.
  private var rest: [UInt8] = []

  mutating func add(_ bytes: [UInt8]) {
    var start = 0
    if !rest.isEmpty {
      start = min(bytes.count, Limits.chunkBytes - rest.count)
      rest += bytes[..<start]
      guard rest.count == Limits.chunkBytes else { return }
      // A UInt8 has no padding to show.
      links = Self.linked(links, rest.span.bytes)
      rest.removeAll(keepingCapacity: true)
    }
    let end = bytes.count - (bytes.count - start) % Limits.chunkBytes
    // A UInt8 has no padding to show.
    links = Self.linked(links, bytes.span.bytes.extracting(start..<end))
    rest += bytes[end...]
  }

  var digest: ContentDigest {
    // A UInt8 has no padding to show.
    ContentDigest(Self.linked(links, rest.span.bytes))
  }

  private static func linked(_ links: Digest, _ chunks: RawSpan) -> Digest {
    Digest.ofChunks(chunks).reduce(links) { before, leaf in
      let pair = before.bytes + leaf.bytes
      // A UInt8 has no padding to show.
      return Digest.ofChunks(pair.span.bytes)[0]
    }
  }
}

/// A file that is compared with its record a piece at a time, so that other work gets at the disk meanwhile.
private final class RecordedFile: @unchecked Sendable {
  // `@unchecked`: one piece of work at a time uses it, and each begins after the one before has ended.

  private static let pieceBytes: UInt64 = 4 << 20

  private let file: Descriptor
  private var place: UInt64 = 0
  private var chain = ChunkChain()

  init(_ path: String) throws(SystemError) {
    file = try .opened(path, O_RDONLY)
  }

  func begin(at place: UInt64) { (self.place, chain) = (place, ChunkChain()) }

  /// Hashes the next piece; returns whether there may be more before `end`. Unreadable bytes are missing in the digest.
  func addPiece(before end: UInt64) -> Bool {
    var piece = [UInt8](repeating: 0, count: Int(min(end - place, Self.pieceBytes)))
    let count = pread(file.number, &piece, piece.count, off_t(place))
    if count < 0, errno == EINTR { return true }
    guard count > 0 else { return false }
    chain.add(Array(piece.prefix(count)))
    place += UInt64(count)
    return place < end
  }

  var digest: ContentDigest { chain.digest }
}

extension Host {
  /// Whether a file has all these parts as they were written.
  func has(_ parts: [UploadRecord.Part], in path: String) async throws -> Bool {
    let file = try await onDisk { try RecordedFile(path) }
    for part in parts {
      file.begin(at: part.start)
      while try await onDisk({ file.addPiece(before: part.end) }) {}
      if file.digest != part.digest { return false }
    }
    return true
  }
}
