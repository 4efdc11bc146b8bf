import Engine
import Wire

struct Planner {
  var plan: Plan
  var random: Random

  init(_ scenario: Scenario, seed: UInt64) {
    plan = Plan(scenario, seed: seed)
    var hash: UInt64 = 14_695_981_039_346_656_037
    for byte in scenario.rawValue.utf8 { hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211 }
    random = Random(seed: seed, stream: hash)
    plan.seed = seed
  }

  static func draw(_ scenario: Scenario, seed: UInt64) -> Plan {
    var planner = Planner(scenario, seed: seed)
    planner.draw()
    planner.somebodyGoesAway()
    planner.somebodyReadsClocks()
    planner.plan.steps = planner.plan.steps.enumerated()
      .sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    return planner.plan
  }

  // MARK: Parts

  var refs: [PeerRef] {
    plan.hosts.indices.filter { plan.hosts[$0].malice == nil }.flatMap { host in
      plan.hosts[host].peers.indices.map { PeerRef(host: host, peer: $0) }
    }
  }

  mutating func add(
    hosts: Int, peers: Int = 1, ends: Int = 1, _ change: (inout HostPlan, inout Random) -> Void = { _, _ in }
  ) {
    for _ in 0..<hosts {
      var host = HostPlan()
      for _ in 0..<peers {
        var peer = PeerPlan()
        peer.endpoints = Array(repeating: SessionSettings(), count: ends)
        peer.answerDelay = random.pick([0, 5, 200, 1_500])
        host.peers.append(peer)
      }
      change(&host, &random)
      plan.hosts.append(host)
    }
  }

  mutating func at(_ milliseconds: Int, _ act: Act) { plan.steps.append(Step(at: milliseconds, act: act)) }

  mutating func moment(_ from: Int = 0, _ to: Int? = nil) -> Int {
    random.within(from...max(from, to ?? plan.active - 1))
  }

  mutating func another(than ref: PeerRef) -> PeerRef {
    let others = refs.filter { $0 != ref }
    return random.pick(others)
  }

  mutating func everybodyShows(type: Int = 0, within: Int = 2_000) {
    for ref in refs {
      at(moment(0, within), .advertise(ref, type: type, info: random.below(3)))
      at(moment(0, within), .browse(ref, type: type))
    }
  }

  /// Each member but the first is invited by one that is in by then, so that all end in one session.
  mutating func everybodyJoins(type: Int = 0, end: Int = 0, from: Int = 3_000, gap: Int = 400) {
    let all = refs
    for place in all.indices.dropFirst() {
      let inviter = all[random.below(place)]
      at(from + place * gap + random.below(gap), .invite(inviter, end: end, all[place], type: type, timeout: 15_000))
    }
  }

  mutating func everybodyIsAdhoc(type: Int = 0, within: Int = 3_000) {
    for ref in refs { at(moment(0, within), .adhoc(ref, end: 0, type: type)) }
  }

  /// Ad hoc, or by invitations.
  mutating func everybodyMeets(gap: Int) {
    if random.flip() { return everybodyIsAdhoc() }
    everybodyShows()
    everybodyJoins(gap: gap)
  }

  mutating func anybodyInvites(times: Int, from: Int, to: Int, timeout: Int) {
    for _ in 0..<times {
      let ref = random.pick(refs)
      at(moment(from, to), .invite(ref, end: 0, another(than: ref), type: 0, timeout: timeout))
    }
  }

  mutating func everybodyTalks(from: Int = 4_000, count: Int, _ shape: (inout Random) -> Sending) {
    for _ in 0..<count {
      let ref = random.pick(refs)
      at(
        moment(from),
        .send(ref, end: random.below(plan.hosts[ref.host].peers[ref.peer].endpoints.count), shape(&random)))
    }
  }

  static func chat(_ random: inout Random) -> Sending {
    Sending(
      mode: .reliable, count: random.pick([1, 1, 1, 3, 20]), bytes: random.pick([16, 24, 100, 100, 1_400, 9_000]),
      recipients: random.pick([0, 0, 1, 2]), receipt: random.chance(perMille: 300))
  }

