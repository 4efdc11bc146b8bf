/// Lets others find this peer and invite it.
enum AdvertiseCommand {
  static func run(_ context: Context) async throws -> ExitCode {
    var context = context
    context.printer.showsTime = true
    let type = context.invocation.required("type")
    return try await SessionCommand.run(context, type, SessionCommand.Policy(context.invocation)) { command in
      try await command.advertise()
      command.commandHost.endInTime(.done)
    }
  }
}
