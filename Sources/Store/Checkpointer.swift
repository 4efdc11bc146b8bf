internal import CSQLite
internal import Reactor

/// A checkpointer: it copies the pages of a database's write-ahead log to its file, on a thread of its own. Writers
/// continue meanwhile, and have precedence.
actor Checkpointer {
  nonisolated let reactor: Reactor
  private let path: String

  init(_ path: String) throws {
    self.path = path
    reactor = try Reactor()
    reactor.start(.last)
  }

  deinit { reactor.stop() }

  nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  /// Checkpoints all pages but the few that are written last, and syncs the file, so that the final checkpoint has only
  /// those few to wait for.
  func checkpoint() throws(StoreError) {
    let connection = try Connection(path)
    // The connection knows of the log once it has read something.
    try connection.execute("PRAGMA user_version")
    for _ in 0..<Self.passes {
      for _ in 0..<Self.triesMax { if try connection.checkpoint() { break } }
      try connection.syncFile()
    }
  }

  /// The second pass copies the pages that were written during the first, which are fewer. "All copied" holds only for
  /// the log as it was when a pass began, so each pass is synced.
  private static let passes = 2
  /// A commit locks the log's header while it copies it; after so many failed tries the checkpoint is skipped.
  private static let triesMax = 100

  /// Returns when no checkpoint is under way.
  func waitUntilIdle() {}
}

extension Connection {
  /// Checkpoints as many pages as no connection reads or is about to write. If these are all, the next commit restarts
  /// the log. Returns false if another connection holds the lock now.
  @discardableResult
  func checkpoint() throws(StoreError) -> Bool {
    var (pages, copied) = (CInt(0), CInt(0))
    let code = sqlite3_wal_checkpoint_v2(pointer, nil, SQLITE_CHECKPOINT_PASSIVE, &pages, &copied)
    if code == SQLITE_BUSY { return false }
    if code != SQLITE_OK { throw error(code, "checkpoint") }
    if pages >= 0, pages == copied { logPages = 0 }
    return true
  }

  /// Syncs the file. SQLite itself does so only once the whole log is copied.
  func syncFile() throws(StoreError) {
    let code = CSQLite_sync_file(pointer)
    if code != SQLITE_OK { throw error(code, "sync") }
  }
}
