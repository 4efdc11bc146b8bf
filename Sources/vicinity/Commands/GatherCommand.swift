/// Gathers a session from the list of nearby peers, and stays in it.
enum GatherCommand {
  static func run(_ context: Context) async throws -> ExitCode {
    var context = context
    context.printer.showsTime = true
    let invocation = context.invocation
    let gathering = try Gathering(invocation)
    if !context.terminal.hasInput {
      throw UsageError(
        "There is nobody to choose here: 'vicinity invite \(invocation.required("type")) NAME' invites one that is known "
          + "beforehand.", in: "gather")
    }
    var policy = SessionCommand.Policy(invocation)
    policy.shows = NearbyFilter(words: invocation.texts("only"))
    policy.reportsPeers = true
    policy.gathering = gathering
    return try await SessionCommand.run(context, invocation.required("type"), policy) { command in
      try await command.advertiseByDefault()
      try await command.gather(gathering)
    }
  }
}
