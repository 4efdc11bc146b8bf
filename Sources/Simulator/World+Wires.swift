import Engine
import Wire

/// A pipe between two hosts, with a datagram path beside it.
final class SimLink {
  let index: Int
  let medium: Int
  let exporter: Digest
  let latency: Int64
  /// Bytes each second; 0 is without limit.
  var bandwidth: Int64
  /// One of the two has moved: nothing comes through any more.
  var isStray = false
  /// The dialling host first.
  var ends: [End]
  /// Over a circuit: its number at each end, and the key that each end was shown.
  var circuits: [CircuitID?] = [nil, nil]
  var keys: [PublicKey?] = [nil, nil]
  /// The bytes of each side that a malicious relay keeps for now.
  var tampering = [Tampering(), Tampering()]

  enum Parcel {
    case bytes([UInt8])
    case end
  }

  /// A FIFO of what is in flight; shared, so that looking at an end copies none of it.
  final class Flight {
    private var parcels: [Parcel] = []
    private var gone = 0

    func append(_ parcel: Parcel) { parcels.append(parcel) }

    func removeFirst() -> Parcel? {
      guard gone < parcels.count else { return nil }
      defer {
        gone += 1
        // Moving the rest pays off from half on.
        if gone * 2 > parcels.count {
          parcels.removeFirst(gone)
          gone = 0
        }
      }
      return parcels[gone]
    }
  }

  struct End {
    var host: Int
    var run: Int
    /// Whether its host sees it as open.
    var isOpen = false
    var wasOpen = false
    /// Its host has closed it: the bytes that `fill` still gives go out, then the end.
    var isClosing = false
    var hasEnded = false
    var wants = false
    /// The datagram size reported to its host; a lost path carries nothing.
    var datagramBytesMax = 0
    /// In flight from this end, in order.
    let flight = Flight()
    /// How many of them are held back by a path that is down.
    var held = 0
    var underway = 0
    /// Set where it closes because of a frame of the other host; with its detail where that is seen.
    var blame: String?
    var freeAt: Int64 = 0
    var arrivalLast: Int64 = 0
    /// The start of an incomplete frame, so that frames can be counted.
    var rest: [UInt8] = []
  }

  var id: LinkID { LinkID(rawValue: UInt64(index + 1)) }

  init(index: Int, medium: Int, exporter: Digest, latency: Int64, bandwidth: Int64, ends: [End]) {
    self.index = index
    self.medium = medium
    self.exporter = exporter
    self.latency = latency
    self.bandwidth = bandwidth
    self.ends = ends
  }
}

extension World {
  /// The host's present addresses; every third host begins with an address where nobody answers. None is empty or long.
  func addresses(of host: SimHost) -> [Address] {
    let here = "sim:\(host.index):\(host.moves)"
    let first = !has(0, host) ? [] : host.index % 3 == 2 ? ["nowhere:\(host.index)", here] : [here]
    let others = plan.media.indices.dropFirst().filter { has($0, host) }.map {
      "\(plan.media[$0].profile.name):\(host.index):0"
    }
    return (first + others).map { try! Address(text: $0) }  // none is empty or long
  }

  private func host(at address: Address) -> (host: Int, medium: Int)? {
    let parts = address.description.split(separator: ":")
    guard parts.count == 3, let index = Int(parts[1]), hosts.indices.contains(index) else { return nil }
    if parts[0] == "sim" { return Int(parts[2]) == hosts[index].moves ? (index, 0) : nil }
    return plan.media.firstIndex { $0.profile.name == parts[0] }.map { (index, $0) }
  }

