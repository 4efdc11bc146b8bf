import Engine
import Wire

/// Admission to a session, and removal from it.
extension Planner {
  mutating func removal() {
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

  /// A member that one has removed leaves, and is invited by another.
  private mutating func comesBackToOthers(at time: Int) {
    let removed = random.pick(refs)
    let removing = another(than: removed)
    let inviting = random.pick(refs.filter { $0 != removed && $0 != removing })
    at(time, .remove(removing, end: 0, removed, ban: false))
    at(time + 1_500, .leave(removed, end: 0))
    at(time + 3_000, .invite(inviting, end: 0, removed, type: 0, timeout: 8_000))
  }

  mutating func encryption() {
    let preferences: [Encryption] = [.optional, .required, .none]
    add(hosts: size(2, 6)) { host, random in host.peers[0].endpoints[0].encryption = random.pick(preferences) }
    everybodyShows()
    everybodyJoins()
    anybodyInvites(times: 6, from: 6_000, to: 25_000, timeout: 6_000)
    everybodyTalks(count: 10, Self.chat)
  }

  mutating func trust() {
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
    anybodyInvites(times: 4, from: 10_000, to: 30_000, timeout: 8_000)
    everybodyTalks(count: 10, Self.chat)
    plan.faults.resets = random.pick([0, 3])
    incidents()
  }

  mutating func codes() {
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

  mutating func clocks() {
    add(hosts: size(2, 6))
    plan.faults.drift = random.pick([0, 50, 100])
    everybodyMeets(gap: random.pick([400, 4_000]))
    for ref in refs {
      for _ in 0..<3 { at(moment(2_000), .readClock(ref, end: 0)) }
      at(plan.active - 1, .readClock(ref, end: 0))
    }
    for _ in 0..<random.below(3) { at(moment(10_000), .leave(random.pick(refs), end: 0)) }
    everybodyOffers(from: 8_000, count: random.below(3))
    everybodyTalks(count: 5, Self.chat)
    incidents()
  }

  mutating func full() {
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
    anybodyInvites(times: 10, from: 5_000, to: 30_000, timeout: 6_000)
    for _ in 0..<3 { at(moment(10_000), .leave(random.pick(refs), end: 0)) }
    plan.faults.resets = random.pick([0, 3])
    incidents()
  }
}
