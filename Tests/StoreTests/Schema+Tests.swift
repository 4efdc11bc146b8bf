@testable import Store

extension Schema {
  /// Values by their keys, and an epoch that is another one once the history branches off.
  static let pairs = Schema([
    Migration(
      "pairs",
      """
      CREATE TABLE pair (key BLOB NOT NULL PRIMARY KEY, value BLOB NOT NULL) STRICT;
      CREATE TABLE epoch (name TEXT NOT NULL) STRICT;
      INSERT INTO epoch VALUES ('first');
      """, onFork: "UPDATE epoch SET name = lower(hex(randomblob(8)))")
  ])

  static let things = Schema([
    Migration(
      "things",
      """
      CREATE TABLE thing (id INTEGER PRIMARY KEY, name TEXT NOT NULL, bytes BLOB NOT NULL, weight REAL) STRICT;
      CREATE TABLE part (thing INTEGER NOT NULL REFERENCES thing) STRICT;
      """)
  ])

  /// Opens any database of ours, and leaves its tables as they are.
  static let none = Schema([] as [Layer])

  /// The schema of one layer.
  init(_ migrations: [Migration]) { self.init([Layer("test", migrations)]) }
}

extension Database {
  func set(_ key: [UInt8], to value: [UInt8]) throws(StoreError) {
    try run("INSERT OR REPLACE INTO pair VALUES (?, ?)", key, value)
  }

  func value(of key: [UInt8]) throws -> [UInt8]? {
    try first("SELECT value FROM pair WHERE key = ?", key) { $0.bytes(0) }
  }

  func epoch() throws -> String? { try first("SELECT name FROM epoch") { $0.text(0) } }

  /// The names of all tables that have one of a layer's own.
  func tables() throws -> [String] {
    var names: [String] = []
    try each("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") { names.append($0.text(0)) }
    return names.filter { !["layer", CommitNumbers.table].contains($0) }
  }
}
