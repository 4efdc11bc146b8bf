// Long because each scenario is a few lines, and they are read beside each other.

import Engine
import Wire

extension Planner {
  mutating func draw() {
    plan.faults = Faults.drawn(&random)
    switch plan.scenario {
    case .pair: pair()
    case .adhoc: adhoc()
    case .mutualInvitation: mutualInvitation()
    case .discovery: discovery()
    case .answers: answers()
    case .byHand: byHand()
    case .groups: groups()
    case .merge: merge()
    case .sessions: sessions()
    case .removal: removal()
    case .encryption: encryption()
    case .trust: trust()
    case .codes: codes()
    case .full: full()
    case .messages: messages()
    case .backlog: backlog()
    case .unreliable: unreliable()
    case .churn: churn()
    case .partition: partition()
    case .silence: silence()
    case .slow: slow()
    case .restart: restart()
    case .backup: backup()
    case .conflict: conflict()
    case .malicious: malicious()
    case .large: large()
    case .bulk: bulk()
    case .cheats: cheats()
    case .crowd: crowd()
    case .crowd5000: crowd5000()
    }
  }

  private mutating func pair() {
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

  private mutating func adhoc() {
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

  /// Nothing may go wrong here, so nobody may ever be told of an end.
  private mutating func mutualInvitation() {
    plan.isCalm = true
    plan.faults = Faults()
    plan.faults.latencyMax = random.pick([1, 5, 50])
    plan.faults.jitter = random.pick([0, 5, 20])
    plan.faults.discoveryDelay = random.pick([1, 100, 1_500])
    add(hosts: size(2, 6)) { host, random in host.peers[0].invitesWhomItFinds = random.chance(perMille: 700) }
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

  private mutating func discovery() {
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

  private mutating func answers() {
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

  private mutating func byHand() {
    let ends = random.pick([1, 1, 2])
    // What peers of one host have for each other is not stored.
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

  private mutating func groups() {
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

  /// Somebody comes back and leaves again while its inviter and a third do not hear each other: word of its coming gets
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

  private mutating func merge() {
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

  private mutating func sessions() {
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

  private mutating func removal() {
    add(hosts: size(3, 7))
    everybodyShows()
    everybodyJoins()
    for _ in 0..<8 {
      let ref = random.pick(refs)
      let other = another(than: ref)
      let time = moment(8_000, 32_000)
      switch random.below(6) {
      case 0, 1: at(time, .remove(ref, end: 0, other, ban: random.flip()))
      case 2: at(time, .block(ref, end: 0, other, true))
      case 3:
        at(time, .lock(ref, end: 0, true))
        at(time + random.below(8_000), .lock(ref, end: 0, false))
      case 4:
        at(time, .leave(ref, end: 0))
        at(time + 500 + random.below(4_000), .invite(other, end: 0, ref, type: 0, timeout: 8_000))
      default: at(time, .invite(ref, end: 0, other, type: 0, timeout: 8_000))
      }
    }
    everybodyTalks(count: 20, Self.chat)
    if random.flip() { comesBackToOthers(at: moment(10_000, 25_000)) }
    everybodyStreams(from: 8_000, count: random.below(5))
    everybodyOffers(from: 8_000, count: random.below(3))
    plan.faults.resets = random.pick([0, 4])
    incidents()
  }

  /// Somebody whom one has removed leaves, and is invited by another.
  private mutating func comesBackToOthers(at time: Int) {
    let removed = random.pick(refs)
    let removing = another(than: removed)
    let inviting = random.pick(refs.filter { $0 != removed && $0 != removing })
    at(time, .remove(removing, end: 0, removed, ban: false))
    at(time + 1_500, .leave(removed, end: 0))
    at(time + 3_000, .invite(inviting, end: 0, removed, type: 0, timeout: 8_000))
  }

  private mutating func encryption() {
    let preferences: [Encryption] = [.optional, .required, .none]
    add(hosts: size(2, 6)) { host, random in host.peers[0].endpoints[0].encryption = random.pick(preferences) }
    everybodyShows()
    everybodyJoins()
    for _ in 0..<6 {
      let ref = random.pick(refs)
      at(moment(6_000, 25_000), .invite(ref, end: 0, another(than: ref), type: 0, timeout: 6_000))
    }
    everybodyTalks(count: 10, Self.chat)
  }

  private mutating func trust() {
    add(hosts: size(2, 6)) { host, random in
      if random.chance(perMille: 700) {
        host.peers[0].endpoints[0].trust = .ask(timeout: .milliseconds(random.pick([1_000, 5_000, 20_000])))
      }
      host.peers[0].trusts = random.pick([1_000, 1_000, 800, 0])
      host.peers[0].decides = random.chance(perMille: 800)
      host.peers[0].showsIdentity = random.flip()
      host.peers[0].answerDelay = random.pick([0, 500, 4_000])
    }
    everybodyShows()
    everybodyJoins()
    for _ in 0..<4 {
      let ref = random.pick(refs)
      at(moment(10_000, 30_000), .invite(ref, end: 0, another(than: ref), type: 0, timeout: 8_000))
    }
    everybodyTalks(count: 10, Self.chat)
    plan.faults.resets = random.pick([0, 3])
    incidents()
  }

  private mutating func codes() {
    add(hosts: size(2, 5), peers: random.pick([1, 2]))
    everybodyShows()
    everybodyJoins()
    for _ in 0..<6 {
      let ref = random.pick(refs)
      let other = another(than: ref)
      let time = moment(4_000)
      at(time, .compare(ref, other))
      if random.chance(perMille: 300) { at(time + random.pick([0, 5, 1_000]), .compare(other, ref)) }
    }
    plan.faults.resets = random.pick([0, 3])
    incidents()
  }

  private mutating func full() {
    add(hosts: size(3, 9)) { host, random in host.peers[0].endpoints[0].peersMax = UInt32(random.pick([2, 3, 4, 8])) }
    everybodyShows()
    let time = 3_000
    for ref in refs.dropFirst() where random.flip() {
      // All at once for the last place.
      at(
        time + random.below(100),
        random.flip()
          ? .invite(ref, end: 0, refs[0], type: 0, timeout: 8_000)
          : .invite(refs[0], end: 0, ref, type: 0, timeout: 8_000))
    }
    for _ in 0..<10 {
      let ref = random.pick(refs)
      at(moment(5_000, 30_000), .invite(ref, end: 0, another(than: ref), type: 0, timeout: 6_000))
    }
    for _ in 0..<3 { at(moment(10_000), .leave(random.pick(refs), end: 0)) }
    plan.faults.resets = random.pick([0, 3])
    incidents()
  }

  private mutating func messages() {
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

  private mutating func backlog() {
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

  private mutating func unreliable() {
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

  private mutating func churn() {
    add(hosts: size(3, 12)) { host, random in host.isDurable = random.chance(perMille: 300) }
    if random.flip() {
      everybodyIsAdhoc()
    } else {
      everybodyShows()
      everybodyJoins(gap: 200)
    }
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

  private mutating func partition() {
    add(hosts: size(3, 10))
    if random.flip() {
      everybodyIsAdhoc()
    } else {
      everybodyShows()
      everybodyJoins(gap: 200)
    }
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

  private mutating func silence() {
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

  private mutating func slow() {
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

  private mutating func restart() {
    add(hosts: size(2, 6)) { host, random in host.isDurable = random.chance(perMille: 700) }
    plan.faults.diskDelay = random.pick([1, 20, 500])
    everybodyShows()
    everybodyJoins()
    everybodyTalks(count: 40, Self.chat)
    everybodyStreams(count: random.below(4))
    everybodyOffers(count: random.within(1...4))
    if random.flip() { crashesInTransfer(at: moment(9_000, 30_000)) }
    plan.faults.crashes = random.within(3...9)
    plan.faults.cuts = random.pick([0, 3])
    plan.faults.resets = random.pick([0, 6])
    incidents()
    plan.settling = 75_000
  }

  /// Who receives something large comes back with a part of it.
  private mutating func crashesInTransfer(at time: Int) {
    let receiver = random.pick(refs)
    plan.hosts[receiver.host].isDurable = true
    at(time, .offer(another(than: receiver), end: 0, receiver, Self.large(&random)))
    at(time + random.pick([100, 300, 700]), .crash(receiver.host, back: .stored, after: 1_000))
  }

  private mutating func backup() {
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

  private mutating func conflict() {
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

  private mutating func malicious() {
    add(hosts: size(2, 6))
    add(hosts: 1, peers: random.pick([1, 3])) { host, random in host.malice = Malice.drawn(&random) }
    let evil = plan.hosts.count - 1
    switch random.below(3) {
    case 0: everybodyIsAdhoc()
    case 1:
      everybodyShows()
      everybodyJoins(gap: 300)
    // They keep to themselves: whoever connects here was brought together by a lie.
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

  private mutating func large() {
    add(hosts: random.within(40...100))
    plan.faults.chunkBytesMax = 65_536
    plan.faults.latencyMax = max(plan.faults.latencyMax, 5)
    if random.flip() {
      everybodyIsAdhoc()
    } else {
      everybodyShows()
      everybodyJoins(gap: 60)
    }
    everybodyTalks(from: 8_000, count: 15, Self.chat)
    everybodyStreams(from: 8_000, count: 2)
    everybodyOffers(from: 8_000, count: 2)
    plan.active = 15_000
    plan.settling = 30_000
    plan.steps.removeAll { $0.at >= 15_000 }
  }

  private mutating func crowd5000() {
    plan.faults = Faults()
    add(hosts: 1, peers: 5_000) { host, _ in
      for place in host.peers.indices {
        host.peers[place].answerDelay = 20_000
        host.peers[place].endpoints[0].peersMax = 10_000
      }
    }
    add(hosts: random.within(2...3)) { host, _ in host.peers[0].endpoints[0].peersMax = 10_000 }
    for place in 0..<5_000 {
      let ref = PeerRef(host: 0, peer: place)
      at(place / 10, .advertise(ref, type: 0, info: 0))
      at(3_000 + place * 3, .invite(PeerRef(host: 1), end: 0, ref, type: 0, timeout: 60_000))
    }
    for host in 1..<plan.hosts.count { at(1_000, .advertise(PeerRef(host: host), type: 0, info: 0)) }
    for host in 1..<plan.hosts.count { at(1_000, .browse(PeerRef(host: host), type: 0)) }
    for host in 2..<plan.hosts.count {
      at(2_500, .invite(PeerRef(host: 1), end: 0, PeerRef(host: host), type: 0, timeout: 60_000))
    }
    for place in 0..<5 {
      at(46_000 + place * 100, .send(PeerRef(host: 1), end: 0, Sending(bytes: 100)))
      at(46_050 + place * 100, .send(PeerRef(host: 0, peer: place * 500), end: 0, Sending(bytes: 100, recipients: 1)))
    }
    at(47_000, .cut(0, 1, milliseconds: 2_000, .both))
    plan.active = 50_000
    plan.settling = 30_000
  }
}
