/// Chats with all nearby peers that use the same type.
enum ChatCommand {
  static func run(_ context: Context) async throws -> ExitCode {
    try await AdhocCommand.run(context, context.invocation.required("type"))
  }
}
