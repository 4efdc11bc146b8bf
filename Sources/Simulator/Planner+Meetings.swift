/// How peers find each other and come into sessions.
extension Planner {
  mutating func pair() {
    add(hosts: 2)
    everybodyShows()
    everybodyJoins()
    everybodyTalks(count: 20, Self.mixed)
    everybodyStreams(count: random.below(4))
    everybodyOffers(count: random.below(3))
    plan.faults.cuts = random.pick([0, 3, 6])
    plan.faults.resets = random.pick([0, 3])
    plan.faults.deafness = random.pick([0, 2])
    incidents()
    if random.flip() { at(moment(20_000), .leave(random.pick(refs), end: 0)) }
  }

  mutating func adhoc() {
    add(hosts: size(2, 30), peers: random.pick([1, 1, 1, 2]))
    everybodyIsAdhoc()
    everybodyTalks(count: 20, Self.chat)
    plan.faults.hidings = random.pick([0, 10])
    plan.faults.resets = random.pick([0, 0, 4])
    plan.faults.cuts = random.pick([0, 0, 4])
    incidents()
    plan.active = 25_000
    plan.steps.removeAll { $0.at >= 25_000 }
  }

  /// Nothing may go wrong here, so no end may ever be reported.
  mutating func mutualInvitation() {
    plan.isCalm = true
    plan.faults = Faults()
    plan.faults.latencyMax = random.pick([1, 5, 50])
    plan.faults.jitter = random.pick([0, 5, 20])
    plan.faults.discoveryDelay = random.pick([1, 100, 1_500])
    add(hosts: size(2, 6)) { host, random in host.peers[0].invitesFoundPeers = random.chance(perMille: 700) }
    let start = random.pick([0, 0, 1_000])
    if random.flip() { everybodyIsAdhoc(within: start) } else { everybodyShows(within: start) }
    for _ in 0..<random.below(6) {
      let ref = random.pick(refs)
      let time = moment(1_000, 8_000)
      let other = another(than: ref)
      at(time, .invite(ref, end: 0, other, type: 0, timeout: 10_000))
      at(time + random.pick([0, 1, 10]), .invite(other, end: 0, ref, type: 0, timeout: 10_000))
    }
    // And again and again, before it can know that it is connected.
    let (eager, other) = (PeerRef(host: 0), PeerRef(host: 1))
    let step = max(1, plan.faults.latencyMax / 2)
    plan.hosts[1].peers[0].answerDelay = random.pick([0, 5, 200])
    for number in 0..<40 { at(4_000 + number * step, .invite(eager, end: 0, other, type: 0, timeout: 10_000)) }
    everybodyTalks(from: 1_000, count: 10, Self.chat)
    plan.active = 15_000
    plan.settling = 20_000
    plan.steps.removeAll { $0.at >= 15_000 }
  }

  mutating func discovery() {
    add(hosts: size(2, 12), peers: random.pick([1, 2, 20]))
    for ref in refs {
      for _ in 0..<2 {
        let type = random.below(3)
        let time = moment(0, 20_000)
        at(time, .advertise(ref, type: type, info: random.below(3)))
        at(
          moment(time),
          random.flip() ? .stopAdvertising(ref, type: type) : .advertise(ref, type: type, info: random.below(3)))
        let other = random.below(3)
        let begin = moment(0, 20_000)
        at(begin, .browse(ref, type: other))
        if random.chance(perMille: 300) { at(moment(begin), .stopBrowsing(ref, type: other)) }
      }
    }
    plan.faults.hidings = 10
    plan.faults.crashes = random.pick([0, 4])
    plan.faults.partitions = random.pick([0, 2])
    incidents()
    plan.settling = 100_000
  }

  mutating func answers() {
    add(hosts: size(2, 6)) { host, random in
      host.peers[0].answer = random.pick([.accepts, .declines, .ignores, .either])
      host.peers[0].answerDelay = random.pick([0, 100, 3_000, 12_000])
    }
    everybodyShows()
    for _ in 0..<12 {
      let ref = random.pick(refs)
      let time = moment(2_000)
      at(time, .invite(ref, end: 0, another(than: ref), type: 0, timeout: random.pick([0, 500, 3_000, 10_000])))
      if random.chance(perMille: 250) { at(time + random.below(3_000), .cancel(ref)) }
    }
    plan.faults.resets = random.pick([0, 4])
    plan.faults.cuts = random.pick([0, 4])
    incidents()
  }

  /// Long enough for a second invitation to run out, and a third one to be noticed.
  mutating func refusals() {
    let isDurable = random.chance(perMille: 400)
    add(hosts: size(2, 6)) { host, random in
      host.isDurable = isDurable
      host.peers[0].answer = random.pick([.declines, .ignores, .ignores, .either])
      host.peers[0].answerDelay = random.pick([0, 100, 3_000, 12_000])
    }
    plan.active = 220_000
    for (place, ref) in refs.enumerated() {
      if place == 0 || random.chance(perMille: 300) {
        at(moment(0, 2_000), .adhoc(ref, end: 0, type: 0))
      } else {
        at(moment(0, 2_000), .advertise(ref, type: 0, info: 0))
        at(moment(0, 2_000), .browse(ref, type: 0))
        if random.chance(perMille: 200) { at(moment(60_000, 200_000), .adhoc(ref, end: 0, type: 0)) }
      }
    }
    anybodyInvites(times: random.below(6), from: 5_000, to: 200_000, timeout: random.pick([3_000, 30_000]))
    if isDurable {
      for host in plan.hosts.indices where random.chance(perMille: 700) {
        at(moment(1_000, 150_000), .crash(host, back: .stored, after: random.pick([200, 8_000])))
      }
    }
    plan.faults.hidings = random.pick([0, 10])
    plan.faults.resets = random.pick([0, 4])
    plan.faults.cuts = random.pick([0, 4])
    incidents()
  }

