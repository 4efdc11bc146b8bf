package import Glibc

/// Names in an open folder. No symlink is followed, and no name leads out of the folder.
extension Descriptor {
  package static func folder(_ path: String) throws(SystemError) -> Descriptor {
    try opened(path, O_RDONLY | O_DIRECTORY)
  }

  package func opened(_ name: String, _ flags: CInt, mode: mode_t = 0o600) throws(SystemError) -> Descriptor {
    let flags = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    return Descriptor(owning: try system("open \(name)") { openat(number, name, flags, mode) })
  }

  package func status(of name: String) throws(SystemError) -> stat {
    var status = stat()
    try system("look at \(name)") { fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) }
    return status
  }

  package func remove(_ name: String) throws(SystemError) {
    try system("remove \(name)") { unlinkat(number, name, 0) }
  }

  package func rename(_ name: String, to other: String) throws(SystemError) {
    try system("rename \(name)") { renameat(number, name, number, other) }
  }

  /// Gives the file this mode, and the folder's group where that is allowed.
  package func share(_ name: String, mode: mode_t, group: UInt32) throws(SystemError) {
    _ = fchownat(number, name, uid_t.max, group, AT_SYMLINK_NOFOLLOW)
    try system("set the mode of \(name)") { fchmodat(number, name, mode, 0) }
  }

  /// Whether this process may create and remove names here.
  package func expectWritable() throws(SystemError) {
    try system("write to the folder") { faccessat(number, ".", W_OK | X_OK, AT_EACCESS) }
  }

  /// Up to so many names, in no order.
  package func names(atMost count: Int) throws(SystemError) -> [String] {
    let copy = try opened(".", O_RDONLY | O_DIRECTORY)
    guard let stream = fdopendir(copy.number) else { throw SystemError("read the folder", code: errno) }
    // The stream closes it.
    _ = copy.release()
    defer { closedir(stream) }
    var names: [String] = []
    while names.count < count, let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        // The kernel ends each name with a 0, within the array.
        $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: entry.pointee.d_name)) {
          String(cString: $0)
        }
      }
      names.append(name)
    }
    return names
  }

  // MARK: Locks

  /// Locks the file for as long as this open file lives, or fails at once where another one holds it.
  package func lock(exclusively: Bool) throws(SystemError) {
    try system("flock") { flock(number, (exclusively ? LOCK_EX : LOCK_SH) | LOCK_NB) }
  }
}
