/// Invites one peer, and stays in the session with it.
enum InviteCommand {
  static let timeoutByDefault: Duration = .seconds(30)

  static func run(_ context: Context) async throws -> ExitCode {
    var context = context
    context.announcer.showsTime = true
    let invocation = context.invocation
    let (type, who) = (invocation.required("type"), invocation.required("peer"))
    let timeout = invocation.duration("timeout") ?? timeoutByDefault
    return try await Stay.run(context, type, Stay.Policy(invocation)) { stay in
      try await stay.advertiseByDefault()
      _ = try await stay.connect(with: who, within: timeout)
    }
  }
}
