/// Rules for code that the compiler cannot check: its proof stands in a comment.
enum ProofRules {
  static func all(_ file: SourceFile) -> [Finding] {
    overrides(file) + unsafeExpressions(file) + optionalStructs(file)
  }

  /// How far above a line its comment may stand.
  static let commentDistanceMax = 3

  /// `!`, `@unchecked` and `(unsafe)`: a comment on the same line, or at most three lines above.
  static func overrides(_ file: SourceFile) -> [Finding] {
    file.findings(
      of: #/@unchecked|\(unsafe\)|[\w)\]}]!(?!=)/#,
      "'!', '@unchecked' or '(unsafe)' without its proof in a comment on this line or up to three lines above."
    ) { hasCommentNear($0, in: file) }
  }

  /// `unsafe`: a comment as above, or a plain one further up in its function, or one that says the word "safe" in the
  /// documentation of its function or at the head of its file.
  static func unsafeExpressions(_ file: SourceFile) -> [Finding] {
    guard file.text.contains("unsafe") else { return [] }
    return file.findings(
      of: #/(?:^|[^(\w])unsafe\b(?!\))/#,
      "'unsafe' without its proof: a comment in its function, or the word 'safe' in that of the function or the file."
    ) { line in
      hasCommentNear(line, in: file)
        || functionAround(line, in: file).contains { isPlainComment($0, in: file) || saysSafe($0, in: file) }
        || head(of: file).contains { saysSafe($0, in: file) }
    }
  }

  /// A stored `termios?` and the like, whose names begin small: in a static initialiser the optimiser lays out its nil as
  /// zeros, which are a value. A struct of ours around the fields that are needed is laid out right.
  static func optionalStructs(_ file: SourceFile) -> [Finding] {
    file.findings(
      of: #/\b(?:let|var) \w+: (?!(?:pid|pthread)_t)[a-z_]\w*\?/#,
      "An optional C struct, whose nil the optimiser takes for a value: keep its fields in a struct of Swift's."
    ) { _ in false }
  }

  private static func hasCommentNear(_ line: Int, in file: SourceFile) -> Bool {
    (max(0, line - commentDistanceMax)...line).contains { file.isCommented(line: $0) }
  }

  private static func isPlainComment(_ line: Int, in file: SourceFile) -> Bool {
    file.isCommented(line: line) && !file.comments[line].contains("///")
  }

  private static func saysSafe(_ line: Int, in file: SourceFile) -> Bool {
    file.comments[line].lowercased().contains("safe")
  }

  /// The lines from the comment above the function around a line down to that line; empty outside of functions.
  private static func functionAround(_ line: Int, in file: SourceFile) -> Range<Int> {
    let declaration = #/\b(?:func|init|deinit|subscript|var)\b/#.wordBoundaryKind(.simple)
    var depth = indentation(of: file.code[line]) + 1
    for above in stride(from: line, through: 0, by: -1) {
      let code = file.code[above]
      guard code.contains(where: { $0 != " " }), indentation(of: code) < depth else { continue }
      depth = indentation(of: code)
      if code.firstMatch(of: declaration) != nil {
        var first = above
        while first > 0, isCommentOrAttribute(first - 1, in: file) { first -= 1 }
        return first..<line + 1
      }
    }
    return line..<line
  }

  private static func isCommentOrAttribute(_ line: Int, in file: SourceFile) -> Bool {
    let code = file.code[line].drop { $0 == " " }
    return code.isEmpty ? file.isCommented(line: line) : code.hasPrefix("@")
  }

  /// The comment that a file opens with.
  private static func head(of file: SourceFile) -> Range<Int> {
    let end = file.lines.indices.first { !file.isCommented(line: $0) } ?? file.lines.count
    return 0..<end
  }

  private static func indentation(of code: String) -> Int {
    code.prefix { $0 == " " }.count
  }
}
