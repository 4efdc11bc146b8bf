internal import Nearby

/// Receives messages, files and streams from others.
enum ReceiveCommand {
  static func run(_ context: Context) async throws -> ExitCode {
    var context = context
    context.printer.newsTo = .error
    let invocation = context.invocation
    let type = invocation.required("type")
    var policy = SessionCommand.Policy(invocation)
    policy.takesFiles = true
    policy.streams = sink(context)
    if policy.streams != nil { context.printer.resultsTo = .error }
    if !policy.takesInvitations, !context.terminal.hasInput {
      throw UsageError("There is nobody to ask about invitations here: give --accept to take them all.", in: "receive")
    }
    return try await SessionCommand.run(context, type, policy) { command in
      try await command.advertise()
      if let time = invocation.duration("timeout") {
        command.tasks.add { await command.giveUp(after: time) }
      }
      if invocation.has("once") { command.tasks.add { await command.endWithFirst() } }
    }
  }

  /// The destination for streams as raw bytes; nil where they are printed as events, or line by line.
  private static func sink(_ context: Context) -> StreamSink? {
    if let path = context.invocation.text("output"), path != "-" { return StreamSink(.file(path), context.screen) }
    let isProgram = context.printer.isJSON || context.terminal.isOutputTerminal
    return isProgram ? nil : StreamSink(.output, context.screen)
  }
}

extension SessionCommand {
  /// Ends if no peer has connected in time.
  fileprivate func giveUp(after time: Duration) async {
    await context.eventThread.wait(for: time)
    if memberStates.isEmpty, !Task.isCancelled {
      await commandHost.fail(
        Failure(.notFound, "Nobody has connected within \(Quantity.limit(time)).", reason: "timedOut"))
    }
  }

  /// Ends when the first connected peer has gone and no transfer is in progress; succeeds if all that came is complete.
  fileprivate func endWithFirst() async {
    while true {
      let seen = changes.count
      let gone = memberStates.values.compactMap { state in
        if case .notConnected(let reason) = state { reason } else { nil }
      }
      if let reason = gone.first, incomingStreamCount == 0, transfers.isEmpty {
        commandHost.end(incomplete ?? (reason == .left ? .done : ExitCode(reason)))
        return
      }
      guard await changes.wait(since: seen) else { return }
    }
  }
}
