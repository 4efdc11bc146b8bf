import Engine
import Wire

/// Streams and resources, and the scenarios that are about them.
extension Planner {
  mutating func everybodyStreams(
    from: Int = 5_000, count: Int, _ shape: (inout Random) -> Streaming = Planner.streaming
  ) {
    for _ in 0..<count {
      let ref = random.pick(refs)
      at(moment(from), .stream(ref, end: anEnd(of: ref), another(than: ref), shape(&random)))
    }
  }

  mutating func everybodyOffers(from: Int = 5_000, count: Int, _ shape: (inout Random) -> Offering = Planner.offering) {
    for _ in 0..<count {
      let ref = random.pick(refs)
      at(moment(from), .offer(ref, end: anEnd(of: ref), another(than: ref), shape(&random)))
    }
  }

  private mutating func anEnd(of ref: PeerRef) -> Int {
    random.below(plan.hosts[ref.host].peers[ref.peer].endpoints.count)
  }

  static func streaming(_ random: inout Random) -> Streaming {
    let bytes = random.pick([0, 1, 100, 5_000, 20_000, 100_000, 400_000])
    return Streaming(
      bytes: bytes, write: random.pick([1_000, 4_000, 30_000, 100_000]), pause: random.pick([0, 0, 0, 10, 300]),
      ending: random.pick([.closes, .closes, .closes, .closes, .cancels(.cancelled), .cancels(.busy), .staysOpen]),
      reading: random.pick([
        .atOnce, .atOnce, .atOnce, .slowly(2_000), .slowly(20_000), .pauses(after: bytes / 2, milliseconds: 8_000),
        .never, .cancels(after: max(1, bytes / 3), .busy), .closes(after: max(1, bytes / 2)),
      ]))
  }

  private static let chunk = Limits.chunkBytes

  static func offering(_ random: inout Random) -> Offering {
    var offering = Offering()
    offering.bytes = random.pick([
      0, 1, chunk - 1, chunk, chunk + 1, 3 * chunk, 100_000, 300_000, 700_000, 64 * chunk + 17,
    ])
    offering.knowsSize = random.chance(perMille: 700)
    offering.root = random.pick([.unknown, .unknown, .unknown, .known, .known, .wrong])
    offering.answer = random.pick([.accepts, .accepts, .accepts, .accepts, .accepts, .declines, .never])
    offering.answerDelay = random.pick([0, 200, 3_000])
    if random.chance(perMille: 150) {
      offering.cancel = Offering.Cancel(isSenders: random.flip(), after: random.pick([0, 5, 50, 500, 5_000]))
    }
    offering.damages = random.pick([0, 0, 0, 0, 1, 2, 9])
    if random.chance(perMille: 60) { offering.unreadableAt = UInt64(random.below(offering.bytes + 1)) }
    if random.chance(perMille: 60) { offering.unwritableAt = UInt64(random.below(offering.bytes + 1)) }
    return offering
  }

  /// A transfer that ends if nothing is in its way.
  static func large(_ random: inout Random) -> Offering {
    var offering = Offering()
    offering.bytes = random.pick([300_000, 1_000_000, 2_000_000])
    offering.knowsSize = random.chance(perMille: 800)
    offering.root = random.pick([.unknown, .known])
    return offering
  }

  mutating func bulk() {
    if random.chance(perMille: 350) { return crammed() }
    let isDurable = random.chance(perMille: 300)
    add(hosts: size(2, 4), peers: random.pick([1, 1, 2])) { host, _ in host.isDurable = isDurable }
    for host in plan.hosts.indices {
      plan.hosts[host].settings.resourceWindowBytes = random.pick([64 << 10, 256 << 10, 1 << 20])
      plan.hosts[host].settings.streamWindowBytes = random.pick([16 << 10, 64 << 10, 256 << 10])
      plan.hosts[host].settings.streamBacklogBytes = random.pick([16 << 10, 256 << 10])
      if random.chance(perMille: 100) { plan.hosts[host].settings.resourcePatience = .seconds(15) }
      for peer in plan.hosts[host].peers.indices {
        Self.limit(&plan.hosts[host].peers[peer].endpoints[0], &random)
      }
    }
    plan.faults.bandwidth = random.pick([0, 50_000, 200_000, 1_000_000])
    plan.faults.slowLinks = random.pick([0, 300])
    everybodyShows()
    everybodyJoins()
    everybodyOffers(from: 6_000, count: random.within(1...3), Self.large)
    everybodyOffers(from: 6_000, count: random.within(1...6))
    everybodyStreams(from: 6_000, count: random.within(2...8))
    if random.chance(perMille: 100) { many() }
    everybodyTalks(count: 15, Self.mixed)
    plan.faults.cuts = random.pick([0, 4, 8])
    plan.faults.cutShort = random.pick([500, 2_000])
    plan.faults.cutLong = random.pick([10_000, 30_000])
    plan.faults.resets = random.pick([0, 6, 20])
    plan.faults.deafness = random.pick([0, 0, 2])
    incidents(from: 6_500)
    plan.settling = 75_000
  }