  static func mixed(_ random: inout Random) -> Sending {
    var sending = chat(&random)
    if random.chance(perMille: 300) {
      sending.mode = .unreliable
      sending.receipt = false
      sending.bytes = min(sending.bytes, 900)
    }
    return sending
  }

  /// Incidents at the rates of the plan's faults.
  mutating func incidents(from: Int = 5_000) {
    let faults = plan.faults
    let count = plan.hosts.count
    guard count > 1 else { return }
    func times(_ perMinute: Int) -> Int { perMinute * (plan.active - from) / 60_000 }
    for _ in 0..<times(faults.cuts) {
      let (a, b) = two()
      let long = random.chance(perMille: 300)
      at(
        moment(from),
        .cut(
          a, b, milliseconds: long ? faults.cutLong : faults.cutShort, random.pick([.both, .first, .second, .neither])))
    }
    for _ in 0..<times(faults.deafness) {
      let (a, b) = two()
      at(moment(from), .deafen(from: a, to: b, milliseconds: random.pick([faults.cutShort, 10_000, 30_000])))
    }
    for _ in 0..<times(faults.resets) {
      let (a, b) = two()
      at(moment(from), .reset(a, b, random.pick([.both, .both, .first, .second])))
    }
    for _ in 0..<times(faults.partitions) {
      let apart = plan.hosts.indices.filter { _ in random.flip() }
      at(moment(from), .partition(apart, milliseconds: random.pick([faults.cutShort, 10_000, faults.cutLong])))
    }
    for _ in 0..<times(faults.hidings) {
      let (a, b) = two()
      at(moment(0), .hide(a, from: b, milliseconds: random.pick([2_000, 10_000, 60_000])))
    }
    for _ in 0..<times(faults.moves) {
      let honest = plan.hosts.indices.filter { plan.hosts[$0].malice == nil }
      at(moment(from), .move(random.pick(honest), isNoticed: random.flip()))
    }
    for _ in 0..<times(faults.crashes) {
      let host = random.pick(plan.hosts.indices.filter { plan.hosts[$0].malice == nil })
      let back: Return = plan.hosts[host].isDurable && random.chance(perMille: 800) ? .stored : .fresh
      at(moment(from), .crash(host, back: back, after: random.pick([50, faults.downTime, faults.downTime * 5])))
    }
  }

  /// Programs go away and come back, in all scenarios but crowds. It has a random stream of its own, so that the rest
  /// of a plan stays the same.
  private mutating func somebodyGoesAway() {
    var random = Random(seed: plan.seed, stream: 7_001)
    let refs = refs
    guard refs.count > 1, refs.count <= 200, random.chance(perMille: 700) else { return }
    for _ in 0..<random.within(1...6) {
      let ref = random.pick(refs)
      let moment = random.within(0...plan.active - 1)
      at(moment, .away(ref, true))
      guard random.chance(perMille: 600) else { continue }
      at(moment + random.pick([1, 500, 5_000, 12_000, 20_000]), .away(ref, false))
    }
  }

  /// Some read the shared clock, where the hosts' own clocks drift no more than it allows for.
  private mutating func somebodyReadsClocks() {
    var random = Random(seed: plan.seed, stream: 7_002)
    let refs = refs
    guard plan.faults.drift <= 100, refs.count <= 40, random.chance(perMille: 300) else { return }
    for ref in refs where random.flip() { at(random.within(0...plan.active - 1), .readClock(ref, end: 0)) }
  }

  mutating func two() -> (Int, Int) {
    let honest = plan.hosts.indices.filter { plan.hosts[$0].malice == nil }
    let a = random.pick(honest)
    let others = honest.filter { $0 != a }
    return (a, others.isEmpty ? a : random.pick(others))
  }

  /// A few more hosts are rarer.
  mutating func size(_ least: Int, _ most: Int) -> Int {
    min(random.within(least...most), random.within(least...most))
  }
}
