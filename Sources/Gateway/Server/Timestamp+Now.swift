internal import Glibc
package import Notation

extension Timestamp {
  package static var now: Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(seconds: time.tv_sec, nanoseconds: time.tv_nsec)
  }

  /// A moment by the machine's clock as it is set now, to the second.
  package init(_ moment: ContinuousClock.Instant) {
    let time = Timestamp.now + (moment - .now)
    self.init(milliseconds: (time.milliseconds + 500) / 1_000 * 1_000)
  }
}

/// A moment of the monotonic clock, which the loop's timers have too.
typealias Instant = SuspendingClock.Instant
