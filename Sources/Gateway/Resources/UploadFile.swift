internal import Glibc
internal import Media
internal import Reactor
internal import Synchronization
internal import Web

/// A file that an upload fills piece by piece, from an offset on.
///
/// The later part of a long file bypasses the page cache (`O_DIRECT`), in whole pages: it would evict data of more use,
/// and so many fresh pages can cost more than all the rest.
final class UploadFile: Sendable {
  private struct WriteState {
    var offset: UInt64
    var isTruncated = false
    /// The page-aligned buffer for `O_DIRECT`.
    var pages: Pages?
    var supportsDirectIO = true
    /// The digest of the bytes before the offset.
    var chain: ChunkChain
    /// The hash of the bytes that this upload writes; nil where nobody compares it.
    let hash: RunningHash?

    init(_ offset: UInt64, _ chain: ChunkChain, _ hash: RunningHash?) {
      (self.offset, self.chain, self.hash) = (offset, chain, hash)
    }
  }

  /// Limit for one piece: longer ones reach the disk no sooner.
  static let pieceMax = 1 << 20
  /// The beginning stays in the page cache: most files are no longer, and are soon read.
  private static let cachedBytesMax: UInt64 = 16 << 20

  let path: String
  private let file: Descriptor
  private let state: Mutex<WriteState>

  init(_ path: String, from offset: UInt64, chain: ChunkChain = ChunkChain(), hashes: Bool = false) throws(Problem) {
    self.path = path
    state = Mutex(WriteState(offset, chain, hashes ? RunningHash() : nil))
    do {
      file = try .opened(path, O_WRONLY | O_CREAT)
    } catch {
      throw Self.problem("open", path, error.code)
    }
  }

  /// Appends bytes.
  func write(_ bytes: [UInt8]) throws(Problem) {
    try state.withLock { state throws(Problem) in
      try truncate(&state)
      var done = 0
      while done < bytes.count {
        let count = bytes[done...].withUnsafeBytes { put($0, &state) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw Self.problem("write", path) }
        state.offset += UInt64(count)
        done += count
      }
      state.chain.add(bytes)
      if let hash = state.hash { bytes.withUnsafeBytes { hash.add($0) } }
    }
  }

  /// The digest of all bytes that were written.
  var chain: ChunkChain { state.withLock { $0.chain } }

  /// Whether the bytes that this upload has written have the digest; nothing may be written any more.
  func isWritten(_ digest: ContentDigest) -> Bool {
    state.withLock { $0.hash.map { ContentDigest($0.finish()) } == digest }
  }

  /// Writes all or a part of the bytes, as `pwrite` does.
  private func put(_ bytes: UnsafeRawBufferPointer, _ state: inout WriteState) -> Int {
    guard state.supportsDirectIO, state.offset >= Self.cachedBytesMax else { return writeBuffered(bytes, &state) }
    let behindPages = Int(state.offset % UInt64(Pages.bytes))
    guard behindPages == 0 else {
      return writeBuffered(.init(rebasing: bytes.prefix(Pages.bytes - behindPages)), &state)
    }
    return writeDirect(bytes, &state) ?? writeBuffered(bytes, &state)
  }

  private func writeBuffered(_ bytes: UnsafeRawBufferPointer, _ state: inout WriteState) -> Int {
    let count = pwrite(file.number, bytes.baseAddress, bytes.count, off_t(state.offset))
    if count > 0 { file.beginSync(from: state.offset, count) }
    return count
  }

  /// The same with `O_DIRECT`, for whole pages; nil where there are none, or the file system does not support it.
  private func writeDirect(_ bytes: UnsafeRawBufferPointer, _ state: inout WriteState) -> Int? {
    let count = min(bytes.count, Self.pieceMax) / Pages.bytes * Pages.bytes
    guard count > 0 else { return nil }
    let pages = state.pages ?? Pages(Self.pieceMax)
    state.pages = pages
    pages.room.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    let written = file.writePastMemory(pages, count, at: state.offset)
    state.supportsDirectIO = written != nil
    return written
  }

  /// Truncates the file: bytes behind may not have been synced, or an earlier upload broke off as it wrote them.
  private func truncate(_ state: inout WriteState) throws(Problem) {
    guard state.isTruncated || ftruncate(file.number, off_t(state.offset)) == 0 else { throw Self.problem("cut", path) }
    state.isTruncated = true
  }

  /// Returns when the file, and its bytes, would survive a power cut.
  func sync() throws(Problem) {
    try state.withLock { state throws(Problem) in try truncate(&state) }
    // The time of change is synced too: by it a host recognizes the file after a restart.
    guard fsync(file.number) == 0 else { throw Self.problem("sync", path) }
    try Folder.sync(above: path)
  }

  struct Opened: ~Copyable {
    private let file: Descriptor
    let size: Int

    init(_ file: consuming Descriptor, size: Int) {
      self.file = file
      self.size = size
    }

    consuming func part(_ range: Range<Int>) -> FilePart {
      FilePart(file, offset: range.lowerBound, length: range.count)
    }
  }

  /// Opens a file for reading.
  static func open(_ path: String) throws(Problem) -> Opened {
    let number = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw problem("open", path) }
    var status = stat()
    fstat(number, &status)
    return Opened(Descriptor(owning: number), size: Int(status.st_size))
  }

  private static func problem(_ what: String, _ path: String, _ code: CInt = errno) -> Problem {
    if SystemError(what, code: code).isFullDisk {
      return .noSpace("the gateway's disk is full: delete resources that are done, or make room on it")
    }
    return Problem(.unknown, "the gateway cannot \(what) a file of its own (\(String(cString: strerror(code))))")
  }
}
