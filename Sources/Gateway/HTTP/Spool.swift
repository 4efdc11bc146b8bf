internal import Glibc
internal import Reactor
internal import Synchronization
internal import Web

/// A file that an upload fills piece by piece, from an offset on.
///
/// The later part of a long file bypasses the page cache (`O_DIRECT`), in whole pages: it would evict data of more use,
/// and so many fresh pages can cost more than all the rest.
final class Spool: Sendable {
  private struct End {
    var offset: UInt64
    var isCut = false
    /// The page-aligned buffer for `O_DIRECT`.
    var pages: Pages?
    var canGoPastMemory = true
    /// The digest of the bytes before the offset.
    var chain: ChunkChain

    init(_ offset: UInt64, _ chain: ChunkChain) { (self.offset, self.chain) = (offset, chain) }
  }

  /// Limit for one piece: longer ones reach the disk no sooner.
  static let pieceMax = 1 << 20
  /// The beginning stays in the page cache: most files are no longer, and are soon read.
  private static let heldMax: UInt64 = 16 << 20

  let path: String
  private let file: Descriptor
  private let end: Mutex<End>

  init(_ path: String, from offset: UInt64, chain: ChunkChain = ChunkChain()) throws(Problem) {
    self.path = path
    end = Mutex(End(offset, chain))
    do {
      file = try .opened(path, O_WRONLY | O_CREAT)
    } catch {
      throw Self.problem("open", path, error.code)
    }
  }

  /// Appends bytes.
  func write(_ bytes: [UInt8]) throws(Problem) {
    try end.withLock { end throws(Problem) in
      try cut(&end)
      var done = 0
      while done < bytes.count {
        let count = bytes[done...].withUnsafeBytes { put($0, &end) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw Self.problem("write", path) }
        end.offset += UInt64(count)
        done += count
      }
      end.chain.add(bytes)
    }
  }

  /// The digest of all bytes that were written.
  var chain: ChunkChain { end.withLock { $0.chain } }

  /// Writes all or a part of the bytes, as `pwrite` does.
  private func put(_ bytes: UnsafeRawBufferPointer, _ end: inout End) -> Int {
    guard end.canGoPastMemory, end.offset >= Self.heldMax else { return putInMemory(bytes, &end) }
    let behindPages = Int(end.offset % UInt64(Pages.bytes))
    guard behindPages == 0 else {
      return putInMemory(.init(rebasing: bytes.prefix(Pages.bytes - behindPages)), &end)
    }
    return putPastMemory(bytes, &end) ?? putInMemory(bytes, &end)
  }

  private func putInMemory(_ bytes: UnsafeRawBufferPointer, _ end: inout End) -> Int {
    let count = pwrite(file.number, bytes.baseAddress, bytes.count, off_t(end.offset))
    if count > 0 { file.beginSync(from: end.offset, count) }
    return count
  }

  /// The same with `O_DIRECT`, for whole pages; nil where there are none, or the file system does not support it.
  private func putPastMemory(_ bytes: UnsafeRawBufferPointer, _ end: inout End) -> Int? {
    let count = min(bytes.count, Self.pieceMax) / Pages.bytes * Pages.bytes
    guard count > 0 else { return nil }
    let pages = end.pages ?? Pages(Self.pieceMax)
    end.pages = pages
    pages.room.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    let written = file.writePastMemory(pages, count, at: end.offset)
    end.canGoPastMemory = written != nil
    return written
  }

  /// Truncates the file: bytes behind may not have been synced, or an earlier upload broke off as it wrote them.
  private func cut(_ end: inout End) throws(Problem) {
    guard end.isCut || ftruncate(file.number, off_t(end.offset)) == 0 else { throw Self.problem("cut", path) }
    end.isCut = true
  }

  /// Returns when the file, and its bytes, would survive a power cut.
  func sync() throws(Problem) {
    try end.withLock { end throws(Problem) in try cut(&end) }
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
