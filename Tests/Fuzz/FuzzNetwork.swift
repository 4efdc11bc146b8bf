import Engine
import Wire

/// The engine under test with its owner's choices, an honest host on one link and the hostile one on the others.
final class FuzzNetwork {
  private(set) var engine: Engine
  let honest: Engine
  /// Speaks for the hostile host while the scene is set.
  var tame: Engine?
  /// The owner's and the honest program's actions with streams and resources.
  let program: FlowProgram
  let honestProgram: FlowProgram
  private(set) var now = Instant(nanoseconds: 1_000_000_000)
  let scene: StartingState
  let crypto = FuzzCrypto()
  let type: ServiceType
  let otherType: ServiceType

  // Counters of the checks.
  private(set) var outputCount = 0
  private(set) var bytesGiven = 0
  private(set) var bytesTaken = 0
  private var closed: Set<LinkID> = []
  /// Whether nothing has happened that may end the session with the honest host: no lost time, no restart, no full disk.
  private var isWatched = true
  private var honestHeard = 0

  // The hostile host's.
  var attacker: AttackerState
  var links: [HostileLink] = []
  /// The hostile link that frames go to.
  var chosen = 0
  var dials: [DialID] = []
  private var lastLink: UInt64 = 2
  private(set) var honestLink = LinkID(rawValue: 1)
  /// Whether what the engine and the honest host say to each other stays where it is.
  private var isHeld = false

  // The owner's.
  var peers: [PeerID] = []
  var endpoints: [EndpointID] = []
  var shared: EndpointID?
  var guarded: EndpointID?
  private var invitations: [InvitationID] = []
  private var decisions: [DecisionID] = []
  private var comparisons: [ComparisonID] = []
  private var facts: [[UInt8]: [UInt8]] = [:]
  private var batches: [(UInt64, [Fact])] = []
  private var incarnation: UInt64 = 1
  /// Whether the engine was ever given other facts than it had stored.
  private var isDamaged = false
  /// Whether the disk does not answer.
  var stalls = false { didSet { if stalls { isWatched = false } } }

  var accepts: [PeerID: EndpointID] = [:]
  var honestAccepts: EndpointID?
  private var isSet = false

  struct HostileLink {
    var id: LinkID
    var exporter: Digest
  }

  init(_ scene: StartingState) {
    self.scene = scene
    type = AttackerState.serviceType("chat")
    otherType = AttackerState.serviceType("other")
    attacker = AttackerState(crypto)
    var settings = Settings()
    settings.isDurable = scene.isDurable
    settings.backlogBytesMax = 16 << 10
    settings.backlogCountMax = 64
    settings.addresses = [AttackerState.address("victim")]
    // Small, so that inputs fill them.
    settings.streamWindowBytes = Limits.chunkBytes
    settings.streamBacklogBytes = 2 * Limits.chunkBytes
    settings.resourceWindowBytes = 4 * Limits.chunkBytes
    program = FlowProgram(settings, crypto)
    program.isPrompt = scene.isPrompt
    var other = Settings()
    other.resourceWindowBytes = settings.resourceWindowBytes
    honestProgram = FlowProgram(other, crypto)
    honestProgram.isPrompt = true
    engine = Engine(
      host: crypto.key("host victim"), incarnation: Incarnation(1), settings: settings, crypto: crypto,
      seed: crypto.hash([1]), at: now)
    honest = Engine(
      host: crypto.key("host honest"), incarnation: Incarnation(1), settings: other, crypto: crypto,
      seed: crypto.hash([2]), at: now)
    set()
    isSet = true
    tame = nil
    outputCount = 0
    bytesTaken = 0
    bytesGiven = 0
  }

  // MARK: Steps of the input

  func give(_ bytes: [UInt8]) {
    guard !links.isEmpty else { return }
    let number = chosen % links.count
    bytesGiven += bytes.count
    engine.received(bytes.span.bytes, on: links[number].id, at: now)
  }

  func giveDatagram(_ bytes: [UInt8]) {
    guard !links.isEmpty else { return }
    bytesGiven += bytes.count
    engine.receivedDatagram(bytes.span.bytes, on: links[chosen % links.count].id, at: now)
  }

