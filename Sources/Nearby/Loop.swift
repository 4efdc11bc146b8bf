internal import Media
internal import Reactor

/// A thread with an event loop, on which a host's core lives.
///
/// It lives as long as anybody holds it: a call never waits for a loop that has ended. The core holds it until the host
/// has been stopped, and is let go of then.
actor Loop {
  let reactor: Reactor
  private var core: Core?

  init() throws(SystemError) {
    let reactor = try Reactor(standsVigil: true)
    self.reactor = reactor
    reactor.start()
  }

  deinit {
    reactor.stop()
  }

  /// For who is on the loop's thread, and stays there with it; nil where the host has been stopped.
  nonisolated var coreHere: Core? {
    // Unsafe for the compiler only: it does not leave the loop's thread.
    nonisolated(unsafe) var core: Core?
    assumeIsolated { core = $0.core?.isUp == true ? $0.core : nil }
    return core
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  func begin(
    _ keys: KeyStore, _ store: HostStore?, _ cargo: Cargo?, _ conditions: Mailbox<Condition>,
    _ advice: Mailbox<Advice>, _ options: HostOptions
  ) throws -> HostID {
    let core = try Core(keys, store, cargo, conditions, advice, options, on: self)
    self.core = core
    return core.hostID
  }

  /// Returns when the goodbyes are said.
  func stop(leaving: Bool) async {
    guard let core else { return }
    await withCheckedContinuation { continuation in
      if leaving { core.stop() } else { core.suspend() }
      core.wait(for: continuation)
    }
    // What a suspended host holds it finds again.
    if leaving || core.store == nil { await core.disk.discardAll() }
  }

  /// By the core, whose network is gone.
  nonisolated func letGo() { assumeIsolated { $0.core = nil } }

  /// One entry into the core; it throws `NearbyError.closed` where the host has been stopped.
  func run<Result: Sendable>(_ body: @Sendable (Core) throws -> Result) throws(NearbyError) -> Result {
    guard let core, core.isUp else { throw .closed }
    do {
      return try body(core)
    } catch {
      throw NearbyError(wrapping: error)
    }
  }

  /// For what has no answer, and means nothing to a host that has been stopped.
  nonisolated func post(_ body: @escaping @Sendable (Core) -> Void) {
    reactor.post { self.assumeIsolated { $0.go(body) } }
  }

  func go(_ body: @Sendable (Core) -> Void) {
    if let core, core.isUp { body(core) }
  }
}
