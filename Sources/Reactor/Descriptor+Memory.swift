internal import CLinux

extension Descriptor {
  /// Reads the cached part of a file, without waiting for a disk: fewer bytes than requested where some are not cached,
  /// or none and an error.
  package static func readMemory(
    of file: CInt, into bytes: UnsafeMutableRawPointer?, _ count: Int, from offset: UInt64
  ) -> Int {
    var piece = iovec(iov_base: bytes, iov_len: count)
    return preadv2(file, &piece, 1, Int(offset), ofMemory)
  }

  /// RWF_NOWAIT of <linux/fs.h>.
  private static let ofMemory: CInt = 8
}
