internal import Nearby

/// Shows who this peer is, and makes sure who others are.
enum IdentityCommand {
  static func run(_ context: Context) async throws -> ExitCode {
    let words = context.invocation.arguments["words"] ?? []
    switch context.invocation.argument("what") ?? "show" {
    case "compare": return try await compare(context, words)
    default:
      if let word = words.first { throw Misuse("'\(PlainText.brief(word))' is one word too many.", in: "identity") }
      return try await show(context)
    }
  }

  private static func show(_ context: Context) async throws -> ExitCode {
    var options = try context.hostOptions()
    // Nobody is looked for.
    options.discovery = .fixed([])
    let host = try await Host.start(options)
    let peer = try await host.peer(named: context.name)
    let event = Event(
      "identity", .result, [.text("id", host.id), .text("peer", peer.id), .text("name", peer.name)]
    ) { paint in
      [
        "name  \(paint(.strong, PlainText.line(peer.name)))", "peer  \(peer.id)", "host  \(host.id)",
      ]
    }
    await context.announcer.tell(event)
    await host.stop()
    return .done
  }

  private static func compare(_ context: Context, _ words: [String]) async throws -> ExitCode {
    guard words.count == 2 else {
      throw Misuse("Say with whom: vicinity identity compare <type> <peer>.", in: "identity")
    }
    let timeout = context.invocation.duration("timeout") ?? InviteCommand.timeoutByDefault
    return try await Stay.run(context, words[0], Stay.Policy(context.invocation)) { stay in
      let member = try await stay.connect(with: words[1], within: timeout)
      try await stay.session.compare(with: member.peer)
      switch await stay.compared(member) {
      case Reason.none?: stay.visit.end(.done)
      case let reason?: stay.visit.end(ExitCode(reason) == .lost ? .lost : .refused)
      case nil: break
      }
    }
  }
}

extension Stay {
  /// How the comparison with a member has ended; nil where the task is cancelled.
  fileprivate func compared(_ member: Member) async -> Reason? {
    while true {
      let seen = news.count
      if let reason = comparisons[member.peer] { return reason }
      if case .notConnected(let reason) = standing[member.peer] { return reason }
      guard await news.wait(since: seen) else { return nil }
    }
  }
}