  /// Moves a host to another address; packets to the old one are lost.
  func move(_ host: SimHost, noticing: Bool) {
    host.moves += 1
    for link in links where link.medium == 0 {
      for side in 0...1 where link.ends[side].host == host.index {
        link.isStray = true
        if noticing { lose(link, side) }
      }
    }
    for other in hosts where other.index != host.index {
      model.disturbed(host.index, other.index, until: now)
      model.disturbed(other.index, host.index, until: now)
      lostWay(host.index, other.index, by: 0)
      findWays(host.index, other.index)
    }
    for place in host.published.indices {
      host.published[place].sighting?.addresses = addresses(of: host)
      if host.published[place].sighting == nil { host.published[place].rosterAddresses = addresses(of: host) }
    }
    announce(host)
    with(host.index, host.run) { host, engine in engine.setAddresses(addresses(of: host), at: host.local(now)) }
  }

  func isUp(from: Int, to: Int, by medium: Int) -> Bool {
    let place = from * hosts.count + to
    return downUntil[place] <= now && mediumDownUntil[medium][place] <= now
  }

  // MARK: Dialling

  /// All addresses race: the first of them with an answer wins, and where nobody answers, the slowest to fail ends the
  /// dial.
  func dial(_ host: SimHost, _ dial: DialID, _ target: HostID, _ addresses: [Address]) {
    guard let failure = race(host, dial, addresses) else { return }
    let relays = addresses.compactMap(relay)
    guard !relays.isEmpty else { return fail(dial, to: target, of: host, at: now + failure) }
    // Direct media have a second before the relays are tried.
    self.dial(dial, to: target, through: relays, by: host, after: relays.count < addresses.count ? 1_000_000_000 : 0)
  }

  /// Adds addresses to a race; one with an answer is decided.
  func dialAlso(_ host: SimHost, _ dial: DialID, _ addresses: [Address]) {
    guard let (target, failure) = host.dialFailures.removeValue(forKey: dial) else { return }
    guard let later = race(host, dial, addresses) else { return }
    let relays = addresses.compactMap(relay)
    if !relays.isEmpty, let target {
      return self.dial(dial, to: target, through: relays, by: host, after: 1_000_000_000)
    }
    fail(dial, to: target, of: host, at: max(failure, now + later))
  }

  private func fail(_ dial: DialID, to target: HostID? = nil, of host: SimHost, at time: Int64) {
    host.dialFailures[dial] = (target, time)
    events.push(.dialFailed(host: host.index, run: host.run, dial), at: time)
  }

  /// Connects to the first that answers; if nobody does, returns how long that takes to be known.
  private func race(_ host: SimHost, _ dial: DialID, _ addresses: [Address]) -> Int64? {
    var fails: Int64 = 1_000_000
    // A medium has a second before the next one is tried.
    var late: Int64 = 0
    var tried: Int?
    for address in addresses where relay(at: address) == nil {
      guard let (target, medium) = self.host(at: address) else {
        // An old address, or none that ever was: nobody is there to refuse.
        fails = Int64(faults.dialTimeout) * 1_000_000
        continue
      }
      guard target != host.index else { continue }
      if let tried, tried != medium { late += 1_000_000_000 }
      tried = medium
      let canReach =
        has(medium, host) && has(medium, hosts[target]) && isUp(from: host.index, to: target, by: medium)
        && isUp(from: target, to: host.index, by: medium)
      if canReach, hosts[target].isUp || hosts[target].isMalicious, !wires.chance(perMille: faults.dialFailure) {
        transcript.add(now, host.index) { "dials h\(target)\(words(of: medium))" }
        connect(host.index, target, dial, by: medium, after: late)
        return nil
      }
      fails = max(fails, canReach ? 2_000_000 : Int64(faults.dialTimeout) * 1_000_000)
    }
    return fails
  }

