internal import Media
internal import Reactor

/// A thread with an event loop, on which a host's driver lives.
///
/// It lives as long as it is referenced: a call never waits for a loop that has ended. The driver references it until
/// the host has been stopped, and is released then.
actor Loop {
  let reactor: Reactor
  private var driver: HostDriver?

  init(pollsBusily: Bool) throws(SystemError) {
    let reactor = try Reactor(pollsBusily: pollsBusily)
    self.reactor = reactor
    reactor.start()
  }

  deinit {
    reactor.stop()
  }

  /// For code that is on the loop's thread, and stays there with it; nil where the host has been stopped.
  nonisolated var driverHere: HostDriver? {
    // Unsafe for the compiler only: it does not leave the loop's thread.
    nonisolated(unsafe) var driver: HostDriver?
    assumeIsolated { driver = $0.driver?.isUp == true ? $0.driver : nil }
    return driver
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  func begin(
    _ keys: KeyStore, _ store: HostStore?, _ hostExtension: HostExtension?, _ conditions: Mailbox<Condition>,
    _ advice: Mailbox<Advice>, _ pairings: Mailbox<BluetoothPairing>, _ options: HostOptions
  ) throws -> HostID {
    let driver = try HostDriver(keys, store, hostExtension, conditions, advice, pairings, options, on: self)
    self.driver = driver
    return driver.hostID
  }

  /// Returns when the host has left its sessions and its links are closed.
  func stop(leaving: Bool) async {
    guard let driver else { return }
    await withCheckedContinuation { continuation in
      if leaving { driver.stop() } else { driver.suspend() }
      driver.wait(for: continuation)
    }
    // A suspended host finds its files again.
    if leaving || driver.store == nil { await driver.disk.discardAll() }
  }

  /// Called by the driver when its network is gone.
  nonisolated func release() { assumeIsolated { $0.driver = nil } }

  /// One entry into the driver; it throws `NearbyError.closed` where the host has been stopped.
  func run<Result: Sendable>(_ body: @Sendable (HostDriver) throws -> Result) throws(NearbyError) -> Result {
    guard let driver, driver.isUp else { throw .closed }
    do {
      return try body(driver)
    } catch {
      throw NearbyError(wrapping: error)
    }
  }

  /// For calls without a result, which a stopped host ignores.
  nonisolated func post(_ body: @escaping @Sendable (HostDriver) -> Void) {
    reactor.post { self.assumeIsolated { $0.go(body) } }
  }

  func go(_ body: @Sendable (HostDriver) -> Void) {
    if let driver, driver.isUp { body(driver) }
  }
}
