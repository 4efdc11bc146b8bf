internal import Foundation
internal import Nearby
internal import Notation
internal import PowerCut
internal import Store
internal import Testing

@testable internal import Gateway

/// Concurrent requests of several connections of one client, chosen by a seed, and the rules that hold in any order.
///
/// One thread uses it at a time, which is the proof of `@unchecked`.
final class RaceScenario: @unchecked Sendable {
  enum Rule: String { case deletedStaysDeleted, limits, oneChangePerTag, quotas, reservations }

  /// A rule that one seed breaks.
  struct Violation: CustomStringConvertible {
    let seed: UInt64
    let rule: Rule
    let detail: String
    let trace: [String]

    var description: String {
      "seed \(seed) breaks '\(rule.rawValue)': \(detail)\n\(trace.joined(separator: "\n"))\n"
        + "To repeat it: ./vic interleavings \(seed)"
    }
  }

  enum Deed: CaseIterable {
    case makePeer, removePeer, openSession, leaveSession, lock, advertise, change, stopAdvertising, browse, stopBrowsing
    case offer, append, removeResource
  }

  static let (peersMax, sessionsMax, advertisersMax, browsersMax, resourcesMax) = (4, 3, 3, 3, 4)
  /// An append brings two parts; a resource has whole pages, as what fills none waits for a timer.
  static let partBytes = 4_096
  static let bytesMax = 5 * partBytes

  let gateway: SteppedGateway
  let bert: HTTPClient
  let bertPeer: String
  let annaPeer: String
  let session: String
  private let owner: Owner

  // The state of the current seed's run.
  private var seed: UInt64 = 0
  private var trace = SteppedGateway.Trace()
  private var violation: Violation?
  /// The paths of things that were made, by kind, in order.
  var known: [String: [String]] = [:]
  /// The name of a path in the trace: IDs differ from run to run.
  private var names: [String: String] = [:]
  private var deleted: Set<String> = []
  private var isLocked = false
  /// The tags before any request, and how often each was named by changes that were made, and by changes that were
  /// requested.
  var tags: [String: String] = [:]
  private var changesMade: [String: Int] = [:]
  private var changesAsked: [String: Int] = [:]

