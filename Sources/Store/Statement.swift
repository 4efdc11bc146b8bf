internal import CSQLite

/// A prepared statement. Its user has taken it out of the database's cache, and returns it when it is reset.
final class Statement {
  private let pointer: OpaquePointer
  private var bound: CInt = 0
  private var bindFailure = SQLITE_OK

  init(_ sql: String, _ connection: Connection) throws(StoreError) {
    var statement: OpaquePointer?
    let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
    let code = sqlite3_prepare_v3(connection.pointer, sql, -1, flags, &statement, nil)
    guard let statement else { throw connection.error(code, "prepare \(sql)") }
    pointer = statement
  }

  deinit {
    sqlite3_finalize(pointer)
  }

  /// Binds the next parameter.
  func bind(_ sqlValue: SQLValue) {
    bound += 1
    let code =
      switch sqlValue {
      case .null: sqlite3_bind_null(pointer, bound)
      case .integer(let value): sqlite3_bind_int64(pointer, bound, value)
      case .real(let value): sqlite3_bind_double(pointer, bound, value)
      case .text(var text): text.withUTF8 { bind(text: UnsafeRawBufferPointer($0)) }
      case .blob(let bytes): bytes.withUnsafeBytes { bind(blob: $0) }
      }
    if code != SQLITE_OK { bindFailure = code }
  }

  private func bind(text: UnsafeRawBufferPointer) -> CInt {
    // An empty buffer has no address, which would bind NULL.
    guard let base = text.baseAddress else { return CSQLite_bind_text(pointer, bound, "", 0) }
    return CSQLite_bind_text(pointer, bound, base.assumingMemoryBound(to: CChar.self), UInt64(text.count))
  }

  private func bind(blob: UnsafeRawBufferPointer) -> CInt {
    guard let base = blob.baseAddress, blob.count > 0 else { return sqlite3_bind_zeroblob(pointer, bound, 0) }
    return CSQLite_bind_blob(pointer, bound, base, UInt64(blob.count))
  }

  /// Runs to the next row; returns false if there is none.
  func step(_ connection: Connection) throws(StoreError) -> Bool {
    precondition(bound == sqlite3_bind_parameter_count(pointer), "\(bound) values are not what \(sql) takes")
    guard bindFailure == SQLITE_OK else { throw connection.error(bindFailure, "bind") }
    switch sqlite3_step(pointer) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code: throw connection.error(code, sql)
    }
  }

  /// Resets it and clears its parameters: it holds no lock, and no copies of values.
  func reset() {
    // It repeats the error of the last step.
    _ = sqlite3_reset(pointer)
    sqlite3_clear_bindings(pointer)
    bound = 0
    bindFailure = SQLITE_OK
  }

  private var sql: String { sqlite3_sql(pointer).map { String(cString: $0) } ?? "" }

  // MARK: Columns

  func isNull(_ column: Int) -> Bool { sqlite3_column_type(pointer, CInt(column)) == SQLITE_NULL }
  func integer(_ column: Int) -> Int64 { sqlite3_column_int64(pointer, CInt(column)) }
  func real(_ column: Int) -> Double { sqlite3_column_double(pointer, CInt(column)) }

  /// Reads bytes, which SQLite owns until the next step.
  func withBytes<Result>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    // First the address, then the count, as SQLite requires.
    let base = sqlite3_column_blob(pointer, CInt(column))
    let count = Int(sqlite3_column_bytes(pointer, CInt(column)))
    return try body(UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : count))
  }
}
