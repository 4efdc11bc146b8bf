internal import Nearby

/// A host that runs for as long as a command does, and the command's exit code.
final class CommandHost: Sendable {
  /// Limit for the goodbyes: others are notified of the end within this time, or not at all.
  private static let shutdownTimeout: Duration = .seconds(5)

  let context: Context
  let host: Host
  let peer: Peer
  let tasks = TaskPool()
  private let exitStatus = ExitStatus()

  init(_ context: Context) async throws {
    self.context = context
    host = try await Self.startHost(context)
    peer = try await host.peer(named: context.name)
  }

  /// Starts the host. While its own keys are in use, a program can still search, with ephemeral keys.
  private static func startHost(_ context: Context) async throws -> Host {
    var options = try context.hostOptions()
    do {
      return try await Host.start(options)
    } catch {
      guard options.keys == .standard, error.code == .unavailable else { throw error }
      options.keys = .ephemeral
      options.store = .none
      guard let host = try? await Host.start(options) else { throw error }
      await context.printer.report(
        .warning("\(error.description) Until it ends this program is a guest that nobody knows."))
      return host
    }
  }

  /// Runs the body and returns the command's exit code, once the goodbyes are sent.
  func run(_ body: @escaping @Sendable (CommandHost) async throws -> Void) async -> ExitCode {
    tasks.add { await self.handleSignals() }
    tasks.add {
      do {
        try await body(self)
      } catch {
        await self.fail(error)
      }
    }
    tasks.add { await self.shutDown() }
    await tasks.run()
    return await exitStatus.code
  }

  /// From now on discovery's states are reported, and advice on settings that may not work as intended.
  func begin() {
    tasks.add { await Conditions.report(self.host.conditions) { await self.report($0) } }
    tasks.add { for await advice in self.host.advice { await self.report(.warning(advice.description)) } }
  }

  func end(_ code: ExitCode) { exitStatus.set(code) }

  var isEnding: Bool { exitStatus.isSet }

  /// Reports an error and ends.
  func fail(_ error: any Error) async {
    if isEnding { return }
    let failure = Failure(wrapping: error)
    await context.printer.report(.error(failure))
    end(failure.code)
  }

  func report(_ event: Event) async {
    await context.printer.report(event)
    // The reader of standard output is gone.
    if await !context.screen.hasReader { end(.done) }
  }

  /// Ends after the `--timeout`, if there is one.
  func endInTime(_ code: ExitCode) {
    guard let time = context.invocation.duration("timeout") else { return }
    tasks.add {
      await self.context.eventThread.wait(for: time)
      self.end(code)
    }
  }

  // MARK: Tasks

  private func shutDown() async {
    let code = await exitStatus.code
    // A program that is ended by a signal does not wait for a reader of its output.
    if code == .interrupted || code == .terminated { context.eventThread.end(code, after: Self.shutdownTimeout) }
    tasks.add { [context] in
      await context.eventThread.wait(for: Self.shutdownTimeout)
      if Task.isCancelled { return }
      await Vicinity.exit(code, context.screen)
    }
    await host.stop()
    tasks.cancel()
  }

  private func handleSignals() async {
    for await signal in context.eventThread.signals {
      switch signal {
      case .interrupt: end(.interrupted)
      case .terminate: end(.terminated)
      case .redraw: await context.screen.redraw()
      }
    }
  }
}

extension Failure {
  init(wrapping error: any Error) {
    switch error {
    case let error as Failure: self = error
    case let error as NearbyError: self.init(error)
    case let error as UsageError: self.init(.usage, error.description)
    default: self.init(.failed, "\(error)")
    }
  }
}
