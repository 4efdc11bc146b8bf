/// Tasks are spawned in one way, and nothing waits by sleeping: time is an input. What comes later holds what it needs.
enum ConcurrencyRules {
  static func all(_ file: SourceFile) -> [Finding] {
    bareTasks(file) + sleeps(file) + unheld(file)
  }

  /// A task that the loop did not spawn goes through the thread pool each time that it is resumed.
  static func bareTasks(_ file: SourceFile) -> [Finding] {
    guard file.text.contains("Task") else { return [] }
    let isReactor = file.target == "Reactor"
    return file.findings(
      of: #/\bTask(?:<[^>]*>)?\s*[{(]|\bTask\.(?:detached|immediate|init)\b/#, "A bare task: spawn it on the reactor."
    ) { line in
      file.code[line].contains("-> Task<") || isReactor && file.code[line].contains("Task(executorPreference:")
    }
  }

  static func sleeps(_ file: SourceFile) -> [Finding] {
    guard file.text.contains("sleep") else { return [] }
    return file.findings(of: #/\b(?:u|nano)?sleep\s*\(/#, "A sleep: use a timer of the reactor, or give the time in.")
  }

  /// A timer or a registration can end with whom it is of; what is to be done in a later turn cannot be taken back.
  static func unheld(_ file: SourceFile) -> [Finding] {
    guard file.text.contains("unowned") else { return [] }
    return file.findings(
      of: #/\b(?:soon|post|spawn|append)\s*\{\s*\[[^\]]*\bunowned\b/#,
      "Nobody may be there in a later turn: hold it, or ask by weak.")
  }
}
