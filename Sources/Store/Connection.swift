internal import CSQLite

/// SQLite's handle of an open database.
final class Connection {
  let pointer: OpaquePointer
  /// For people.
  let path: String
  /// The size of the write-ahead log after the last commit, in pages; 0 when all are checkpointed.
  var logPages = 0

  init(_ path: String) throws(StoreError) {
    Self.disableMemoryStatistics
    SystemCalls.install
    var connection: OpaquePointer?
    // One thread at a time, so that no lock is needed.
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code = sqlite3_open_v2(path, &connection, flags, nil)
    guard let connection else { throw .failed(path: path, operation: "open", what: "out of memory") }
    pointer = connection
    self.path = path
    guard code == SQLITE_OK else { throw error(code, "open") }
    sqlite3_busy_timeout(connection, Self.busyMilliseconds)
    // It replaces SQLite's own hook, which checkpoints within a commit.
    sqlite3_wal_hook(connection, committed, Unmanaged.passUnretained(self).toOpaque())
    _ = CSQLite_keep_log(connection)
    // The schema is ours, and damage in a file must not become code.
    _ = CSQLite_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1)
    _ = CSQLite_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    _ = CSQLite_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0)
    _ = CSQLite_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0)
  }

  deinit {
    // It waits for the last statement to be finalized.
    sqlite3_close_v2(pointer)
  }

  /// Switches SQLite's memory statistics off: they are not used, and would take a lock for each allocation.
  private static let disableMemoryStatistics: Void = { _ = CSQLite_count_no_memory() }()

  /// Another tool may read the file.
  private static let busyMilliseconds: CInt = 5_000

  /// SQLITE_IOERR_SHMSIZE: there is no room for the log's index.
  private static let sharedMemorySizeError = SQLITE_IOERR | 19 << 8

  /// Whether a transaction is open; some errors end it by themselves.
  var isInTransaction: Bool { sqlite3_get_autocommit(pointer) == 0 }

  /// Runs several statements without values and rows.
  func execute(_ sql: String) throws(StoreError) {
    let code = sqlite3_exec(pointer, sql, nil, nil, nil)
    if code != SQLITE_OK { throw error(code, sql) }
  }

  /// The error for a code; the connection's own error text is about its last call.
  func error(_ code: CInt, _ operation: String) -> StoreError {
    // The index gets its size here where it has none yet.
    if code == Self.sharedMemorySizeError { return .full(path: path) }
    let what = sqlite3_errmsg(pointer).map { String(cString: $0) } ?? "code \(code)"
    switch code & 0xFF {
    case SQLITE_FULL: return .full(path: path)
    case SQLITE_CORRUPT: return .damaged(path: path, what: what)
    case SQLITE_NOTADB: return .notADatabase(path: path)
    case SQLITE_CONSTRAINT: return .refused(rule: what)
    case SQLITE_BUSY, SQLITE_LOCKED: return .inUse(path: path, process: nil)
    default: return .failed(path: path, operation: operation, what: "\(what), code \(code)")
    }
  }
}

private func committed(
  _ context: UnsafeMutableRawPointer?, _: OpaquePointer?, _: UnsafePointer<CChar>?, _ logPages: CInt
) -> CInt {
  guard let context else { return SQLITE_OK }
  // SQLite calls it within a call of the connection, so the connection exists.
  Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().logPages = Int(logPages)
  return SQLITE_OK
}
