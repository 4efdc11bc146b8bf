/// Minimises a failing run: leaves out hosts, steps, faults and time as long as the same rule breaks.
public struct Shrinker {
  private var best: Plan
  private let rule: Rule
  private var runsLeft: Int
  /// Runs a plan; a test replaces it.
  private let runs: (Plan) -> Outcome

  /// The smallest failing plan, as a recorded run.
  public struct Result: Sendable {
    public var outcome: Outcome
    public var hosts: Int
    public var steps: Int
    public var calmed: [String]
  }

  public init(_ plan: Plan, rule: Rule, runsMax: Int = 300, runs: @escaping (Plan) -> Outcome = { Simulation.run($0) })
  {
    best = plan
    self.rule = rule
    runsLeft = runsMax
    self.runs = runs
  }

  public mutating func shrink() -> Result {
    shortenTime()
    var calmed: [String] = []
    var size = Int.max
    while best.steps.count < size, runsLeft > 0 {
      size = best.steps.count
      dropHosts()
      dropSteps()
    }
    for part in Faults.parts {
      var plan = best
      part.calm(&plan.faults)
      if plan.faults != best.faults, attempt(plan) { calmed.append(part.name) }
    }
    dropSteps()
    let outcome = Simulation.run(best, recording: true)
    return Result(
      outcome: outcome, hosts: best.hosts.count { !$0.peers.isEmpty }, steps: best.steps.count, calmed: calmed)
  }

  /// Keeps the smaller plan if it breaks the same rule.
  private mutating func attempt(_ plan: Plan) -> Bool {
    guard runsLeft > 0 else { return false }
    runsLeft -= 1
    guard let violation = runs(plan).violation, violation.rule == rule else { return false }
    best = plan
    return true
  }

  /// Time after the violation does not matter.
  private mutating func shortenTime() {
    guard let violation = runs(best).violation, violation.milliseconds < best.active else { return }
    var plan = best
    plan.steps.removeAll { $0.at > violation.milliseconds }
    _ = attempt(plan)
  }

  /// A host without peers and steps still exists, so that the others keep their numbers.
  private mutating func dropHosts() {
    for host in best.hosts.indices.reversed() where !best.hosts[host].peers.isEmpty && best.hosts[host].twinOf == nil {
      var plan = best
      plan.hosts[host].peers = []
      plan.hosts[host].malice = nil
      plan.steps.removeAll { $0.act.concerns(host) }
      _ = attempt(plan)
    }
  }

  /// Delta debugging: halves first, then smaller and smaller parts, down to single steps.
  private mutating func dropSteps() {
    var size = max(1, best.steps.count / 2)
    while true {
      var start = 0
      while start < best.steps.count, runsLeft > 0 {
        var plan = best
        plan.steps.removeSubrange(start..<min(start + size, best.steps.count))
        if !attempt(plan) { start += size }
      }
      if size == 1 || runsLeft == 0 { return }
      size /= 2
    }
  }
}

extension Act {
  func concerns(_ host: Int) -> Bool {
    switch self {
    case .advertise(let ref, _, _), .stopAdvertising(let ref, _), .browse(let ref, _), .stopBrowsing(let ref, _),
      .cancel(let ref), .adhoc(let ref, _, _), .stopAdhoc(let ref, _), .leave(let ref, _), .close(let ref, _),
      .lock(let ref, _, _), .send(let ref, _, _), .removePeer(let ref), .away(let ref, _),
      .readClock(let ref, _):
      ref.host == host
    case .invite(let ref, _, let other, _, _), .remove(let ref, _, let other, _), .block(let ref, _, let other, _),
      .compare(let ref, let other), .stream(let ref, _, let other, _), .offer(let ref, _, let other, _),
      .connect(let ref, _, let other, _, _):
      ref.host == host || other.host == host
    case .cut(let a, let b, _, _), .deafen(let a, let b, _), .reset(let a, let b, _), .hide(let a, let b, _):
      a == host || b == host
    case .crash(let index, _, _), .backUp(let index), .move(let index, _), .turnOff(_, let index, _, _): index == host
    case .outage(_, let a, let b, _, _): a == host || b == host
    case .partition: false
    }
  }
}
