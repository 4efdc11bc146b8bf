internal import Nearby

/// Sends the given messages, files and streams to one peer, and ends.
enum SendCommand {
  static func run(_ context: Context) async throws -> ExitCode {
    var context = context
    context.printer.newsTo = .error
    let invocation = context.invocation
    let (type, who) = (invocation.required("type"), invocation.required("peer"))
    let timeout = invocation.duration("timeout") ?? InviteCommand.defaultTimeout
    let places = try invocation.texts("url").map(ResourceSource.url)
    let files = invocation.texts("file") + places.compactMap { if case .file(let path) = $0 { path } else { nil } }
    try await check(context, files)
    var policy = SessionCommand.Policy(invocation)
    policy.readsInstructions = false
    policy.files = Set(files.map(FileSystem.absolute))
    return try await SessionCommand.run(context, type, policy) { command in
      let member = try await command.connect(with: who, within: timeout)
      do {
        try await send(command, files, places, to: member)
      } catch {
        // The end of what was sent may be reported before that of the connection.
        if Failure(wrapping: error).code == .lost { await command.settle(member) }
        throw error
      }
      command.commandHost.end(.done)
    }
  }

  private static func send(
    _ command: SessionCommand, _ files: [String], _ places: [ResourceSource], to member: Member
  ) async throws {
    let invocation = command.context.invocation
    for text in invocation.texts("message") {
      if invocation.has("unreliable") {
        try await command.session.send(Array(text.utf8), to: .only([member]), .unreliable)
      } else {
        try await command.session.deliver(Array(text.utf8), to: member)
      }
    }
    for path in files {
      if let failure = await command.send(file: path, to: member) { throw failure }
    }
    for case .web(let address) in places {
      if let failure = await command.send(.web(address), to: member) { throw failure }
    }
    if let name = invocation.text("stream") { try await command.pump(name, to: member) }
  }

  /// Reports errors before any peer is contacted.
  private static func check(_ context: Context, _ files: [String]) async throws {
    let invocation = context.invocation
    guard ["message", "file", "url", "stream"].contains(where: invocation.has) else {
      throw UsageError(
        "There is nothing to send: give --message TEXT, --file PATH, --url URL or --stream NAME.", in: "send")
    }
    for path in files where !FileSystem.isFile(path) {
      let shown = PlainText.line(path)
      guard FileSystem.exists(path) else { throw Failure(.failed, FileSystem.missingFileSentence(path)) }
      throw Failure(
        .failed, "\(shown) is no plain file; a folder goes as a stream: tar c \(shown) | vicinity send … --stream NAME")
    }
    for path in files {
      if let fault = FileSystem.fault(ofReading: path) { throw Failure(.failed, fault) }
    }
    if invocation.has("stream"), context.terminal.isInputTerminal {
      await context.printer.report(.warning("The stream is what you type.", cure: "End it with Ctrl-D."))
    }
  }
}
