/// Explains the program, or one command of it.
enum HelpCommand {
  static func run(_ invocation: Invocation, _ screen: Screen) async throws(UsageError) -> ExitCode {
    let command = try invocation.argument("command").map(command)
    guard invocation.has("man") else { return await run(command, screen) }
    await screen.write(Array(ManualPage(syntax: .vicinity).text(of: command).utf8))
    return .done
  }

  private static func command(_ name: String) throws(UsageError) -> CommandSyntax {
    if let command = Syntax.vicinity.command(name) { return command }
    let hint = Syntax.vicinity.hint(for: name)
    throw UsageError("There is no command '\(PlainText.brief(name))'.\(hint) 'vicinity help' lists them.")
  }

  /// Prints the help of a command, or the overview without one.
  static func run(_ command: CommandSyntax?, _ screen: Screen) async -> ExitCode {
    let help = Help(.vicinity, screen.terminal.paint(.out), columns: screen.terminal.columns())
    await screen.print(command.map(help.page) ?? help.overview())
    return .done
  }
}
