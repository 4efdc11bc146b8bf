internal import CLinux

extension Descriptor {
  /// The disk begins with what was written there, and nobody waits: there is the less left for `sync`.
  package func beginSync(from offset: UInt64, _ count: Int) {
    // Where it cannot, that does it all.
    _ = sync_file_range(number, Int(offset), count, Self.beginsWriting)
  }

  /// Waits until what was written there is with the disk, and gives back the memory that held it.
  package func evict(from offset: UInt64, _ count: Int) {
    // Where it cannot, the system does both when it likes.
    _ = sync_file_range(number, Int(offset), count, Self.writesAndWaits)
    _ = posix_fadvise(number, Int(offset), count, POSIX_FADV_DONTNEED)
  }

  /// SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE and _WAIT_AFTER of <fcntl.h>.
  private static let writesAndWaits: CUnsignedInt = 7

  /// SYNC_FILE_RANGE_WRITE of <fcntl.h>.
  private static let beginsWriting: CUnsignedInt = 2
}
