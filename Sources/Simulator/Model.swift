import Engine
import Wire

/// The reference model: what peers may and must observe, without the engine's own state.
///
/// It sees the programs' calls, the faults of the world, and the engines' outputs; it knows the truth of all hosts at
/// once, which no host does. Dictionaries in here are only looked up: where order matters there is an array.
final class Model {
  let plan: Plan
  var now: Int64 = 0
  private let bytesBefore: Int
  /// The times of the most patient medium: how long a pair lasts without a link, and until a silent link is noticed.
  let suspensionMax: Int64
  let noticedMax: Int64
  private(set) var violation: Violation?

  // Hosts and peers.
  var peers: [SimPeer] = []
  var peerPlaces: [PeerID: Int] = [:]
  var hostIDs: [HostID] = []
  var isMalicious: [Bool] = []
  var isHostUp: [Bool] = []
  var cameUpAt: [Int64] = []
  var diedAt: [Int64?]
  /// Hosts that came up from an old backup, or whose key is on two hosts: their guarantees do not hold.
  var isUnsettled: [Bool] = []

  /// Until when a host's guarantees are void: it came up from a backup then, or its key is on two hosts for good.
  var voidUntil: [Int64]

  var endpoints: [EndpointID: EndpointRecord] = [:]
  var order: [EndpointRecord] = []
  var groupLast = 0
  /// The groups into which strangers' endpoints were admitted, and those of which they introduced somebody.
  var strangersIn: [StrangersPlace] = []
  var namings: [StrangersPlace] = []

  /// Until when there was a fault between two hosts, by `from * hosts + to`.
  var disturbedUntil: [Int64]
  /// The shared clocks that endpoints read.
  var clocks: [EndpointID: ClockRecord] = [:]
  var silentSince: [Int64]
  /// When the path from one host to another last came up again: held bytes may come after their sender's death.
  var openSince: [Int64]

  var messages: [SentMessage] = []
  var sent: [MessageKey<MessageID>: Int] = [:]
  /// The unstored events of each durable host, with their batch once that is known.
  var unstored: [[(what: Unstored, batch: UInt64)]]
  var invitations: [InvitationRecord] = []
  var made: [OfHost<InvitationID>: Int] = [:]
  var got: [OfHost<InvitationID>: Int] = [:]

  /// Invitations that no program of the plan made, and that are over.
  var overStrangers: Set<OfHost<InvitationID>> = []
  /// Ad hoc invitations that a person was shown, and people's answers.
  var askings: [OfHost<InvitationID>: Asking] = [:]
  var answers: [Refusing: Answers] = [:]
  /// Failed invitations by host, which are reported to its sessions next.
  var unreportedFailures: [Int: Int] = [:]

  var decisions: [OfHost<DecisionID>: DecisionRecord] = [:]
  var decisionOrder: [OfHost<DecisionID>] = []
  var codes: [CodeRecord] = []
  var conflicts: Set<Int> = []
  var refusedSends: [EndpointID: Int64] = [:]

  var browsing: [Browsing] = []

  /// How often the bond of one host to another has changed its medium since the media between them changed, and the
  /// losses of media.
  var mediumChanges: [Int: Int] = [:]
  var losses: [MediumLoss] = []

  var streams: [StreamRecord] = []
  var streamPlaces: [OfHost<StreamID>: StreamPlace] = [:]
  var openStreams: [Int] = []
  var resources: [ResourceRecord] = []
  var resourcePlaces: [OfHost<ResourceID>: ResourcePlace] = [:]
  var openResources: [Int] = []
  var unexplained: [Unexplained] = []
  /// Each host's present run, and when it last came up with nothing stored.
  var runs: [Int]
  var emptyAt: [Int64]

  struct StrangersPlace: Equatable {
    var stranger: EndpointID
    var group: Int
  }

  struct MessageKey<ID: Hashable>: Hashable {
    var endpoint: EndpointID
    var id: ID
  }

  struct OfHost<ID: Hashable>: Hashable {
    var host: Int
    var run: Int
    var id: ID
  }

