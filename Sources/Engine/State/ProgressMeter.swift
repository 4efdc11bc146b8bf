import Wire

/// The progress of a transfer, and its rate.
struct ProgressMeter {
  private(set) var bytes: UInt64
  private(set) var moved: Instant
  private var reported: (bytes: UInt64, at: Instant)
  private var bytesPerSecond: Double = 0

  init(bytes: UInt64, at now: Instant) {
    self.bytes = bytes
    moved = now
    reported = (bytes, now)
  }

  var hasNews: Bool { bytes != reported.bytes }
  func nextReport(every interval: Duration) -> Instant { reported.at + interval }

  /// Restarts the idle timeout.
  mutating func wait(at now: Instant) { moved = max(moved, now) }

  /// Time before a start, and bytes from before a restart, do not count in the rate.
  mutating func begin(from bytes: UInt64, at now: Instant) {
    wait(at: now)
    if bytes > self.bytes {
      self.bytes = bytes
      reported = (bytes, now)
    } else if !hasNews {
      reported.at = now
    }
  }

  mutating func move(to bytes: UInt64, at now: Instant) {
    self.bytes = max(self.bytes, bytes)
    moved = now
  }

  mutating func markReported(at now: Instant) {
    let seconds = Double((now - reported.at).nanoseconds) / 1e9
    if seconds > 0 {
      let rate = Double(bytes - reported.bytes) / seconds
      // A moving average: one slow moment is no forecast.
      bytesPerSecond = bytesPerSecond == 0 ? rate : 0.7 * bytesPerSecond + 0.3 * rate
    }
    reported = (bytes, now)
  }

  func progress(of size: UInt64?) -> ResourceProgress {
    let left = size.map { $0 - min($0, bytes) }
    let seconds = left.flatMap { bytesPerSecond >= 1 ? Double($0) / bytesPerSecond : nil }
    return ResourceProgress(
      bytes: bytes, size: size, bytesPerSecond: UInt64(min(bytesPerSecond, 0x1p62)),
      // A time left of over a thousand years is as good as none.
      timeLeft: seconds.map { .milliseconds(Int64(min($0, 3e10) * 1_000)) })
  }
}
