import Engine
import Wire

/// The engine under test with its owner's choices, an honest host on one link and the hostile one on the others.
final class FuzzStage {
  private(set) var engine: Engine
  private let honest: Engine
  /// Speaks for the hostile host while the scene is set.
  private var tame: Engine?
  private(set) var now = Instant(nanoseconds: 1_000_000_000)
  private let scene: Scene
  private let crypto = FuzzCrypto()
  let type: ServiceType
  let otherType: ServiceType

  // What the checks count.
  private(set) var outputCount = 0
  private(set) var bytesGiven = 0
  private(set) var bytesTaken = 0
  private var closed: Set<LinkID> = []
  /// Whether nothing has happened that may end the session with the honest host: no lost time, no restart, no full disk.
  private var isWatched = true
  private var honestHeard = 0

  // What the hostile host has.
  var lore: Lore
  private var links: [HostileLink] = []
  /// The hostile link that frames go to.
  var chosen = 0
  private var dials: [DialID] = []
  private var lastLink: UInt64 = 2

  // What the owner has.
  private var peers: [PeerID] = []
  private var endpoints: [EndpointID] = []
  private var shared: EndpointID?
  private var guarded: EndpointID?
  private var invitations: [InvitationID] = []
  private var decisions: [DecisionID] = []
  private var comparisons: [ComparisonID] = []
  private var facts: [[UInt8]: [UInt8]] = [:]
  private var batches: [(UInt64, [Fact])] = []
  private var incarnation: UInt64 = 1
  /// Whether the disk does not answer.
  var stalls = false { didSet { if stalls { isWatched = false } } }

  private var accepts: [PeerID: EndpointID] = [:]
  private var honestAccepts: EndpointID?
  private var isSet = false

  struct HostileLink {
    var id: LinkID
    var exporter: Digest
  }

  private static let honestLink = LinkID(rawValue: 1)

  init(_ scene: Scene) {
    self.scene = scene
    type = Lore.serviceType("chat")
    otherType = Lore.serviceType("other")
    lore = Lore(crypto)
    var settings = Settings()
    settings.isDurable = scene.isDurable
    settings.backlogBytesMax = 16 << 10
    settings.backlogCountMax = 64
    settings.addresses = [Lore.address("victim")]
    engine = Engine(
      host: crypto.key("host victim"), incarnation: Incarnation(1), settings: settings, crypto: crypto,
      seed: crypto.hash([1]), at: now)
    honest = Engine(
      host: crypto.key("host honest"), incarnation: Incarnation(1), settings: Settings(), crypto: crypto,
      seed: crypto.hash([2]), at: now)
    set()
    isSet = true
    tame = nil
    outputCount = 0
    bytesTaken = 0
    bytesGiven = 0
  }

  // MARK: Setting the scene

  private func set() {
    addPeers()
    let friend = honest.addPeer(crypto.key("peer honest"), name: Lore.name("honest"), at: now)
    let mates = [open(0, asks: scene.asks), open(1), open(2)]
    shared = mates[0]
    guarded = mates[2]
    endpoints = [mates[0], mates[1]]
    let friendly = [
      try? honest.openSession(friend, SessionSettings(), at: now),
      try? honest.openSession(friend, SessionSettings(), at: now),
    ]
    try? engine.startAdvertising(peers[0], type, info: .empty, at: now)
    try? engine.startBrowsing(peers[0], type, at: now)
    let exporter = crypto.hash(Array("honest link".utf8))
    engine.linkOpened(
      Self.honestLink, to: crypto.key("host honest"), exporter: exporter, dial: nil, datagramBytesMax: 1_200, at: now)
    honest.linkOpened(
      Self.honestLink, to: crypto.key("host victim"), exporter: exporter, dial: DialID(rawValue: 1),
      datagramBytesMax: 1_200, at: now)
    engine.sighted(
      SightingID(rawValue: 1),
      Sighting(
        peer: friend, host: honest.hostID, type: type, name: Lore.name("honest"), info: .empty,
        addresses: [Lore.address("honest")]), at: now)
    try? honest.startAdvertising(friend, type, info: .empty, at: now)
    settle()
    for (mine, theirs) in zip([mates[2], mates[0]], friendly) {
      honestAccepts = theirs
      _ = try? engine.invite(friend, as: type, to: mine, context: [], timeout: .zero, at: now)
      settle()
    }
    if scene.hasFellow {
      try? engine.startAdvertising(peers[1], type, info: .empty, at: now)
      accepts[peers[1]] = mates[1]
      _ = try? engine.invite(peers[1], as: type, to: mates[0], context: [], timeout: .zero, at: now)
      settle()
    }
    setHostile(mates[0])
    advance(100)
    let members = 1 + (scene.hasFellow ? 1 : 0) + (scene.progress == 3 ? 1 : 0)
    precondition(engine.connectedMembers(of: mates[0]).count == members, "the scene is not as it should be")
    if scene.isAdhoc { try? engine.startAdhoc(mates[1], type, info: .empty, at: now) }
    settle()
  }

