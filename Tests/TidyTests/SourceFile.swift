/// One text file of the tree, with its path from the root. Lines are counted from 1 in what is said of them.
struct SourceFile {
  let path: String
  let text: String
  let lines: [String]
  /// The lines of a Swift file without comments and without what stands in its strings; elsewhere empty.
  let code: [String]
  /// The comments of a Swift file, line by line; elsewhere empty.
  let comments: [String]

  init(path: String, text: String) {
    self.path = path
    self.text = text
    lines = Self.lines(of: Array(text.utf8))
    if path.hasSuffix(".swift") {
      let scanner = SourceScanner(text)
      code = Self.lines(of: scanner.code)
      comments = Self.lines(of: scanner.comments)
    } else {
      code = []
      comments = []
    }
  }

  var isSwift: Bool { path.hasSuffix(".swift") }

  /// The last part of the path.
  var name: String { String(path.split(separator: "/").last ?? "") }

  /// The target that a file of `Sources` or `Tests` belongs to.
  var target: String? {
    let parts = path.split(separator: "/")
    guard parts.count > 2, ["Sources", "Tests"].contains(parts[0]) else { return nil }
    return String(parts[1])
  }

  func isCommented(line: Int) -> Bool {
    comments[line].contains { $0 != " " }
  }

  /// A finding for each line of code that the pattern matches and the condition does not excuse.
  func findings(
    of pattern: some RegexComponent, _ sentence: String, unless isExcused: (Int) -> Bool = { _ in false }
  ) -> [Finding] {
    let pattern = pattern.regex.wordBoundaryKind(.simple)
    return code.indices.compactMap { line in
      guard code[line].firstMatch(of: pattern) != nil, !isExcused(line) else { return nil }
      return finding(line: line, sentence)
    }
  }

  /// A finding on a line that is counted from 0, as the arrays of lines are.
  func finding(line: Int, _ sentence: String) -> Finding {
    Finding(path: path, line: line + 1, sentence: sentence)
  }

  private static func lines(of bytes: [UInt8]) -> [String] {
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    if lines.last?.isEmpty == true { lines.removeLast() }
    return lines.map { String(decoding: $0, as: UTF8.self) }
  }
}