  func connect(_ from: Int, _ to: Int, _ dial: DialID?, by medium: Int = 0, after late: Int64 = 0) {
    let own = plan.media.isEmpty ? nil : plan.media[medium]
    let drawn =
      Int64(wires.within(faults.latencyMin...max(faults.latencyMin, faults.latencyMax))) * 1_000_000 + 20_000
    let slow = wires.chance(perMille: faults.slowLinks) ? faults.slowBandwidth : faults.bandwidth
    let latency = own.map { Int64($0.latency) * 1_000_000 + 20_000 } ?? drawn
    let link = SimLink(
      index: links.count, medium: medium,
      exporter: Digest(Bytes32(wires.next(), wires.next(), wires.next(), wires.next())),
      latency: latency, bandwidth: Int64(own?.bandwidth ?? slow),
      ends: [SimLink.End(host: from, run: hosts[from].run), SimLink.End(host: to, run: hosts[to].run)])
    links.append(link)
    // The accepting side is done half a round trip after the dialling one, or a little before.
    let done = now + late + 3 * latency
    let accepted = wires.flip() ? done + latency : done - latency / 2
    events.push(.opened(link: link.index, side: 0, dial), at: done)
    events.push(.opened(link: link.index, side: 1, nil), at: accepted)
    for side in 0...1 { link.ends[side].arrivalLast = side == 0 ? accepted : done }
  }

  func open(_ link: SimLink, _ side: Int, _ dial: DialID?) {
    let end = link.ends[side]
    let other = link.ends[1 - side]
    let host = hosts[end.host]
    guard host.run == end.run, host.isUp || host.isMalicious else { return }
    guard !end.hasEnded else {
      // It broke before this side was done: every dial is answered.
      if let dial { fail(dial, of: host, at: now) }
      return
    }
    guard !link.isStray, isUp(from: other.host, to: end.host, by: link.medium) else {
      // The last flight of the handshake is lost: this side gives up.
      if let dial { fail(dial, of: host, at: now + Int64(faults.dialTimeout) * 1_000_000) }
      return
    }
    if dial == nil, other.hasEnded || link.ends[1 - side].isClosing && !other.isOpen { return }
    link.ends[side].isOpen = true
    link.ends[side].wasOpen = true
    tally.links += dial == nil ? 0 : 1
    if host.isMalicious { return maliciousOpened(host, link, side) }
    if faults.datagramProof == 0 { link.ends[side].datagramBytesMax = datagramBytesMax(of: link) }
    with(end.host, end.run) { host, engine in
      engine.linkOpened(
        link.id, to: hosts[other.host].key, exporter: link.exporter, dial: dial,
        datagramBytesMax: link.ends[side].datagramBytesMax, medium: MediumID(rawValue: link.medium),
        at: host.local(now))
    }
    planDatagramWay(of: link, side)
  }

  // MARK: Bytes

  func place(of host: SimHost, _ id: LinkID) -> (SimLink, Int)? {
    let index = Int(id.rawValue) - 1
    guard links.indices.contains(index) else { return nil }
    let link = links[index]
    for side in 0...1 where link.ends[side].host == host.index && link.ends[side].run == host.run {
      return (link, side)
    }
    return nil
  }

  func wantsToSend(_ host: SimHost, _ id: LinkID) {
    guard let (link, side) = place(of: host, id), link.ends[side].isOpen else { return }
    link.ends[side].wants = true
    if !host.pumps.contains(link.index) { host.pumps.append(link.index) }
  }

  func pump(_ link: SimLink, _ host: SimHost, _ engine: Engine) {
    guard let (_, side) = place(of: host, link.id), link.ends[side].isOpen || link.ends[side].isClosing else { return }
    if link.medium == relayMedium { return pumpCircuit(link, side, host, engine) }
    let most = plan.media.isEmpty ? faults.socketBytesMax : plan.media[link.medium].socketBytesMax
    while link.ends[side].wants {
      let room = min(most - link.ends[side].underway, scratch.count)
      guard room * 4 >= most else { return }
      let bytes = filled(by: engine, for: link, host, room: room)
      guard !bytes.isEmpty else {
        link.ends[side].wants = false
        break
      }
      if link.ends[side].blame != nil, let bye = Self.byes(in: bytes).last {
        link.ends[side].blame = "(\(bye.reason)): \(bye.detail)"
      }
      transmit(tampered(bytes, link, side, host), link, side)
    }
    guard link.ends[side].isClosing else { return }
    sendEnd(link, side)
    blame(link, side, host)
  }

