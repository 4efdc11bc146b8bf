import Engine

/// Gateways: hosts that each carry many endpoints of one group, whose audiences differ.
extension Planner {
  mutating func gateways() {
    let isDurable = random.chance(perMille: 300)
    for _ in 0..<random.within(2...4) {
      add(hosts: 1, peers: random.pick([1, 3, 5, 8, 8, 12])) { host, random in
        host.isDurable = isDurable
        for place in host.peers.indices { Self.choose(&host.peers[place], &random) }
      }
    }
    // Beyond 64 slots their sets have a second word.
    if random.chance(perMille: 50) {
      add(hosts: 1, peers: random.within(60...80)) { host, _ in
        for place in host.peers.indices { host.peers[place].endpoints[0].peersMax = 256 }
      }
    }
    plan.faults.chunkBytesMax = max(plan.faults.chunkBytesMax, 1_400)
    plan.active = 35_000
    let adhoc = everybodyComes()
    for _ in 0..<random.within(4...16) { somebodyRefuses(at: moment(2_000, 30_000)) }
    for _ in 0..<random.within(2...8) { somebodyLeaves(at: moment(8_000, 30_000), adhoc) }
    everybodyTalks(from: 4_000, count: random.within(40...80), Self.selective)
    everybodyStreams(from: 8_000, count: random.below(3))
    everybodyOffers(from: 8_000, count: random.below(2))
    plan.faults.resets = random.pick([0, 0, 4])
    plan.faults.cuts = random.pick([0, 0, 3])
    plan.faults.crashes = random.pick([0, 0, 3])
    incidents(from: 8_000)
    if random.flip() { somebodyAnswersLate(adhoc) }
  }

  /// Most admit everybody.
  private static func choose(_ peer: inout PeerPlan, _ random: inout Random) {
    peer.endpoints[0].peersMax = 256
    switch random.below(10) {
    case 0: peer.answer = .declines
    case 1:
      peer.endpoints[0].trust = .ask(timeout: .seconds(5))
      peer.trusts = 800
    default: break
    }
  }

  /// In ad hoc mode, by invitation, or some this way and some that; a third of them late. Returns the first.
  private mutating func everybodyComes() -> Set<PeerRef> {
    var adhoc: Set<PeerRef> = []
    let adhocPerMille = random.pick([0, 500, 1_000])
    let all = refs
    for (place, ref) in all.enumerated() {
      let time = random.chance(perMille: 300) ? moment(8_000, 28_000) : moment(0, 2_500)
      if place == 0 || random.chance(perMille: adhocPerMille) {
        adhoc.insert(ref)
        at(time, .adhoc(ref, end: 0, type: 0))
        if random.chance(perMille: 100) { at(moment(8_000, 30_000), .stopAdhoc(ref, end: 0)) }
        // Some advertise themselves too, before and after.
        if random.chance(perMille: 300) { at(moment(0, 12_000), .advertise(ref, type: 0, info: 1)) }
        if random.chance(perMille: 100) { at(moment(12_000, 30_000), .stopAdvertising(ref, type: 0)) }
      } else {
        at(min(time, 2_500), .advertise(ref, type: 0, info: 0))
        at(time + 1_000, .invite(all[random.below(place)], end: 0, ref, type: 0, timeout: 8_000))
      }
      at(moment(0, 1_000), .browse(ref, type: 0))
    }
    return adhoc
  }

  private mutating func somebodyRefuses(at time: Int) {
    let ref = random.pick(refs)
    let other = another(than: ref)
    switch random.below(4) {
    case 0: at(time, .remove(ref, end: 0, other, ban: random.flip()))
    case 1:
      at(time, .lock(ref, end: 0, true))
      at(time + random.below(8_000), .lock(ref, end: 0, false))
    default:
      at(time, .block(ref, end: 0, other, true))
      if random.flip() { at(time + random.below(10_000), .block(ref, end: 0, other, false)) }
    }
  }

  /// Most come back.
  private mutating func somebodyLeaves(at time: Int, _ adhoc: Set<PeerRef>) {
    let ref = random.pick(refs)
    at(time, .leave(ref, end: 0))
    let later = time + random.pick([1, 300, 4_000])
    switch random.below(4) {
    case 0: at(later, .close(ref, end: 0))
    case 1 where adhoc.contains(ref): at(later, .adhoc(ref, end: 0, type: 0))
    default: at(later, .invite(another(than: ref), end: 0, ref, type: 0, timeout: 8_000))
    }
  }

  /// Two invite a guest. If it comes by the first, the second removes it, perhaps before it answers that one too.
  private mutating func somebodyAnswersLate(_ adhoc: Set<PeerRef>) {
    let guests = refs.filter { !adhoc.contains($0) }
    guard !guests.isEmpty else { return }
    let guest = random.pick(guests)
    let (first, second) = (another(than: guest), another(than: guest))
    let time = moment(9_000, 24_000)
    plan.hosts[guest.host].peers[guest.peer].answerDelay = 3_000
    at(time, .leave(guest, end: 0))
    for inviter in [first, second] { at(time + 500, .invite(inviter, end: 0, guest, type: 0, timeout: 8_000)) }
    at(time + 2_000, .remove(second, end: 0, guest, ban: false))
  }

  private static func selective(_ random: inout Random) -> Sending {
    var sending = mixed(&random)
    sending.bytes = min(sending.bytes, 1_400)
    sending.recipients = random.pick([0, 0, 0, 1, 2, 4, 9])
    return sending
  }
}
