import Report

/// Everything that is measured, and whether it is as it must be.
struct Suite {
  private let thresholds: Thresholds
  /// How often an operation runs to be timed; only a hundredth of it where allocations alone are asked for.
  private let scale: Double
  var table = Table()
  private(set) var failures: [String] = []
  private var counted: Set<String> = []

  init(thresholds: Thresholds, allocationsOnly: Bool) {
    self.thresholds = thresholds
    scale = allocationsOnly ? 0.01 : 1
  }

  /// The groups that can be measured on their own.
  enum Part: String, CaseIterable {
    case codec, messages, fanout, streams, resources, delay, crowd, scale, invited, adhoc, bonds
  }

  mutating func run(_ parts: [Part]) throws {
    checkCounter()
    for part in parts {
      switch part {
      case .codec: measureCodec()
      case .messages: try measureMessages()
      case .fanout: try measureFanOut()
      case .streams: try measureStreams()
      case .resources: try measureResources()
      case .delay: if scale == 1 { try measureDelay() }
      case .crowd: try measureCrowd(of: max(500, Int(5_000 * scale)))
      case .scale: try measureScale(hosts: scale == 1 ? 20 : 4, peers: scale == 1 ? 500 : 250)
      case .invited: if scale == 1 { try measureInvited(hosts: 256) }
      case .adhoc:
        if scale == 1 {
          try measureAdhoc(hosts: 256)
          for size in [100, 200, 400, 1_000, 2_000] { try measureAdhocCrowd(of: size) }
        }
      case .bonds: try measureBonds(hosts: scale == 1 ? 100 : 30)
      }
    }
    guard parts == Part.allCases else { return }
    for name in thresholds.unused(by: counted) {
      failures.append("allocations.txt has a threshold for '\(name)', which nothing measures.")
    }
  }

  /// Times an operation against its goal, and holds its allocations to their threshold.
  mutating func measure(
    _ name: String, operations: Int, goalNanoseconds: Double? = nil, goalPerSecond: Double? = nil,
    _ operation: (_ times: Int) -> Void
  ) {
    let cost = Measurement.of(operations: max(1, Int(Double(operations) * scale)), operation)
    if scale == 1 {
      table.add(name, cost.nanoseconds, "ns", goal: goalNanoseconds.map { .atMost($0) } ?? .none)
      if let goalPerSecond {
        table.add(name, 1e9 / cost.nanoseconds, "a second", goal: .atLeast(goalPerSecond))
      }
    }
    counted.insert(name)
    guard let most = thresholds[name] else {
      failures.append("allocations.txt has no threshold for '\(name)'; it makes \(cost.allocations).")
      return
    }
    table.add(name, cost.allocations, "allocations", goal: .atMost(most), gates: true)
    if cost.allocations > most {
      failures.append("'\(name)' makes \(cost.allocations) allocations an operation; its threshold is \(most).")
    }
  }

  /// A time or a size; none where allocations alone are asked for.
  mutating func report(_ name: String, _ value: Double, _ unit: String, goal: Figure.Goal = .none) {
    if scale == 1 { table.add(name, value, unit, goal: goal) }
  }

  /// A size that is the same on every machine, and fails the run where it is larger.
  mutating func gate(_ name: String, _ value: Double, _ unit: String, goal: Double) {
    table.add(name, value, unit, goal: .atMost(goal), gates: true)
    check(value <= goal, "'\(name)' is \(Int(value)) \(unit); at most \(Int(goal)) are allowed.")
  }

  /// Checks that the run measured what was meant.
  mutating func check(_ isTrue: Bool, _ failure: String) {
    if !isTrue { failures.append(failure) }
  }

  /// The canary of the counter: had it stopped counting, every gate would be green.
  private mutating func checkCounter() {
    let array = Measurement.of(operations: 1000) { times in
      for index in 0..<times { consume([index]) }
    }
    let addition = Measurement.of(operations: 1000) { times in
      var sum = 0
      for index in 0..<times { sum &+= index }
      consume(sum)
    }
    if array.allocations != 1 {
      failures.append(
        "The counter is broken: an array of one costs one allocation, and it counts \(array.allocations).")
    }
    if addition.allocations >= 1 {
      failures.append("The counter is broken: an addition costs none, and it counts \(addition.allocations).")
    }
    table.add("counter-array", array.allocations, "allocations")
    table.add("counter-addition", addition.allocations, "allocations")
  }
}
