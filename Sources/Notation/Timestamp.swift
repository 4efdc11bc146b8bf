/// A moment as RFC 3339 writes it, with milliseconds, in UTC.
public struct Timestamp: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Since the beginning of 1970.
  public var milliseconds: Int64

  public init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  public init(seconds: Int, nanoseconds: Int) {
    self.init(milliseconds: Int64(seconds) * 1_000 + Int64(nanoseconds) / 1_000_000)
  }

  public static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }

  public static func + (moment: Timestamp, duration: Duration) -> Timestamp {
    let (seconds, attoseconds) = duration.components
    return Timestamp(milliseconds: moment.milliseconds + seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
  }

  public var description: String {
    var text: [UInt8] = []
    text.reserveCapacity(24)
    write(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends the same.
  public func write(to text: inout [UInt8]) {
    let days = milliseconds.floored(by: 86_400_000)
    let rest = milliseconds - days * 86_400_000
    let (year, month, day) = Self.date(days)
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60)
    Self.write(year, 4, behind: nil, to: &text)
    Self.write(month, 2, behind: "-", to: &text)
    Self.write(day, 2, behind: "-", to: &text)
    Self.write(hour, 2, behind: "T", to: &text)
    Self.write(minute, 2, behind: ":", to: &text)
    Self.write(second, 2, behind: ":", to: &text)
    Self.write(rest % 1_000, 3, behind: ".", to: &text)
    text.append(UInt8(ascii: "Z"))
  }

  /// The Gregorian date so many days after the beginning of 1970, counted in years that begin in March.
  private static func date(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = shifted.floored(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
  }

  /// At least so many digits.
  private static func write(_ value: Int64, _ count: Int, behind mark: Unicode.Scalar?, to text: inout [UInt8]) {
    if let mark { text.append(UInt8(ascii: mark)) }
    if value < 0 { text.append(UInt8(ascii: "-")) }
    let value = value.magnitude
    var unit: UInt64 = 1
    for _ in 1..<count { unit *= 10 }
    while value / unit >= 10 { unit *= 10 }
    while unit > 0 {
      text.append(UInt8(ascii: "0") + UInt8(value / unit % 10))
      unit /= 10
    }
  }
}

extension Int64 {
  fileprivate func floored(by divisor: Int64) -> Int64 {
    self >= 0 ? self / divisor : -((-self + divisor - 1) / divisor)
  }
}
