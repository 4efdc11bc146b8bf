import Foundation
import Simulator

@main
enum Simulate {
  static func main() {
    let options: Options
    do {
      options = try Options(CommandLine.arguments.dropFirst())
    } catch {
      FileHandle.standardError.write(Data((error.sentence + "\n").utf8))
      exit(2)
    }
    switch options.task {
    case .help: print(Options.help)
    case .scenarios: for scenario in Scenario.allCases { print(padded(scenario.rawValue, 18) + scenario.summary) }
    case .demonstration: for line in Demonstration.story() { print(line) }
    case .replay(let seed):
      let scenario = options.scenario ?? Scenario.of(seed: seed)
      exit(replay(scenario, seed, shrinks: options.shrinks, without: options.canary))
    case .canary: exit(Canaries(seedsMax: options.seedsMax, jobs: options.jobs).run())
    case .seeds(let count): exit(Sweep(options, count: count).run())
    case .work(let count): work(options, count)
    }
  }

  static func replay(_ scenario: Scenario, _ seed: UInt64, shrinks: Bool, without canary: Canary?) -> Int32 {
    let outcome =
      canary?.run(scenario, seed: seed, recording: true) ?? Simulation.run(scenario, seed: seed, recording: true)
    if shrinks, canary == nil, let violation = outcome.violation {
      var shrinker = Shrinker(Simulation.plan(scenario, seed: seed), rule: violation.rule)
      let small = shrinker.shrink()
      for line in small.outcome.transcript { print(line) }
      let calmed = small.calmed.isEmpty ? "" : ", without faults of \(small.calmed.joined(separator: ", "))"
      print("\nshrunk to \(small.hosts) hosts and \(small.steps) steps\(calmed)")
      report(small.outcome)
    } else {
      for line in outcome.transcript { print(line) }
      print("")
      report(outcome)
    }
    return outcome.violation == nil ? 0 : 1
  }

  static func report(_ outcome: Outcome) {
    let hash = String(outcome.digest, radix: 16)
    if let violation = outcome.violation {
      print("seed \(outcome.seed), scenario \(outcome.scenario.rawValue), commit \(commit()): \(violation)")
      print("replay: simulate --scenario \(outcome.scenario.rawValue) --seed \(outcome.seed)")
    } else {
      print(
        "seed \(outcome.seed), scenario \(outcome.scenario.rawValue), commit \(commit()): every rule holds (\(hash))")
    }
  }

  /// The commit that a replay needs; "unknown" outside of a checkout.
  static func commit() -> String {
    let git = Process()
    git.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    git.arguments = ["git", "rev-parse", "--short", "HEAD"]
    let output = Pipe()
    git.standardOutput = output
    git.standardError = FileHandle.nullDevice
    guard (try? git.run()) != nil else { return "unknown" }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    git.waitUntilExit()
    return git.terminationStatus == 0 ? text.trimmingCharacters(in: .whitespacesAndNewlines) : "unknown"
  }

  static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }

  /// Unbuffered, unlike `print`.
  static func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }

  /// Each seed is named before it runs, so that one that kills the process is known.
  private static func work(_ options: Options, _ count: UInt64) {
    for seed in options.from..<(options.from + count) {
      let scenario = options.scenario ?? Scenario.of(seed: seed)
      write("begin\t\(seed)\t\(scenario.rawValue)\n")
      write(ResultLine(Simulation.run(scenario, seed: seed)).line + "\n")
    }
  }
}
