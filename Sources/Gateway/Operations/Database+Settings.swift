import Store

extension Migration {
  static let settings = Migration(
    "settings",
    """
    CREATE TABLE setting (
      number INTEGER NOT NULL PRIMARY KEY CHECK (number = 1),
      settings BLOB NOT NULL
    ) STRICT;
    """)
}

extension Database {
  /// JSON of the gateway's; nil where nothing was changed.
  func settings() throws -> [UInt8]? {
    var settings: [UInt8]?
    try each("SELECT settings FROM setting") { settings = $0.bytes(0) }
    return settings
  }

  func keep(settings: [UInt8]) throws(StoreError) {
    try run("INSERT OR REPLACE INTO setting (number, settings) VALUES (1, ?)", settings)
  }
}
