/// Invites one peer, and stays in the session with it.
enum InviteCommand {
  static let defaultTimeout: Duration = .seconds(30)

  static func run(_ context: Context) async throws -> ExitCode {
    var context = context
    context.printer.showsTime = true
    let invocation = context.invocation
    let (type, who) = (invocation.required("type"), invocation.required("peer"))
    let timeout = invocation.duration("timeout") ?? defaultTimeout
    return try await SessionCommand.run(context, type, SessionCommand.Policy(invocation)) { command in
      try await command.advertiseByDefault()
      _ = try await command.connect(with: who, within: timeout)
    }
  }
}
