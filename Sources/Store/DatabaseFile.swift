internal import Glibc
internal import Reactor

/// A database's file: readable by this user only, and locked for this process until it is released.
///
/// The lock is on a file beside it, because closing a descriptor of the database itself would release SQLite's own
/// locks.
final class DatabaseFile {
  let size: Int64
  /// Whether the file did not exist before.
  let isNew: Bool
  private let path: String
  private let folder: Descriptor
  private let lock: Descriptor

  /// Creates the file if it is missing, and its folder too.
  init(_ path: String) throws(StoreError) {
    self.path = path
    let folderPath = parent(of: path)
    do throws(SystemError) { try makeFolder(folderPath) } catch { throw .system(path: path, error) }
    folder = Descriptor(
      owning: try Self.attempt(path, "open \(folderPath)") {
        Glibc.open(folderPath, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      })
    let status = try Self.status(of: folder.number, path)
    if status.st_uid != geteuid(), status.st_uid != 0 {
      throw .ownedBySomeoneElse(path: folderPath, user: status.st_uid)
    }
    if status.st_mode & 0o022 != 0 { throw .exposed(path: folderPath, mode: status.st_mode & 0o7777) }
    lock = try Self.open(path + ".lock", flags: O_RDWR)
    try Self.acquireLock(lock, of: path)
    isNew = access(path, F_OK) != 0
    size = try Self.createIfMissing(at: path)
  }

  deinit {
    // Closing alone would leave the lock to a child process that was forked and has not called exec yet.
    _ = flock(lock.number, LOCK_UN)
  }

  /// Syncs the folder, so that the file survives a power cut too.
  func syncFolder() throws(StoreError) {
    try Self.attempt(path, "fsync of the folder") { fsync(folder.number) }
  }

  /// Opens the file beside it that holds the number of its last commit; creates it if it is missing.
  func lastCommit() throws(StoreError) -> LastCommit {
    LastCommit(try Self.open(path + LastCommit.suffix, flags: O_RDWR))
  }

  // MARK: Steps

  private static func acquireLock(_ lock: borrowing Descriptor, of path: String) throws(StoreError) {
    let number = lock.number
    do throws(SystemError) {
      try system("flock") { flock(number, LOCK_EX | LOCK_NB) }
    } catch {
      guard error.code == EWOULDBLOCK else { throw .system(path: path, error) }
      var bytes = [UInt8](repeating: 0, count: 16)
      let count = pread(number, &bytes, bytes.count, 0)
      let text = String(decoding: bytes.prefix(max(count, 0)).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
      throw .inUse(path: path, process: Int32(text))
    }
    // The process ID is for error messages only: the lock itself ends with the process. It overwrites the one before,
    // since the disk may be full.
    let text = Array("\(getpid())\n".utf8)
    _ = pwrite(number, text, text.count, 0)
  }

  /// Creates the file if it is missing, private from the start; SQLite's other files get the same mode.
  private static func createIfMissing(at path: String) throws(StoreError) -> Int64 {
    let file = try open(path, flags: O_RDWR)
    let status = try status(of: file.number, path)
    if status.st_uid != geteuid() { throw .ownedBySomeoneElse(path: path, user: status.st_uid) }
    if status.st_mode & 0o077 != 0 { throw .exposed(path: path, mode: status.st_mode & 0o7777) }
    return Int64(status.st_size)
  }

  private static func open(_ path: String, flags: CInt) throws(StoreError) -> Descriptor {
    // Non-blocking: the open of a named pipe in the file's place would never return.
    let flags = flags | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    let file: Descriptor
    do throws(SystemError) {
      file = Descriptor(owning: try system("open") { Glibc.open(path, flags, 0o600) })
    } catch {
      if [ELOOP, EISDIR, ENXIO].contains(error.code) { throw .notAFile(path: path) }
      throw .system(path: path, error)
    }
    if try status(of: file.number, path).st_mode & S_IFMT != S_IFREG { throw .notAFile(path: path) }
    return file
  }

  private static func status(of number: CInt, _ path: String) throws(StoreError) -> stat {
    var status = stat()
    try attempt(path, "fstat") { fstat(number, &status) }
    return status
  }

  @discardableResult
  private static func attempt<Count: SignedInteger>(
    _ path: String, _ operation: String, _ call: () -> Count
  ) throws(StoreError) -> Count {
    do throws(SystemError) {
      return try system(operation, call)
    } catch {
      throw .system(path: path, error)
    }
  }
}
