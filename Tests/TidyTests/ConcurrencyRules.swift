/// Tasks are spawned in one way, and nothing waits by sleeping: time is an input.
enum ConcurrencyRules {
  static func all(_ file: SourceFile) -> [Finding] {
    bareTasks(file) + sleeps(file)
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
}
