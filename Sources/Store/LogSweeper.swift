internal import Reactor

/// Brings the pages of a database's log to its file, on a thread of its own: who writes goes on meanwhile.
actor LogSweeper {
  nonisolated private let reactor: Reactor
  private let path: String

  init(_ path: String) throws {
    self.path = path
    reactor = try Reactor()
    reactor.start()
  }

  deinit { reactor.stop() }

  nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  /// All but what is written meanwhile.
  func sweep() throws(StoreError) { try Connection(path).bringLogHome() }

  /// Returns when none is under way.
  func rest() {}
}

extension Connection {
  /// As much of it as nobody is about to write.
  func bringLogHome() throws(StoreError) { try execute("PRAGMA wal_checkpoint(PASSIVE)") }
}
