import Engine
import Wire

/// A world of hosts under one virtual clock. Everything that happens in it follows from its plan.
final class World {
  enum Event {
    case start(host: Int)
    case wake(host: Int, at: Int64)
    case step(Int)
    /// The next parcel in flight to this side of a link arrives.
    case arrival(link: Int, side: Int)
    case heldArrival(link: Int, side: Int)
    case opened(link: Int, side: Int, DialID?)
    case dialFailed(host: Int, run: Int, DialID)
    case circuitDial(host: Int, run: Int, DialID, HostID, [HostID])
    case handshakeTimeout(host: Int, run: Int, CircuitID)
    case datagram(link: Int, side: Int, bytes: [UInt8])
    case datagramWay(link: Int, side: Int, bytesMax: Int)
    case discovery(viewer: Int, publisher: Int)
    case probe(host: Int, run: Int, SightingID)
    case probed(host: Int, run: Int, SightingID)
    case written(host: Int, run: Int, batch: UInt64)
    case gathered(host: Int, run: Int)
    case program(host: Int, run: Int, Reaction)
    case restart(host: Int, Return)
    case pathUp(from: Int, to: Int)
    case turnedOn(host: Int, run: Int)
    case check(Check)
    case malice(host: Int)
    case heal
  }

  let plan: Plan
  var faults: Faults
  /// Random streams by concern, so that one step less changes little elsewhere.
  var wires: Random
  var programs: Random
  var disks: Random
  let ring = KeyRing()
  var hosts: [SimHost] = []
  var events = EventQueue<Event>()
  var now: Int64 = 0
  var links: [SimLink] = []
  /// Until when the path from one host to another is down, by `from * hosts.count + to`.
  var downUntil: [Int64]
  var hiddenUntil: [Int64]
  /// The same for each medium alone.
  var mediumDownUntil: [[Int64]]
  /// Since when a medium has led from one host to the other and back, by `from * hosts.count + to`; never: not now.
  var waySince: [[Int64]]
  let model: Model
  var transcript: Transcript
  var tally = Tally()
  var isHealed = false
  var hostsByID: [HostID: Int] = [:]
  let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

  init(_ plan: Plan, recording: Bool = false) {
    self.plan = plan
    faults = plan.faults
    wires = Random(seed: plan.seed, stream: 1)
    programs = Random(seed: plan.seed, stream: 2)
    disks = Random(seed: plan.seed, stream: 3)
    let count = plan.hosts.count
    downUntil = Array(repeating: 0, count: count * count)
    hiddenUntil = downUntil
    mediumDownUntil = Array(repeating: downUntil, count: max(1, plan.media.count))
    waySince = mediumDownUntil
    model = Model(plan: plan)
    transcript = Transcript(isRecording: recording)
    build()
  }

  deinit { scratch.deallocate() }

  private func build() {
    for (index, hostPlan) in plan.hosts.enumerated() {
      // A stream for each host: where the shrinker leaves one out, the others keep their keys.
      var random = Random(seed: plan.seed, stream: UInt64(100_000 + index))
      let crypto = ToyCrypto(ring: ring)
      let key = hostPlan.twinOf.map { hosts[$0].key } ?? ring.makeKey(&random)
      let host = SimHost(
        index: index, plan: hostPlan, key: key, crypto: crypto,
        origin: 1_000_000_000 * 1_000 + Int64(random.below(faults.skew + 1)) * 1_000_000,
        drift: Int64(random.below(2 * faults.drift + 1) - faults.drift), hosts: plan.hosts.count)
      for (place, peerPlan) in hostPlan.peers.enumerated() {
        let ref = PeerRef(host: index, peer: place)
        let key = ring.makeKey(&random)
        crypto.own(key)
        let id = PeerID(digest: crypto.hash(PeerID.preimage(of: key)))
        // A number or two make a name of legal length.
        let peer = SimPeer(ref: ref, plan: peerPlan, key: key, id: id, name: try! DisplayName(ref.description))
        if peerPlan.showsIdentity {
          let certificate = ring.makeIdentity(&random)
          let identity = IdentityID(rawValue: UInt64(place + 1))
          crypto.own(identity, certificate)
          peer.identity = SecurityIdentity(id: identity, chain: [certificate])
        }
        host.peers.append(peer)
        model.know(peer, of: host)
      }
      hosts.append(host)
      if hostPlan.twinOf == nil { hostsByID[host.id] = index }
      events.push(.start(host: index), at: Int64(hostPlan.start) * 1_000_000)
    }
    for (number, step) in plan.steps.enumerated() {
      events.push(.step(number), at: Int64(step.at) * 1_000_000 + 1)
    }
    events.push(.heal, at: Int64(plan.active) * 1_000_000)
    events.push(.check(.pulse), at: 1_000_000_000)
  }

