/// Sizes, rates and times for people.
enum Quantity {
  static func bytes(_ count: UInt64) -> String {
    if count < 1_000 { return "\(count) B" }
    var (value, unit) = (Double(count), 0)
    let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
    repeat {
      value /= 1_000
      unit += 1
    } while value >= 999.5 && unit < units.count
    return "\(threeDigits(value)) \(units[unit - 1])"
  }

  static func rate(_ bytesPerSecond: UInt64) -> String { "\(bytes(bytesPerSecond))/s" }

  static func time(_ duration: Duration) -> String {
    let seconds = max(0, duration.components.seconds)
    switch seconds {
    case 0..<60: return "\(seconds) s"
    case 60..<3_600: return "\(seconds / 60) min \(twoDigits(seconds % 60)) s"
    case 3_600..<86_400: return "\(seconds / 3_600) h \(twoDigits(seconds % 3_600 / 60)) min"
    default: return "\(seconds / 86_400) d \(seconds % 86_400 / 3_600) h"
    }
  }

  /// A time limit, which may be less than a second.
  static func limit(_ duration: Duration) -> String {
    if duration >= .seconds(1) { return time(duration) }
    return "\(max(.zero, duration).components.attoseconds / 1_000_000_000_000_000) ms"
  }

  static func twoDigits(_ number: some BinaryInteger) -> String { number < 10 ? "0\(number)" : "\(number)" }

  /// A number with its noun: `1 peer`, `2 peers`.
  static func count(_ number: Int, _ one: String, _ many: String) -> String { "\(number) \(number == 1 ? one : many)" }

  /// Three significant digits: 1.23, 12.3, 123.
  static func threeDigits(_ value: Double) -> String {
    let decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
    let scale = [1, 10, 100][decimals]
    let scaled = Int((value * Double(scale)).rounded())
    if decimals == 0 { return "\(scaled)" }
    let fraction = String(scaled % scale)
    return "\(scaled / scale).\(String(repeating: "0", count: decimals - fraction.count))\(fraction)"
  }
}
