internal import Glibc
internal import Reactor

/// A folder with one file of keys, held for this process alone while this lives.
final class KeyFolder: Sendable {
  let path: String
  private let folder: Descriptor
  private let lock: Descriptor

  /// Makes the folder where it is missing, and takes hold of it.
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
    // Closing alone would leave it to a child that was forked and has not yet become its program.
    _ = flock(lock.number, LOCK_UN)
  }

  private var file: KeyFile { KeyFile("keys", in: folder, at: path) }

  /// Nil where there are none yet.
  func read() throws(KeyStoreError) -> StoredKeys? { try file.read() }

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
    // Only for whoever finds it held: the hold itself ends with the process.
    let number = Array("\(getpid())\n".utf8)
    try attempt("\(path)/lock", "ftruncate") { ftruncate(lock.number, 0) }
    try attempt("\(path)/lock", "write") { CInt(pwrite(lock.number, number, number.count, 0)) }
  }

  private func holder() -> Int32? {
    var bytes = [UInt8](repeating: 0, count: 16)
    let count = pread(lock.number, &bytes, bytes.count, 0)
    return Int32(String(decoding: bytes.prefix(max(count, 0)).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
  }
}

func openFolder(_ path: String) throws(KeyStoreError) -> Descriptor {
  Descriptor(owning: try attempt(path, "open") { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
}
