/// Explains the program, or one command of it.
enum HelpCommand {
  static func run(_ invocation: Invocation, _ screen: Screen) async throws(Misuse) -> ExitCode {
    guard let name = invocation.argument("command") else { return await run(nil, screen) }
    guard let command = Syntax.vicinity.command(name) else {
      let hint = Syntax.vicinity.hint(for: name)
      throw Misuse("There is no command '\(PlainText.brief(name))'.\(hint) 'vicinity help' lists them.")
    }
    return await run(command, screen)
  }

  /// Of the whole where no command is given.
  static func run(_ command: CommandSyntax?, _ screen: Screen) async -> ExitCode {
    let help = Help(.vicinity, screen.terminal.paint(.out), columns: screen.terminal.columns())
    await screen.print(command.map(help.page) ?? help.overview())
    return .done
  }
}
