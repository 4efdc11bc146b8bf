internal import Store

extension Migration {
  static let intents = Migration(
    "intents",
    """
    CREATE TABLE intent (
      id TEXT NOT NULL PRIMARY KEY,
      kind TEXT NOT NULL,
      peer TEXT NOT NULL,
      settings BLOB NOT NULL
    ) STRICT;
    CREATE INDEX intent_peer ON intent (peer);
    CREATE TRIGGER intent_of_peer AFTER DELETE ON peer BEGIN DELETE FROM intent WHERE peer = OLD.id; END;
    """)
}

/// A persisted request: a peer of a gateway wants something of others, or they of it. It is removed with its peer.
struct StoredRequest: Hashable, Sendable {
  var id: String
  var kind: String
  var peer: String
  /// JSON of the gateway's.
  var settings: [UInt8]

  init(id: String, kind: String, peer: String, settings: [UInt8]) {
    self.id = id
    self.kind = kind
    self.peer = peer
    self.settings = settings
  }
}

extension Database {
  /// Reads all of them in order of insertion.
  func requests() throws -> [StoredRequest] {
    var requests: [StoredRequest] = []
    try each("SELECT id, kind, peer, settings FROM intent ORDER BY rowid") { row in
      requests.append(StoredRequest(id: row.text(0), kind: row.text(1), peer: row.text(2), settings: row.bytes(3)))
    }
    return requests
  }

  func keep(_ request: StoredRequest) throws(StoreError) {
    try run(
      """
      INSERT INTO intent (id, kind, peer, settings) VALUES (?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET settings = excluded.settings
      """, request.id, request.kind, request.peer, request.settings)
  }

  func removeRequest(_ id: String) throws(StoreError) { try run("DELETE FROM intent WHERE id = ?", id) }
}