  private func setHostile(_ endpoint: EndpointID) {
    let key = crypto.key("host hostile")
    let hostile = HostID(digest: crypto.hash(HostID.preimage(of: key)))
    engine.sighted(
      SightingID(rawValue: 2),
      Sighting(
        peer: lore.ownPeer, host: hostile, type: type, name: Lore.name("hostile"), info: .empty,
        addresses: [Lore.address("hostile")]), at: now)
    if scene.hasRoster {
      engine.sightedRoster(
        SightingID(rawValue: 3), of: hostile, type: type, addresses: [Lore.address("hostile")], at: now)
    }
    let link = HostileLink(id: LinkID(rawValue: 2), exporter: crypto.hash(Array("link 2".utf8)))
    links = [link]
    engine.linkOpened(link.id, to: key, exporter: link.exporter, dial: dials.popLast(), datagramBytesMax: 0, at: now)
    if scene.progress == 1 {
      settle()
      give(lore.hello().encoded())
    }
    if scene.progress >= 2 {
      let tame = Engine(
        host: key, incarnation: Incarnation(1), settings: Settings(), crypto: crypto, seed: crypto.hash([3]), at: now)
      self.tame = tame
      let peer = tame.addPeer(crypto.key("peer hostile"), name: Lore.name("hostile"), at: now)
      tame.linkOpened(
        link.id, to: crypto.key("host victim"), exporter: link.exporter, dial: nil, datagramBytesMax: 0, at: now)
      settle()
      if scene.progress >= 3, let own = try? tame.openSession(peer, SessionSettings(), at: now) {
        tame.sighted(
          SightingID(rawValue: 1),
          Sighting(
            peer: peers[0], host: engine.hostID, type: type, name: Lore.name("victim"), info: .empty,
            addresses: [Lore.address("victim")]), at: now)
        try? tame.startBrowsing(peer, type, at: now)
        accepts[peers[0]] = endpoint
        _ = try? tame.invite(peers[0], as: type, to: own, context: [], timeout: .zero, at: now)
        settle()
      }
    }
  }

  private func addPeers() {
    peers = ["zero", "one", "two"].map { engine.addPeer(crypto.key("peer " + $0), name: Lore.name($0), at: now) }
    lore.peers += peers.prefix(2)
  }

  private func open(_ number: Int, asks: Bool = false) -> EndpointID {
    var settings = SessionSettings()
    if asks { settings.trust = .ask(timeout: .seconds(10)) }
    guard let endpoint = try? engine.openSession(peers[number], settings, at: now) else {
      preconditionFailure("a session could not be opened")
    }
    return endpoint
  }

  // MARK: What the input asks for

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
    if greets { give(lore.hello().encoded()) }
    settle()
    if greets { give(lore.attach().encoded()) }
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

  func restart(damage: ([Fact]) -> [Fact]) {
    isWatched = false
    incarnation += 1
    honest.linkClosed(Self.honestLink, at: now)
    let rows = facts.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { Fact(key: $0.key, value: $0.value) }
    engine = Engine(
      host: crypto.key("host victim"), incarnation: Incarnation(incarnation), settings: engine.settings,
      crypto: crypto, seed: crypto.hash([UInt8(truncatingIfNeeded: incarnation), 4]), restoring: damage(rows), at: now)
    (links, dials, batches, invitations, decisions, comparisons) = ([], [], [], [], [], [])
    closed = []
    addPeers()
    if engine.nextDeadline != nil { engine.advance(to: now) }
    settle()
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
    let host = HostID(digest: crypto.hash(HostID.preimage(of: source.pick(lore.hostKeys))))
    switch source.u8() % 4 {
    case 0: engine.sightingGone(id, at: now)
    case 1: engine.probeAnswered(id, at: now)
    case 2: engine.sightedRoster(id, of: host, type: type, addresses: [Lore.address("x")], at: now)
    default:
      engine.sighted(
        id,
        Sighting(
          peer: lore.peerID(&source), host: host, type: source.flag ? type : otherType, name: Lore.name("s"),
          info: .empty, addresses: []), at: now)
    }
  }

