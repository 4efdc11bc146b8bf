internal import Store

extension Migration {
  static let facts = Migration(
    "facts",
    """
    CREATE TABLE fact (
      host BLOB NOT NULL,
      key BLOB NOT NULL,
      value BLOB NOT NULL,
      PRIMARY KEY (host, key)
    ) STRICT;
    """)
}

/// Facts that hosts' engines store: the latest value of each key. A host sees only its own.
extension Database {
  func facts(of host: [UInt8]) throws -> [(key: [UInt8], value: [UInt8])] {
    var facts: [(key: [UInt8], value: [UInt8])] = []
    try each("SELECT key, value FROM fact WHERE host = ? ORDER BY key", host) { row in
      facts.append((row.bytes(0), row.bytes(1)))
    }
    return facts
  }

  /// Sets a fact; nil removes it.
  func setFact(_ key: [UInt8], to value: [UInt8]?, of host: [UInt8]) throws(StoreError) {
    if let value {
      try run(
        """
        INSERT INTO fact (host, key, value) VALUES (?, ?, ?)
        ON CONFLICT (host, key) DO UPDATE SET value = excluded.value
        """, host, key, value)
    } else {
      try run("DELETE FROM fact WHERE host = ? AND key = ?", host, key)
    }
  }
}
