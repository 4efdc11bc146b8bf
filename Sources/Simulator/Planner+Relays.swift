import Engine

/// Hosts with no common medium, and relays between them.
extension Planner {
  private static let near = 0
  private static let far = 1

  /// Hosts by their media: on the near one alone, relays with both, and on the far one alone.
  private mutating func add(near: Int, relays: Int, far: Int) {
    plan.faults = Faults()
    plan.faults.jitter = 0
    add(hosts: near + relays + far)
    use([
      .wifi, random.flip() ? .cable() : .bluetooth(latency: random.pick([15, 40]), bandwidth: 150_000), .relay,
    ])
    for host in plan.hosts.indices {
      plan.hosts[host].media =
        host < near ? [Self.near] : host < near + relays ? [Self.near, Self.far] : [Self.far]
    }
  }

  /// Hosts on either side find each other; the relays take part, or only pass on.
  private mutating func everybodyMeetsAcross(relays: Range<Int>) {
    let isMember = random.flip()
    let members = refs.filter { isMember || !relays.contains($0.host) }
    for ref in members {
      at(moment(0, 500), .advertise(ref, type: 0, info: 0))
      at(moment(0, 500), .browse(ref, type: 0))
    }
    for (place, ref) in members.enumerated().dropFirst() {
      let inviter = members[random.below(place)]
      at(6_000 + place * 400, .invite(inviter, end: 0, ref, type: 0, timeout: 15_000))
    }
  }

  private mutating func everybodyTalksAcross(relays: Range<Int>, count: Int) {
    let ends = refs.filter { !relays.contains($0.host) }
    for _ in 0..<count {
      let ref = random.pick(ends)
      var sending = Self.mixed(&random)
      sending.bytes = min(sending.bytes, 1_400)
      at(moment(12_000), .send(ref, end: 0, sending))
    }
    let (a, b) = (ends[0], ends[ends.count - 1])
    at(moment(13_000, 25_000), .offer(a, end: 0, b, Offering(bytes: 200_000, answerDelay: 0)))
    at(moment(13_000, 25_000), .stream(b, end: 0, a, Streaming(bytes: 150_000, write: 20_000)))
  }

  /// Two hosts find each other by the report of a third that has the media of both, and talk through it. One of them may
  /// get a medium in common with the other later.
  mutating func bridge() {
    let (near, far) = (size(1, 2), size(1, 2))
    add(near: near, relays: 1, far: far)
    let relays = near..<(near + 1)
    everybodyMeetsAcross(relays: relays)
    plan.active = 60_000
    plan.settling = 40_000
    everybodyTalksAcross(relays: relays, count: 30)
    guard random.flip() else { return plan.isCalm = true }
    let walker = plan.hosts.count - 1
    plan.hosts[walker].media = [Self.near, Self.far]
    at(0, .turnOff(medium: Self.near, walker, milliseconds: 35_000, isNoticed: true))
  }

  /// A member with both media invites the others, and leads them to each other. Nobody looks for relays.
  mutating func introduced() {
    let relay = size(1, 2)
    add(near: relay, relays: 1, far: size(1, 2))
    var rules = RelayRules()
    rules.isForMembers = true
    for host in plan.hosts.indices {
      plan.hosts[host].settings.looksForRelays = false
      plan.hosts[host].settings.relay = host == relay ? rules : nil
    }
    let inviter = PeerRef(host: relay)
    at(moment(0, 500), .browse(inviter, type: 0))
    for (place, ref) in refs.filter({ $0 != inviter }).enumerated() {
      at(moment(0, 500), .advertise(ref, type: 0, info: 0))
      at(6_000 + place * 400, .invite(inviter, end: 0, ref, type: 0, timeout: 15_000))
    }
    plan.active = 60_000
    plan.settling = 40_000
    everybodyTalksAcross(relays: relay..<(relay + 1), count: 30)
    guard random.flip() else { return plan.isCalm = true }
    let time = random.within(500...8_000)
    at(moment(25_000), .turnOff(medium: random.below(2), relay, milliseconds: time, isNoticed: random.flip()))
  }

  /// A relay dies beside another one.
  mutating func relayDies() {
    add(near: size(1, 2), relays: 2, far: 1)
    let first = plan.hosts.firstIndex { $0.media.count > 1 } ?? 1
    let relays = first..<(first + 2)
    everybodyMeetsAcross(relays: relays)
    plan.active = 60_000
    plan.settling = 45_000
    everybodyTalksAcross(relays: relays, count: 40)
    at(random.within(30_000...32_000), .crash(random.pick(Array(relays)), back: .fresh, after: 20_000))
  }

  /// Two relays of which each comes and goes, and their ways as well.
  mutating func twoRelays() {
    add(near: size(1, 2), relays: 2, far: size(1, 2))
    let first = plan.hosts.firstIndex { $0.media.count > 1 } ?? 1
    let relays = first..<(first + 2)
    everybodyMeetsAcross(relays: relays)
    plan.active = 90_000
    plan.settling = 75_000
    everybodyTalksAcross(relays: relays, count: 40)
    for _ in 0..<random.within(2...6) {
      let relay = random.pick(Array(relays))
      let time = random.pick([500, 3_000, 8_000, 25_000])
      let notice: Notice = random.pick([.both, .first, .neither])
      switch random.below(4) {
      case 0: at(moment(25_000), .crash(relay, back: .fresh, after: time))
      case 1: at(moment(25_000), .turnOff(medium: random.below(2), relay, milliseconds: time, isNoticed: random.flip()))
      default:
        let other = random.pick(plan.hosts.indices.filter { !relays.contains($0) })
        at(
          moment(25_000),
          .outage(medium: plan.hosts[other].media.min() ?? 0, relay, other, milliseconds: time, notice))
      }
    }
  }

  /// A relay that tampers with circuits and lies about whom it hears, beside an honest one; and a host that floods both.
  mutating func badRelay() {
    add(near: 2, relays: 2, far: size(1, 2))
    everybodyMeetsAcross(relays: 2..<4)
    plan.active = 60_000
    plan.settling = 90_000
    everybodyTalksAcross(relays: 2..<4, count: 40)
    plan.hosts[2].relayMalice = .drawn(&random)
    guard random.flip() else { return }
    plan.hosts[1].malice = .floodsCircuits
  }
}
