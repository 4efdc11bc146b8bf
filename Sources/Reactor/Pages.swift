internal import CLinux
internal import Glibc

/// Page-aligned buffer for `O_DIRECT`.
package final class Pages: Sendable {
  /// Whole blocks of every disk, and a page of most machines.
  package static let bytes = 4096

  // A pointer is not tied to a thread: the owner makes sure that one writes at a time.
  nonisolated(unsafe) package let room: UnsafeMutableRawBufferPointer

  /// The count is of bytes, in whole pages.
  package init(_ count: Int) {
    room = .allocate(byteCount: count, alignment: Self.bytes)
  }

  deinit { room.deallocate() }
}

extension Descriptor {
  /// As `pread` into all of `pages` at a page boundary, with `O_DIRECT`; nil where the file system does not support it.
  package func readPastMemory(_ pages: Pages, at offset: UInt64) -> Int? {
    guard fcntl(number, F_SETFL, __O_DIRECT) == 0 else { return nil }
    let count = pread(number, pages.room.baseAddress, pages.room.count, off_t(offset))
    guard count < 0, errno == EINVAL else { return count }
    _ = fcntl(number, F_SETFL, 0)
    return nil
  }

  /// As `pwrite` of whole pages at a page boundary, with `O_DIRECT`; nil where the file system does not support it.
  package func writePastMemory(_ pages: Pages, _ count: Int, at offset: UInt64) -> Int? {
    guard fcntl(number, F_SETFL, __O_DIRECT) == 0 else { return nil }
    let written = pwrite(number, pages.room.baseAddress, count, off_t(offset))
    let code = errno
    // A flag that could be set can be cleared.
    _ = fcntl(number, F_SETFL, 0)
    errno = code
    return written < 0 && code == EINVAL ? nil : written
  }
}