  private init(_ gateway: SteppedGateway) throws {
    self.gateway = gateway
    (bert, bertPeer, session) = (gateway.bert.client, gateway.bert.peer, gateway.bert.path)
    annaPeer = gateway.anna.peer
    owner = try gateway.onLoop { [id = bertPeer] core in try #require(core.peers[id]).owner }
  }

  // MARK: Runs

  /// Runs the seeds at one gateway, until one breaks a rule.
  static func run(_ seeds: Range<UInt64>, _ sabotage: GatewaySabotage = []) async throws -> Violation? {
    try await withGateway(sabotage) { scenario in
      for seed in seeds {
        if let violation = try scenario.run(seed) { return violation }
      }
      return nil
    }
  }

  /// The steps of a seed, at a gateway of its own.
  static func trace(of seed: UInt64) async throws -> [String] {
    try await withGateway([]) { scenario in
      _ = try scenario.run(seed)
      return scenario.trace.lines
    }
  }

  private static func withGateway<Value: Sendable>(
    _ sabotage: GatewaySabotage, _ work: @escaping @Sendable (RaceScenario) throws -> Value
  ) async throws -> Value {
    let gateway = try await SteppedGateway.open { options in
      options.sabotage = sabotage
      // How long a request takes must not decide which one is next.
      options.turnTime = .max
      options.limits.peersPerClient = peersMax
      options.limits.sessionsPerPeer = sessionsMax
      options.limits.advertisersPerPeer = advertisersMax
      options.limits.browsersPerPeer = browsersMax
      options.limits.resourcesPerSession = resourcesMax
      options.limits.resourceBytesPerClient = bytesMax
    }
    do {
      let value = try await onThread { try work(RaceScenario(gateway)) }
      await gateway.close()
      return value
    } catch {
      await gateway.close()
      throw error
    }
  }

  private func run(_ seed: UInt64) throws -> Violation? {
    self.seed = seed
    var chance = Chance(seed)
    (known, names, deleted, tags) = ([:], [session: "the session"], [], [:])
    (changesMade, changesAsked, trace) = ([:], [:], SteppedGateway.Trace())
    // Few kinds of requests at a time meet each other often.
    let deeds = Array(Deed.allCases.shuffled(using: &chance).prefix(chance.number(in: 2..<6)))
    do {
      try prepare(deeds, &chance)
      let clients = (0..<chance.number(in: 3..<8)).map { number in
        let plan = (0..<chance.number(in: 1..<5)).map { _ in deeds.randomElement(using: &chance) ?? .makePeer }
        return RacingClient(number, plan, Chance(chance.next()), self)
      }
      try gateway.run(clients, &chance, trace) { self.gateway.onLoop(self.checkLimits) }
      try check()
      if violation == nil { try cleanUp() }
    } catch let error as SteppedGateway.Stuck {
      // A hang is reported with its seed, as a violation is.
      throw SteppedGateway.Stuck(description: "seed \(seed) hangs: \(error)\n\(trace.lines.joined(separator: "\n"))")
    }
    return violation
  }

  private func prepare(_ deeds: [Deed], _ chance: inout Chance) throws {
    if !deeds.allSatisfy({ $0 != .append && $0 != .removeResource }) {
      for number in 0..<chance.number(in: 1..<4) { try make("resources", "\(session)/resources", offer(number)) }
    }
    if deeds.contains(.removePeer) { try make("peers", "/v1/peers", ["displayName": "Other"]) }
    let peer = JSON.text(bertPeer)
    if deeds.contains(.leaveSession) { try make("sessions", "/v1/sessions", ["peer": peer]) }
    if deeds.contains(.change) || deeds.contains(.stopAdvertising) {
      try make("advertisers", "/v1/advertisers", ["peer": peer, "serviceType": "base"])
    }
    if deeds.contains(.stopBrowsing) { try make("browsers", "/v1/browsers", ["peer": peer, "serviceType": "base"]) }
    try gateway.onLoop { core in
      let id = gateway.bert.session
      isLocked = try #require(core.sessions[id]).isLocked
      tags[session] = core.sessionList[id]?.tag.description
      for path in known["advertisers", default: []] { tags[path] = item(at: path, core)?.tag.description }
    }
  }

  private func make(_ kind: String, _ path: String, _ body: JSON) throws {
    let answer = try gateway.ask(bert, "POST", path, body)
    try #require(answer.status == 201, "\(path): \(answer.text)")
    made(kind, answer)
  }

  // MARK: What the clients ask and learn

  func offer(_ number: Int) -> JSON { ["name": .text("file \(number)"), "to": .text(annaPeer)] }
  var lock: JSON { ["locked": .bool(!isLocked)] }
  func name(of path: String) -> String { names[path] ?? path }

  /// The base peer, or one that may be removed meanwhile.
  func peer(_ chance: inout Chance) -> JSON {
    let others = known["peers", default: []].map { $0.split(separator: "/").last.map(String.init) ?? "" }
    return .text(([bertPeer] + others).randomElement(using: &chance) ?? bertPeer)
  }

  func made(_ kind: String, _ answer: Answer) {
    guard answer.status == 201, let path = answer["Location"] else { return }
    known[kind, default: []].append(path)
    names[path] = "\(kind) \(known[kind, default: []].count)"
  }

  func wasDeleted(_ path: String, _ answer: Answer) {
    if answer.status == 204 { deleted.insert(path) }
  }

  func asksChange(of path: String) { changesAsked[path, default: 0] += 1 }

  func wasChanged(_ path: String, _ answer: Answer) {
    if answer.status == 200 { changesMade[path, default: 0] += 1 }
  }

  // MARK: What has to hold

  private func broken(_ rule: Rule, _ detail: String) {
    if violation == nil { violation = Violation(seed: seed, rule: rule, detail: detail, trace: trace.lines) }
  }

  private func item(at path: String, _ core: Core) -> Item? {
    guard let slash = path.lastIndex(of: "/") else { return nil }
    return core.channels.collection(at: String(path[..<slash]))?[String(path[path.index(after: slash)...])]
  }

  private func contents(_ core: Core) -> [ResourceContent] {
    core.sessions.values.filter { $0.owner == owner }.flatMap(\.resourceModels.values).map(\.content)
  }

  /// The limits that hold at any time.
  private func checkLimits(_ core: Core) {
    func most(_ peers: [PeerModel]) -> Int { Dictionary(grouping: peers, by: \.id).values.map(\.count).max() ?? 0 }
    for (what, count, countMax) in [
      ("peers", core.peers.values.count { $0.owner == owner }, Self.peersMax),
      ("sessions of a peer", most(core.sessions.values.map(\.peer)), Self.sessionsMax),
      ("advertisers of a peer", most(core.advertisers.values.map(\.peer)), Self.advertisersMax),
      ("browsers of a peer", most(core.browsers.values.map(\.peer)), Self.browsersMax),
      (
        "resources of a session", core.sessions.values.map(\.resourceModels.count).max() ?? 0, Self.resourcesMax
      ),
      ("bytes", contents(core).reduce(0) { $0 + Int($1.uploaded) }, Self.bytesMax),
    ] where count > countMax { broken(.limits, "\(count) \(what), where \(countMax) are allowed") }
  }

  /// When nothing is under way.
  private func check() throws {
    gateway.onLoop { core in
      for path in deleted.sorted() where item(at: path, core) != nil {
        broken(.deletedStaysDeleted, "\(name(of: path)) is listed again")
      }
      for (path, asked) in changesAsked.sorted(by: { $0.key < $1.key }) {
        let made = changesMade[path, default: 0]
        if made > 1 || made == 0 && item(at: path, core) != nil {
          broken(.oneChangePerTag, "\(made) of \(asked) changes of one state of \(name(of: path)) were made")
        }
      }
      for peer in core.sessions.values.map(\.peer) + core.advertisers.values.map(\.peer)
        + core.browsers.values.map(\.peer)
      where core.peers[peer.id] !== peer { broken(.deletedStaysDeleted, "a thing of a removed peer is there") }
      let bytes = contents(core).reduce(0) { $0 + $1.uploaded }
      if core.disk.used[owner] != bytes {
        broken(.quotas, "\(core.disk.used[owner]) bytes are counted, and \(bytes) were uploaded")
      }
      if !core.quotaReservations.isEmpty { broken(.reservations, "reserved for nothing: \(core.quotaReservations)") }
      if !core.uploads.isEmpty { broken(.reservations, "\(core.uploads.count) uploads go on without a client") }
      if !core.changeLocks.names.isEmpty { broken(.reservations, "\(core.changeLocks.names) are still changed") }
    }
    try checkStore()
  }

  /// The store and the disk have what the gateway has.
  private func checkStore() throws {
    let stored = try gateway.stored { database in
      (
        peers: Set(try database.peers().map(\.id)), sessions: try database.sessions().map(\.peer),
        resources: Set(try database.resources().map(\.id))
      )
    }
    let files = Set(try FileManager.default.contentsOfDirectory(atPath: "\(gateway.gateway.folder)/sending"))
    gateway.onLoop { core in
      let peers = Set(core.peers.values.filter { $0.owner != .gateway && $0.lifetime == .stored }.map(\.id))
      if stored.peers != peers { broken(.deletedStaysDeleted, "the store has \(stored.peers), and \(peers) are there") }
      if stored.sessions.count != core.sessions.count {
        broken(
          .deletedStaysDeleted, "the store has \(stored.sessions.count) sessions, and \(core.sessions.count) are there")
      }
      let models = core.sessions.values.flatMap(\.resourceModels.values)
      if stored.resources != Set(models.map(\.id)) {
        broken(.deletedStaysDeleted, "the store has \(stored.resources.count) resources, and \(models.count) are there")
      }
      let held = Set(models.compactMap { $0.content.path?.split(separator: "/").last.map(String.init) })
      if files != held { broken(.quotas, "the disk has the files \(files), and \(held) are of a resource") }
    }
  }

  /// All but what was there before the seed.
  private func cleanUp() throws {
    let base = [session, "/v1/peers/\(bertPeer)", gateway.anna.path, "/v1/peers/\(annaPeer)"]
    let paths = gateway.onLoop { core in
      core.sessions.values.flatMap { session in
        session.resourceModels.keys.map { "\(session.resources.path)/\($0)" }
      } + core.advertisers.ids.map { "/v1/advertisers/\($0)" } + core.browsers.ids.map { "/v1/browsers/\($0)" }
        + core.sessions.values.map(\.path)
        + core.peers.values.filter { $0.owner == owner }.map { "/v1/peers/\($0.id)" }
    }
    for path in paths where !base.contains(path) {
      let answer = try gateway.ask(bert, "DELETE", path)
      if answer.status != 204 { broken(.deletedStaysDeleted, "\(path) cannot be deleted: \(answer.text)") }
    }
    gateway.onLoop { core in
      let left = core.disk.used[owner]
      if left != 0 { broken(.quotas, "\(left) bytes are counted of nothing") }
    }
  }
}

/// One connection, and its requests one after the other.
private final class RacingClient: SteppedClient {
  private let number: Int
  private var plan: ArraySlice<RaceScenario.Deed>
  private var chance: Chance
  private let scenario: RaceScenario
  private var request: MemoryRequest?
  private var asked = ""
  private var answered: (Answer) -> Void = { _ in }
  /// Whether an upload has sent its first part only.
  private var hasMore = false

