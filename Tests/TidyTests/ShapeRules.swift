/// How long a file is, and what it and its types are called.
enum ShapeRules {
  static func all(_ file: SourceFile) -> [Finding] {
    length(file) + namedForItsType(file) + emptyWords(file)
  }

  static let linesMax = 500
  /// The beginnings of a comment that allows a long file: in the first line, or in a script's second.
  static let longExcuses = ["// Long because ", "# Long because "]

  static func length(_ file: SourceFile) -> [Finding] {
    let isProgram = ["swift", "c", "h", "js", "py", "sh", "vic"].contains { file.path.hasSuffix($0) }
    let isExcused = file.lines.prefix(2).contains { line in longExcuses.contains { line.hasPrefix($0) } }
    guard isProgram, file.lines.count > linesMax, !isExcused else { return [] }
    let sentence = "\(file.lines.count) lines: part it, or open it with '\(longExcuses[0])…'."
    return [file.finding(line: linesMax, sentence)]
  }

  /// `Type.swift`, or `Type+Topic.swift` for a second concern. A file that declares no type is named for a function,
  /// one that declares a family for what they are: `Keys.swift` holds a `PublicKey`, `LinkFrames.swift` a `Ping: Frame`;
  /// one that declares nothing, for what it is there for.
  static func namedForItsType(_ file: SourceFile) -> [Finding] {
    guard file.isSwift, !["Package.swift", "main.swift"].contains(file.name) else { return [] }
    let named = file.name.dropLast(".swift".count).prefix { $0 != "+" }
    let types = names(after: typeKeyword, in: file)
    let candidates = types.isEmpty ? names(after: #/\bfunc\s+(\w+)/#, in: file) : types
    if candidates.contains(where: { $0 == named || types.isEmpty && $0.lowercased() == named.lowercased() }) {
      return []
    }
    if candidates.isEmpty, file.code.contains(where: { $0.contains("import ") }) { return [] }
    if named.hasSuffix("s"), let kind = String(named.dropLast()).matches(of: #/[A-Z][a-z0-9]*/#).last?.output {
      let inherited = file.code.flatMap { $0.matches(of: #/[:,]\s*(?:\w+\.)*(\w+)/#).map(\.output.1) }
      if types.contains(where: { $0.hasSuffix(kind) }) || inherited.contains(kind) { return [] }
    }
    return [file.finding(line: 0, "Named for '\(named)', which it does not declare: Type.swift or Type+Topic.swift.")]
  }

  /// A name that says "something to do with" hides what a thing is.
  static func emptyWords(_ file: SourceFile) -> [Finding] {
    guard file.isSwift else { return [] }
    var findings: [Finding] = []
    if isEmptyWord(in: file.name) { findings.append(file.finding(line: 0, "An empty word in the file's name.")) }
    for line in file.code.indices where mayDeclare(file.code[line]) {
      let names = file.code[line].matches(of: typeDeclaration).map(\.output.1)
      for name in names where isEmptyWord(in: name) {
        findings.append(file.finding(line: line, "'\(name)': name it for what it is."))
      }
    }
    return findings
  }

  private static var typeKeyword: Regex<(Substring, Substring)> {
    #/\b(?:struct|class|enum|actor|protocol|typealias|extension)\s+(?:\w+\.)*(\w+)/#.wordBoundaryKind(.simple)
  }

  private static var typeDeclaration: Regex<(Substring, Substring)> {
    #/\b(?:struct|class|enum|actor|protocol|typealias)\s+(\w+)/#.wordBoundaryKind(.simple)
  }

  private static func names(after keyword: Regex<(Substring, Substring)>, in file: SourceFile) -> [Substring] {
    file.code.flatMap { mayDeclare($0) && !$0.contains("import ") ? $0.matches(of: keyword).map(\.output.1) : [] }
  }

  /// A quick look that spares most lines the slow one.
  private static func mayDeclare(_ code: String) -> Bool {
    ["struct ", "class ", "enum ", "actor ", "protocol ", "typealias ", "extension ", "func "].contains {
      code.contains($0)
    }
  }

  private static func isEmptyWord(in name: some StringProtocol) -> Bool {
    String(name).firstMatch(of: #/(?:Managers?|Helpers?|Utils?|Utilities|Common)(?![a-z])/#) != nil
  }
}
