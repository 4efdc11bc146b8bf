internal import FoundationEssentials

/// An event of a program, in one line: a JSON object with an "event".
struct Event: Sendable {
  let name: String
  let object: [String: JSON]
  /// The time at which it was printed, in nanoseconds on the monotonic clock.
  let time: UInt64

  /// Nil where the line is none.
  init?(line: String, at time: UInt64) {
    guard line.hasPrefix("{"), let object = try? JSONDecoder().decode([String: JSON].self, from: Data(line.utf8)),
      case .text(let name) = object["event"]
    else { return nil }
    self.name = name
    self.object = object
    self.time = time
  }

  /// A text, or a number or a truth as it is written; nil where it is something else or not there.
  subscript(_ key: String) -> String? {
    switch object[key] {
    case .text(let text): text
    case .number(let number): Int(exactly: number).map(String.init) ?? String(number)
    case .truth(let truth): String(truth)
    default: nil
    }
  }

  func number(_ key: String) -> Double? {
    guard case .number(let number) = object[key] else { return nil }
    return number
  }
}
