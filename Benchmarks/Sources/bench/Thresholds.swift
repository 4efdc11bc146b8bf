import Foundation

/// The most allocations that an operation may make: `allocations.txt`, a name and a number a line, `#` for a comment.
struct Thresholds {
  private let most: [String: Double]

  static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "allocations.txt")

  init(_ text: String) throws {
    var most: [String: Double] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      let words = line.split(separator: " ")
      guard words.count == 2, let number = Double(words[1]), most.updateValue(number, forKey: String(words[0])) == nil
      else { throw ThresholdError(line: String(line)) }
    }
    self.most = most
  }

  subscript(_ name: String) -> Double? { most[name] }

  /// Names that nothing was measured for: a threshold that guards nothing looks like safety.
  func unused(by names: Set<String>) -> [String] {
    most.keys.filter { !names.contains($0) }.sorted()
  }
}

struct ThresholdError: Error, CustomStringConvertible {
  let line: String

  var description: String {
    "'\(line)' in allocations.txt is not a name and a number with one space, or names what stands there already."
  }
}