  // MARK: Running

  /// Runs the plan to its end, or to the first violation.
  func run() -> Outcome {
    let end = Int64(plan.active + plan.settling) * 1_000_000
    while model.violation == nil, let (time, event) = events.pop() {
      if time > end { break }
      now = time
      model.now = now
      handle(event)
    }
    if model.violation == nil {
      now = end
      model.now = now
      model.finish(self)
    }
    tally.milliseconds = Int(now / 1_000_000)
    return Outcome(
      seed: plan.seed, scenario: plan.scenario, violation: model.violation, tally: tally,
      digest: transcript.digest, transcript: transcript.lines)
  }

  private func handle(_ event: Event) {
    switch event {
    case .start(let host): start(hosts[host], from: .fresh)
    case .wake(let index, let at): wake(hosts[index], at)
    case .step(let number): perform(plan.steps[number].act)
    case .arrival(let link, let side): arrive(links[link], side)
    case .heldArrival(let link, let side): arriveHeld(links[link], side)
    case .opened(let link, let side, let dial): open(links[link], side, dial)
    case .dialFailed(let host, let run, let dial):
      with(host, run) { host, engine in
        guard let (target, time) = host.dialFailures[dial], time == now else { return }
        host.dialFailures[dial] = nil
        transcript.add(now, host.index) { "gets no answer from \(target.map(label) ?? "the address")" }
        engine.dialFailed(dial, at: host.local(now))
      }
    case .circuitDial(let host, let run, let dial, let target, let relays):
      with(host, run) { host, engine in openCircuit(dial, to: target, through: relays, host, engine) }
    case .handshakeTimeout(let host, let run, let id):
      with(host, run) { host, engine in handshakeTimesOut(id, host, engine) }
    case .datagram(let link, let side, let bytes): arriveDatagram(bytes, links[link], side)
    case .datagramWay(let link, let side, let bytesMax): datagramWay(links[link], side, bytesMax: bytesMax)
    case .discovery(let viewer, let publisher): discover(viewer: hosts[viewer], publisher: hosts[publisher])
    case .probe(let host, let run, let id): probeArrives(from: host, run, id)
    case .probed(let host, let run, let id):
      with(host, run) { host, engine in engine.probeAnswered(id, at: host.local(now)) }
    case .written(let host, let run, let batch): written(host, run, batch)
    case .gathered(let host, let run): gathered(host, run)
    case .program(let host, let run, let reaction):
      with(host, run) { host, engine in react(reaction, host, engine) }
    case .restart(let host, let from): start(hosts[host], from: from)
    case .pathUp(let from, let to): pathIsUp(from: from, to: to)
    case .turnedOn(let host, let run): turnedOn(hosts[host], run)
    case .check(let check): perform(check)
    case .malice(let host): act(maliciously: hosts[host])
    case .heal: heal()
    }
  }

  /// One mutation of a running engine, and all its effects.
  func with(_ index: Int, _ run: Int, _ body: (SimHost, Engine) -> Void) {
    let host = hosts[index]
    guard host.run == run, let engine = host.engine else { return }
    body(host, engine)
    settle(host)
  }

  /// Drains an engine: its outputs, its bytes to send, then its next deadline.
  func settle(_ host: SimHost) {
    guard let engine = host.engine else { return }
    drain(host, engine)
    while host.engine != nil {
      if !host.circuitEvents.isEmpty {
        handle(host.circuitEvents.removeFirst(), host, engine)
      } else if !host.pumps.isEmpty {
        pump(links[host.pumps.removeFirst()], host, engine)
      } else {
        break
      }
      drain(host, engine)
    }
    guard host.engine != nil, let deadline = engine.nextDeadline else { return }
    let at = max(host.world(deadline), now)
    if at < host.wakeAt {
      host.wakeAt = at
      if at < .max { events.push(.wake(host: host.index, at: at), at: at) }
    }
  }

  func drain(_ host: SimHost, _ engine: Engine) {
    while let output = engine.nextOutput() {
      tally.outputs += 1
      handle(output, host, engine)
    }
  }

