internal import CSQLite
internal import Reactor

/// Brings the pages of a database's log to its file, on a thread of its own: who writes goes on meanwhile, and has
/// its turn first.
actor LogSweeper {
  nonisolated let reactor: Reactor
  private let path: String

  init(_ path: String) throws {
    self.path = path
    reactor = try Reactor()
    reactor.start(.last)
  }

  deinit { reactor.stop() }

  nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  /// All but the little that is written at last, and what was brought is there after a power cut: who brings the rest has no
  /// more than that to wait for.
  func sweep() throws(StoreError) {
    let connection = try Connection(path)
    // It knows of the log once it has read something.
    try connection.execute("PRAGMA user_version")
    for _ in 0..<Self.passes {
      for _ in 0..<Self.triesMax { if try connection.bringLogHome() { break } }
      try connection.syncFile()
    }
  }

  /// What is written during the first one is less than all there was, and so on. That all is home is true only of the log
  /// as it was when a pass began, so that each is synced.
  private static let passes = 2
  /// A commit has the log's head for itself while it copies that; who finds none free in so many tries goes on without.
  private static let triesMax = 100

  /// Returns when none is under way.
  func rest() {}
}

extension Connection {
  /// As much of it as nobody reads or is about to write. Where that is all, the next commit begins it anew. False where
  /// another has it for itself in this moment.
  @discardableResult
  func bringLogHome() throws(StoreError) -> Bool {
    var (pages, home) = (CInt(0), CInt(0))
    let code = sqlite3_wal_checkpoint_v2(pointer, nil, SQLITE_CHECKPOINT_PASSIVE, &pages, &home)
    if code == SQLITE_BUSY { return false }
    if code != SQLITE_OK { throw error(code, "bring the log home") }
    if pages >= 0, pages == home { logPages = 0 }
    return true
  }

  /// SQLite itself does that once the whole log is there, not before.
  func syncFile() throws(StoreError) {
    let code = CSQLite_sync_file(pointer)
    if code != SQLITE_OK { throw error(code, "sync") }
  }
}
