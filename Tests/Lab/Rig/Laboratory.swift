internal import Reactor

/// The one thread on which rigs live, and the tests that use them. It lives as long as the process.
@globalActor
actor Laboratory {
  static let shared = Laboratory()
  static var reactor: Reactor { shared.reactor }

  private let reactor: Reactor

  private init() {
    do {
      reactor = try Reactor()
    } catch {
      fatalError("the laboratory has no loop: \(error)")
    }
    reactor.start()
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }
}

extension Laboratory {
  /// The polling interval for conditions without an event.
  private static let lookInterval = Duration.milliseconds(20)

  /// Nanoseconds on the monotonic clock, as the times of lines.
  nonisolated static var now: UInt64 { Reactor.now }

  /// Lets real time pass: a fault that lasts is one that lasts so long.
  @Laboratory
  static func pass(_ time: Duration) async {
    await withCheckedContinuation { continuation in
      _ = reactor.schedule(after: time) { continuation.resume() }
    }
  }

  /// Polls until a condition without an event holds.
  @Laboratory
  static func wait(
    until what: String, within time: Duration, _ holds: @Laboratory () async throws -> Bool
  ) async throws {
    let start = ContinuousClock.now
    while try await !holds() {
      guard ContinuousClock.now - start < time else { throw LabError("within \(time) it was not so that \(what)") }
      await pass(lookInterval)
    }
  }
}
