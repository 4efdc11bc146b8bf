internal import Dispatch

/// A barrier at which a thread of a gateway stops, until it may go on.
final class Standstill: Sendable {
  private let (reached, reach) = AsyncStream.makeStream(of: Void.self)
  private let release = DispatchSemaphore(value: 0)

  /// Blocks the thread that calls it.
  func stand() {
    reach.finish()
    release.wait()
  }

  /// Returns when the thread stands.
  func begun() async {
    for await _ in reached {}
  }

  func end() { release.signal() }

  /// Does something meanwhile; `on` runs what it is given on the thread.
  static func hold(
    on thread: @escaping @Sendable (@escaping @Sendable () -> Void) async throws -> Void,
    _ body: () async throws -> Void
  ) async throws {
    let standstill = Standstill()
    async let held: Void = thread { standstill.stand() }
    await standstill.begun()
    do {
      try await body()
    } catch {
      standstill.end()
      throw error
    }
    standstill.end()
    try await held
  }
}
