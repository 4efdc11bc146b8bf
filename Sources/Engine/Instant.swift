/// A moment of the host's own monotonic clock; the engine never reads one, it is an argument.
public struct Instant: Hashable, Comparable, Sendable {
  /// Since an origin of the host's choosing.
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  public static let distantFuture = Instant(nanoseconds: .max)
  static let distantPast = Instant(nanoseconds: .min)

  public static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }

  /// Saturates at `distantFuture`.
  public static func + (moment: Instant, time: Duration) -> Instant {
    let (sum, over) = moment.nanoseconds.addingReportingOverflow(time.nanoseconds)
    return over ? .distantFuture : Instant(nanoseconds: sum)
  }

  public static func - (a: Instant, b: Instant) -> Duration { .nanoseconds(a.nanoseconds - b.nanoseconds) }
}

extension Duration {
  /// Saturates at the range of 64 bits, some 292 years.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, over) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return over ? (seconds < 0 ? .min : .max) : whole.addingReportingOverflow(attoseconds / 1_000_000_000).partialValue
  }
}
