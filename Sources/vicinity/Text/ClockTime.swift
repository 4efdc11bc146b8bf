internal import Gateway
internal import Glibc
internal import Notation

/// Points in time as local text for people, and as timestamps for programs.
enum ClockTime {
  /// The time of day, with the date where that is not today.
  static func text(of moment: ContinuousClock.Instant) -> String {
    let (then, today) = (local(Timestamp(moment)), local(Timestamp.now))
    let time = "\(Quantity.twoDigits(then.tm_hour)):\(Quantity.twoDigits(then.tm_min))"
    if then.tm_year == today.tm_year, then.tm_yday == today.tm_yday { return time }
    return "\(then.tm_year + 1_900)-\(Quantity.twoDigits(then.tm_mon + 1))-\(Quantity.twoDigits(then.tm_mday)) \(time)"
  }

  /// The `awaySince` member of an object for programs; nil for a present peer.
  static func awaySince(_ moment: ContinuousClock.Instant?) -> JSON.Member? {
    moment.map { .text("awaySince", Timestamp($0)) }
  }

  private static func local(_ timestamp: Timestamp) -> tm {
    var seconds = time_t(timestamp.milliseconds / 1_000)
    var parts = tm()
    localtime_r(&seconds, &parts)
    return parts
  }
}