  private static func limit(_ session: inout SessionSettings, _ random: inout Random) {
    session.resources.acceptsUnasked = random.chance(perMille: 200)
    session.resources.decisionMax = .seconds(random.pick([2, 600]))
    session.resources.bytesMax = random.pick([Limits.flowBytesMax, Limits.flowBytesMax, 500_000])
    session.resources.offersMax = random.pick([256, 256, 2])
    session.streamsMax = random.pick([64, 64, 2])
    session.rejoinMax = .seconds(random.pick([600, 600, 600, 8]))
  }

  /// More small ones at a time than may be active, or open.
  private mutating func many() {
    let ref = random.pick(refs)
    let other = another(than: ref)
    for number in 0..<40 {
      at(9_000 + number, .offer(ref, end: 0, other, Offering(bytes: 20_000, knowsSize: random.flip(), answerDelay: 50)))
      at(9_000 + number, .stream(ref, end: 0, other, Streaming(bytes: 6_000, reading: .slowly(1_000))))
      at(9_000 + number, .stream(ref, end: 0, other, Streaming(bytes: 10, reading: .atOnce)))
    }
  }

  /// Traffic is the only disturbance: two peers of one host fill a slow link to another for long, and messages still
  /// pass.
  private mutating func crammed() {
    plan.faults = Faults()
    plan.faults.latencyMax = random.pick([1, 20])
    plan.faults.jitter = random.pick([0, 5])
    plan.faults.bandwidth = random.pick([50_000, 150_000])
    plan.faults.socketBytesMax = random.pick([4_096, 16_384, 65_536])
    plan.faults.chunkBytesMax = 1_400
    plan.faults.fileDelay = random.pick([0, 5])
    add(hosts: 2, peers: 2)
    everybodyShows(within: 500)
    everybodyJoins()
    let (a, b, target) = (PeerRef(host: 0), PeerRef(host: 0, peer: 1), PeerRef(host: 1))
    let ones = random.within(1...5)
    at(5_900, .offer(b, end: 0, target, Offering(bytes: 600_000, answerDelay: 0)))
    for number in 0..<ones { at(6_000 + number, .offer(a, end: 0, target, Offering(bytes: 600_000, answerDelay: 0))) }
    for number in 0..<random.below(3) {
      at(6_500 + number, .stream(a, end: 0, target, Streaming(bytes: 300_000, write: 30_000)))
      at(6_500 + number, .stream(b, end: 0, target, Streaming(bytes: 300_000, reading: .never)))
    }
    for number in 0..<15 {
      let sending = Sending(mode: random.flip() ? .reliable : .unreliable, bytes: 200)
      at(7_000 + number * 1_500, .send(random.flip() ? a : b, end: 0, sending))
    }
    plan.settling = 20_000
    // A write comes whole or in eight pieces, of which the last brings the message.
    let pipe = plan.faults.socketBytesMax * 9 / 8 + Limits.chunkBytes + 4_096
    plan.delayMax =
      Int64(pipe) * 1_000_000_000 / Int64(plan.faults.bandwidth)
      + Int64(plan.faults.latencyMax + plan.faults.jitter + 150) * 1_000_000
  }

  /// A member that is admitted and then lies about its streams and resources.
  mutating func cheats() {
    add(hosts: size(2, 4))
    add(hosts: 1) { host, random in host.malice = Malice.drawnOfFlows(&random) }
    let evil = PeerRef(host: plan.hosts.count - 1)
    everybodyShows()
    everybodyJoins(gap: 300)
    at(500, .advertise(evil, type: 0, info: 0))
    for ref in refs where random.flip() {
      at(moment(4_000, 8_000), .invite(ref, end: 0, evil, type: 0, timeout: 5_000))
    }
    for _ in 0..<random.within(1...5) {
      at(moment(6_000, 25_000), .stream(random.pick(refs), end: 0, evil, Self.streaming(&random)))
      at(moment(6_000, 25_000), .offer(random.pick(refs), end: 0, evil, Self.offering(&random)))
    }
    everybodyStreams(count: random.within(1...3))
    everybodyOffers(count: random.within(1...3))
    everybodyTalks(count: 15, Self.mixed)
    plan.faults.resets = random.pick([0, 3])
    plan.active = 25_000
    incidents()
    plan.steps.removeAll { $0.at >= 25_000 }
  }

  mutating func crowd() {
    plan.faults.chunkBytesMax = 65_536
    add(hosts: random.within(3...6), peers: random.within(5...14)) { host, _ in
      for place in host.peers.indices { host.peers[place].endpoints[0].peersMax = 256 }
    }
    for ref in refs {
      at(moment(0, 500), .advertise(ref, type: 0, info: 0))
      if ref.peer == 0 { at(moment(0, 500), .browse(ref, type: 0)) }
    }
    everybodyJoins(from: 1_500, gap: 60)
    for _ in 0..<random.within(5...15) {
      let ref = random.pick(refs)
      let time = moment(9_000, 18_000)
      at(time, .leave(ref, end: 0))
      if random.flip() {
        at(time + random.below(4_000), .invite(another(than: ref), end: 0, ref, type: 0, timeout: 8_000))
      }
    }
    everybodyTalks(from: 7_000, count: 10, Self.chat)
    everybodyStreams(from: 7_000, count: random.within(2...8))
    everybodyOffers(from: 7_000, count: random.within(1...5))
    plan.faults.resets = random.pick([0, 6])
    plan.active = 20_000
    incidents(from: 8_000)
    plan.settling = 30_000
    plan.steps.removeAll { $0.at >= 20_000 }
  }
}
