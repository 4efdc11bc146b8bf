internal import Engine
internal import Reactor

/// What is free on the gateway's disk, looked at again after a moment.
///
/// Law: so much stays free that what is under way can end. Who finds a disk full in the middle of a commit waits for room,
/// who asks while little is free is told at once, and what is deleted then is gone for good.
struct DiskRoom {
  private static let moment: Duration = .milliseconds(100)

  let freeMin: UInt64
  /// Nil where nobody can say.
  var look: () -> UInt64? { didSet { latest = nil } }
  private var latest: (free: UInt64?, time: Instant)?
  /// Bytes of uploads and incoming files that are under way and not written yet.
  private(set) var reserved: UInt64 = 0

  init(_ freeMin: Int, of folder: String) {
    self.freeMin = UInt64(freeMin)
    look = { ProcessFacts.disk(of: folder).map { UInt64($0.free) } }
  }

  /// Wraps, so that it is exact again once an absurd announcement has ended.
  mutating func reserve(_ bytes: UInt64, insteadOf old: UInt64) { reserved = reserved &- old &+ bytes }

  /// The free bytes that nobody has reserved, if they are too few for so many more. Without more, reservations do not
  /// count: what is under way may end.
  mutating func shortage(of bytes: UInt64 = 0, at now: Instant) -> UInt64? {
    if freeMin == 0 { return nil }
    // Bytes that were reserved and written since must count once.
    if bytes > 0 || latest.map({ now >= $0.time + Self.moment }) ?? true { latest = (look(), now) }
    guard let free = latest?.free else { return nil }
    let left = bytes > 0 ? free - min(free, reserved) : free
    return left < freeMin || left - freeMin < bytes ? left : nil
  }
}

extension Core {
  /// Whether something more may lie on the disk, besides what is under way.
  func needDisk(for bytes: UInt64 = 0, _ undone: String) throws(Problem) {
    guard let free = diskRoom.shortage(of: bytes, at: Instant.now) else { return }
    let freeMin = diskRoom.freeMin
    throw .noSpace(
      free < freeMin
        ? "less than \(freeMin) bytes are free on the gateway's disk (without those that are reserved), so nothing was \(undone): make room on it"
        : "\(free) bytes are free on the gateway's disk, \(freeMin) stay so, and this is \(bytes) more: make room on it",
      rule: "diskFreeBytes", limit: Int(clamping: freeMin))
  }
}
