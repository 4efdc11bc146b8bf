internal import Nearby

/// Reports peers that come and go.
enum BrowseCommand {
  static func run(_ context: Context) async throws -> ExitCode {
    var context = context
    context.printer.showsTime = true
    let type = context.invocation.required("type")
    var policy = SessionCommand.Policy(context.invocation)
    policy.reportsPeers = true
    return try await SessionCommand.run(context, type, policy) { command in
      try await command.startBrowsing()
      command.commandHost.endInTime(.done)
    }
  }
}
