internal import Reactor

/// The free space of the gateway's disk, read again after a moment.
///
/// Invariant: enough space stays free for work in progress to end. A commit that finds the disk full waits for space, a
/// request on a nearly full disk fails at once, and a deletion then is durable.
struct FreeDiskSpace {
  private static let moment: Duration = .milliseconds(100)

  let freeMin: UInt64
  /// Nil where the free space is not known.
  var look: () -> UInt64? { didSet { latest = nil } }
  private var latest: (free: UInt64?, time: Instant)?
  /// Bytes of uploads and incoming files in progress that are not written yet.
  private(set) var reserved: UInt64 = 0

  init(_ freeMin: Int, of folder: String) {
    self.freeMin = UInt64(freeMin)
    look = { ProcessStatistics.disk(of: folder).map { UInt64($0.free) } }
  }

  /// It wraps, so that it is exact again once an absurd announcement has ended.
  mutating func reserve(_ bytes: UInt64, insteadOf old: UInt64) { reserved = reserved &- old &+ bytes }

  /// The free bytes that are not reserved, if they are too few for so many more. For 0, reservations do not count: work
  /// in progress may end.
  mutating func shortage(of bytes: UInt64 = 0, at now: Instant) -> UInt64? {
    if freeMin == 0 { return nil }
    // Bytes that were reserved and written since must count once.
    if bytes > 0 || latest.map({ now >= $0.time + Self.moment }) ?? true { latest = (look(), now) }
    guard let free = latest?.free else { return nil }
    let left = bytes > 0 ? free - min(free, reserved) : free
    return left < freeMin || left - freeMin < bytes ? left : nil
  }
}
