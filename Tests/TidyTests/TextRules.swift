/// Rules for every text file, whatever its language.
enum TextRules {
  static func all(_ file: SourceFile) -> [Finding] {
    marks(file) + whitespace(file) + paths(file)
  }

  /// Unfinished work is finished, or it is an issue; it is not a word in a file.
  static func marks(_ file: SourceFile) -> [Finding] {
    // Parted, or this file would find itself.
    let marks = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]
    return marks.filter { file.text.contains($0) }.flatMap { mark in
      file.lines.indices.compactMap { line in
        let words = file.lines[line].split { !$0.isLetter && !$0.isNumber && $0 != "_" }
        return words.contains { $0 == mark } ? file.finding(line: line, "\(mark) stands here: finish it.") : nil
      }
    }
  }

  static func whitespace(_ file: SourceFile) -> [Finding] {
    var findings = file.lines.indices.flatMap { line -> [Finding] in
      let bytes = file.lines[line].utf8
      var found: [Finding] = []
      if bytes.contains(UInt8(ascii: "\t")) { found.append(file.finding(line: line, "A tab: use spaces.")) }
      if bytes.contains(UInt8(ascii: "\r")) { found.append(file.finding(line: line, "A carriage return.")) }
      if bytes.last == UInt8(ascii: " ") { found.append(file.finding(line: line, "White space at the end of a line.")) }
      return found
    }
    if !file.text.isEmpty, file.text.utf8.last != UInt8(ascii: "\n") {
      findings.append(file.finding(line: file.lines.count - 1, "No newline at the end of the file."))
    }
    return findings
  }

  /// A path of somebody's machine works on no other.
  static func paths(_ file: SourceFile) -> [Finding] {
    ["home", "Users", "work", "root"].map { "/" + $0 + "/" }.filter { file.text.contains($0) }.flatMap { folder in
      file.lines.indices.compactMap { line in
        startsPath(folder, in: file.lines[line]) ? file.finding(line: line, "An absolute path of a machine.") : nil
      }
    }
  }

  /// Whether the folder begins a path there, rather than going on one.
  private static func startsPath(_ folder: String, in line: String) -> Bool {
    line.ranges(of: folder).contains { range in
      guard range.lowerBound > line.startIndex else { return true }
      let before = line[line.index(before: range.lowerBound)]
      return !before.isLetter && !before.isNumber && !"._-}$".contains(before)
    }
  }
}
