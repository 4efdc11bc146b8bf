import Engine

/// Hosts with several media.
extension Planner {
  private static let wifi = 0
  private static let bluetooth = 1
  private static let cable = 2

  mutating func use(_ media: [MediumPlan]) {
    plan.media = media
    for host in plan.hosts.indices { plan.hosts[host].media = Set(media.indices) }
    plan.faults.latencyMin = 0
    plan.faults.latencyMax = media.map(\.latency).max() ?? 1
    plan.faults.bandwidth = media.map(\.bandwidth).filter { $0 > 0 }.min() ?? 0
    plan.faults.socketBytesMax = 65_536
    plan.faults.slowLinks = 0
  }

  mutating func media() {
    add(hosts: size(2, 5)) { host, random in host.isDurable = random.chance(perMille: 200) }
    plan.faults.dialFailure = random.pick([0, 0, 50])
    plan.faults.chunkBytesMax = max(plan.faults.chunkBytesMax, 100)
    var wifi = MediumPlan.wifi
    wifi.latency = random.pick([1, 2, 10, 40])
    wifi.bandwidth = random.pick([0, 1_000_000])
    wifi.loss = random.pick([0, 0, 20, 200])
    let bluetooth = MediumPlan.bluetooth(
      latency: random.pick([15, 40, 100]), bandwidth: random.pick([60_000, 150_000]))
    use(random.flip() ? [wifi, bluetooth, .cable()] : [wifi, bluetooth])
    // Some hosts have one medium less: everybody keeps the first, so that all can meet.
    for host in plan.hosts.indices {
      for medium in plan.media.indices.dropFirst() where random.chance(perMille: 200) {
        plan.hosts[host].media.remove(medium)
      }
    }
    everybodyMeets(gap: 400)
    everybodyTalks(count: 40) { random in
      var sending = Self.mixed(&random)
      sending.bytes = min(sending.bytes, 1_400)
      return sending
    }
    everybodyStreams(count: random.below(4))
    everybodyOffers(count: random.below(3)) { random in
      var offering = Self.offering(&random)
      offering.bytes = min(offering.bytes, 200_000)
      return offering
    }
    plan.active = 60_000
    for _ in 0..<random.within(2...10) {
      let (a, b) = two()
      let time = random.pick([200, 3_000, 8_000, 25_000])
      let notice: Notice = random.pick([.both, .first, .second, .neither])
      let medium = random.below(plan.media.count)
      if random.flip() {
        at(moment(6_000), .outage(medium: medium, a, b, milliseconds: time, notice))
      } else {
        at(moment(6_000), .turnOff(medium: medium, a, milliseconds: time, isNoticed: random.flip()))
      }
    }
    plan.faults.cuts = random.pick([0, 0, 2])
    plan.faults.resets = random.pick([0, 0, 3])
    plan.faults.crashes = random.pick([0, 0, 0, 2])
    plan.faults.moves = random.pick([0, 0, 1])
    incidents()
    plan.settling = 75_000
  }

  /// Two hosts of which one walks out of the reach of Wi-Fi, and comes back.
  mutating func walkAway() {
    plan.faults = Faults()
    plan.faults.jitter = 0
    add(hosts: 2)
    let latency = random.pick([10, 25, 60])
    use([.wifi, .bluetooth(latency: latency, bandwidth: 100_000)])
    let (a, b) = (PeerRef(host: 0), PeerRef(host: 1))
    everybodyShows(within: 500)
    at(2_000, .invite(a, end: 0, b, type: 0, timeout: 10_000))
    let isNoticed = random.chance(perMille: 700)
    let walks = random.within(25_000...27_000)
    let time = random.within(15_000...20_000)
    if random.flip() {
      // Back soon, and Bluetooth goes before it is time for an upgrade; a dial that failed meanwhile is over.
      let isShort = isNoticed && random.flip()
      at(walks, .turnOff(medium: Self.wifi, 0, milliseconds: isShort ? 1_000 : time, isNoticed: isNoticed))
      if isShort {
        let moment = walks + plan.faults.dialTimeout + random.within(300...1_900)
        at(moment, .turnOff(medium: Self.bluetooth, random.below(2), milliseconds: time, isNoticed: true))
      }
    } else {
      let notice: Notice = isNoticed ? random.pick([.both, .first, .second]) : .neither
      at(walks, .outage(medium: Self.wifi, 0, 1, milliseconds: time, notice))
    }
    if random.flip() {
      at(walks - 1_000, .offer(a, end: 0, b, Offering(bytes: 600_000, answerDelay: 0)))
      at(walks - 1_000, .stream(b, end: 0, a, Streaming(bytes: 300_000, write: 20_000)))
      for number in 0..<40 {
        at(24_000 + number * 1_000, .send(number.isMultiple(of: 2) ? a : b, end: 0, Sending(bytes: 100)))
      }
    } else {
      plan.losesNothingUnreliable = true
      for number in 0..<800 {
        let sending = Sending(mode: number.isMultiple(of: 2) ? .unreliable : .reliable, bytes: 100)
        at(24_000 + number * 50, .send(number % 4 < 2 ? a : b, end: 0, sending))
      }
      // One and a half round trips of the slower medium, or the silence before that.
      let trip = Int64(3 * latency + 50) * 1_000_000
      plan.handoverMax = trip + (isNoticed ? 0 : 3_450_000_000)
    }
    plan.active = 65_000
    plan.settling = 15_000
  }

  /// Wi-Fi comes and goes, and Bluetooth stays.
  mutating func flapping() {
    plan.faults = Faults()
    add(hosts: size(2, 3))
    use([.wifi, .bluetooth(latency: 25, bandwidth: 100_000)])
    everybodyShows(within: 500)
    everybodyJoins(from: 2_000, gap: 400)
    everybodyTalks(from: 5_000, count: 30) { Sending(bytes: $0.pick([24, 100, 1_000])) }
    everybodyStreams(from: 6_000, count: 1)
    everybodyOffers(from: 6_000, count: 1) { _ in Offering(bytes: 100_000, answerDelay: 0) }
    var time = 25_000
    while time < 70_000 {
      let away = random.pick([500, 2_000, 4_000, 7_000])
      let notice: Notice = random.pick([.both, .first, .neither])
      for host in 1..<plan.hosts.count {
        at(time, .outage(medium: Self.wifi, 0, host, milliseconds: away, notice))
      }
      time += away + random.pick([500, 2_000, 6_000, 12_000])
    }
    plan.active = 80_000
    plan.settling = 60_000
  }
}
