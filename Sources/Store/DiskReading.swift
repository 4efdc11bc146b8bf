internal import Glibc
internal import Reactor

/// How SQLite reads the disk: what is not in memory comes with the little that lies beside it.
///
/// Left alone, Linux reads as far ahead as the disk is set to. Where that is 8 MiB, such a read stands for milliseconds
/// before the commits each time the oldest messages go.
enum DiskReading {
  /// It takes hardly longer than a page alone, and holds what a walk through a table reads next.
  static let blockBytes: off_t = 128 << 10

  static func begin(_ file: CInt) {
    // By itself Linux reads nothing ahead then.
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM)
  }

  static func read(_ file: CInt, _ bytes: UnsafeMutableRawPointer?, _ count: Int, _ offset: off_t) -> Int {
    let isThere = Descriptor.readMemory(of: file, into: bytes, count, from: UInt64(offset)) == count
    // Who walks on comes by here often enough to find the next block there, too.
    if !isThere || offset % (blockBytes / 2) == 0 {
      posix_fadvise(file, offset & -blockBytes, 2 * blockBytes, POSIX_FADV_WILLNEED)
    }
    return isThere ? count : pread(file, bytes, count, offset)
  }
}
