internal import Nearby

/// A host that is up for as long as a command takes, and the end that it comes to.
final class Visit: Sendable {
  /// Others are told of the end within this time, or not at all.
  private static let goodbyeMax: Duration = .seconds(5)

  let context: Context
  let host: Host
  let peer: Peer
  let crew = Crew()
  private let ending = Ending()

  init(_ context: Context) async throws {
    self.context = context
    host = try await Self.startHost(context)
    peer = try await host.peer(named: context.name)
  }

  /// A program whose own keys are in use can still look around, as somebody else.
  private static func startHost(_ context: Context) async throws -> Host {
    var options = try context.hostOptions()
    do {
      return try await Host.start(options)
    } catch {
      guard options.keys == .standard, error.code == .unavailable else { throw error }
      options.keys = .ephemeral
      options.store = .none
      guard let host = try? await Host.start(options) else { throw error }
      await context.announcer.tell(
        .warning("\(error.description) Until it ends this program is a guest that nobody knows."))
      return host
    }
  }

  /// Returns how the command ends, when the goodbyes are said.
  func run(_ body: @escaping @Sendable (Visit) async throws -> Void) async -> ExitCode {
    crew.add { await self.heedSignals() }
    crew.add {
      do {
        try await body(self)
      } catch {
        await self.fail(error)
      }
    }
    crew.add { await self.sayGoodbye() }
    await crew.work()
    return await ending.code
  }

  /// From now on what becomes of discovery is told, and what may not work as it is meant.
  func begin() {
    crew.add { await Conditions.tell(self.host.conditions) { await self.tell($0) } }
    crew.add { for await advice in self.host.advice { await self.tell(.warning(advice.description)) } }
  }

  func end(_ code: ExitCode) { ending.settle(code) }

  var isEnding: Bool { ending.isSettled }

  /// Tells why, and ends.
  func fail(_ error: any Error) async {
    if isEnding { return }
    let failure = Failure(wrapping: error)
    await context.announcer.tell(.error(failure))
    end(failure.code)
  }

  func tell(_ event: Event) async {
    await context.announcer.tell(event)
    // Nobody wants to know any more.
    if await !context.screen.hasReader { end(.done) }
  }

  /// Ends after the time that was asked for, if any.
  func endInTime(_ code: ExitCode) {
    guard let time = context.invocation.duration("timeout") else { return }
    crew.add {
      await self.context.watch.pass(time)
      self.end(code)
    }
  }

  // MARK: The crew

  private func sayGoodbye() async {
    let code = await ending.code
    // Who is told to end waits for nobody to read what it has said.
    if code == .interrupted || code == .terminated { context.watch.end(code, after: Self.goodbyeMax) }
    crew.add { [context] in
      await context.watch.pass(Self.goodbyeMax)
      if Task.isCancelled { return }
      await Vicinity.exit(code, context.screen)
    }
    await host.stop()
    crew.dismiss()
  }

  private func heedSignals() async {
    for await signal in context.watch.signals {
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
    case let error as Misuse: self.init(.usage, error.description)
    default: self.init(.failed, "\(error)")
    }
  }
}