  init(_ number: Int, _ plan: [RaceScenario.Deed], _ chance: Chance, _ scenario: RaceScenario) {
    (self.number, self.plan, self.chance, self.scenario) = (number, plan[...], chance, scenario)
  }

  var isDone: Bool { plan.isEmpty && request == nil }
  var canStep: Bool { request.map { $0.isOver || hasMore } ?? !plan.isEmpty }
  var description: String { "client \(number): \(asked.isEmpty ? "nothing asked" : asked)" }

  func step(_ core: Core, _ trace: SteppedGateway.Trace) throws {
    guard let request else {
      if let deed = plan.popFirst() { try begin(deed, core, trace) }
      return
    }
    if request.isOver {
      (self.request, hasMore) = (nil, false)
      trace.lines.append("client \(number): \(request.answer?.status ?? 0) to \(asked)")
      if let answer = request.answer { answered(answer) }
    } else {
      hasMore = false
      if chance.hits(0.5) {
        trace.lines.append("client \(number): sends the rest of \(asked)")
        return request.sendLast([UInt8](repeating: 2, count: RaceScenario.partBytes))
      }
      trace.lines.append("client \(number): leaves during \(asked)")
      self.request = nil
      request.hangUp()
    }
  }

  private func ask(
    _ core: Core, _ trace: SteppedGateway.Trace, _ method: String, _ path: String, _ json: JSON? = nil,
    _ headers: [String: String] = [:], _ answered: @escaping (Answer) -> Void
  ) throws {
    asked = "\(method) \(scenario.name(of: path))"
    trace.lines.append("client \(number): \(asked)")
    self.answered = answered
    request = try SteppedGateway.request(core, scenario.bert, method, path, json, headers)
  }

