internal import CLinux

extension Descriptor {
  /// Starts writing these bytes to the disk without waiting: `sync` has less left.
  package func beginSync(from offset: UInt64, _ count: Int) {
    // An error is harmless: `sync` then does it all.
    _ = sync_file_range(number, Int(offset), count, Self.beginsWriting)
  }

  /// SYNC_FILE_RANGE_WRITE of <fcntl.h>.
  private static let beginsWriting: CUnsignedInt = 2
}