  // MARK: What the owner may name

  func endpoint(_ number: UInt8) -> EndpointID { endpoints[Int(number) % endpoints.count] }
  func peer(_ number: UInt8) -> PeerID { peers[Int(number) % peers.count] }
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
      precondition(id != Self.honestLink || !isWatched, "the honest host's link closed: \(reason)")
      pump(id)
      links.removeAll { $0.id == id }
      engine.linkClosed(id, at: now)
      if id == Self.honestLink { honest.linkClosed(id, at: now) }
    case .dial(let dial, _, _): if dials.count < 8 { dials.append(dial) } else { engine.dialFailed(dial, at: now) }
    case .datagram(let id, let bytes):
      let payload = bytes.bytes
      bytesTaken += payload.count
      if id == Self.honestLink { honest.receivedDatagram(payload.span.bytes, on: id, at: now) }
    case .message(_, _, _, let bytes): _ = bytes.bytes
    case .persist(let batch, let rows): batches.append((batch, rows))
    case .invitation(let id, _, _, let to, _, _, _):
      invitations.append(id)
      if !isSet, let endpoint = accepts[to] { try? engine.accept(id, with: endpoint, at: now) }
    case .decision(let id, _, _, _, _):
      decisions.append(id)
      if !isSet { try? engine.decide(id, true, at: now) }
    case .comparison(let id, _, _, _): comparisons.append(id)
    default: break
    }
  }

  private func pump(_ id: LinkID) {
    while true {
      let piece = Self.piece(of: engine, id, now)
      if piece.isEmpty { return }
      bytesTaken += piece.count
      if id == Self.honestLink {
        honest.received(piece.span.bytes, on: id, at: now)
      } else {
        lore.heard(piece, on: id)
        tame?.received(piece.span.bytes, on: id, at: now)
      }
    }
  }

  private func carryOutHonest(_ output: Output) {
    switch output {
    case .wantsToSend(let id):
      while true {
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
    default: break
    }
  }

  private func pumpTame(_ id: LinkID) {
    guard let tame else { return }
    while true {
      let piece = Self.piece(of: tame, id, now)
      if piece.isEmpty { return }
      lore.said(piece)
      give(piece)
      drain()
    }
  }

  private static func piece(of engine: Engine, _ id: LinkID, _ now: Instant) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 4_000) { buffer, count in
      let raw = UnsafeMutableRawBufferPointer(buffer)
      var out = OutputRawSpan(buffer: raw, initializedCount: 0)
      engine.fill(&out, for: id, at: now)
      count = out.finalize(for: raw)
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
  }
}

/// Mixing in place of cryptography, in which everybody can sign for everybody.
final class FuzzCrypto: Crypto {
  func key(_ name: String) -> PublicKey { PublicKey(hash(Array(name.utf8)).raw) }

  func hash(_ bytes: [UInt8]) -> Digest {
    var (a, b): (UInt64, UInt64) = (0x9E37_79B9_7F4A_7C15 ^ UInt64(bytes.count), 0xBF58_476D_1CE4_E5B9)
    for byte in bytes {
      a = (a ^ UInt64(byte)) &* 0x100_0000_01B3
      b = (b &+ a) ^ (a >> 29)
    }
    a = (a ^ (b >> 31)) &* 0xFF51_AFD7_ED55_8CCD
    b = (b ^ (a >> 33)) &* 0xC4CE_B9FE_1A85_EC53
    return Digest(Bytes32(a, b, a &+ b, a ^ b))
  }

  func sign(_ bytes: [UInt8], with key: PublicKey) -> Signature {
    Signature(r: hash(bytes + key.bytes).raw, s: Bytes32(0, 0, 0, 0))
  }

  func verify(_ signature: Signature, of bytes: [UInt8], by key: PublicKey) -> Bool {
    sign(bytes, with: key) == signature
  }

  func sign(_ bytes: [UInt8], with identity: IdentityID) -> [UInt8]? { hash(bytes).bytes }

  func verify(_ signature: [UInt8], of bytes: [UInt8], byLeafOf chain: [[UInt8]]) -> Bool {
    hash(bytes).bytes == signature
  }
}
