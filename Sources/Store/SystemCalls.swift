internal import CSQLite
internal import Glibc

/// SQLite's table of system calls; each must have the type given here.
enum SystemCalls {
  typealias Open = @convention(c) (UnsafePointer<CChar>?, CInt, CInt) -> CInt
  typealias Read = @convention(c) (CInt, UnsafeMutableRawPointer?, Int, off_t) -> Int

  /// Replaces the system calls, once, for each file that is opened later. Another build of SQLite may read in another
  /// way: then it stays unchanged.
  static let install: Void = {
    guard let system, let set = system.pointee.xSetSystemCall, systemOpen != nil else { return }
    let (open, read): (Open, Read) = (openToRead, readAhead)
    guard system.pointee.xGetSystemCall?(system, "pread64") != nil else { return }
    _ = set(system, "open", unsafeBitCast(open, to: sqlite3_syscall_ptr.self))
    _ = set(system, "pread64", unsafeBitCast(read, to: sqlite3_syscall_ptr.self))
  }()

  private static var system: UnsafeMutablePointer<sqlite3_vfs>? { sqlite3_vfs_find("unix") }
  /// SQLite's original call.
  fileprivate static let systemOpen = system.flatMap { $0.pointee.xGetSystemCall($0, "open") }.map {
    unsafeBitCast($0, to: Open.self)
  }
}

private func openToRead(_ path: UnsafePointer<CChar>?, _ flags: CInt, _ mode: CInt) -> CInt {
  guard let systemOpen = SystemCalls.systemOpen else { return -1 }
  let file = systemOpen(path, flags, mode)
  if file >= 0 { ReadAhead.begin(file) }
  return file
}

private func readAhead(_ file: CInt, _ bytes: UnsafeMutableRawPointer?, _ count: Int, _ offset: off_t) -> Int {
  ReadAhead.read(file, bytes, count, offset)
}
