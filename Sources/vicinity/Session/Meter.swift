/// A counter of bytes that reports progress and rate at intervals.
struct Meter {
  private static let interval: Duration = .milliseconds(200)

  private(set) var bytes: UInt64 = 0
  private let start: ContinuousClock.Instant
  private var told: ContinuousClock.Instant

  init(at now: ContinuousClock.Instant = .now) {
    start = now
    told = now
  }

  /// Adds bytes; nil where the last report is recent.
  mutating func add(_ count: Int, at now: ContinuousClock.Instant = .now) -> Progress? {
    bytes += UInt64(count)
    guard now - told >= Self.interval else { return nil }
    told = now
    return Progress(bytes: bytes, size: nil, bytesPerSecond: UInt64(Double(bytes) / ((now - start) / .seconds(1))))
  }
}