  private func wake(_ host: SimHost, _ at: Int64) {
    guard let engine = host.engine, host.wakeAt == at else { return }
    host.wakeAt = .max
    let second = now / 1_000_000_000
    if second != host.second {
      host.second = second
      host.wakesThisSecond = 0
    }
    host.wakesThisSecond += 1
    model.woke(host, times: host.wakesThisSecond)
    engine.advance(to: host.local(now))
    settle(host)
    if let deadline = engine.nextDeadline, deadline <= host.local(now) {
      host.stuck += 1
      model.check(.timeMovesOn, host.stuck < 50) { "\(host.label) asks for a deadline that has passed" }
    } else {
      host.stuck = 0
    }
  }

  // MARK: Hosts

  func start(_ host: SimHost, from: Return) {
    if host.isMalicious { return startMalice(host) }
    guard !host.isUp, !host.peers.isEmpty else { return }
    host.run += 1
    host.dialFailures = [:]
    switch from {
    case .fresh: host.disk = [:]
    case .stored: break
    case .backup: host.disk = host.backup ?? host.disk
    }
    if !host.plan.isDurable { host.disk = [:] }
    var settings = host.plan.settings
    if !plan.media.isEmpty { settings.media = plan.media.map(\.profile) }
    if relayMedium != nil, host.plan.media.count > 1 { settings.relay = settings.relay ?? RelayRules() }
    settings.addresses = addresses(of: host)
    settings.isDurable = host.plan.isDurable
    var random = Random(seed: plan.seed, stream: UInt64(1_000 + host.index * 100 + host.run))
    // A twin comes up later with the same key, so its incarnations lie above.
    let incarnation = Incarnation(UInt64((host.plan.twinOf == nil ? 0 : 1_000) + host.run))
    let engine = Engine(
      host: host.key, incarnation: incarnation, settings: settings, crypto: host.crypto,
      seed: Digest(Bytes32(random.next(), random.next(), random.next(), random.next())),
      restoring: host.storedFacts, at: host.local(now))
    engine.sabotage = plan.sabotage
    host.engine = engine
    host.wakeAt = .max
    transcript.add(now, host.index) { "comes up, incarnation \(incarnation.rawValue), \(host.disk.count) facts" }
    model.cameUp(host, from: from)
    for other in hosts where other.index != host.index { refresh(viewer: other.index, publisher: host.index) }
    // The engine waits for its stored sessions until all their peers are there.
    for peer in host.peers { add(peer, host, engine) }
    for peer in host.peers { join(peer, host, engine) }
    settle(host)
  }

  func stop(_ host: SimHost) {
    guard host.isUp else { return }
    transcript.add(now, host.index) { "crashes" }
    host.engine = nil
    host.pumps = []
    host.channels = [:]
    host.circuitEvents = []
    host.unwritten = []
    host.published = []
    host.looksFor = []
    host.sightings = Array(repeating: [], count: hosts.count)
    host.sightingOwners = [:]
    host.offUntil = [:]
    host.writing = [:]
    host.reading = [:]
    host.sources = [:]
    // The engine reports resumed ones again.
    host.files = [:]
    for peer in host.peers {
      peer.isThere = false
      peer.made = []
    }
    model.wentDown(host)
    hostDied(host)
  }

  private func heal() {
    isHealed = true
    faults.jitter = 0
    faults.dialFailure = 0
    faults.datagramLoss = 0
    faults.datagramTwice = 0
    faults.datagramLate = 0
    faults.datagramProof = 0
    faults.datagramEnds = 0
    faults.probeLoss = 0
    faults.bandwidth = 0
    faults.slowLinks = 0
    faults.socketBytesMax = 65_536
    if plan.media.isEmpty { for link in links { link.bandwidth = 0 } }
    healMedia()
    for index in downUntil.indices {
      if downUntil[index] > now { events.push(.pathUp(from: index / hosts.count, to: index % hosts.count), at: now) }
      downUntil[index] = now
      hiddenUntil[index] = now
    }
    for host in hosts {
      if !host.isUp { start(host, from: .stored) }
      for other in hosts where other.index != host.index { refresh(viewer: other.index, publisher: host.index) }
    }
    healReaders()
    transcript.add(now, nil) { "the world heals" }
    model.healed(self)
  }

  // MARK: Disk

