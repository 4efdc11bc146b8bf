internal import Nearby

/// Connects with all nearby peers in the same mode, and shows each event with its time.
enum AdhocCommand {
  static let defaultType = "adhoc"

  static func run(_ context: Context) async throws -> ExitCode {
    try await run(context, context.invocation.argument("type") ?? defaultType)
  }

  static func run(_ context: Context, _ type: String) async throws -> ExitCode {
    var context = context
    context.printer.showsTime = true
    if let name = await NameQuestion(context).answer() { context.chosenName = name }
    let info = context.invocation.pairs("info")
    return try await SessionCommand.run(context, type, SessionCommand.Policy(context.invocation)) { command in
      try await command.startBrowsing()
      try await command.session.startAdhoc(type, info: info, until: command.policy.until)
      command.tasks.add {
        await Conditions.report(command.session.adhocStates, of: .adhoc, type) { await command.report($0) }
      }
      command.commandHost.endInTime(.done)
    }
  }
}
