internal import CLinux
internal import Glibc

/// Memory that begins with a page, as the system wants it of what goes past its own.
package final class Pages: Sendable {
  /// A page of every machine, and whole blocks of every disk.
  package static let bytes = 4096

  // A pointer says nothing of threads: whoever has this sees to it that one writes at a time.
  nonisolated(unsafe) package let room: UnsafeMutableRawBufferPointer

  /// The count is of bytes, in whole pages.
  package init(_ count: Int) {
    room = .allocate(byteCount: count, alignment: Self.bytes)
  }

  deinit { room.deallocate() }
}

extension Descriptor {
  /// As `pwrite` of so many whole pages to where one begins, past the system's memory; nil where the file system knows no
  /// such way.
  package func writePastMemory(_ pages: Pages, _ count: Int, at offset: UInt64) -> Int? {
    guard fcntl(number, F_SETFL, __O_DIRECT) == 0 else { return nil }
    let written = pwrite(number, pages.room.baseAddress, count, off_t(offset))
    let code = errno
    // What the system allowed to be set it lets go of.
    _ = fcntl(number, F_SETFL, 0)
    errno = code
    return written < 0 && code == EINVAL ? nil : written
  }
}
