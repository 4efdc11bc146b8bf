internal import Glibc

/// A small file that only this user may read, and that is there whole or not at all.
struct PrivateFile: Sendable {
  static let bytesMax = 64 << 10

  let path: String

  /// Nil where there is none. What others can read, or have put there, is not taken.
  func read() throws(Problem) -> [UInt8]? {
    // Not blocking: a named pipe in the file's place would never open.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw trouble("cannot be opened: \(String(cString: strerror(errno)))")
    }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw trouble("is no file") }
    guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
      throw trouble("can be read or written by others, and holds a secret: take it away from them (chmod 600)")
    }
    guard status.st_size <= Self.bytesMax, let bytes = Folder.read(path, Int(status.st_size)) else {
      throw trouble("cannot be read, or is too long")
    }
    return bytes
  }

  /// Whenever the power goes, what was there before or this is there.
  func write(_ bytes: [UInt8]) throws(Problem) {
    let draft = path + ".new"
    // One may be left of a process that was killed.
    _ = unlink(draft)
    let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw failed() }
    let count = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
    let isWritten = count == bytes.count && fsync(file) == 0
    guard close(file) == 0, isWritten, rename(draft, path) == 0 else { throw failed() }
    try Folder.sync(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) + "/")
  }

  private func failed() -> Problem { trouble("cannot be written: \(String(cString: strerror(errno)))") }

  func trouble(_ what: String) -> Problem { Problem(.unavailable, "\(path) \(what)") }
}
