internal import CSQLite
internal import Glibc
internal import Reactor

/// One SQLite database, open: this process's alone, and one thread's at a time.
///
/// What a transaction has committed is there after a power cut, and what it has removed is overwritten: the log may have
/// it until it is emptied. Statements are constant texts: each is prepared once and kept. Nobody holds one: they run
/// within a call, and are reset when it ends.
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
  private var statements: [String: Statement] = [:]
  /// Mostly that of the next call, too: found without a look at all of its text.
  private var last: (sql: String, statement: Statement)?

  /// What is kept of it in memory.
  private static let cacheKiB = 8 << 10
  /// What the log may keep of the disk once its pages are in the file: twice what it has when it is brought there. One that
  /// is cut shorter each time grows again, and then commits wait for the file system's own journal, too.
  private static let logBytesMax = 16 << 20
  /// Looking through all of a large file would hold up each start; damage there is found when it is met.
  private static let checkedBytesMax: Int64 = 64 << 20
  /// "vic1": what `file` says of it, and what tells it from others.
  private static let applicationID: Int64 = 0x7669_6331
  /// Each is the text of a call; who makes texts as it goes would fill memory.
  private static let statementsMax = 512

  /// Opens a file, makes it where it is missing, and brings it to the schema.
  public init(_ path: String, schema: Schema = .house) throws(StoreError) {
    self.path = path
    file = try DatabaseFile(path)
    connection = try Connection(path)
    // Nothing is written before it is sure whose file this is.
    let version = Int(try number("PRAGMA user_version"))
    let isNew = try number("PRAGMA schema_version") == 0
    if !isNew, try number("PRAGMA application_id") != Self.applicationID { throw .foreign(path: path) }
    if version < 0 { throw .damaged(path: path, what: "it says that its schema is number \(version)") }
    if version > schema.version { throw .newer(path: path, version: version, known: schema.version) }
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
    try migrate(from: version, to: schema)
    try connection.execute("PRAGMA foreign_keys = ON")
    let commits = try CommitNumbers(
      of: self, isNew: file.isNew, afterLoss: schema.afterLoss, file: try file.lastCommit())
    loss = commits.loss
    self.commits = commits
    try file.syncFolder()
  }

  deinit {
    // Before the connection: it is closed with the last of them.
    (statements, last) = ([:], nil)
  }

  /// Looks through the whole file.
  public func check() throws(StoreError) {
    let statement = try take("PRAGMA quick_check(1)")
    defer { giveBack(statement, "PRAGMA quick_check(1)") }
    while try statement.step(connection) {
      let said = Row(statement).text(0)
      if said != "ok" { throw .damaged(path: path, what: said) }
    }
  }

  func hasBrokenReferences() throws(StoreError) -> Bool {
    let statement = try take("PRAGMA foreign_key_check")
    defer { giveBack(statement, "PRAGMA foreign_key_check") }
    return try statement.step(connection)
  }

  func number(_ sql: String) throws(StoreError) -> Int64 {
    let statement = try take(sql)
    defer { giveBack(statement, sql) }
    return try statement.step(connection) ? statement.integer(0) : 0
  }

  // MARK: Commits

  /// Commits what the bodies of a transaction that has begun have changed, by the work, which commits it.
  func commit(changedSince before: Int64, _ work: () throws(StoreError) -> Void) throws(StoreError) {
    let hasChanged = changesOfAll != before
    if hasChanged { try commits?.count(in: self) }
    try work()
    if hasChanged { commits?.counted() }
  }

  /// How many rows were changed since it was opened.
  var changesOfAll: Int64 { sqlite3_total_changes64(connection.pointer) }

  // MARK: Statements

  /// One that is in use is not in the cache: the same text may run within its own rows.
  private func take(_ sql: String) throws(StoreError) -> Statement {
    if let (text, statement) = last, text == sql {
      last = nil
      return statement
    }
    if let statement = statements.removeValue(forKey: sql) { return statement }
    return try Statement(sql, connection)
  }

  private func giveBack(_ statement: Statement, _ sql: String) {
    statement.reset()
    if let (text, before) = last {
      if statements.count == Self.statementsMax { statements = [:] }
      statements[text] = before
    }
    last = (sql, statement)
  }

  /// Runs what gives no rows.
  public func run<each Value: Bindable>(_ sql: String, _ values: repeat each Value) throws(StoreError) {
    let statement = try take(sql)
    defer { giveBack(statement, sql) }
    repeat statement.bind((each values).datum)
    while try statement.step(connection) {}
  }

  /// Shows one row after another.
  public func each<each Value: Bindable>(
    _ sql: String, _ values: repeat each Value, row: (borrowing Row) throws -> Void
  ) throws {
    let statement = try take(sql)
    defer { giveBack(statement, sql) }
    repeat statement.bind((each values).datum)
    while try statement.step(connection) { try row(Row(statement)) }
  }

  /// Of the first row; nil where there is none.
  public func first<Result, each Value: Bindable>(
    _ sql: String, _ values: repeat each Value, row: (borrowing Row) throws -> Result
  ) throws -> Result? {
    let statement = try take(sql)
    defer { giveBack(statement, sql) }
    repeat statement.bind((each values).datum)
    return try statement.step(connection) ? try row(Row(statement)) : nil
  }

  /// How many rows the last change has changed.
  public var changes: Int { Int(sqlite3_changes64(connection.pointer)) }
}
