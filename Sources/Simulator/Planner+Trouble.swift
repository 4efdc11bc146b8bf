import Engine

/// Messages while a lot goes wrong.
extension Planner {
  mutating func messages() {
    add(hosts: size(2, 6), peers: random.pick([1, 1, 3]))
    plan.faults.chunkBytesMax = max(plan.faults.chunkBytesMax, 100)
    everybodyShows()
    everybodyJoins()
    everybodyTalks(count: 60, Self.chat)
    for _ in 0..<random.below(3) {
      at(
        moment(8_000),
        .send(random.pick(refs), end: 0, Sending(bytes: random.pick([60_000, 300_000, 1_048_576]), receipt: true)))
    }
    plan.faults.cuts = random.pick([0, 6])
    plan.faults.resets = random.pick([0, 12])
    plan.faults.deafness = random.pick([0, 3])
    incidents()
  }

  mutating func backlog() {
    add(hosts: size(2, 4)) { host, random in
      host.settings.backlogBytesMax = random.pick([20_000, 200_000])
      host.settings.backlogCountMax = random.pick([50, 16_384])
      host.settings.backlogAgeMax = .seconds(random.pick([5, 15]))
    }
    plan.faults.bandwidth = random.pick([0, 4_000, 20_000])
    plan.faults.socketBytesMax = random.pick([4_096, 16_384])
    everybodyShows()
    everybodyJoins()
    everybodyTalks(count: 30) { random in
      Sending(
        count: random.pick([10, 100]), bytes: random.pick([100, 1_000, 4_000]), recipients: random.pick([0, 1]),
        receipt: random.flip())
    }
    plan.faults.cuts = 4
    plan.faults.deafness = random.pick([0, 4])
    incidents()
    plan.settling = 60_000
  }

  mutating func unreliable() {
    add(hosts: size(2, 6), peers: random.pick([1, 2]))
    plan.faults.datagramLoss = random.pick([0, 100, 500])
    plan.faults.datagramTwice = 50
    plan.faults.datagramLate = 100
    everybodyShows()
    everybodyJoins()
    everybodyTalks(count: 80, Self.mixed)
    plan.faults.cuts = random.pick([0, 4])
    incidents()
  }

  mutating func churn() {
    add(hosts: size(3, 12)) { host, random in host.isDurable = random.chance(perMille: 300) }
    everybodyMeets(gap: 200)
    everybodyTalks(count: 50, Self.mixed)
    everybodyStreams(count: random.below(8))
    everybodyOffers(count: random.below(6))
    for _ in 0..<8 {
      let ref = random.pick(refs)
      let time = moment(8_000, 35_000)
      at(time, .leave(ref, end: 0))
      at(time + random.below(5_000), .invite(another(than: ref), end: 0, ref, type: 0, timeout: 10_000))
    }
    plan.faults.cuts = random.below(12)
    plan.faults.resets = random.below(12)
    plan.faults.deafness = random.below(6)
    plan.faults.partitions = random.below(3)
    plan.faults.crashes = random.below(6)
    plan.faults.hidings = random.below(6)
    plan.faults.moves = random.below(6)
    incidents()
    plan.settling = 75_000
  }

  mutating func partition() {
    add(hosts: size(3, 10))
    everybodyMeets(gap: 200)
    everybodyTalks(count: 40, Self.chat)
    everybodyStreams(count: random.below(5))
    everybodyOffers(count: random.below(4))
    plan.faults.partitions = random.within(2...6)
    plan.faults.cutLong = random.pick([15_000, 60_000])
    plan.faults.moves = random.below(4)
    incidents(from: 8_000)
    plan.active = 60_000
    plan.settling = 75_000
  }

  mutating func silence() {
    add(hosts: size(2, 5))
    everybodyShows()
    everybodyJoins()
    everybodyTalks(count: 30, Self.chat)
    everybodyStreams(count: random.below(4))
    everybodyOffers(count: random.below(3))
    plan.faults.cuts = 8
    plan.faults.deafness = 4
    plan.faults.moves = random.below(4)
    plan.active = 90_000
    incidents(from: 8_000)
    plan.settling = 75_000
  }

