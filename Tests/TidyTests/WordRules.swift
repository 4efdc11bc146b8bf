import Foundation

/// Plain words: names and comments that say what a thing is, tables that can be read, short commit subjects.
enum WordRules {
  // MARK: Predicates

  /// A function named `isX`, `hasX` or `canX` returns a `Bool`, and changes nothing.
  static func predicates(_ file: SourceFile) -> [Finding] {
    file.code.indices.compactMap { line in
      guard file.code[line].contains("func "),
        let name = file.code[line].firstMatch(of: #/\bfunc ((?:is|has|can)[A-Z]\w*)/#)?.output.1
      else { return nil }
      let declaration = file.code[line...].prefix(8).joined(separator: " ").prefix { $0 != "{" }
      if file.code[line].contains("mutating func") {
        return file.finding(line: line, "'\(name)' may change something: name it for what it does.")
      }
      // A requirement of the standard library's `SerialExecutor`.
      if name == "isIsolatingCurrentContext" { return nil }
      if declaration.contains(#/-> (?:some |any )?Bool(?!\w|\?)|-> \(|-> @/#) { return nil }
      return file.finding(line: line, "'\(name)' does not return a Bool: name it for what it does.")
    }
  }

  // MARK: Names

  /// The names of types at the top level of more than one target.
  static func namesOfTwo(_ files: [SourceFile]) -> [String] {
    var targets: [String: Set<String>] = [:]
    for file in files where file.path.hasPrefix("Sources/") && file.isSwift {
      guard let target = file.target else { continue }
      for line in file.code {
        let declared = line.prefixMatch(
          of: #/(?:@\w+ )*(?:(?:public|package|internal|final|indirect) )*(?:struct|class|enum|actor|protocol) (\w+)/#)
        if let name = declared?.output.1 { targets[String(name), default: []].insert(target) }
      }
    }
    return targets.filter { $0.value.count > 1 }.keys.sorted()
  }

  // MARK: Riddles

  /// A name is a noun or a verb, and no phrase.
  static func phrases(_ file: SourceFile) -> [Finding] {
    guard file.path.hasPrefix("Sources/"), file.isSwift else { return [] }
    let phrase =
      #/\b(?:goOn|goesOn|lookNoMore|unhear|\w+(?:NoMore|InVain)|[a-z]\w*(?:Who|Whom|What|Where)(?:[A-Z]\w*)?)\b/#
    return file.findings(of: phrase, "A phrase as a name.")
  }

  /// A comment begins with its subject, in Swift, C, JavaScript and style sheets.
  static func riddles(_ file: SourceFile) -> [Finding] {
    // The rule's own tests have examples.
    guard !file.path.hasSuffix("WordRulesTests.swift") else { return [] }
    let isOther = [".c", ".h", ".js", ".css"].contains { file.path.hasSuffix($0) }
    guard file.isSwift || isOther else { return [] }
    func continues(_ line: Int) -> Bool {
      guard line > 0 else { return false }
      return isOther ? file.lines[line - 1].contains(#/^\s*(?:\/\/|\/\*|\*)/#) : file.lines[line - 1].contains("//")
    }
    let opening = #/^\s*(?:\/\/\/?|\/\*\*?|\*) (?:What|Where|Who|Whoever|Whatever|Whom|Whose|Of)\b[^?]*$/#
    let openings = file.lines.indices.filter { line in
      guard isOther || file.isCommented(line: line), !continues(line) else { return false }
      return file.lines[line].contains(opening)
    }
    return openings.map { file.finding(line: $0, "A comment that does not begin with its subject.") }
  }

  /// A test's name begins with its subject, behind the ids of rules.
  static func riddlesOfTests(in files: [SourceFile]) -> [String] {
    DocumentRules.testNames(in: files.filter { !$0.path.hasSuffix("WordRulesTests.swift") }).filter { name in
      name.trimmingPrefix(#/(?:P-[A-Z]+-\d+ )+/#).starts(with: #/(?:What|Where|Who|Whoever|Whatever|Whom|Whose|Of)\b/#)
    }.sorted()
  }

  // MARK: Tables

  /// A cell of a table has less than 200 characters: one figure, or one short sentence.
  static func cells(_ file: SourceFile) -> [Finding] {
    guard file.path.hasSuffix(".md") else { return [] }
    return file.lines.indices.compactMap { line in
      guard file.lines[line].hasPrefix("|") else { return nil }
      let cells = file.lines[line].replacing("\\|", with: "  ").split(separator: "|")
      let isLong = cells.contains { $0.trimmingCharacters(in: .whitespaces).count >= 200 }
      return isLong ? file.finding(line: line, "A cell of 200 characters or more.") : nil
    }
  }

  // MARK: Commits

  /// The commit from which on the rule for subjects holds.
  static let commitsAfter = "792ee3b1c602"

  /// The subjects of later commits that are too long; none where there is no history to read.
  static func longSubjects() throws -> [String] {
    let git = Process()
    let output = Pipe()
    git.executableURL = URL(filePath: "/usr/bin/env")
    git.arguments = ["git", "-C", Repository.root.path, "log", "--no-merges", "--format=%s", "\(commitsAfter)..HEAD"]
    git.standardOutput = output
    git.standardError = FileHandle.nullDevice
    try git.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    git.waitUntilExit()
    return git.terminationStatus == 0 ? text.split(separator: "\n").map(String.init).filter { $0.count > 72 } : []
  }
}
