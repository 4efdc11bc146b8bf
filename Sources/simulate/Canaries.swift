import Simulator

/// The table of switches: each engine rule that is switched off, and what caught it.
struct Canaries {
  var seedsMax: UInt64
  var jobs: Int

  func run() -> Int32 {
    var missed = 0
    for canary in Canary.allCases {
      if let caught = canary.caught(seeds: seedsMax) {
        print(
          Simulate.padded(canary.name, 24) + Simulate.padded(caught.violation.rule.rawValue, 28)
            + "seed \(caught.seed) of \(caught.scenario.rawValue)")
      } else {
        missed += 1
        print(Simulate.padded(canary.name, 24) + "NOT CAUGHT in \(seedsMax) seeds")
      }
    }
    let count = Canary.allCases.count
    print(missed == 0 ? "\nall \(count) switches are caught" : "\n\(missed) of \(count) switches are not caught")
    return missed == 0 ? 0 : 1
  }
}