  /// The honest host's link is cut in the middle, with what was under way, and comes again at once.
  func relinkHonest(losing pieces: Int) {
    isHeld = true
    program.resumeCalmly(engine, at: now)
    honestProgram.resumeCalmly(honest, at: now)
    drain()
    for number in 0..<pieces {
      let piece = Self.piece(of: number % 2 == 0 ? engine : honest, honestLink, now).dropLast(number)
      if number == 0 {
        honest.received(Array(piece).span.bytes, on: honestLink, at: now)
      } else if number == 1 {
        engine.received(Array(piece).span.bytes, on: honestLink, at: now)
      }
    }
    settle()
    engine.linkClosed(honestLink, at: now)
    honest.linkClosed(honestLink, at: now)
    settle()
    isHeld = false
    lastLink += 1
    honestLink = LinkID(rawValue: lastLink)
    let exporter = crypto.hash(Array("honest link \(lastLink)".utf8))
    engine.linkOpened(
      honestLink, to: crypto.key("host honest"), exporter: exporter, dial: nil, datagramBytesMax: 1_200, at: now)
    honest.linkOpened(
      honestLink, to: crypto.key("host victim"), exporter: exporter, dial: DialID(rawValue: 1),
      datagramBytesMax: 1_200, at: now)
    settle()
  }

  func openHostileLink(greets: Bool, _ source: inout Source) {
    lastLink += 1
    let key = source.pick([crypto.key("host hostile"), crypto.key("host other"), crypto.key("host victim")])
    let link = HostileLink(id: LinkID(rawValue: lastLink), exporter: crypto.hash(Array("link \(lastLink)".utf8)))
    links.append(link)
    chosen = links.count - 1
    engine.linkOpened(
      link.id, to: key, exporter: link.exporter, dial: source.flag ? dials.popLast() : nil,
      datagramBytesMax: source.flag ? 1_200 : 0, at: now)
    settle()
    if greets { give(attacker.hello().encoded()) }
    settle()
    if greets { give(attacker.attach().encoded()) }
  }

  func closeHostileLink(_ number: Int) {
    guard !links.isEmpty else { return }
    engine.linkClosed(links.remove(at: number % links.count).id, at: now)
  }

  /// Time goes on as it does for a host that is awake: nothing is late.
  func advance(_ milliseconds: Int) {
    let end = now + .milliseconds(milliseconds)
    var rounds = 0
    settle()
    while let due = ([engine, honest] + [tame].compactMap { $0 }).compactMap(\.nextDeadline).min(), due <= end {
      rounds += 1
      precondition(rounds < 4_000, "deadline after deadline, and time stands still")
      now = max(now, due)
      tick()
    }
    now = end
    tick()
  }

  /// A host that slept.
  func jump(seconds: Int) {
    isWatched = false
    now = now + .seconds(seconds)
    for dial in dials { engine.dialFailed(dial, at: now) }
    dials = []
    tick()
  }

  private func tick() {
    engine.advance(to: now)
    if let due = engine.nextDeadline { precondition(due > now, "a deadline is left behind") }
    honest.advance(to: now)
    tame?.advance(to: now)
    settle()
  }

  func persist() {
    while !batches.isEmpty {
      let (batch, rows) = batches.removeFirst()
      for fact in rows { facts[fact.key] = fact.value }
      engine.persisted(batch, at: now)
      drain()
    }
  }

  func restart(damage: (([Fact]) -> [Fact])? = nil) {
    isWatched = false
    incarnation += 1
    honest.linkClosed(honestLink, at: now)
    settle()
    let isFaithful = scene.isDurable && batches.isEmpty && !isDamaged
    let rows = facts.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { Fact(key: $0.key, value: $0.value) }
    engine = Engine(
      host: crypto.key("host victim"), incarnation: Incarnation(incarnation), settings: engine.settings,
      crypto: crypto, seed: crypto.hash([UInt8(truncatingIfNeeded: incarnation), 4]), restoring: damage?(rows) ?? rows,
      at: now)
    (links, dials, batches, invitations, decisions, comparisons) = ([], [], [], [], [], [])
    closed = []
    isDamaged = isDamaged || damage != nil
    program.beginRestart(isFaithful: isFaithful && damage == nil)
    addPeers()
    if engine.nextDeadline != nil { engine.advance(to: now) }
    settle()
    program.endRestart()
  }

