/// Talks with everybody nearby who chats with the same type.
enum ChatCommand {
  static func run(_ context: Context) async throws -> ExitCode {
    try await AdhocCommand.run(context, context.invocation.required("type"))
  }
}