  init(plan: Plan) {
    self.plan = plan
    bytesBefore = plan.hosts.contains { $0.malice != nil } ? Memory.residentBytes : 0
    let profiles = plan.media.isEmpty ? [MediumProfile.lan] : plan.media.map(\.profile)
    suspensionMax = profiles.map { Int64($0.suspensionMax / .nanoseconds(1)) }.max() ?? 0
    noticedMax = profiles.map { Int64(($0.silenceMax + $0.heartbeatInterval) / .nanoseconds(1)) }.max() ?? 0
    let count = plan.hosts.count
    hostIDs = Array(repeating: HostID(ID128(high: 0, low: 0)), count: count)
    isMalicious = plan.hosts.map { $0.malice != nil }
    isHostUp = Array(repeating: false, count: count)
    cameUpAt = Array(repeating: 0, count: count)
    diedAt = Array(repeating: nil, count: count)
    isUnsettled = Array(repeating: false, count: count)
    voidUntil = Array(repeating: -1 << 60, count: count)
    disturbedUntil = Array(repeating: -1 << 60, count: count * count)
    silentSince = Array(repeating: .max, count: count * count)
    openSince = Array(repeating: 0, count: count * count)
    unstored = Array(repeating: [], count: count)
    runs = Array(repeating: 0, count: count)
    emptyAt = runs.map(Int64.init)
    for (index, host) in plan.hosts.enumerated() {
      if let twin = host.twinOf {
        isUnsettled[index] = true
        isUnsettled[twin] = true
        voidUntil[index] = .max
        voidUntil[twin] = .max
      }
    }
  }

  func violate(_ rule: Rule, _ detail: String) {
    guard violation == nil else { return }
    violation = Violation(rule: rule, detail: detail, milliseconds: Int(now / 1_000_000))
  }

  func check(_ rule: Rule, _ holds: Bool, _ detail: () -> String) {
    if !holds { violate(rule, detail()) }
  }

  // MARK: Hosts and peers

  func know(_ peer: SimPeer, of host: SimHost) {
    hostIDs[host.index] = host.id
    peerPlaces[peer.id] = peers.count
    peers.append(peer)
  }

  func cameUp(_ host: SimHost, from: Return) {
    isHostUp[host.index] = true
    diedAt[host.index] = nil
    runs[host.index] = host.run
    cameUpAt[host.index] = now
    for other in plan.hosts.indices {
      heard(from: host.index, to: other)
      mediaChanged(host.index, other)
    }
    if from == .backup { restored(host.index) }
    if from != .stored || !host.plan.isDurable { forgetAnswers(at: host.index) }
    if from == .fresh || !host.plan.isDurable {
      emptyAt[host.index] = now
      forget(host.index)
    }
  }

  private func restored(_ host: Int) {
    isUnsettled[host] = true
    voidUntil[host] = max(voidUntil[host], now)
    for record in order where record.ref.host == host {
      for other in record.joinedWith { endpoints[other]?.joinedWith.removeAll { $0 == record.id } }
      record.joinedWith = []
    }
  }

  /// Whether a host's guarantees about a message are void.
  func isVoid(_ message: SentMessage, at host: Int) -> Bool { message.at <= voidUntil[host] }

  func wentDown(_ host: SimHost) {
    isHostUp[host.index] = false
    diedAt[host.index] = now
    for record in order where record.ref.host == host.index {
      record.resetPairs()
      clocks[record.id] = nil
    }
    browsing.removeAll { $0.host == host.index }
    unreportedFailures[host.index] = nil
    forgetUnstored(host)
    forgetPendingInvitations(of: host)
  }

  /// A host came back with nothing: its endpoints are gone for good.
  private func forget(_ host: Int) {
    for record in order where record.ref.host == host && record.isOpen {
      record.isOpen = false
      record.isGone = true
    }
  }

  func disturbed(_ from: Int, _ to: Int, until: Int64) {
    // Relays make a fault of one way one of others too.
    let isEverywhere = plan.media.contains(where: \.profile.isRelayed)
    for place in isEverywhere ? Array(disturbedUntil.indices) : [from * plan.hosts.count + to] {
      disturbedUntil[place] = max(disturbedUntil[place], until)
    }
  }

  /// Whether there was a fault between two hosts within the last so many milliseconds, either way.
  func wereDisturbed(_ a: Int, _ b: Int, within milliseconds: Int) -> Bool {
    let since = now - Int64(milliseconds) * 1_000_000
    return disturbedUntil[a * plan.hosts.count + b] >= since || disturbedUntil[b * plan.hosts.count + a] >= since
      || cameUpAt[a] >= since && cameUpAt[a] > 0 || cameUpAt[b] >= since && cameUpAt[b] > 0
      || !isHostUp[a] || !isHostUp[b]
  }

  func goes(_ peer: SimPeer) {
    for endpoint in peer.endpoints { closes(endpoint) }
    browsing.removeAll { $0.peer == peer.id }
    for number in invitations.indices where invitations[number].inviter == peer.ref {
      invitations[number].isExcused = true
    }
  }

