internal import Glibc
internal import Reactor
internal import Synchronization
internal import Web

/// A file that an upload fills, piece after piece.
final class Spool: Sendable {
  let path: String
  private let file: CInt
  private let offset: Mutex<UInt64>

  init(in folder: String, named name: String, from offset: UInt64) throws(Problem) {
    path = "\(folder)/\(name)"
    file = Glibc.open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    self.offset = Mutex(offset)
    // What lies behind may never have been synced, and is not what was sent after a power cut.
    guard file >= 0, ftruncate(file, off_t(offset)) == 0 else { throw Self.problem("open", path) }
  }

  deinit {
    if file >= 0 { close(file) }
  }

  /// Behind what was written before.
  func write(_ bytes: [UInt8]) throws(Problem) {
    try offset.withLock { offset throws(Problem) in
      var done = 0
      while done < bytes.count {
        // There is one byte left at least, so the buffer has an address.
        let count = bytes.withUnsafeBytes {
          pwrite(file, $0.baseAddress! + done, bytes.count - done, off_t(offset) + off_t(done))
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw Self.problem("write", path) }
        done += count
      }
      offset += UInt64(bytes.count)
    }
  }

  /// Returns when the file, and what is written, would be there after a power cut.
  func sync() throws(Problem) {
    // With its time of change, by which a host that comes back knows that it is the same file.
    guard fsync(file) == 0 else { throw Self.problem("sync", path) }
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

  private static func problem(_ what: String, _ path: String) -> Problem {
    let code = errno
    if code == ENOSPC || code == EDQUOT {
      return Problem(.noSpace, "the gateway's disk is full: delete resources that are done, or make room on it")
    }
    return Problem(.unknown, "the gateway cannot \(what) a file of its own (\(String(cString: strerror(code))))")
  }
}
