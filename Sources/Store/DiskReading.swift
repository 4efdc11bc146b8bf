internal import CSQLite
internal import Glibc
internal import Reactor

/// How SQLite reads the disk: what is not in memory comes with the little that lies beside it.
///
/// Left alone, Linux reads as far ahead as the disk is set to. Where that is 8 MiB, such a read stands for milliseconds
/// before the commits each time the oldest messages go.
enum DiskReading {
  /// It takes hardly longer than a page alone, and holds what a walk through a table reads next.
  static let blockBytes: off_t = 128 << 10

  /// Once it is set, for each file that is opened from then on.
  static let byBlocks: Void = {
    guard let system, let set = system.pointee.xSetSystemCall else { return }
    // Another SQLite may read in another way: then that stays as it is.
    guard systemOpen != nil, system.pointee.xGetSystemCall(system, "pread64") != nil else { return }
    let (opens, reads): (SystemOpen, SystemRead) = (openToRead, readAhead)
    _ = set(system, "open", unsafeBitCast(opens, to: sqlite3_syscall_ptr.self))
    _ = set(system, "pread64", unsafeBitCast(reads, to: sqlite3_syscall_ptr.self))
  }()

  fileprivate typealias SystemOpen = @convention(c) (UnsafePointer<CChar>?, CInt, CInt) -> CInt
  fileprivate typealias SystemRead = @convention(c) (CInt, UnsafeMutableRawPointer?, Int, off_t) -> Int

  /// SQLite's table of the system's calls, each of which it takes to have the type that is given here.
  private static var system: UnsafeMutablePointer<sqlite3_vfs>? { sqlite3_vfs_find("unix") }
  /// As it was before.
  fileprivate static let systemOpen = system.flatMap { $0.pointee.xGetSystemCall($0, "open") }.map {
    unsafeBitCast($0, to: SystemOpen.self)
  }
}

private func openToRead(_ path: UnsafePointer<CChar>?, _ flags: CInt, _ mode: CInt) -> CInt {
  guard let systemOpen = DiskReading.systemOpen else { return -1 }
  let file = systemOpen(path, flags, mode)
  // By itself Linux reads nothing ahead then.
  if file >= 0 { posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM) }
  return file
}

private func readAhead(_ file: CInt, _ bytes: UnsafeMutableRawPointer?, _ count: Int, _ offset: off_t) -> Int {
  let isThere = Descriptor.readMemory(of: file, into: bytes, count, from: UInt64(offset)) == count
  // Who walks on comes by here often enough to find the next block there, too.
  if !isThere || offset % (DiskReading.blockBytes / 2) == 0 {
    posix_fadvise(file, offset & -DiskReading.blockBytes, 2 * DiskReading.blockBytes, POSIX_FADV_WILLNEED)
  }
  return isThere ? count : pread(file, bytes, count, offset)
}
