internal import Gateway
internal import Glibc

/// The command line of Vicinity.
@main
enum Vicinity {
  static let version = Gateway.version

  static func main() async {
    // Swift reads the command line from /proc, the program's own name first.
    guard !CommandLine.arguments.isEmpty else {
      StandardStream.error.write(
        "vicinity: the command line cannot be read, since /proc is not mounted here: mount -t proc proc /proc\n")
      Glibc.exit(ExitCode.failed.rawValue)
    }
    let words = Array(CommandLine.arguments.dropFirst())
    let screen = Screen(.current(wantsColour: !words.contains("--no-color")))
    await exit(await run(words, screen), screen)
  }

  /// Exits and restores the terminal.
  static func exit(_ code: ExitCode, _ screen: Screen) async -> Never {
    await screen.end()
    TerminalMode.end()
    if code == .done, let fault = await screen.outputFault {
      StandardStream.error.write("vicinity: \(fault)\n")
      Glibc.exit(ExitCode.failed.rawValue)
    }
    Glibc.exit(code.rawValue)
  }

  private static func run(_ words: [String], _ screen: Screen) async -> ExitCode {
    var command: String?
    let code: ExitCode
    do {
      switch try Parser(.vicinity, in: .current).parse(words) {
      case .version: return await VersionCommand.run(screen, isJSON: false)
      case .help(let command): return await HelpCommand.run(command, screen)
      case .invocation(let invocation):
        command = invocation.command.name
        code = try await run(invocation, screen)
      }
    } catch {
      let failure = Failure(wrapping: error)
      var printer = EventPrinter(screen: screen)
      printer.isJSON = words.contains("--json")
      await printer.report(.error(failure))
      command = (error as? UsageError)?.command ?? command
      code = failure.code
    }
    // After a usage error, the help is another way to learn the syntax.
    if code == .usage, let command {
      await screen.print("'vicinity help \(command)' explains it, with examples.", to: .error)
    }
    return code
  }

  private static func run(_ invocation: Invocation, _ screen: Screen) async throws -> ExitCode {
    switch invocation.command.name {
    case "help": return try await HelpCommand.run(invocation, screen)
    case "version": return await VersionCommand.run(screen, isJSON: invocation.has("json"))
    case "completion": return await CompletionCommand.run(invocation, screen)
    default: break
    }
    // On the command line, `--no-color` took effect earlier; from other sources it does now.
    let screen = invocation.has("no-color") ? Screen(.current(wantsColour: false)) : screen
    let eventThread = EventThread()
    eventThread.start()
    var printer = EventPrinter(screen: screen)
    printer.isJSON = invocation.has("json")
    printer.isQuiet = invocation.has("quiet")
    let terminal = screen.terminal
    let isTyped = terminal.isInputTerminal && terminal.canDraw && !printer.isJSON
    let context = Context(
      invocation: invocation, screen: screen, eventThread: eventThread,
      lines: Lines(eventThread, screen, isTyped: isTyped),
      printer: printer)
    switch invocation.command.name {
    case "advertise": return try await AdvertiseCommand.run(context)
    case "browse": return try await BrowseCommand.run(context)
    case "invite": return try await InviteCommand.run(context)
    case "gather": return try await GatherCommand.run(context)
    case "adhoc": return try await AdhocCommand.run(context)
    case "chat": return try await ChatCommand.run(context)
    case "send": return try await SendCommand.run(context)
    case "receive": return try await ReceiveCommand.run(context)
    case "peers": return try await PeersCommand.run(context)
    case "identity": return try await IdentityCommand.run(context)
    case "serve": return try await ServeCommand.run(context)
    case "admin": return try await AdminCommand.run(context)
    case "backup": return try await BackupCommand.run(context)
    case "pair": return try await PairCommand.run(context)
    case "radio": return try await RadioCommand.run(context)
    case "doctor": return try await DoctorCommand.run(context)
    case let name: preconditionFailure("\(name) stands in the table, and nothing carries it out")
    }
  }
}