  private func begin(_ deed: RaceScenario.Deed, _ core: Core, _ trace: SteppedGateway.Trace) throws {
    let scenario = scenario
    func make(_ kind: String, _ path: String, _ json: JSON) throws {
      try ask(core, trace, "POST", path, json) { scenario.made(kind, $0) }
    }
    func delete(_ kind: String) throws {
      guard let path = scenario.known[kind, default: []].randomElement(using: &chance) else { return }
      try ask(core, trace, "DELETE", path) { scenario.wasDeleted(path, $0) }
    }
    func change(_ path: String?, _ json: JSON) throws {
      guard let path, let tag = scenario.tags[path] else { return }
      scenario.asksChange(of: path)
      try ask(core, trace, "PATCH", path, json, ["If-Match": tag]) { scenario.wasChanged(path, $0) }
    }
    let name = "thing-\(chance.number(in: 0..<1_000_000))"
    switch deed {
    case .makePeer: try make("peers", "/v1/peers", ["displayName": .text(name)])
    case .removePeer: try delete("peers")
    case .openSession: try make("sessions", "/v1/sessions", ["peer": scenario.peer(&chance)])
    case .leaveSession: try delete("sessions")
    case .lock: try change(scenario.session, scenario.lock)
    case .advertise:
      try make("advertisers", "/v1/advertisers", ["peer": scenario.peer(&chance), "serviceType": .text(name)])
    case .change: try change(scenario.known["advertisers"]?.first, ["discoveryInfo": ["n": .text(name)]])
    case .stopAdvertising: try delete("advertisers")
    case .browse: try make("browsers", "/v1/browsers", ["peer": scenario.peer(&chance), "serviceType": .text(name)])
    case .stopBrowsing: try delete("browsers")
    case .offer: try make("resources", "\(scenario.session)/resources", scenario.offer(number))
    case .append:
      guard let path = scenario.known["resources"]?.randomElement(using: &chance) else { return }
      try append(to: path, core, trace)
    case .removeResource: try delete("resources")
    }
  }

  /// Sends the first of two parts at the end of the content, with or without its length.
  private func append(to path: String, _ core: Core, _ trace: SteppedGateway.Trace) throws {
    asked = "PATCH \(scenario.name(of: path))'s content"
    trace.lines.append("client \(number): \(asked)")
    answered = { _ in }
    let parts = path.split(separator: "/").map(String.init)
    let offset = core.sessions[parts[2]]?.resourceModels[parts[4]]?.content.uploaded ?? 0
    var headers = ["Upload-Offset": String(offset), "Upload-Complete": "?0"]
    let isTold = chance.hits(0.5)
    if !isTold { headers["Transfer-Encoding"] = "chunked" }
    let head = try scenario.bert.memoryHead(
      "PATCH", "\(path)/content", isTold ? 2 * RaceScenario.partBytes : nil, headers)
    let service = try #require(core.service)
    request = try MemoryRequest(
      head, body: [UInt8](repeating: 1, count: RaceScenario.partBytes), isWhole: false, to: service, on: core.reactor)
    hasMore = true
  }
}
