internal import CSQLite
internal import Glibc
internal import Reactor

/// An open SQLite database, used by this process alone and by one thread at a time.
///
/// A committed transaction survives a power cut, and removed rows are overwritten; the write-ahead log may hold them
/// until it is emptied. Statements are constant texts: each is prepared once and cached. Callers never hold one: a
/// statement runs within a call, and is reset when the call ends.
///
/// ```swift
/// try database.run("INSERT INTO peer (id, name) VALUES (?, ?)", id, name)
/// try database.each("SELECT name FROM peer WHERE id > ?", id) { row in print(row.text(0)) }
/// ```
public final class Database {
  public let path: String
  let connection: Connection
  /// Held until the connection is closed.
  private let file: DatabaseFile
  private var commits: CommitNumbers?
  /// The commits that were missing when it was opened; nil for none.
  public private(set) var loss: StoreLoss?
  /// SQL for a copy, whose history branches off.
  let onFork: String
  private var statements: [String: Statement] = [:]
  /// The last statement; the next call mostly uses it too, and finds it without hashing its text.
  private var last: (sql: String, statement: Statement)?

  /// The size of SQLite's page cache.
  private static let cacheKiB = 8 << 10
  /// The limit on the log's file size after a checkpoint: twice its size when a checkpoint begins. A log that is cut
  /// shorter each time grows again, and then commits wait for the file system's journal, too.
  private static let logBytesMax = 16 << 20
  /// The limit for a check of the whole file at the start: a larger file would delay each start, and its damage is
  /// found when it is read.
  private static let checkedBytesMax: Int64 = 64 << 20
  /// "vic1": `file` shows it, and it identifies our databases.
  private static let applicationID: Int64 = 0x7669_6331
  /// The limit on cached statements. Each is the constant text of a call; a caller that composes texts would fill
  /// memory.
  private static let statementsMax = 512

  /// Opens a file, creates it if it is missing, and migrates it to the schema.
  public init(_ path: String, schema: Schema) throws(StoreError) {
    self.path = path
    onFork = schema.onFork(of: schema.versions)
    file = try DatabaseFile(path)
    connection = try Connection(path)
    // Nothing is written before it is known that the file is ours.
    let isNew = try number("PRAGMA schema_version") == 0
    if !isNew, try number("PRAGMA application_id") != Self.applicationID { throw .foreign(path: path) }
    let versions = try versions(of: schema)
    if file.size <= Self.checkedBytesMax { try check() }
    try connection.execute(
      """
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA cache_size = -\(Self.cacheKiB);
      PRAGMA journal_size_limit = \(Self.logBytesMax);
      PRAGMA secure_delete = ON;
      """)
    if isNew { try connection.execute("PRAGMA application_id = \(Self.applicationID)") }
    try migrate(from: versions, to: schema)
    try connection.execute("PRAGMA foreign_keys = ON")
    let commits = try CommitNumbers(of: self, isNew: file.isNew, file: try file.lastCommit())
    loss = commits.loss
    self.commits = commits
    try file.syncFolder()
  }

  deinit {
    // Statements first: the connection is closed when the last of them is finalized.
    (statements, last) = ([:], nil)
  }

  /// Checks the whole file.
  public func check() throws(StoreError) {
    let statement = try borrowStatement("PRAGMA quick_check(1)")
    defer { returnStatement(statement, "PRAGMA quick_check(1)") }
    while try statement.step(connection) {
      let result = Row(statement).text(0)
      if result != "ok" { throw .damaged(path: path, what: result) }
    }
  }

  func hasBrokenReferences() throws(StoreError) -> Bool {
    let statement = try borrowStatement("PRAGMA foreign_key_check")
    defer { returnStatement(statement, "PRAGMA foreign_key_check") }
    return try statement.step(connection)
  }

  func number(_ sql: String) throws(StoreError) -> Int64 {
    let statement = try borrowStatement(sql)
    defer { returnStatement(statement, sql) }
    return try statement.step(connection) ? statement.integer(0) : 0
  }

  // MARK: Commits

  /// Commits a transaction's changes: `work` does the commit.
  func commit(changedSince before: Int64, _ work: () throws(StoreError) -> Void) throws(StoreError) {
    let hasChanged = totalChanges != before
    if hasChanged { try commits?.writeNext(in: self) }
    try work()
    if hasChanged { commits?.recordCommit() }
  }

  /// The number of rows changed since it was opened.
  var totalChanges: Int64 { sqlite3_total_changes64(connection.pointer) }

  // MARK: Statements

  /// A statement in use is not in the cache: the same text may run again within its own rows.
  private func borrowStatement(_ sql: String) throws(StoreError) -> Statement {
    if let (text, statement) = last, text == sql {
      last = nil
      return statement
    }
    if let statement = statements.removeValue(forKey: sql) { return statement }
    return try Statement(sql, connection)
  }

  private func returnStatement(_ statement: Statement, _ sql: String) {
    statement.reset()
    if let (text, before) = last {
      if statements.count == Self.statementsMax { statements = [:] }
      statements[text] = before
    }
    last = (sql, statement)
  }

  /// Runs a statement without rows.
  public func run<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws(StoreError) {
    let statement = try borrowStatement(sql)
    defer { returnStatement(statement, sql) }
    repeat statement.bind((each values).sqlValue)
    while try statement.step(connection) {}
  }

  /// Calls back with one row after another.
  public func each<each Value: Bindable>(
    _ sql: String, _ values: repeat each Value, row: (borrowing Row) throws -> Void
  ) throws {
    let statement = try borrowStatement(sql)
    defer { returnStatement(statement, sql) }
    repeat statement.bind((each values).sqlValue)
    while try statement.step(connection) { try row(Row(statement)) }
  }

  /// Reads the first row; nil if there is none.
  public func first<Result, each Value: Bindable>(
    _ sql: String, _ values: repeat each Value, row: (borrowing Row) throws -> Result
  ) throws -> Result? {
    let statement = try borrowStatement(sql)
    defer { returnStatement(statement, sql) }
    repeat statement.bind((each values).sqlValue)
    return try statement.step(connection) ? try row(Row(statement)) : nil
  }

  /// The number of rows that the last statement has changed.
  public var changes: Int { Int(sqlite3_changes64(connection.pointer)) }
}