  mutating func byHand() {
    let ends = random.pick([1, 1, 2])
    // Records between peers of one host are not stored.
    add(hosts: size(2, 7), peers: random.pick([1, 1, 2]), ends: ends) { host, random in
      host.isDurable = host.peers.count == 1 && random.chance(perMille: 300)
    }
    let all = refs
    for end in 0..<ends {
      for place in all.indices.dropFirst() {
        exchange(all[random.below(place)], all[place], end: end, at: 1_000 + place * 600 + random.below(600))
      }
    }
    for _ in 0..<random.below(8) {
      let ref = random.pick(all)
      exchange(ref, another(than: ref), end: random.below(ends), at: moment(5_000, 30_000))
    }
    for _ in 0..<random.below(3) { at(moment(10_000), .leave(random.pick(all), end: 0)) }
    everybodyTalks(count: 20, Self.mixed)
    plan.faults.resets = random.pick([0, 4, 12])
    plan.faults.cuts = random.pick([0, 4])
    plan.faults.crashes = random.pick([0, 0, 3])
    incidents(from: 2_000)
    plan.active = 60_000
    if random.chance(perMille: 400) { add(hosts: 1) { host, _ in host.malice = .connects } }
  }

  /// Most often both begin to wait, one after the other.
  private mutating func exchange(_ a: PeerRef, _ b: PeerRef, end: Int, at time: Int) {
    func patience() -> Int { random.pick([0, 5_000, 20_000, 60_000]) }
    at(time, .connect(a, end: end, b, itsEnd: end, timeout: patience()))
    let kind = random.below(10)
    if kind == 0 { return }
    if kind == 1 { at(time + random.below(2_000), .cancel(random.flip() ? a : b)) }
    let later = time + random.pick([0, 0, 1, 10, 500, 4_000, 18_000])
    at(later, .connect(b, end: end, a, itsEnd: end, timeout: patience()))
  }

  mutating func groups() {
    add(hosts: size(3, 8))
    everybodyShows()
    everybodyJoins()
    everybodyTalks(count: 25, Self.mixed)
    everybodyStreams(count: random.below(5))
    everybodyOffers(count: random.below(3))
    plan.faults.resets = random.pick([0, 3])
    plan.faults.cuts = random.pick([0, 3])
    incidents()
    if random.flip() { at(moment(15_000), .leave(random.pick(refs), end: 0)) }
    if random.flip() { comesAndGoes(at: moment(12_000, 30_000)) }
  }

  /// A member comes back and leaves again while its inviter and a third do not reach each other: its introduction gets
  /// there after its leave.
  private mutating func comesAndGoes(at time: Int) {
    let ref = random.pick(refs)
    let inviter = another(than: ref)
    let third = random.pick(refs.filter { $0 != ref && $0 != inviter })
    at(time, .leave(ref, end: 0))
    at(time + 1_000, .cut(inviter.host, third.host, milliseconds: 2_500, .neither))
    at(time + 1_050, .invite(inviter, end: 0, ref, type: 0, timeout: 8_000))
    at(time + 3_200, .leave(ref, end: 0))
  }

  mutating func merge() {
    add(hosts: size(4, 10))
    everybodyShows()
    let all = refs
    let split = 2 + random.below(all.count - 3)
    for (start, end) in [(0, split), (split, all.count)] {
      for place in (start + 1)..<end where start + 1 < end {
        at(
          3_000 + place * 300,
          .invite(all[start + random.below(place - start)], end: 0, all[place], type: 0, timeout: 15_000))
      }
    }
    for _ in 0..<(1 + random.below(2)) {
      let a = all[random.below(split)]
      let b = all[split + random.below(all.count - split)]
      let time = moment(10_000, 20_000)
      at(
        time,
        random.flip()
          ? .invite(a, end: 0, b, type: 0, timeout: 10_000) : .invite(b, end: 0, a, type: 0, timeout: 10_000))
      if random.flip() { at(time + random.below(30), .invite(b, end: 0, a, type: 0, timeout: 10_000)) }
    }
    everybodyTalks(count: 20, Self.chat)
    plan.faults.resets = random.pick([0, 4])
    incidents()
  }

  mutating func sessions() {
    add(hosts: size(2, 5), peers: random.within(1...4), ends: random.within(1...3))
    everybodyShows()
    for _ in 0..<20 {
      let ref = random.pick(refs)
      at(
        moment(3_000, 25_000),
        .invite(
          ref, end: random.below(plan.hosts[ref.host].peers[ref.peer].endpoints.count), another(than: ref), type: 0,
          timeout: 8_000))
    }
    everybodyTalks(count: 40, Self.mixed)
    everybodyStreams(count: random.below(5))
    everybodyOffers(count: random.below(3))
    for _ in 0..<random.below(4) {
      let ref = random.pick(refs)
      at(moment(15_000), random.flip() ? .leave(ref, end: 0) : .close(ref, end: 0))
    }
    if random.chance(perMille: 300) { at(moment(20_000), .removePeer(random.pick(refs))) }
    plan.faults.resets = random.pick([0, 3])
    incidents()
  }
}
