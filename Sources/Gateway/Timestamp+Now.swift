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
}

extension Instant {
  /// On the clock that nobody sets.
  static var now: Instant { Instant(nanoseconds: Int64(Reactor.now)) }
}
