import Testing
import Wire

@testable import Engine

/// A few hosts in one room, joined by pipes; their events are recorded as they happen, and checked by the ledger.
final class TestNetwork {
  /// A running engine with its events.
  final class Host {
    let name: String
    let engine: Engine
    let key: PublicKey
    var lines: [String] = []
    var outputs: [Output] = []
    var endpoints: [EndpointID] = []
    var looks: Set<ServiceType> = []
    /// Reads nothing from its links, like a hanging program.
    var isStalled = false
    /// Its streams and resources, and its stored rows.
    var program = TestProgram()
    var facts: [[UInt8]: [UInt8]] = [:]
    /// How many rows it has stored or removed.
    var rowCount = 0
    fileprivate var checker = TranscriptChecker()

    init(name: String, engine: Engine, key: PublicKey) {
      self.name = name
      self.engine = engine
      self.key = key
    }

    /// The events since the last call.
    func take() -> [String] {
      defer { lines = [] }
      return lines
    }
  }

  /// A host's advertisement, for listeners.
  private struct Notice {
    var host: Host
    var sighting: Sighting

    func says(_ peer: PeerID, _ type: ServiceType, by name: String) -> Bool {
      sighting.peer == peer && sighting.type == type && host.name == name
    }
  }

  private(set) var now = Instant(nanoseconds: 0)
  let crypto = ToyCrypto()
  private(set) var hosts: [Host] = []
  var pipes: [Pipe] = []
  private var lastLink: UInt64 = 0
  private var notices: [Notice] = []
  private var sightings: [(id: SightingID, spot: String)] = []
  /// Records of hosts that report their peers over a link.
  var rosters: [Roster] = []
  var rogues: [LinkID: Rogue] = [:]
  private var names: [String: String] = [:]

  /// The latency of bytes, and the capacity of a pipe.
  var latency = Duration.zero
  var windowBytes = 256 << 10
  var datagramBytesMax = 1_200
  /// Whether the first host receives the second's advertisements.
  var hears: (Host, Host) -> Bool = { _, _ in true }
  /// Whether datagrams are late, until they are let go.
  var holdsDatagrams = false
  private var lateDatagrams: [(host: Host, link: LinkID, payload: [UInt8])] = []
  /// Takes the payload of each message as it arrives.
  var onMessage: (([UInt8]) -> Void)?
  /// Which frames arrive, by type, sender and receiver.
  var filter: ((FrameType, Host, Host) -> Bool)?
  /// Whether a probe, or its answer, is lost.
  var losesProbe: () -> Bool = { false }
  /// Pairs of hosts that cannot reach each other; their engines get no event of it.
  var walls: Set<Set<String>> = []
  /// Media that carry nothing, without an event; and the latency of media that have one of their own.
  var down: Set<MediumID> = []
  var latencies: [MediumID: Duration] = [:]

  // MARK: Hosts

  func host(
    _ name: String, _ settings: Settings = Settings(), incarnation: UInt64 = 1, key: PublicKey? = nil,
    restoring facts: [Fact] = []
  ) throws -> Host {
    var settings = settings
    settings.addresses = try settings.media.map { try Address($0.addressPrefix + Array(name.utf8)) }
    let key = key ?? crypto.key(named: "host " + name)
    let engine = Engine(
      host: key, incarnation: Incarnation(incarnation), settings: settings, crypto: crypto,
      seed: crypto.hash(Array("\(name) \(incarnation)".utf8)), restoring: facts, at: now)
    let host = Host(name: name, engine: engine, key: key)
    hosts.append(host)
    return host
  }

  func call(_ id: some Identifier, _ name: String) { names[id.text] = name }
  func name(_ id: some Identifier) -> String { names[id.text] ?? String(id.text.prefix(6)) }

  /// A power cut, of which no other host gets an event.
  func powerOff(_ host: Host) { hosts.removeAll { $0 === host } }

  /// The process ends: its sockets close, and its advertisements are withdrawn.
  func kill(_ host: Host) {
    powerOff(host)
    for pipe in pipes where pipe.ends.contains(where: { $0 === host }) { close(pipe) }
    for notice in notices where notice.host === host { forget(notice) }
    notices.removeAll { $0.host === host }
    for roster in rosters where roster.host === host { withdrawRoster(roster.type, by: host) }
  }

  // MARK: Time

  /// Runs everything that is due, up to `time` from now.
  func run(_ time: Duration = .zero) {
    let end = now + time
    drain()
    while let due = nextDeadline, due <= end {
      now = max(now, due)
      for host in hosts where host.engine.nextDeadline.map({ $0 <= now }) ?? false { host.engine.advance(to: now) }
      drain()
    }
    now = end
  }

  private var nextDeadline: Instant? {
    let arrivals = pipes.flatMap { pipe in
      [0, 1].compactMap { canDeliver(pipe, from: $0) ? pipe.flights[$0].first?.due : nil }
    }
    return (hosts.compactMap(\.engine.nextDeadline) + arrivals).min()
  }

  /// Lets everybody send and receive until nothing is left.
  func drain() {
    var isBusy = true
    while isBusy {
      isBusy = false
      for host in hosts {
        while let output = host.engine.nextOutput() {
          isBusy = true
          carryOut(output, of: host)
        }
      }
      if deliver() { isBusy = true }
    }
    for host in hosts { host.checker.check(host.endpoints, in: host.engine, host.name) }
  }

