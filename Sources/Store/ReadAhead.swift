internal import Glibc
internal import Reactor

/// Read-ahead for SQLite: a page that is not in the page cache is read together with the block around it.
///
/// By default, Linux reads as far ahead as the disk's setting. Where that is 8 MiB, such a read delays commits by
/// milliseconds each time the oldest messages are removed.
enum ReadAhead {
  /// Such a read takes hardly longer than a page alone, and holds the pages that a table scan reads next.
  static let blockBytes: off_t = 128 << 10

  static func begin(_ file: CInt) {
    // It switches Linux's own read-ahead off.
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM)
  }

  static func read(_ file: CInt, _ bytes: UnsafeMutableRawPointer?, _ count: Int, _ offset: off_t) -> Int {
    let isThere = Descriptor.readMemory(of: file, into: bytes, count, from: UInt64(offset)) == count
    // A scan reads here often enough to have the next block prefetched, too.
    if !isThere || offset % (blockBytes / 2) == 0 {
      posix_fadvise(file, offset & -blockBytes, 2 * blockBytes, POSIX_FADV_WILLNEED)
    }
    return isThere ? count : pread(file, bytes, count, offset)
  }
}
