internal import Glibc
internal import Reactor
internal import Synchronization
internal import Web

/// A file that an upload fills, piece after piece, from an offset on.
final class Spool: Sendable {
  private struct End {
    var offset: UInt64
    var isCut = false
    /// Before here no memory holds what was written.
    var held: UInt64

    init(_ offset: UInt64) {
      self.offset = offset
      held = offset
    }
  }

  /// Of what was written last so much stays in memory, for who reads it soon; the rest of a long file is not worth what
  /// it would push out, and what the disk has not taken yet cannot become much.
  private static let heldMax: UInt64 = 64 << 20
  private static let evictedAtOnce: UInt64 = 8 << 20

  let path: String
  private let file: Descriptor
  private let end: Mutex<End>

  init(_ path: String, from offset: UInt64) throws(Problem) {
    self.path = path
    end = Mutex(End(offset))
    do {
      file = try .opened(path, O_WRONLY | O_CREAT)
    } catch {
      throw Self.problem("open", path, error.code)
    }
  }

  /// Behind what was written before.
  func write(_ bytes: [UInt8]) throws(Problem) {
    try end.withLock { end throws(Problem) in
      try cut(&end)
      var done = 0
      while done < bytes.count {
        // There is one byte left at least, so the buffer has an address.
        let count = bytes.withUnsafeBytes {
          pwrite(file.number, $0.baseAddress! + done, bytes.count - done, off_t(end.offset) + off_t(done))
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw Self.problem("write", path) }
        done += count
      }
      file.beginSync(from: end.offset, bytes.count)
      end.offset += UInt64(bytes.count)
      if end.offset - end.held >= Self.heldMax + Self.evictedAtOnce {
        file.evict(from: end.held, Int(Self.evictedAtOnce))
        end.held += Self.evictedAtOnce
      }
    }
  }

  /// What lies behind may never have been synced, or was still under way when the upload before this one broke off.
  private func cut(_ end: inout End) throws(Problem) {
    guard end.isCut || ftruncate(file.number, off_t(end.offset)) == 0 else { throw Self.problem("cut", path) }
    end.isCut = true
  }

  /// Returns when the file, and what is written, would be there after a power cut.
  func sync() throws(Problem) {
    try end.withLock { end throws(Problem) in try cut(&end) }
    // With its time of change, by which a host that comes back knows that it is the same file.
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

  /// For reading.
  static func open(_ path: String) throws(Problem) -> Opened {
    let number = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw problem("open", path) }
    var status = stat()
    fstat(number, &status)
    return Opened(Descriptor(owning: number), size: Int(status.st_size))
  }

  private static func problem(_ what: String, _ path: String, _ code: CInt = errno) -> Problem {
    if code == ENOSPC || code == EDQUOT {
      return Problem(.noSpace, "the gateway's disk is full: delete resources that are done, or make room on it")
    }
    return Problem(.unknown, "the gateway cannot \(what) a file of its own (\(String(cString: strerror(code))))")
  }
}