  func openSession(_ peer: PeerID, _ source: inout Source) {
    var settings = SessionSettings()
    settings.encryption = source.pick([.required, .optional, .none])
    settings.peersMax = source.u32()
    if source.flag { settings.trust = .ask(timeout: source.duration()) }
    if source.flag {
      settings.identity = SecurityIdentity(
        id: IdentityID(rawValue: 1),
        chain: source.pick([[], [[1]], [[UInt8]](repeating: [1, 2], count: 9), [[UInt8](repeating: 1, count: 5_000)]]))
    }
    settings.rejoinMax = source.duration()
    if let endpoint = try? engine.openSession(peer, settings, at: now) { endpoints.append(endpoint) }
  }

  func sight(_ source: inout Source) {
    let id = SightingID(rawValue: UInt64(source.u8() % 8) + 2)
    let host = HostID(digest: crypto.hash(HostID.preimage(of: source.pick(attacker.hostKeys))))
    switch source.u8() % 4 {
    case 0: engine.sightingGone(id, at: now)
    case 1: engine.probeAnswered(id, at: now)
    case 2: engine.sightedRoster(id, of: host, type: type, addresses: [AttackerState.address("x")], at: now)
    default:
      engine.sighted(
        id,
        Sighting(
          peer: attacker.peerID(&source), host: host, type: source.flag ? type : otherType,
          name: AttackerState.name("s"),
          info: .empty, addresses: []), at: now)
    }
  }

  // MARK: What the owner may name

  func endpoint(_ number: UInt8) -> EndpointID { endpoints[Int(number) % endpoints.count] }
  func peer(_ number: UInt8) -> PeerID { peers[Int(number) % peers.count] }
  func link(_ number: UInt8) -> LinkID { links.isEmpty ? honestLink : links[Int(number) % links.count].id }
  func invitation(_ number: UInt8) -> InvitationID? { pick(invitations, number) }
  func decision(_ number: UInt8) -> DecisionID? { pick(decisions, number) }
  func comparison(_ number: UInt8) -> ComparisonID? { pick(comparisons, number) }

  private func pick<T>(_ list: [T], _ number: UInt8) -> T? { list.isEmpty ? nil : list[Int(number) % list.count] }

  // MARK: Carrying out

  /// Lets everybody say what they have to say.
  func settle() {
    var isBusy = true
    while isBusy {
      isBusy = drain()
      while let output = honest.nextOutput() {
        isBusy = true
        carryOutHonest(output)
      }
      while let output = tame?.nextOutput() {
        isBusy = true
        if case .wantsToSend(let id) = output { pumpTame(id) }
        if case .dial(let dial, _, _) = output { tame?.dialFailed(dial, at: now) }
      }
      if !stalls, !batches.isEmpty {
        isBusy = true
        persist()
      }
    }
  }

  @discardableResult
  private func drain() -> Bool {
    var isBusy = false
    while let output = engine.nextOutput() {
      isBusy = true
      outputCount += 1
      carryOut(output)
    }
    return isBusy
  }

  private func carryOut(_ output: Output) {
    switch output {
    case .wantsToSend(let id): pump(id)
    case .close(let id, let reason):
      precondition(closed.insert(id).inserted, "a link closed twice")
      precondition(id != honestLink || !isWatched, "the honest host's link closed: \(reason)")
      pump(id)
      links.removeAll { $0.id == id }
      engine.linkClosed(id, at: now)
      if id == honestLink { honest.linkClosed(id, at: now) }
    case .dial(let dial, _, _): if dials.count < 8 { dials.append(dial) } else { engine.dialFailed(dial, at: now) }
    case .datagram(let id, let bytes):
      let payload = bytes.bytes
      bytesTaken += payload.count
      if id == honestLink { honest.receivedDatagram(payload.span.bytes, on: id, at: now) }
    case .message(_, _, _, _, let bytes): _ = bytes.bytes
    case .persist(let batch, let rows): batches.append((batch, rows))
    case .invitation(let id, _, _, let to, _, _, _):
      invitations.append(id)
      if !isSet, let endpoint = accepts[to] { try? engine.accept(id, with: endpoint, at: now) }
    case .decision(let id, _, _, _):
      decisions.append(id)
      if !isSet { try? engine.decide(id, true, at: now) }
    case .comparison(let id, _, _, _): comparisons.append(id)
    default: program.hear(output, engine, at: now)
    }
  }

