import Simulator

/// A result as one line between two processes.
struct ResultLine: Sendable {
  var seed: UInt64
  var scenario: String
  var tally: Tally
  var rule: String?
  var detail = ""

  init(_ outcome: Outcome) {
    seed = outcome.seed
    scenario = outcome.scenario.rawValue
    tally = outcome.tally
    rule = outcome.violation?.rule.rawValue
    detail = outcome.violation.map { "\($0.detail), at \($0.milliseconds) ms" } ?? ""
  }

  /// A run that killed its process.
  init(trapped seed: UInt64, _ scenario: String) {
    self.seed = seed
    self.scenario = scenario
    tally = Tally()
    rule = Rule.neverTraps.rawValue
    detail = "the process ended in the middle of the run"
  }

  var line: String {
    let numbers = [
      tally.milliseconds, tally.frames, tally.bytes, tally.outputs, tally.messages, tally.batches, tally.faults,
      tally.links, tally.streams, tally.resources,
    ]
    let words = ["end", "\(seed)", scenario, numbers.map(String.init).joined(separator: " "), rule ?? "-", detail]
    return words.joined(separator: "\t")
  }

  init?(_ line: Substring) {
    let words = line.split(separator: "\t", omittingEmptySubsequences: false)
    guard words.count == 6, words[0] == "end", let seed = UInt64(words[1]) else { return nil }
    let numbers = words[3].split(separator: " ").compactMap { Int($0) }
    guard numbers.count == 10 else { return nil }
    self.seed = seed
    scenario = String(words[2])
    tally = Tally()
    tally.milliseconds = numbers[0]
    tally.frames = numbers[1]
    tally.bytes = numbers[2]
    tally.outputs = numbers[3]
    tally.messages = numbers[4]
    tally.batches = numbers[5]
    tally.faults = numbers[6]
    tally.links = numbers[7]
    tally.streams = numbers[8]
    tally.resources = numbers[9]
    rule = words[4] == "-" ? nil : String(words[4])
    detail = String(words[5])
  }
}
