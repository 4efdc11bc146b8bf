enum CompletionCommand {
  static func run(_ invocation: Invocation, _ screen: Screen) async -> ExitCode {
    guard let shell = Completion.Shell(rawValue: invocation.required("shell")) else {
      preconditionFailure("the table has a shell that there is no completion for")
    }
    await screen.write(Array(Completion(syntax: .vicinity).script(for: shell).utf8))
    return .done
  }
}