  private func pump(_ id: LinkID) {
    if isHeld, id == honestLink { return }
    while true {
      let piece = Self.piece(of: engine, id, now)
      if piece.isEmpty { return }
      bytesTaken += piece.count
      if id == honestLink {
        honest.received(piece.span.bytes, on: id, at: now)
      } else {
        attacker.heard(piece, on: id)
        tame?.received(piece.span.bytes, on: id, at: now)
      }
    }
  }

  private func carryOutHonest(_ output: Output) {
    switch output {
    case .wantsToSend(let id):
      while !isHeld {
        let piece = Self.piece(of: honest, id, now)
        if piece.isEmpty { return }
        engine.received(piece.span.bytes, on: id, at: now)
        drain()
      }
    case .close(let id, let reason):
      precondition(!isWatched, "the honest host was offended: \(reason)")
      honest.linkClosed(id, at: now)
      engine.linkClosed(id, at: now)
    case .dial(let dial, _, _): honest.dialFailed(dial, at: now)
    case .invitation(let id, _, _, _, _, _, _):
      if let honestAccepts { try? honest.accept(id, with: honestAccepts, at: now) }
    case .message: honestHeard += 1
    case .resource(let id, let view):
      honestProgram.hear(output, honest, at: now)
      honestProgram.accepted(id)
      if !view.isAccepted { try? honest.accept(id, at: now) }
    default: honestProgram.hear(output, honest, at: now)
    }
  }

  private func pumpTame(_ id: LinkID) {
    guard let tame else { return }
    while true {
      let piece = Self.piece(of: tame, id, now)
      if piece.isEmpty { return }
      attacker.said(piece)
      give(piece)
      drain()
    }
  }

  private static func piece(of engine: Engine, _ id: LinkID, _ now: Instant) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 20_000) { buffer, count in
      let raw = UnsafeMutableRawBufferPointer(buffer)
      var out = OutputRawSpan(buffer: raw, initializedCount: 0)
      engine.fill(&out, for: id, at: now)
      count = out.finalize(for: raw)
    }
  }

  // MARK: Streams and resources

  /// Between the honest host and the engine, a stream and a resource each way, at the pace of slow programs.
  func beginCalmly(_ mine: EndpointID, _ theirs: EndpointID) {
    for (engine, program, from, to) in [(engine, program, mine, theirs), (honest, honestProgram, theirs, mine)] {
      guard let stream = try? engine.openStream(FlowProgram.calmName, from: from, to: to, at: now) else { continue }
      program.began(stream, isCalm: true)
      let info = ResourceInfo(name: FlowProgram.calmName, size: engine === honest ? nil : FlowProgram.calmResourceBytes)
      guard let resource = try? engine.offer(info, from: from, to: to, at: now) else { continue }
      program.began(resource, bytes: FlowProgram.calmResourceBytes, isCalm: true)
    }
    settle()
  }

  func resumeCalmly() {
    guard scene.isCalm else { return }
    program.resumeCalmly(engine, at: now)
    honestProgram.resumeCalmly(honest, at: now)
    settle()
  }

  private func finishCalmly() {
    guard scene.isCalm else { return }
    for _ in 0..<20 { resumeCalmly() }
    for program in [program, honestProgram] {
      precondition(
        program.calmEnds == [.none, .none, .none, .none], "honest flows ended otherwise: \(program.calmEnds)")
      precondition(
        program.calmBytes == FlowProgram.calmStreamBytes + FlowProgram.calmResourceBytes,
        "\(program.calmBytes) bytes of honest flows came")
    }
  }

  // MARK: At the end

  /// The session with the honest host stands, and carries a message.
  func finish() {
    guard isWatched, let guarded else { return }
    precondition(engine.connectedMembers(of: guarded).count == 1, "the session with the honest host is over")
    let before = honestHeard
    _ = try? engine.send([1].span.bytes, from: guarded, to: .all, .reliable, receipt: false, at: now)
    settle()
    precondition(honestHeard == before + 1, "a message to the honest host did not come")
    finishCalmly()
  }
}
