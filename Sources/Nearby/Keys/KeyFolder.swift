internal import Glibc
internal import Reactor
internal import Wire

/// A folder with one file of keys, locked by this process while this lives.
///
/// The lock file names the process, for people, and has the incarnation of the last start. It is written in place, in
/// one sector, so a full disk has room for it.
final class KeyFolder: Sendable {
  let path: String
  private let folder: Descriptor
  private let lock: Descriptor

  /// Creates the folder where it is missing, and locks it.
  init(_ path: String) throws(KeyStoreError) {
    self.path = path
    do throws(SystemError) { try makeFolder(path) } catch { throw .failed(path: path, error) }
    folder = try openFolder(path)
    let status = try status(of: folder, path)
    if status.st_uid != geteuid() { throw .ownedBySomeoneElse(path: path, user: status.st_uid) }
    if status.st_mode & 0o022 != 0 { throw .othersFolder(path: path, mode: status.st_mode & 0o7777) }
    let (number, flags) = (folder.number, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW)
    lock = Descriptor(owning: try attempt("\(path)/lock", "open") { openat(number, "lock", flags, 0o600) })
    try takeHold()
  }

  deinit {
    // Closing alone would leave the lock to a child that was forked and has not called exec yet.
    _ = flock(lock.number, LOCK_UN)
  }

  private var file: KeyFile { KeyFile("keys", in: folder, at: path) }

  func read() throws(KeyStoreError) -> StoredKeys? {
    guard var keys = try file.read() else { return nil }
    keys.incarnation = max(keys.incarnation, lastIncarnation())
    return keys
  }

  /// Stores a start with an incarnation of its own. With existing keys that works on a full disk, too.
  func begin(_ keys: StoredKeys, isNew: Bool) throws(KeyStoreError) {
    do {
      try write(keys)
    } catch {
      guard !isNew, case .failed(_, let cause) = error, cause.isFullDisk, note(keys.incarnation) else { throw error }
    }
  }

  func write(_ keys: StoredKeys) throws(KeyStoreError) {
    let draft = KeyFile("keys.new", in: folder, at: path)
    // One may be left of a process that was killed; no other one is at work.
    try draft.remove()
    try draft.create(keys)
    try draft.replace(file)
  }

  func refuseToReplace() throws(KeyStoreError) {
    var status = stat()
    if fstatat(folder.number, "keys", &status, AT_SYMLINK_NOFOLLOW) == 0 { throw .occupied(path: file.path) }
  }

  // MARK: Hold

  private func takeHold() throws(KeyStoreError) {
    do throws(SystemError) {
      try system("flock") { flock(lock.number, LOCK_EX | LOCK_NB) }
    } catch {
      guard error.code == EWOULDBLOCK else { throw .failed(path: path, error) }
      throw .inUse(folder: path, process: holder())
    }
    _ = note(lastIncarnation())
  }

  private func holder() -> Int32? { noted().first.flatMap { Int32($0) } }

  private func lastIncarnation() -> Incarnation { Incarnation(noted().dropFirst().first.flatMap { UInt64($0) } ?? 0) }

  /// The lines of the lock file, of which the first two have values.
  private func noted() -> [Substring] {
    var bytes = [UInt8](repeating: 0, count: Self.noteBytes)
    let count = pread(lock.number, &bytes, bytes.count, 0)
    return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self).split(separator: "\n")
  }

  /// Whether it would survive a power cut.
  private func note(_ incarnation: Incarnation) -> Bool {
    let text = Array("\(getpid())\n\(incarnation.rawValue)\n".utf8)
    return pwrite(lock.number, text, text.count, 0) == text.count && fsync(lock.number) == 0
  }

  /// Two numbers, each with the end of its line.
  private static let noteBytes = 64
}

func openFolder(_ path: String) throws(KeyStoreError) -> Descriptor {
  Descriptor(owning: try attempt(path, "open") { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
}