  private func written(_ index: Int, _ run: Int, _ batch: UInt64) {
    with(index, run) { host, engine in
      guard let first = host.unwritten.first, first.batch == batch else { return }
      host.unwritten.removeFirst()
      for fact in first.facts { host.disk[fact.key] = fact.value }
      model.stored(host, batch)
      if disks.below(2) == 0 {
        engine.holdStore()
        events.push(.gathered(host: index, run: run), at: now + diskTime())
      }
      engine.persisted(batch, at: host.local(now))
    }
  }

  /// Changes since the last batch was written are the next one.
  private func gathered(_ index: Int, _ run: Int) {
    with(index, run) { host, engine in engine.releaseStore(at: host.local(now)) }
  }

  private func diskTime() -> Int64 { Int64(disks.below(faults.diskDelay + 1)) * 1_000_000 + 10_000 }

  private func store(_ host: SimHost, _ batch: UInt64, _ facts: [Fact]) {
    host.unwritten.append((batch, facts))
    let latest = host.diskFreeAt
    let time = max(latest, now) + diskTime()
    host.diskFreeAt = time
    events.push(.written(host: host.index, run: host.run, batch: batch), at: time)
  }

  // MARK: Outputs

  /// Adds an output to the transcript; of a crowd's pairs and of progress only some.
  private func note(_ output: Output, _ host: SimHost) {
    let isCrowd = host.peers.count > 4
    switch output {
    case .found where isCrowd: transcript.count(now, host.index, 1, "found")
    case .lost where isCrowd: transcript.count(now, host.index, 1, "lost")
    case .members(let views, let state, let locals) where isCrowd:
      transcript.count(now, host.index, views.count * locals.count, Model.words(state))
    case .progress(let id, _) where !model.takeMilestone(of: id, at: host): break
    default: transcript.add(now, host.index) { model.describe(output, at: host) }
    }
  }

  private func handle(_ output: Output, _ host: SimHost, _ engine: Engine) {
    transcript.mark(now, host.index, output)
    switch output {
    case .publish(let peer, let type, let name, let info): publish(host, peer, type, name, info)
    case .withdraw(let peer, let type): withdraw(host, peer, type)
    case .publishRoster(let type): publishRoster(host, type)
    case .withdrawRoster(let type): withdraw(host, nil, type)
    case .browse(let type): look(host, type)
    case .stopBrowsing(let type): host.looksFor.removeAll { $0 == type }
    case .probe(let id): probe(host, id)
    case .publishRelay(let medium): publishRelay(host, medium.rawValue)
    case .withdrawRelay(let medium): withdrawRelay(host, medium.rawValue)
    case .circuitOpened(let id, let isDialed): host.circuitEvents.append(.opened(id, isDialed))
    case .circuitBytes(let id, let bytes): host.circuitEvents.append(.bytes(id, bytes.bytes))
    case .circuitWritable(let id): host.circuitEvents.append(.writable(id))
    case .circuitEnded(let id, let reason): host.circuitEvents.append(.ended(id, reason))
    case .dial(let dial, let target, let addresses): self.dial(host, dial, target, addresses)
    case .dialAlso(let dial, let addresses): dialAlso(host, dial, addresses)
    case .wantsToSend(let link): wantsToSend(host, link)
    case .datagram(let link, let bytes): sendDatagram(host, link, bytes.bytes)
    case .close(let link, let reason): closeLink(host, link, reason)
    case .persist(let batch, let facts):
      tally.batches += 1
      model.persists(host, batch)
      store(host, batch, facts)
    case .types:
      // No program here browses for them.
      break
    case .mediumChanged(let other, let medium, _): changed(medium, to: other, host)
    case .found, .updated, .lost, .invitation, .invitationEnded, .inviteeNotConnected, .members, .suspended, .away,
      .deliveryStatus, .clockStepped,
      .writable, .decision, .decisionEnded, .comparison, .comparisonEnded, .conflict, .streamOpened, .streamWritable,
      .streamEnded, .resource,
      .progress, .resourceEnded:
      model.observe(output, at: host, self)
      note(output, host)
      program(output, host)
    case .streamed, .read, .rehash, .store, .keep:
      model.observe(output, at: host, self)
      program(output, host)
    case .message(let from, let to, let mode, let contentType, let bytes):
      tally.messages += 1
      let payload = bytes.bytes
      transcript.add(now, host.index) { model.describe(message: payload, from: from, to: to, mode) }
      model.received(payload, contentType, from: from, to: to.all, mode, at: host)
    }
  }
}
