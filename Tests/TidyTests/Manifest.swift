/// The targets that a `Package.swift` declares, read as text: these tests are not able to load the package they are in.
struct Manifest {
  struct Target: Equatable {
    let kind: String
    let name: String
    /// Whether it belongs to the tests, and is not installed.
    let isTest: Bool
    let dependencies: Set<String>
    /// The line at which its declaration begins, counted from 0.
    let line: Int
  }

  let file: SourceFile
  let targets: [Target]

  init(_ file: SourceFile) {
    self.file = file
    let text = file.text
    targets = text.matches(of: #/\n {4}\.(target|executableTarget|testTarget|systemLibrary)\(/#).compactMap { match in
      let declaration = Self.parenthesised(text[match.range.upperBound...])
      guard let name = declaration.firstMatch(of: #/name:\s*"(\w+)"/#)?.output.1 else { return nil }
      let list = declaration.firstMatch(of: #/dependencies:\s*\[([^\]]*)\]/#)?.output.1 ?? ""
      return Target(
        kind: String(match.output.1), name: String(name),
        isTest: match.output.1 == "testTarget" || declaration.contains(#/path:\s*"Tests\//#),
        dependencies: Set(list.matches(of: #/"(\w+)"/#).map { String($0.output.1) }),
        line: text[..<match.range.upperBound].count { $0 == "\n" })
    }
  }

  /// The text up to the parenthesis that closes the one before it.
  private static func parenthesised(_ text: Substring) -> Substring {
    var open = 1
    return text.prefix { character in
      if character == "(" { open += 1 }
      if character == ")" { open -= 1 }
      return open > 0
    }
  }
}
