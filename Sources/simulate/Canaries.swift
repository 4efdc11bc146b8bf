import Dispatch
import Simulator
import Synchronization

/// The table of canaries: each switched-off engine rule, and the rule of the model that caught it.
struct Canaries {
  var seedsMax: UInt64
  var jobs: Int

  func run() -> Int32 {
    let all = Canary.allCases
    let next = Mutex(0)
    let missed = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: jobs) { _ in
      while true {
        let place = next.withLock { place in
          defer { place += 1 }
          return place
        }
        guard place < all.count else { return }
        let caught = all[place].caught(seeds: seedsMax)
        if caught == nil { missed.withLock { $0 += 1 } }
        Simulate.write(line(all[place], caught) + "\n")
      }
    }
    let count = missed.withLock { $0 }
    print(count == 0 ? "\nall \(all.count) switches are caught" : "\n\(count) of \(all.count) switches are not caught")
    return count == 0 ? 0 : 1
  }

  private func line(_ canary: Canary, _ caught: Canary.Catch?) -> String {
    let name = Simulate.padded(canary.name, 24)
    guard let caught else { return name + "NOT CAUGHT in \(seedsMax) seeds" }
    return name + Simulate.padded(caught.violation.rule.rawValue, 28)
      + "seed \(caught.seed) of \(caught.scenario.rawValue)"
  }
}
