/// A read-only connection beside a writer's own; the writer never waits for it.
///
/// Its cache is small: it takes little memory, and pages come from the file.
public final class DatabaseReader {
  private let connection: Connection
  private let path: String

  public init(_ path: String) throws(StoreError) {
    self.path = path
    connection = try Connection(path)
    try connection.execute("PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA cache_size = -256")
  }

  /// The names of all tables.
  public func tables() throws(StoreError) -> [String] {
    var names: [String] = []
    try each("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") { row in
      names.append(row.text(0))
      return true
    }
    return names
  }

  /// Checks the pages, rows and indexes of one table.
  public func check(table name: String) throws(StoreError) {
    let quoted = name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
    var said = "ok"
    try each("PRAGMA quick_check(\"\(quoted)\")") { row in
      said = row.text(0)
      return false
    }
    if said != "ok" { throw .damaged(path: path, what: said) }
  }

  /// Calls back with one row after another, until it returns false.
  public func each<each Value: Bindable>(
    _ sql: String, _ values: repeat each Value, row: (borrowing Row) -> Bool
  ) throws(StoreError) {
    let statement = try Statement(sql, connection)
    repeat statement.bind((each values).sqlValue)
    while try statement.step(connection) {
      if !row(Row(statement)) { return }
    }
  }
}
