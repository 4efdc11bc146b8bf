internal import Glibc
internal import Reactor

/// A file of keys in an open folder: nobody else may read it at any moment, and an unreadable file is never
/// overwritten.
struct KeyFile {
  private let folder: CInt
  private let name: String
  /// For people.
  let path: String

  /// The folder stays open while this is used.
  init(_ name: String, in folder: borrowing Descriptor, at path: String) {
    self.folder = folder.number
    self.name = name
    self.path = "\(path)/\(name)"
  }

  func read() throws(KeyStoreError) -> StoredKeys? {
    // Not blocking: a named pipe in the file's place would never open.
    guard let file = try opened(O_RDONLY | O_NONBLOCK, unless: ENOENT) else { return nil }
    try check(file)
    let bytes = try contents(of: file)
    do throws(KeyText.Fault) {
      return try KeyText.keys(from: bytes)
    } catch {
      switch error {
      case .damaged(let line, let what): throw .damaged(path: path, line: line, what: what)
      case .newer(let version): throw .newer(path: path, version: version)
      }
    }
  }

  /// Writes a new file, and syncs it to the disk.
  func create(_ keys: StoredKeys) throws(KeyStoreError) {
    guard let file = try opened(O_WRONLY | O_CREAT | O_EXCL, unless: EEXIST) else { throw .occupied(path: path) }
    do throws(KeyStoreError) {
      try makePrivate(file)
      try write(KeyText.bytes(of: keys), to: file)
      try attempt(path, "fsync") { fsync(file.number) }
      try syncFolder()
    } catch {
      _ = try? remove()
      throw error
    }
  }

  /// Replaces another file atomically: after a power cut one of the two is there and whole.
  func replace(_ other: KeyFile) throws(KeyStoreError) {
    try attempt(other.path, "rename") { renameat(folder, name, other.folder, other.name) }
    try other.syncFolder()
  }

  func remove() throws(KeyStoreError) {
    do throws(SystemError) {
      try system("unlink") { unlinkat(folder, name, 0) }
    } catch {
      if error.code != ENOENT { throw .failed(path: path, error) }
    }
  }

  // MARK: Steps

  private func opened(_ flags: CInt, unless expected: CInt) throws(KeyStoreError) -> Descriptor? {
    do throws(SystemError) {
      let flags = flags | O_CLOEXEC | O_NOFOLLOW
      return Descriptor(owning: try system("open") { openat(folder, name, flags, 0o600) })
    } catch {
      if error.code == expected { return nil }
      if error.code == ELOOP { throw .notAFile(path: path) }
      throw .failed(path: path, error)
    }
  }

  private func check(_ file: borrowing Descriptor) throws(KeyStoreError) {
    let status = try status(of: file, path)
    if status.st_mode & S_IFMT != S_IFREG { throw .notAFile(path: path) }
    if status.st_uid != geteuid() { throw .ownedBySomeoneElse(path: path, user: status.st_uid) }
    if status.st_mode & 0o077 != 0 { throw .open(path: path, mode: status.st_mode & 0o7777) }
    if status.st_size > KeyText.bytesMax { throw .tooLong(path: path, bytesMax: KeyText.bytesMax) }
  }

  /// The mode at creation is reduced by the process's mask, and some file systems keep none.
  private func makePrivate(_ file: borrowing Descriptor) throws(KeyStoreError) {
    _ = fchmod(file.number, 0o600)
    if try status(of: file, path).st_mode & 0o077 != 0 { throw .cannotBePrivate(path: path) }
  }

  private func contents(of file: borrowing Descriptor) throws(KeyStoreError) -> [UInt8] {
    let bytes: [UInt8]?
    do throws(SystemError) {
      bytes = try file.readAll(atMost: KeyText.bytesMax)
    } catch {
      throw .failed(path: path, error)
    }
    guard let bytes else { throw .tooLong(path: path, bytesMax: KeyText.bytesMax) }
    return bytes
  }

  private func write(_ bytes: [UInt8], to file: borrowing Descriptor) throws(KeyStoreError) {
    do throws(SystemError) {
      try file.writeAll(bytes)
    } catch {
      throw .failed(path: path, error)
    }
  }

  private func syncFolder() throws(KeyStoreError) {
    try attempt(path, "fsync of the folder") { fsync(folder) }
  }
}

func status(of file: borrowing Descriptor, _ path: String) throws(KeyStoreError) -> stat {
  var status = stat()
  try attempt(path, "fstat") { fstat(file.number, &status) }
  return status
}

@discardableResult
func attempt(_ path: String, _ operation: String, _ call: () -> CInt) throws(KeyStoreError) -> CInt {
  do throws(SystemError) {
    return try system(operation, call)
  } catch {
    throw .failed(path: path, error)
  }
}