  private func carryOut(_ output: Output, of host: Host) {
    switch output {
    case .dial(let dial, _, let addresses): self.dial(dial, addresses.map(\.description), from: host)
    case .wantsToSend(let link):
      if let rogue = rogues[link] { return rogue.read() }
      if let pipe = pipes.first(where: { $0.id == link }) { pump(pipe, from: pipe.side(of: host)) }
    case .close(let link, let reason):
      if let rogue = rogues[link] { return rogue.closed(reason) }
      if let pipe = pipes.first(where: { $0.id == link }) { close(pipe, from: pipe.side(of: host)) }
    case .datagram(let link, let bytes):
      guard let pipe = pipes.first(where: { $0.id == link }), !isBlocked(pipe) else { return }
      let other = pipe.ends[1 - pipe.side(of: host)]
      guard !other.isStalled else { return }
      lateDatagrams.append((other, link, bytes.bytes))
      if !holdsDatagrams { letDatagramsGo() }
    case .publish(let peer, let type, let name, let info): publish(peer, type, name, info, by: host)
    case .withdraw(let peer, let type):
      for notice in notices where notice.says(peer, type, by: host.name) { forget(notice) }
      notices.removeAll { $0.says(peer, type, by: host.name) }
    case .publishRoster(let type): publishRoster(type, by: host)
    case .withdrawRoster(let type): withdrawRoster(type, by: host)
    case .browse(let type):
      host.looks.insert(type)
      showRosters(of: type, to: host)
      for notice in notices where notice.sighting.type == type { show(notice, to: host) }
    case .stopBrowsing(let type):
      host.looks.remove(type)
      for roster in rosters where roster.type == type { forget(roster, by: host) }
      for notice in notices where notice.sighting.type == type { forget(notice, by: host) }
    case .probe(let id):
      guard let spot = sightings.first(where: { $0.id == id })?.spot,
        let other = hosts.first(where: { spot.hasSuffix(" at " + $0.name) }), !isWalled(host, other), !losesProbe()
      else { return }
      host.engine.probeAnswered(id, at: now)
    case .persist(let batch, let facts):
      for fact in facts { host.facts[fact.key] = fact.value }
      host.rowCount += facts.count
      host.engine.persisted(batch, at: now)
    default:
      host.checker.note(output, host.name)
      host.outputs.append(output)
      carryOutFlow(output, of: host)
      if case .message(_, _, _, _, let bytes) = output { onMessage?(bytes.bytes) }
      if let line = describe(output, host) { host.lines.append(line) }
    }
  }

  func letDatagramsGo() {
    for late in lateDatagrams { late.host.engine.receivedDatagram(late.payload.span.bytes, on: late.link, at: now) }
    lateDatagrams = []
  }

  // MARK: Advertisements

  private func publish(_ peer: PeerID, _ type: ServiceType, _ name: DisplayName, _ info: DiscoveryInfo, by host: Host) {
    let sighting = Sighting(
      peer: peer, host: host.engine.hostID, type: type, name: name, info: info,
      addresses: host.engine.settings.addresses)
    notices.removeAll { $0.says(peer, type, by: host.name) }
    let notice = Notice(host: host, sighting: sighting)
    notices.append(notice)
    for other in hosts where other.looks.contains(type) { show(notice, to: other) }
  }

  private func show(_ notice: Notice, to host: Host) {
    guard host !== notice.host, hears(host, notice.host) else { return }
    host.engine.sighted(sighting(of: notice, by: host), notice.sighting, at: now)
  }

  private func forget(_ notice: Notice) { for host in hosts { forget(notice, by: host) } }

  private func forget(_ notice: Notice, by host: Host) {
    if host !== notice.host { host.engine.sightingGone(sighting(of: notice, by: host), at: now) }
  }

  private func sighting(of notice: Notice, by host: Host) -> SightingID {
    sighting(of: "\(host.name) sees \(notice.sighting.peer) \(notice.sighting.type) at \(notice.host.name)")
  }

  /// One for each record and viewer.
  func sighting(of spot: String) -> SightingID {
    if let known = sightings.first(where: { $0.spot == spot }) { return known.id }
    sightings.append((SightingID(rawValue: UInt64(sightings.count + 1)), spot))
    return sightings[sightings.count - 1].id
  }

  // MARK: Links

  func newLink() -> LinkID {
    lastLink += 1
    return LinkID(rawValue: lastLink)
  }

  func exporter(of link: LinkID) -> Digest { crypto.hash(Array("link \(link.rawValue)".utf8)) }

  func isWalled(_ a: Host, _ b: Host) -> Bool {
    walls.contains([a.name, b.name]) || !hosts.contains { $0 === a } || !hosts.contains { $0 === b }
  }

  private func dial(_ dial: DialID, _ names: [String], from host: Host) {
    let answering = names.lazy.compactMap { name -> (host: Host, medium: MediumID)? in
      let medium = (try? Address(text: name)).flatMap { host.engine.medium(of: $0) } ?? .first
      let other = self.hosts.last { $0 !== host && $0.engine.settings.addresses.contains { $0.description == name } }
      return other.map { ($0, medium) }
    }
    guard
      let (other, medium) = answering.first(where: { !self.isWalled(host, $0.host) && !self.down.contains($0.medium) })
    else { return host.engine.dialFailed(dial, at: now) }
    let link = newLink()
    pipes.append(Pipe(id: link, ends: [host, other], medium: medium))
    host.engine.linkOpened(
      link, to: other.key, exporter: exporter(of: link), dial: dial, datagramBytesMax: datagramBytesMax, medium: medium,
      at: now)
    other.engine.linkOpened(
      link, to: host.key, exporter: exporter(of: link), dial: nil, datagramBytesMax: datagramBytesMax, medium: medium,
      at: now)
  }
}
