internal import Nearby

/// A session for as long as a command takes: it reports events and carries out typed instructions.
actor SessionCommand {
  struct Policy: Sendable {
    /// Invitations are accepted without a question.
    var takesInvitations: Bool
    /// Offered files are accepted without a question.
    var takesFiles: Bool
    /// The folder for received files.
    var folder: String
    /// The only resumed files from an earlier run that are wanted; nil for all.
    var files: Set<String>?
    /// Whether standard input has instructions; otherwise it belongs to other code.
    var readsInstructions = true
    /// Whether peers that come and go are the result of the command.
    var reportsPeers = false
    /// The filter for other nearby peers.
    var shows = NearbyFilter()
    /// The limits of a session that is gathered until it is complete.
    var gathering: Gathering?
    /// The condition on which searching and advertising end by themselves.
    var until: Until
    /// The destination for the bytes of streams; nil for events, and lines that are shown.
    var streams: StreamSink?

    init(_ invocation: Invocation) {
      takesInvitations = invocation.has("accept")
      takesFiles = invocation.has("to-folder")
      folder = invocation.text("to-folder") ?? "."
      until = invocation.text("until").flatMap(Until.init(rawValue:)) ?? .stopped
    }
  }

  nonisolated let commandHost: CommandHost
  nonisolated let session: Session
  nonisolated let type: String
  let policy: Policy
  var labels = PeerLabels()
  /// The nearby peers, as far as this searches.
  var nearby: [PeerID: FoundPeer] = [:]
  /// The browser that finds them.
  var browser: Browser?
  /// The state of each peer that this one was in touch with.
  var peerStates: [PeerID: PeerState] = [:]
  /// The limits while a session is gathered from the list.
  var gathering: Gathering?
  var isEnough = false
  let changes = ChangeSignal()
  /// Open questions by their numbers.
  var questions: [Int: Question] = [:]
  /// The ends of comparisons of codes.
  var comparisons: [PeerID: Reason] = [:]
  /// Transfers that can be cancelled.
  var transfers: [Int: Transfer] = [:]
  /// Resumed transfers from before this program was killed that have ended.
  var resumed: [String: ResumedEnd] = [:]
  /// The streams to which input lines are written.
  var writers: [OpenStream] = []
  let metronome = Metronome()
  /// The number of streams that are being read.
  var incomingStreamCount = 0
  /// The exit code for the first incoming transfer that is incomplete.
  var incomplete: ExitCode?
  private var lastNumber = 0

  private init(_ commandHost: CommandHost, _ session: Session, _ type: String, _ policy: Policy) {
    self.commandHost = commandHost
    self.session = session
    self.type = type
    self.policy = policy
    gathering = policy.gathering
    labels.add(commandHost.peer.id, commandHost.peer.name)
  }

  /// Runs the command's first step, and stays until the end.
  static func run(
    _ context: Context, _ type: String, _ policy: Policy,
    _ begin: @escaping @Sendable (SessionCommand) async throws -> Void
  ) async throws -> ExitCode {
    try Self.check { _ = (try ServiceType(type), try DiscoveryInfo(context.invocation.pairs("info"))) }
    if policy.takesFiles, let fault = FileSystem.fault(ofFolder: policy.folder) { throw Failure(.failed, fault) }
    return try await CommandHost(context).run { commandHost in
      let options = try context.sessionOptions(commandHost.host)
      let earlier = try await commandHost.peer.restoredSessions().first
      let session = if let earlier { earlier } else { try await commandHost.peer.openSession(options) }
      let command = SessionCommand(commandHost, session, type, policy)
      await commandHost.report(
        .started(commandHost.host.id, commandHost.peer, session.id, type: type, at: await commandHost.host.addresses))
      commandHost.begin()
      commandHost.tasks.add { await command.followSession() }
      commandHost.tasks.add { await command.followPairings() }
      if policy.readsInstructions, context.terminal.hasInput {
        commandHost.tasks.add { await command.readInstructions() }
      }
      try await begin(command)
    }
  }

  /// Rejects invalid values before anything is sent to others.
  private static func check(_ make: () throws -> Void) throws(UsageError) {
    do {
      try make()
    } catch {
      throw UsageError("\(error)")
    }
  }

  nonisolated var context: Context { commandHost.context }
  nonisolated var tasks: TaskPool { commandHost.tasks }
  nonisolated func report(_ event: Event) async { await commandHost.report(event) }

  /// A number for a question, or for something with a beginning and an end.
  func number() -> Int {
    lastNumber += 1
    return lastNumber
  }

  // MARK: Session events

  private func followSession() async {
    for await event in session.events {
      // The members' leaving is no news then.
      if commandHost.isEnding { return }
      await take(event)
    }
    if commandHost.isEnding { return }
    await commandHost.fail(
      Failure(.failed, "The session was closed, because what happened in it was not read fast enough; start again."))
  }

  private func take(_ event: SessionEvent) async {
    switch event {
    case .member(let member, let state):
      labels.add(member.peer, member.name)
      await report(.member(member, state, label(member), known: commandHost.host.knownPeer(member.peer)))
      await setState(of: member, state)
      if state == .connecting { adviseIfUnreached(member) }
    case .notConnected(let invitee, let reason):
      // The outcome of a manual invitation is reported by the code that waits for it.
      guard invitee.isAdhoc else { return }
      labels.add(invitee.peer, invitee.name)
      await report(.notConnected(invitee, reason, labels.label(invitee.peer)))
      await setState(of: invitee.peer, .notConnected(reason))
    case .adhocEnded:
      await report(.endedByItself(policy.until))
    case .suspended(let member, let isSuspended):
      await report(.suspended(member, isSuspended, label(member)))
    case .mediumChanged(let member):
      await report(.mediumChanged(member, label(member)))
    case .away(let member):
      await report(.away(member, label(member)))
    case .message(let message):
      await report(.message(message, label(message.from)))
    case .stream(let reader):
      take(reader)
    case .resource(let resource):
      await take(resource)
    case .sending(let resource):
      followResumed(resource)
    case .comparison(let comparison):
      await ask(comparison)
    case .comparisonFailed(let peer, _, let reason):
      comparisons[peer] = reason
      changes.notify()
      await report(.comparisonFailed(peer, labels.label(peer), reason))
    case .clockStepped(let step):
      await report(.clockStepped(step))
    case .undelivered(let members, let status):
      await report(.undelivered(members, status, members.map(label)))
    case .decision(let decision):
      await decide(decision)
    // Nothing is sent with a receipt here.
    case .deliveryStatus: break
    }
  }

  private func setState(of member: Member, _ state: MemberState) async {
    switch state {
    case .connecting: break
    case .connected: memberStates[member.peer] = .connected
    case .notConnected(let reason): memberStates[member.peer] = .notConnected(reason)
    }
    await setState(of: member.peer, state)
    changes.notify()
  }

  /// Reports what to do where no link to the member's computer has come about after a time.
  private func adviseIfUnreached(_ member: Member) {
    tasks.add { [self] in
      await context.eventThread.wait(for: Self.reachTime)
      guard !commandHost.isEnding, await peerStates[member.peer] == .connecting,
        await !commandHost.host.links.contains(where: { $0.host == member.host })
      else { return }
      await report(.unreached(member, label(member)))
    }
  }

  /// A dial that fails slowly, a second one, and a relay.
  private static let reachTime: Duration = .seconds(15)

  /// The last state of each peer that was met.
  var memberStates: [PeerID: MemberState] = [:]

  func label(_ member: Member) -> String { labels.label(member.peer) }

  /// The name of a member that the host carries.
  func name(at host: HostID?) -> String? { session.members.first { $0.host == host }?.name }

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
    let list = ids.map { "\(PlainText.line(labels.names[$0] ?? "")) \($0)" }.joined(separator: ", ")
    return "'\(PlainText.brief(word))' means more than one: \(list). Use the beginning of an ID."
  }

  func recipients(_ word: String?) throws -> [Member] {
    if let word { return [try member(word)] }
    let members = session.members
    if members.isEmpty { throw Failure(.lost, "Nobody is connected yet; what is sent now would reach nobody.") }
    return members
  }
}