  mutating func slow() {
    add(hosts: size(2, 6))
    plan.faults.latencyMin = random.pick([20, 200])
    plan.faults.latencyMax = plan.faults.latencyMin + random.pick([50, 300])
    plan.faults.slowLinks = random.pick([300, 1_000])
    plan.faults.slowBandwidth = random.pick([8_000, 32_000])
    plan.faults.socketBytesMax = random.pick([4_096, 16_384])
    everybodyShows()
    everybodyJoins(gap: 1_500)
    everybodyTalks(count: 30) { random in
      Sending(count: random.pick([1, 10]), bytes: random.pick([100, 1_000, 4_000]), receipt: random.flip())
    }
    everybodyStreams(count: random.below(3))
    everybodyOffers(count: random.below(3))
    plan.settling = 75_000
  }

  mutating func restart() {
    add(hosts: size(2, 6)) { host, random in host.isDurable = random.chance(perMille: 700) }
    plan.faults.diskDelay = random.pick([1, 20, 500])
    everybodyShows()
    everybodyJoins()
    everybodyTalks(count: 40, Self.chat)
    everybodyStreams(count: random.below(4))
    everybodyOffers(count: random.within(1...4))
    if random.flip() { crashesInTransfer(at: moment(9_000, 30_000)) }
    plan.faults.spoiltFiles = random.pick([0, 500])
    plan.faults.crashes = random.within(3...9)
    plan.faults.cuts = random.pick([0, 3])
    plan.faults.resets = random.pick([0, 6])
    incidents()
    plan.settling = 75_000
  }

  /// The receiver of a large resource comes back with a part of it.
  private mutating func crashesInTransfer(at time: Int) {
    let receiver = random.pick(refs)
    plan.hosts[receiver.host].isDurable = true
    at(time, .offer(another(than: receiver), end: 0, receiver, Self.large(&random)))
    at(time + random.pick([100, 300, 700]), .crash(receiver.host, back: .stored, after: 1_000))
  }

  mutating func backup() {
    add(hosts: size(2, 4)) { host, _ in host.isDurable = true }
    everybodyShows()
    everybodyJoins()
    everybodyTalks(count: 60, Self.chat)
    everybodyOffers(count: random.below(3))
    let host = random.below(plan.hosts.count)
    at(moment(6_000, 12_000), .backUp(host))
    at(moment(18_000, 30_000), .crash(host, back: .backup, after: random.pick([100, 5_000])))
    plan.faults.resets = random.pick([0, 4])
    incidents()
    plan.settling = 75_000
  }

  mutating func conflict() {
    add(hosts: size(2, 4))
    everybodyShows()
    everybodyJoins()
    everybodyTalks(count: 10, Self.chat)
    let original = random.below(plan.hosts.count)
    add(hosts: 1) { host, _ in
      host.twinOf = original
      host.start = 12_000
    }
    let twin = PeerRef(host: plan.hosts.count - 1)
    at(13_000, .advertise(twin, type: 0, info: 0))
    at(13_000, .browse(twin, type: 0))
    for host in 0..<(plan.hosts.count - 1) where host != original {
      at(15_000 + host * 500, .invite(PeerRef(host: host), end: 0, twin, type: 0, timeout: 8_000))
      at(18_000 + host * 500, .invite(twin, end: 0, PeerRef(host: host), type: 0, timeout: 8_000))
    }
    plan.settling = 60_000
  }

  mutating func malicious() {
    add(hosts: size(2, 6))
    add(hosts: 1, peers: random.pick([1, 3])) { host, random in host.malice = Malice.drawn(&random) }
    let evil = plan.hosts.count - 1
    switch random.below(3) {
    case 0: everybodyIsAdhoc()
    case 1:
      everybodyShows()
      everybodyJoins(gap: 300)
    // They keep to themselves: a connection here was caused by a lie.
    default: everybodyShows()
    }
    at(1_000, .advertise(PeerRef(host: evil), type: 0, info: 0))
    everybodyTalks(count: 30, Self.mixed)
    everybodyStreams(count: random.below(4))
    everybodyOffers(count: random.below(3))
    // Some honest peers take it for one of theirs.
    for _ in 0..<3 {
      at(moment(5_000, 25_000), .invite(random.pick(refs), end: 0, PeerRef(host: evil), type: 0, timeout: 5_000))
    }
    let stranger = PeerRef(host: evil)
    for _ in 0..<random.below(4) {
      at(moment(8_000), .stream(random.pick(refs), end: 0, stranger, Self.streaming(&random)))
      at(moment(8_000), .offer(random.pick(refs), end: 0, stranger, Self.offering(&random)))
    }
    plan.faults.resets = random.pick([0, 3])
    incidents()
  }
}
