internal import Engine
internal import Glibc
package import Notation
internal import Reactor

extension Timestamp {
  package static var now: Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(seconds: time.tv_sec, nanoseconds: time.tv_nsec)
  }

  /// By the machine's clock as it is set now, to the second.
  package init(_ moment: ContinuousClock.Instant) {
    let time = Timestamp.now + (moment - .now)
    self.init(milliseconds: (time.milliseconds + 500) / 1_000 * 1_000)
  }
}

extension Instant {
  /// On the clock that nobody sets.
  static var now: Instant { Instant(nanoseconds: Int64(Reactor.now)) }
}
