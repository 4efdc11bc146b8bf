internal import CLinux

/// The memory that the process has from `malloc`.
public enum Heap {
  /// Returns freed pages to the system, also those between blocks that are in use. Other threads that need memory wait
  /// meanwhile.
  public static func trim() { malloc_trim(0) }
}
