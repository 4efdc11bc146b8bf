internal import Store

extension Migration {
  static let transfers = Migration(
    "transfers",
    """
    CREATE TABLE transfer (
      host BLOB NOT NULL,
      id INTEGER NOT NULL,
      is_incoming INTEGER NOT NULL CHECK (is_incoming IN (0, 1)),
      path TEXT NOT NULL,
      name TEXT NOT NULL,
      size INTEGER NOT NULL,
      modified INTEGER NOT NULL,
      PRIMARY KEY (host, id)
    ) STRICT;
    """)
}

/// The file that a transfer reads or writes.
struct StoredTransfer: Hashable, Sendable {
  /// The engine's number of it.
  var id: UInt64
  var isIncoming: Bool
  /// The path of the file that is read, or of the hidden one that receives until it is complete.
  var path: String
  /// The final name of a received file.
  var name: String
  /// Size and time of a sent file when it was offered; 0 for a received one.
  var size: Int
  var modified: Int

  init(id: UInt64, isIncoming: Bool, path: String, name: String, size: Int = 0, modified: Int = 0) {
    self.id = id
    self.isIncoming = isIncoming
    self.path = path
    self.name = name
    self.size = size
    self.modified = modified
  }
}

extension Database {
  func transfers(of host: [UInt8]) throws -> [StoredTransfer] {
    var transfers: [StoredTransfer] = []
    let sql = "SELECT id, is_incoming, path, name, size, modified FROM transfer WHERE host = ?"
    try each(sql, host) { row in
      transfers.append(
        StoredTransfer(
          id: UInt64(row.integer(0)), isIncoming: row.flag(1), path: row.text(2), name: row.text(3),
          size: row.integer(4), modified: row.integer(5)))
    }
    return transfers
  }

  func keep(_ transfer: StoredTransfer, of host: [UInt8]) throws(StoreError) {
    try run(
      """
      INSERT OR REPLACE INTO transfer (host, id, is_incoming, path, name, size, modified)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """, host, Int(transfer.id), transfer.isIncoming, transfer.path, transfer.name, transfer.size, transfer.modified)
  }

  /// Paths of the incoming files of all hosts.
  package func incomingPaths() throws -> [String] {
    var paths: [String] = []
    try each("SELECT path FROM transfer WHERE is_incoming = 1") { row in paths.append(row.text(0)) }
    return paths
  }

  /// Forgets all transfers of all hosts; returns the numbers of the outgoing ones.
  package func forgetTransfers() throws -> [UInt64] {
    var outgoing: [UInt64] = []
    try each("SELECT id FROM transfer WHERE is_incoming = 0") { row in outgoing.append(UInt64(row.integer(0))) }
    try run("DELETE FROM transfer")
    return outgoing
  }

  func forgetTransfer(_ id: UInt64, of host: [UInt8]) throws(StoreError) {
    try run("DELETE FROM transfer WHERE host = ? AND id = ?", host, Int(id))
  }
}
