internal import CLinux

extension Descriptor {
  /// The disk begins with what was written there, and nobody waits: there is the less left for `sync`.
  package func beginSync(from offset: UInt64, _ count: Int) {
    // Where it cannot, that does it all.
    _ = sync_file_range(number, Int(offset), count, Self.beginsWriting)
  }

  /// SYNC_FILE_RANGE_WRITE of <fcntl.h>.
  private static let beginsWriting: CUnsignedInt = 2
}
