internal import Nearby

/// A session for as long as a command takes: what happens is told, what is typed is done.
actor Stay {
  struct Policy: Sendable {
    /// Who invites is not asked about.
    var takesInvitations: Bool
    /// Nor what is offered.
    var takesFiles: Bool
    /// Where files go.
    var folder: String
    /// Of what goes on being sent since before, only these are wanted; nil for all.
    var files: Set<String>?
    /// Standard input says what to do; else it is somebody else's.
    var heedsInput = true
    /// Who comes and goes is what was asked for.
    var looksAround = false
    /// Who else is nearby is none of its business.
    var shows = NearbyFilter()
    /// A session is put together until it is done.
    var gathering: Gathering?
    /// When looking for others, and being found, ends by itself.
    var until: Until
    /// Where the bytes of streams go; nil for events, and lines that are shown.
    var streams: StreamSink?

    init(_ invocation: Invocation) {
      takesInvitations = invocation.has("accept")
      takesFiles = invocation.has("to-folder")
      folder = invocation.text("to-folder") ?? "."
      until = invocation.text("until").flatMap(Until.init(rawValue:)) ?? .stopped
    }
  }

  nonisolated let visit: Visit
  nonisolated let session: Session
  nonisolated let type: String
  let policy: Policy
  var roster = Roster()
  /// Who is nearby, as far as this looks.
  var nearby: [PeerID: FoundPeer] = [:]
  /// What finds them.
  var browser: Browser?
  /// Where this peer stands with those that it was in touch with.
  var nearness: [PeerID: Nearness] = [:]
  /// While a session is put together from the list.
  var gathering: Gathering?
  var isEnough = false
  let news = Bell()
  /// What waits for a yes or a no, by its number.
  var questions: [Int: Question] = [:]
  /// How comparisons of codes have ended.
  var comparisons: [PeerID: Reason] = [:]
  /// What can be cut off.
  var transfers: [Int: Transfer] = [:]
  /// Files that went on being sent since before this program was killed, and have ended.
  var resumed: [String: Resumed] = [:]
  /// The streams that the lines which are read belong to.
  var writers: [OpenStream] = []
  /// Streams that are read.
  var flowsIn = 0
  /// Of the first that came in and is not here whole.
  var incomplete: ExitCode?
  private var lastNumber = 0

  private init(_ visit: Visit, _ session: Session, _ type: String, _ policy: Policy) {
    self.visit = visit
    self.session = session
    self.type = type
    self.policy = policy
    gathering = policy.gathering
    roster.add(visit.peer.id, visit.peer.name)
  }

  /// Begins with what the command does first, and stays until there is an end to it.
  static func run(
    _ context: Context, _ type: String, _ policy: Policy, _ begin: @escaping @Sendable (Stay) async throws -> Void
  ) async throws -> ExitCode {
    try Self.check { _ = (try ServiceType(type), try DiscoveryInfo(context.invocation.pairs("info"))) }
    if policy.takesFiles, let fault = FileSystem.fault(ofFolder: policy.folder) { throw Failure(.failed, fault) }
    return try await Visit(context).run { visit in
      let options = try context.sessionOptions(visit.host)
      let earlier = try await visit.peer.restoredSessions().first
      let session = if let earlier { earlier } else { try await visit.peer.openSession(options) }
      let stay = Stay(visit, session, type, policy)
      await visit.tell(.started(visit.host.id, visit.peer, session.id, type: type, at: await visit.host.addresses))
      visit.begin()
      visit.crew.add { await stay.followSession() }
      if policy.heedsInput, context.terminal.hasInput { visit.crew.add { await stay.heedLines() } }
      try await begin(stay)
    }
  }

  /// What nobody could be told is refused before anybody is told anything.
  private static func check(_ make: () throws -> Void) throws(Misuse) {
    do {
      try make()
    } catch {
      throw Misuse("\(error)")
    }
  }

  nonisolated var context: Context { visit.context }
  nonisolated var crew: Crew { visit.crew }
  nonisolated func tell(_ event: Event) async { await visit.tell(event) }

  /// For what is asked about, or has a beginning and an end.
  func number() -> Int {
    lastNumber += 1
    return lastNumber
  }

  // MARK: What happens in the session

  private func followSession() async {
    for await event in session.events {
      // That the others are left then is no news.
      if visit.isEnding { return }
      await take(event)
    }
    if visit.isEnding { return }
    await visit.fail(
      Failure(.failed, "The session was closed, because what happened in it was not read fast enough; start again."))
  }

  private func take(_ event: SessionEvent) async {
    switch event {
    case .member(let member, let state):
      roster.add(member.peer, member.name)
      await tell(.member(member, state, label(member), known: visit.host.knownPeer(member.peer)))
      await stands(member, state)
    case .notConnected(let invitee, let reason):
      // How an invitation by hand ended is told by whoever waits for that.
      guard invitee.isAdhoc else { return }
      roster.add(invitee.peer, invitee.name)
      await tell(.notConnected(invitee, reason, roster.label(invitee.peer)))
      await stands(invitee.peer, .notConnected(reason))
    case .adhocEnded:
      await tell(.endedByItself(policy.until))
    case .suspended(let member, let isSuspended):
      await tell(.suspended(member, isSuspended, label(member)))
    case .away(let member):
      await tell(.away(member, label(member)))
    case .message(let message):
      await tell(.message(message, label(message.from)))
    case .stream(let reader):
      take(reader)
    case .resource(let resource):
      await take(resource)
    case .sending(let resource):
      goesOn(resource)
    case .comparison(let comparison):
      await ask(comparison)
    case .undelivered(let members, let fate):
      await tell(.undelivered(members, fate, members.map(label)))
    case .decision(let decision):
      await decide(decision)
    // Nothing is sent with a receipt here.
    case .fate: break
    }
  }

  private func stands(_ member: Member, _ state: MemberState) async {
    switch state {
    case .connecting: break
    case .connected: standing[member.peer] = .connected
    case .notConnected(let reason): standing[member.peer] = .notConnected(reason)
    }
    await stands(member.peer, state)
    news.ring()
  }

  /// Where those who were met stand now.
  var standing: [PeerID: MemberState] = [:]

  func label(_ member: Member) -> String { roster.label(member.peer) }

  func member(_ word: String) throws -> Member {
    let members = session.members
    let names = Dictionary(members.map { ($0.peer, $0.name) }, uniquingKeysWith: { first, _ in first })
    switch PeerChoice(word, among: names) {
    case .one(let id):
      if let member = members.first(where: { $0.peer == id }) { return member }
      throw Failure(.notFound, "\(PlainText.brief(word)) has just gone.")
    case .none:
      throw Failure(.notFound, "Nobody called '\(PlainText.brief(word))' is connected; /peers says who is.")
    case .several(let ids):
      throw Failure(.notFound, ambiguous(word, ids))
    }
  }

  func ambiguous(_ word: String, _ ids: [PeerID]) -> String {
    let list = ids.map { "\(PlainText.line(roster.names[$0] ?? "")) \($0)" }.joined(separator: ", ")
    return "'\(PlainText.brief(word))' means more than one: \(list). Use the beginning of an ID."
  }

  func addressees(_ word: String?) throws -> [Member] {
    if let word { return [try member(word)] }
    let members = session.members
    if members.isEmpty { throw Failure(.lost, "Nobody is connected yet; what is sent now would reach nobody.") }
    return members
  }
}