  /// For how long a host has been dead with nothing of it in flight, if it is dead.
  func deadFor(_ dead: Int, at here: Int) -> Int64? {
    guard let died = diedAt[dead], voidUntil[dead] < .max else { return nil }
    return now - max(died, openSince[dead * plan.hosts.count + here]) - underWay
  }

  /// How long a host's bytes may be in flight after its death.
  var underWay: Int64 {
    let faults = plan.faults
    let slowest = [faults.bandwidth, faults.slowLinks > 0 ? faults.slowBandwidth : 0].filter { $0 > 0 }.min()
    let drain = slowest.map { faults.socketBytesMax * 1_000 / $0 } ?? 0
    return Int64(2 * faults.latencyMax + 2 * faults.jitter + drain + 300) * 1_000_000
  }

  func woke(_ host: SimHost, times: Int) {
    check(.timeMovesOn, times < 5_000) { "\(host.label) was woken \(times) times within a second" }
  }

  /// No frames of a stranger can make a process grow without bound.
  func checkMemory() {
    guard isMalicious.contains(true) else { return }
    let growth = (Memory.residentBytes - bytesBefore) >> 20
    check(.memoryIsBounded, growth < 256) { "the process has grown by \(growth) MiB" }
  }

  // MARK: Labels

  func label(_ peer: PeerID) -> String {
    peerPlaces[peer].map { peers[$0].ref.description } ?? "stranger \(peer.text.prefix(6))"
  }

  func label(_ endpoint: EndpointID) -> String {
    guard let record = endpoints[endpoint] else { return "stranger's \(endpoint.text.prefix(6))" }
    return record.label
  }

  func describe(_ output: Output, at host: SimHost) -> String {
    switch output {
    case .found(let by, let type, let peer, _, _, let since):
      "\(label(by)) found \(label(peer)) (\(type))\(Self.words(since))"
    case .updated(let by, let type, let peer, _, _, let since):
      "\(label(by)) found anew \(label(peer)) (\(type))\(Self.words(since))"
    case .lost(let by, let type, let peer): "\(label(by)) lost \(label(peer)) (\(type))"
    case .invitation(_, let from, _, let to, _, _, _): "\(label(to)) is invited by \(label(from))"
    case .invitationEnded(let id, let reason): "invitation \(id.rawValue) ended: \(reason)"
    case .inviteeNotConnected(let invitee, let reason, let local):
      "\(label(local)): invited \(label(invitee.peer)) is not connected (\(reason))"
    case .members(let views, let state, let locals):
      "\(words(locals)): \(words(views)) \(Self.words(state))"
    case .suspended(let views, let on, let locals):
      "\(words(locals)): \(words(views)) \(on ? "suspended" : "back")"
    case .away(let view, let locals):
      "\(words(locals)): \(label(view.endpoint)) is \(view.awaySince == nil ? "here" : "away")"
    case .deliveryStatus(let id, let from, let to, let status):
      "\(label(from)): message \(sent[MessageKey(endpoint: from, id: id)].map { "#\($0)" } ?? "?") for \(to.map(label).joined(separator: ", ")) is \(status)"
    case .writable(let endpoint): "\(label(endpoint)) can send again"
    case .clockStepped(let step, let locals): "\(words(locals)): the shared clock is stepped by \(step)"
    case .decision(_, let view, let endpoint, _): "\(label(endpoint)) is asked about \(label(view.endpoint))"
    case .decisionEnded(let id): "decision \(id.rawValue) ended"
    case .comparison(_, let local, let remote, let code): "\(label(local)) compares with \(label(remote)): \(code)"
    case .comparisonEnded(_, let reason): "comparison ended: \(reason)"
    case .conflict: "is told that its key is in use elsewhere"
    case .streamOpened(_, let name, let from, let to): "\(label(to)): \(name) of \(label(from)) is opened"
    case .streamWritable(let id): "stream \(place(of: id, at: host).map { "\($0.number)" } ?? "?") can be written again"
    case .streamEnded(let id, let reason):
      "\(place(of: id, at: host).map { "stream \($0.number)" } ?? "a stranger's stream") ends (\(reason))"
    case .resource(_, let view): describe(view)
    case .progress(let id, let told): describe(told, of: id, at: host)
    case .resourceEnded(let id, let reason):
      "\(place(of: id, at: host).map { "file \($0.number)" } ?? "a stranger's file") ends (\(reason))"
    default: "\(output)"
    }
  }

