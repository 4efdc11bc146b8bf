internal import Store

extension Migration {
  static let audit = Migration(
    "audit",
    """
    CREATE TABLE deed (
      number INTEGER NOT NULL PRIMARY KEY,
      entry BLOB NOT NULL
    ) STRICT;
    """)
}

/// An audit entry of a gateway: who let whom, or what, in.
struct StoredAuditEntry: Hashable, Sendable {
  /// A number that increases.
  var number: Int
  /// JSON of the gateway's.
  var entry: [UInt8]

  init(number: Int, entry: [UInt8]) {
    self.number = number
    self.entry = entry
  }
}

extension Database {
  /// Reads all entries in order of insertion.
  func auditEntries() throws -> [StoredAuditEntry] {
    var entries: [StoredAuditEntry] = []
    try each("SELECT number, entry FROM deed ORDER BY number") { row in
      entries.append(StoredAuditEntry(number: row.integer(0), entry: row.bytes(1)))
    }
    return entries
  }

  func add(_ entry: StoredAuditEntry) throws(StoreError) {
    try run("INSERT INTO deed (number, entry) VALUES (?, ?)", entry.number, entry.entry)
  }

  func removeAuditEntry(_ number: Int) throws(StoreError) {
    try run("DELETE FROM deed WHERE number = ?", number)
  }
}
