internal import CSQLite

/// SQLite's handle of an open database.
final class Connection {
  let pointer: OpaquePointer
  /// For people.
  let path: String
  /// As the last commit has left the log; none where they are all home.
  var logPages = 0

  init(_ path: String) throws(StoreError) {
    Self.countNoMemory
    SystemCalls.areOurs
    var connection: OpaquePointer?
    // One thread at a time, so that there is nothing to lock.
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code = sqlite3_open_v2(path, &connection, flags, nil)
    guard let connection else { throw .failed(path: path, operation: "open", what: "out of memory") }
    pointer = connection
    self.path = path
    guard code == SQLITE_OK else { throw error(code, "open") }
    sqlite3_busy_timeout(connection, Self.busyMilliseconds)
    // In the place of SQLite's own, which brings the log to the file within a commit.
    sqlite3_wal_hook(connection, committed, Unmanaged.passUnretained(self).toOpaque())
    _ = CSQLite_keep_log(connection)
    // The schema is ours, and what is wrong in a file must not become code.
    _ = CSQLite_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1)
    _ = CSQLite_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    _ = CSQLite_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0)
    _ = CSQLite_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0)
  }

  deinit {
    // It waits for the last statement to be finalized.
    sqlite3_close_v2(pointer)
  }

  /// Nobody asks how much memory there is in use, and to count it each piece would be taken under a lock.
  private static let countNoMemory: Void = { _ = CSQLite_count_no_memory() }()

  /// Somebody may look at the file with another tool.
  private static let busyMilliseconds: CInt = 5_000

  /// SQLITE_IOERR_SHMSIZE: of the log's index.
  private static let noRoomForIndex = SQLITE_IOERR | 19 << 8

  /// Whether a transaction is open: some faults end it by themselves.
  var isInTransaction: Bool { sqlite3_get_autocommit(pointer) == 0 }

  /// Several statements, without values and rows.
  func execute(_ sql: String) throws(StoreError) {
    let code = sqlite3_exec(pointer, sql, nil, nil, nil)
    if code != SQLITE_OK { throw error(code, sql) }
  }

  /// What a code means; the connection's own words belong to its last call.
  func error(_ code: CInt, _ operation: String) -> StoreError {
    // It is given its size there where it has none yet.
    if code == Self.noRoomForIndex { return .full(path: path) }
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
  // It is called within a call of the connection, and so while that is there.
  Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue().logPages = Int(logPages)
  return SQLITE_OK
}
