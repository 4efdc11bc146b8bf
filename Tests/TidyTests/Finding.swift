import Testing

/// A place that breaks a rule, and the rule in a sentence.
struct Finding: CustomStringConvertible, Equatable {
  let path: String
  let line: Int
  let sentence: String

  var description: String { "\(path):\(line): \(sentence)" }
}

/// Fails the running test once for each finding, so that each is read on its own line.
func expectNone(_ findings: [Finding]) {
  for finding in findings {
    Issue.record("\(finding)")
  }
}
