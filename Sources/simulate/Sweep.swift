import Dispatch
import Foundation
import Simulator
import Synchronization

/// Many seeds, shared by several processes, so that a trap costs one seed and is a finding like any other.
final class Sweep: Sendable {
  private struct State {
    var next: UInt64
    var done = 0
    var tally = Tally()
    var failures: [ResultLine] = []
  }

  private let scenario: Scenario?
  private let end: UInt64
  private let from: UInt64
  private let jobs: Int
  private let state: Mutex<State>
  private let isTerminal = isatty(1) == 1
  /// Seeds of one process: enough that starting it costs nothing, few enough that none is last for long.
  private static let share: UInt64 = 20

  init(_ options: Options, count: UInt64) {
    scenario = options.scenario
    from = options.from
    end = options.from + count
    jobs = options.jobs
    state = Mutex(State(next: options.from))
  }

  func run() -> Int32 {
    let start = ContinuousClock.now
    DispatchQueue.concurrentPerform(iterations: jobs) { _ in
      while let share = take() { play(share) }
    }
    if isTerminal { Simulate.write("\r\u{1B}[K") }
    let (tally, failures) = state.withLock { ($0.tally, $0.failures.sorted { $0.seed < $1.seed }) }
    let seconds = (ContinuousClock.now - start).components.seconds
    print("seeds       \(end - from) (from \(from)) in \(seconds) s, commit \(Simulate.commit())")
    print("simulated   \(oneDecimal(Double(tally.milliseconds) / 3_600_000)) hours")
    print("frames      \(tally.frames)")
    print("bytes       \(tally.bytes)")
    print("messages    \(tally.messages)")
    print("streams     \(tally.streams)")
    print("resources   \(tally.resources)")
    print("links       \(tally.links)")
    print("faults      \(tally.faults)")
    print("violations  \(failures.count)")
    for failure in failures.prefix(40) {
      print("  seed \(failure.seed), \(failure.scenario): \(failure.rule ?? ""): \(failure.detail)")
    }
    if failures.count > 40 { print("  and \(failures.count - 40) more") }
    if let first = failures.first(where: { $0.rule != Rule.neverTraps.rawValue }) {
      print("\nThe first of them, shrunk:")
      explain(first)
    }
    return failures.isEmpty ? 0 : 1
  }

  private func oneDecimal(_ value: Double) -> String { String(format: "%.1f", value) }

  private func take() -> Range<UInt64>? {
    state.withLock { state in
      guard state.next < end else { return nil }
      let share = state.next..<min(end, state.next + Self.share)
      state.next = share.upperBound
      return share
    }
  }

  /// Runs a share of seeds in a process of its own; where it dies, another takes the rest.
  private func play(_ share: Range<UInt64>) {
    var next = share.lowerBound
    while next < share.upperBound {
      var arguments = ["--work", "\(share.upperBound - next)", "--from", "\(next)"]
      if let scenario { arguments += ["--scenario", scenario.rawValue] }
      var begun: (seed: UInt64, scenario: String)?
      Child(arguments).lines { line in
        if let result = ResultLine(line) {
          record(result)
          next = result.seed + 1
          begun = nil
        } else {
          let words = line.split(separator: "\t")
          if words.count == 3, words[0] == "begin", let seed = UInt64(words[1]) { begun = (seed, String(words[2])) }
        }
      }
      if let (seed, scenario) = begun {
        record(ResultLine(trapped: seed, scenario))
        next = seed + 1
      } else if next < share.upperBound, begun == nil, next == share.lowerBound {
        record(ResultLine(trapped: next, scenario?.rawValue ?? Scenario.of(seed: next).rawValue))
        next += 1
      }
    }
  }

  private func record(_ result: ResultLine) {
    let (done, failures) = state.withLock { state in
      state.done += 1
      state.tally += result.tally
      if result.rule != nil { state.failures.append(result) }
      return (state.done, state.failures.count)
    }
    if isTerminal {
      Simulate.write("\r\(done) of \(end - from) seeds, \(failures) violations")
    }
  }

  /// In a process of its own: a smaller run may trap.
  private func explain(_ result: ResultLine) {
    var lines: [Substring] = []
    Child(["--seed", "\(result.seed)", "--scenario", result.scenario, "--shrink"]).lines { lines.append($0) }
    for line in lines.suffix(80) { print(line) }
  }
}
