internal import Glibc
internal import Reactor

/// A small file that only this user may read; it is written atomically.
struct PrivateFile: Sendable {
  static let bytesMax = 64 << 10

  let path: String

  /// Nil for no file. A file that others can read, or have put there, is refused.
  func read() throws(Problem) -> [UInt8]? {
    do {
      // Non-blocking: the open of a named pipe in the file's place would never return.
      let file = try Descriptor.opened(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      let status = try file.status()
      guard status.st_mode & S_IFMT == S_IFREG else { throw trouble("is no file") }
      guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
        throw trouble("can be read or written by others, and holds a secret: restrict it (chmod 600)")
      }
      guard let bytes = try file.readAll(atMost: Self.bytesMax) else { throw trouble("is too long") }
      return bytes
    } catch let error as SystemError {
      if error.code == ENOENT { return nil }
      throw trouble("cannot be read: \(error)")
    } catch {
      throw Problem(wrapping: error)
    }
  }

  /// Replaces the file: after a power cut it has the old content or the new.
  func write(_ bytes: [UInt8]) throws(Problem) {
    let draft = path + ".new"
    // A process that was killed may have left a draft.
    _ = unlink(draft)
    do throws(SystemError) {
      let file = try Descriptor.opened(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
      try file.writeAll(bytes)
      try file.sync()
      try system("rename \(draft)") { rename(draft, path) }
    } catch {
      let detail = "\(path) cannot be written: \(error)"
      throw error.isFullDisk ? .noSpace(detail) : Problem(.unavailable, detail)
    }
    try Folder.sync(above: path)
  }

  func trouble(_ what: String) -> Problem { Problem(.unavailable, "\(path) \(what)") }
}