  private func describe(_ view: ResourceView) -> String {
    let size = view.info.size.map { "\($0) bytes" } ?? "of unknown size"
    let state = "\(view.isAccepted ? "goes on with" : "has") \(view.bytes) stored"
    return view.isIncoming
      ? "\(label(view.to)): \(view.info.name) of \(label(view.from)), \(size), \(view.isAccepted ? state : "is offered")"
      : "\(label(view.from)): \(view.info.name) to \(label(view.to)), \(size), \(state)"
  }

  private func describe(_ told: ResourceProgress, of id: ResourceID, at host: SimHost) -> String {
    let place = place(of: id, at: host)
    let name = place.map { "file \($0.number) \($0.isSender ? "out" : "in")" } ?? "a stranger's file"
    let left = told.timeLeft.map { ", \($0.components.seconds) s left" } ?? ""
    return "\(name): \(told.bytes)\(told.size.map { " of \($0)" } ?? "") bytes, \(told.bytesPerSecond) a second\(left)"
  }

  func describe(message: [UInt8], from: EndpointID, to: Locals, _ mode: Mode) -> String {
    let number = Self.number(of: message).map { "#\($0)" } ?? "(unreadable)"
    return
      "\(words(to)): \(mode == .reliable ? "message" : "datagram") \(number) of \(label(from)), \(message.count) bytes"
  }

  private func words(_ locals: Locals) -> String {
    let all = locals.all
    return all.count > 4 ? "\(all.count) of its endpoints" : all.map(label).joined(separator: ", ")
  }

  private func words(_ views: [MemberView]) -> String {
    if views.count > 4 { return "\(views.count) members are" }
    return views.map { label($0.endpoint) }.joined(separator: ", ") + (views.count == 1 ? " is" : " are")
  }

  static func words(_ state: PairState) -> String {
    switch state {
    case .connecting: "connecting"
    case .connected: "connected"
    case .notConnected(let reason): "not connected (\(reason))"
    }
  }

  // MARK: Engine outputs

  func observe(_ output: Output, at host: SimHost, _ world: World) {
    checkFailureIsReported(by: output, at: host)
    switch output {
    case .found(let by, let type, let peer, _, _, let since): found(by, type, peer, awaySince: since, at: host)
    case .updated(let by, let type, let peer, _, _, let since): updated(by, type, peer, awaySince: since, at: host)
    case .lost(let by, let type, let peer): lost(by, type, peer, at: host)
    case .invitation(let id, let from, _, let to, _, let context, let expires):
      invited(id, from, to, context, expires, at: host)
    case .invitationEnded(let id, let reason): ended(id, reason, at: host)
    case .members(let views, let state, let locals):
      for view in views {
        for local in locals.all { observe(view, state, local, at: host) }
      }
      if case .notConnected(let reason) = state { checkRelays(views, reason, at: host, world) }
      tellsMembers(locals)
    case .suspended(let views, let on, let locals):
      for view in views {
        for local in locals.all { suspended(view, on, local, at: host, world) }
      }
    case .away(let view, let locals):
      for local in locals.all { away(view, local) }
      tellsMembers(locals)
    case .deliveryStatus(let id, let from, let to, let status): self.deliveryStatus(id, from, to, status, at: host)
    case .writable(let endpoint): refusedSends[endpoint] = nil
    case .decision(let id, let view, let endpoint, let expires): asked(id, view, endpoint, expires, at: host)
    case .decisionEnded(let id): decisionEnded(id, at: host)
    case .comparison(_, let local, let remote, let code): compared(local, remote, code)
    case .conflict: conflicts.insert(host.index)
    case .streamOpened(let id, let name, let from, let to): streamOpened(id, name, from, to, at: host)
    case .streamed(let id, let payload): streamed(id, payload, at: host)
    case .streamWritable(let id): streamWritable(id, at: host)
    case .streamEnded(let id, let reason): streamEnded(id, reason, at: host)
    case .resource(let id, let view): shown(id, view, at: host)
    case .read(let id, let offset, let bytes): read(id, from: offset, bytes: bytes, at: host)
    case .store(let id, let offset, let payload, _): store(id, at: offset, payload, at: host)
    case .progress(let id, let told): progresses(id, told, at: host)
    case .resourceEnded(let id, let reason): resourceEnded(id, reason, at: host)
    default: break
    }
  }

  /// After an output, the engine's own list must match its reports; outputs still to be drained may add more.
  private func tellsMembers(_ locals: Locals) {
    for local in locals.all { endpoints[local]?.mustMatch = true }
  }

  /// Whether all that a peer is told is checked: of a crowd some are, and the engine does not know which.
  func isWatched(_ peer: PeerRef) -> Bool { plan.hosts[peer.host].peers.count <= 256 || peer.peer % 500 == 0 }
}
