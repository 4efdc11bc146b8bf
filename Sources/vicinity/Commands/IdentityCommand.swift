internal import Nearby
internal import Notation

/// Shows this peer's identity, and verifies those of others.
enum IdentityCommand {
  enum Action: String, CaseIterable, Sendable {
    case show, compare, trust, forget
    case importFile = "import"
    case anchor

    var usage: String {
      switch self {
      case .show: "show"
      case .compare: "compare <type> <peer>"
      case .trust: "trust <peer id> <name>"
      case .forget: "forget <peer id>"
      case .importFile: "import <file>"
      case .anchor: "anchor <file>"
      }
    }

    var summary: String {
      switch self {
      case .show: "show the IDs of this host and its peer, its certificates, and the trusted peers."
      case .compare:
        "show a short authentication code on both sides: if the codes match, there is no man in the middle, and the peer is trusted from then on."
      case .trust: "trust a peer by an ID from a reliable source."
      case .forget: "stop trusting it."
      case .importFile:
        "store a private key with its certificates, from a PKCS#12 file (.p12, .pfx); --identity shows it."
      case .anchor: "trust the certificates of a file (PEM or DER), and those that they have issued."
      }
    }

    var wordCount: Int { usage.count { $0 == "<" } }
  }

  static func run(_ context: Context) async throws -> ExitCode {
    let words = context.invocation.arguments["words"] ?? []
    let action = context.invocation.argument("action").flatMap(Action.init) ?? .show
    guard words.count == action.wordCount else {
      throw UsageError("Say it as: vicinity identity \(action.usage).", in: "identity")
    }
    if action == .compare { return try await compare(context, words) }
    var options = try context.hostOptions()
    // Discovery is off: no peers are searched for.
    options.discovery = .fixed([])
    let host = try await Host.start(options)
    let event: Event
    do {
      event = try await carryOut(action, words, context, host)
    } catch {
      await host.stop()
      throw error
    }
    await context.printer.report(event)
    await host.stop()
    return .done
  }

  private static func carryOut(
    _ action: Action, _ words: [String], _ context: Context, _ host: Host
  ) async throws -> Event {
    switch action {
    case .show, .compare:
      return .identity(host, try await host.peer(named: context.name))
    case .trust:
      let id = try peer(words[0])
      try await host.trust(id, as: words[1])
      return .known(id, "is known as \(PlainText.line(words[1]))")
    case .forget:
      let id = try peer(words[0])
      try await host.forget(id)
      return .known(id, "is not known any more")
    case .importFile:
      // A missing file is reported before the password is asked for.
      guard FileSystem.exists(words[0]) else {
        throw Failure(.failed, FileSystem.missingFileSentence(words[0]))
      }
      let password = try await password(context)
      let identity = try await ofFile { () throws(NearbyError) in
        try await host.importIdentity(from: words[0], password: password)
      }
      return .certificates(identity.certificates, "imported")
    case .anchor:
      let anchors = try await ofFile { () throws(NearbyError) in try await host.addAnchors(from: words[0]) }
      return .certificates(anchors, "believed")
    }
  }

  /// Runs an operation on a file: a bad file is no usage error, since the command line was valid.
  private static func ofFile<Value>(_ take: () async throws(NearbyError) -> Value) async throws(Failure) -> Value {
    do {
      return try await take()
    } catch {
      throw Failure(.failed, error)
    }
  }

  private static func peer(_ word: String) throws(UsageError) -> PeerID {
    do {
      return try PeerID(text: word)
    } catch {
      throw UsageError(
        "'\(PlainText.brief(word))' is no whole peer ID: it has 26 letters and digits. 'vicinity peers TYPE' shows those of others.",
        in: "identity")
    }
  }

  /// The password; it is never on the command line, which others on the machine can read.
  private static func password(_ context: Context) async throws -> String {
    if let path = context.invocation.text("password-file"), path != "-" {
      guard let text = FileSystem.text(of: path) else {
        throw Failure(.failed, "\(PlainText.line(path)) cannot be read: \(FileSystem.lastErrorText()).")
      }
      return String(text.prefix { $0 != "\n" && $0 != "\r\n" })
    }
    guard let password = await context.lines.secret("Its password:") else {
      throw UsageError("The password is missing: type it, or give --password-file FILE.", in: "identity")
    }
    return password
  }

  // MARK: Comparing

  private static func compare(_ context: Context, _ words: [String]) async throws -> ExitCode {
    let timeout = context.invocation.duration("timeout") ?? InviteCommand.defaultTimeout
    return try await SessionCommand.run(context, words[0], SessionCommand.Policy(context.invocation)) { command in
      let member = try await command.connect(with: words[1], within: timeout)
      try await command.session.compare(with: member.peer)
      switch await command.compared(member) {
      case Reason.none?: command.commandHost.end(.done)
      case let reason?: command.commandHost.end(ExitCode(reason) == .lost ? .lost : .refused)
      case nil: break
      }
    }
  }
}

extension SessionCommand {
  /// The end of the comparison with a member; nil where the task is cancelled.
  fileprivate func compared(_ member: Member) async -> Reason? {
    while true {
      let seen = changes.count
      if let reason = comparisons[member.peer] { return reason }
      if case .notConnected(let reason) = memberStates[member.peer] { return reason }
      guard await changes.wait(since: seen) else { return nil }
    }
  }
}

extension Event {
  fileprivate static func identity(_ host: Host, _ peer: Peer) -> Event {
    let (identities, anchors, known) = (host.identities.map(\.certificates), host.anchors, host.knownPeers)
    let names = known.map { (id: $0.id, name: $0.name.text, how: $0.confirmation.rawValue) }
    return Event(
      "identity", .result,
      [
        .text("id", host.id), .text("peer", peer.id), .text("name", peer.name),
        .list("identities", identities.compactMap { $0.first?.subject }), .list("anchors", anchors.map(\.subject)),
        .init(
          "known",
          .list(names.map { .object([.text("peer", $0.id), .text("name", $0.name), .text("known", $0.how)]) })),
      ]
    ) { paint in
      var lines = [
        "name      \(paint(.strong, PlainText.line(peer.name)))", "peer      \(peer.id)", "host      \(host.id)",
      ]
      lines += identities.compactMap(\.first).map { "identity  \($0.subject), by \($0.issuer)" }
      lines += anchors.map { "anchor    \($0.subject)" }
      lines += names.map { "knows     \($0.id)  \(PlainText.line($0.name))" }
      return lines
    }
  }

  fileprivate static func known(_ id: PeerID, _ what: String) -> Event {
    Event("known", .result, [.text("peer", id)]) { _ in ["\(id) \(what)"] }
  }

  fileprivate static func certificates(_ certificates: [CertificateSummary], _ what: String) -> Event {
    Event(
      "certificates", .result,
      [.list("subjects", certificates.map(\.subject)), .list("fingerprints", certificates.map(\.fingerprint))]
    ) { paint in
      certificates.flatMap { one in
        [
          "\(what): \(paint(.strong, one.subject)), by \(one.issuer)",
          "  valid until \(CertificateSummary.text(ofSecondsSince1970: one.validUntil)); SHA-256 \(paint(.faint, one.fingerprint))",
        ]
      }
    }
  }
}
