/// Counts bytes, and tells now and then how fast they go.
struct Meter {
  private static let interval: Duration = .milliseconds(200)

  private(set) var bytes: UInt64 = 0
  private let start: ContinuousClock.Instant
  private var told: ContinuousClock.Instant

  init(at now: ContinuousClock.Instant = .now) {
    start = now
    told = now
  }

  /// Nil where it was told a moment ago.
  mutating func add(_ count: Int, at now: ContinuousClock.Instant = .now) -> Progress? {
    bytes += UInt64(count)
    guard now - told >= Self.interval else { return nil }
    told = now
    return Progress(bytes: bytes, size: nil, bytesPerSecond: UInt64(Double(bytes) / ((now - start) / .seconds(1))))
  }
}