  /// The bytes that a link may send now.
  func filled(by engine: Engine, for link: SimLink, _ host: SimHost, room: Int = 16_384) -> [UInt8] {
    let memory = UnsafeMutableRawBufferPointer(rebasing: scratch[..<room])
    var out = OutputRawSpan(buffer: memory, initializedCount: 0)
    engine.fill(&out, for: link.id, at: host.local(now))
    return Array(UnsafeRawBufferPointer(rebasing: memory[..<out.finalize(for: memory)]))
  }

  /// An honest host that closes its link to another honest one because of a frame shows a fault of the two.
  func blame(_ link: SimLink, _ side: Int, _ host: SimHost) {
    if let blame = link.ends[side].blame {
      model.violate(.honestSpeakWell, "\(host.label) closes its link to h\(link.ends[1 - side].host) \(blame)")
    }
  }

  /// Sends bytes from one side, cut anywhere.
  func transmit(_ bytes: [UInt8], _ link: SimLink, _ side: Int) {
    link.ends[side].underway += bytes.count
    tally.bytes += bytes.count
    // A large write is cut in few places, else a run would be nothing but pieces; on a slow link in as many as it takes
    // for one to come every quarter of a second, as packets would.
    let inTime = link.bandwidth > 0 ? max(1, Int(link.bandwidth / 4)) : .max
    let pieceMax = min(max(faults.chunkBytesMax, bytes.count / 8), inTime)
    var start = 0
    while start < bytes.count {
      let left = bytes.count - start
      let size = left <= pieceMax && faults.chunkBytesMax >= 65_536 ? left : 1 + wires.below(min(left, pieceMax))
      let piece = size == bytes.count ? bytes : Array(bytes[start..<(start + size)])
      send(.bytes(piece), link, side, at: arrival(of: size, link, side))
      start += size
    }
  }

  private func arrival(of size: Int, _ link: SimLink, _ side: Int) -> Int64 {
    let gone = max(now, link.ends[side].freeAt)
    link.ends[side].freeAt = link.bandwidth > 0 ? gone + Int64(size) * 1_000_000_000 / link.bandwidth : gone
    let jitter = Int64(wires.below(faults.jitter * 1_000 + 1)) * 1_000
    let again = isLost(on: link) ? Self.resendingTime : 0
    let time = max(link.ends[side].freeAt + link.latency + jitter + again, link.ends[side].arrivalLast)
    link.ends[side].arrivalLast = time
    return time
  }

  /// The time after which TCP sends again what was lost, at the soonest.
  private static let resendingTime: Int64 = 200_000_000

  /// Whether the medium loses a packet of the link.
  func isLost(on link: SimLink) -> Bool {
    guard !isHealed, plan.media.indices.contains(link.medium), plan.media[link.medium].loss > 0 else { return false }
    return wires.chance(perMille: plan.media[link.medium].loss)
  }

  private func sendEnd(_ link: SimLink, _ side: Int) {
    guard !link.ends[side].hasEnded else { return }
    link.ends[side].hasEnded = true
    link.ends[side].isOpen = false
    send(.end, link, side, at: arrival(of: 1, link, side))
  }

  func send(_ parcel: SimLink.Parcel, _ link: SimLink, _ side: Int, at time: Int64) {
    link.ends[side].flight.append(parcel)
    events.push(.arrival(link: link.index, side: 1 - side), at: time)
  }

  /// A pipe holds bytes while its path is down, and delivers them when the path is back.
  func arrive(_ link: SimLink, _ side: Int) {
    let sender = link.ends[1 - side]
    guard !link.isStray else { return }
    guard sender.held == 0, isUp(from: sender.host, to: link.ends[side].host, by: link.medium) else {
      link.ends[1 - side].held += 1
      return
    }
    take(from: link, side)
  }

  /// A retransmission: held bytes arrive, unless the path is down once more.
  func arriveHeld(_ link: SimLink, _ side: Int) {
    let sender = link.ends[1 - side]
    guard !link.isStray, isUp(from: sender.host, to: link.ends[side].host, by: link.medium) else { return }
    link.ends[1 - side].held = 0
    for _ in 0..<sender.held { take(from: link, side) }
  }

  private func take(from link: SimLink, _ side: Int) {
    switch link.ends[1 - side].flight.removeFirst() {
    case .bytes(let bytes): arrive(bytes, link, side)
    case .end: lose(link, side)
    case nil: break
    }
  }

  private func arrive(_ bytes: [UInt8], _ link: SimLink, _ side: Int) {
    let end = link.ends[side]
    link.ends[1 - side].underway -= bytes.count
    if end.isOpen, hosts[end.host].isMalicious {
      maliciousReceived(bytes, hosts[end.host], link, side)
    } else if end.isOpen {
      with(end.host, end.run) { host, engine in take(bytes, host, engine, link, side) }
    }
    let sender = link.ends[1 - side]
    guard sender.wants, sender.isOpen || sender.isClosing, !hosts[sender.host].isMalicious else { return }
    with(sender.host, sender.run) { host, _ in host.pumps.append(link.index) }
  }

  private func take(_ bytes: [UInt8], _ host: SimHost, _ engine: Engine, _ link: SimLink, _ side: Int) {
    countFrames(in: bytes, link, side)
    engine.received(bytes.span.bytes, on: link.id, at: host.local(now))
  }

  static func byes(in bytes: [UInt8]) -> [Bye] {
    var byes: [Bye] = []
    var offset = 0
    let span = bytes.span.bytes
    while offset < bytes.count, let head = try? FrameHead.next(in: span.extracting(offset..<bytes.count)) {
      let body = (offset + head.body.lowerBound)..<(offset + head.body.upperBound)
      if head.type == .bye, let bye = try? Bye(decoding: span.extracting(body)) { byes.append(bye) }
      offset += head.end
    }
    return byes
  }

  private func countFrames(in bytes: [UInt8], _ link: SimLink, _ side: Int) {
    let whole = link.ends[side].rest + bytes
    var offset = 0
    do {
      while let head = try FrameHead.next(in: whole.span.bytes.extracting(droppingFirst: offset)) {
        offset += head.end
        tally.frames += 1
      }
      link.ends[side].rest = Array(whole[offset...])
    } catch {
      // A malicious host's bytes may be no frame at all.
      link.ends[side].rest = []
    }
  }

  /// Reports to one side that the link is gone.
  func lose(_ link: SimLink, _ side: Int) {
    let end = link.ends[side]
    link.ends[side].hasEnded = true
    guard end.isOpen else { return }
    link.ends[side].isOpen = false
    link.ends[side].rest = []
    if hosts[end.host].isMalicious { return }
    with(end.host, end.run) { host, engine in
      transcript.add(now, host.index) { "link to h\(link.ends[1 - side].host)\(words(of: link.medium)) is gone" }
      dropCircuit(of: link, side, host, engine)
      engine.linkClosed(link.id, at: host.local(now))
    }
  }

  func closeLink(_ host: SimHost, _ id: LinkID, _ reason: Reason) {
    guard let (link, side) = place(of: host, id), link.ends[side].isOpen else { return }
    let other = hosts[link.ends[1 - side].host]
    transcript.add(now, host.index) { "closes its link to \(other.label)\(words(of: link.medium)) (\(reason))" }
    if [.protocolViolation, .version, .mismatch].contains(reason), !host.isMalicious, !other.isMalicious,
      host.plan.relayMalice.isEmpty, other.plan.relayMalice.isEmpty
    {
      link.ends[side].blame = "(\(reason))"
    }
    link.ends[side].isOpen = false
    link.ends[side].isClosing = true
    link.ends[side].wants = true
    link.ends[side].rest = []
    if !host.pumps.contains(link.index) { host.pumps.append(link.index) }
  }
}
