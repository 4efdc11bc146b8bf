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
public struct StoredTransfer: Hashable, Sendable {
  /// The engine's number of it.
  public var id: UInt64
  public var isIncoming: Bool
  /// The path of the file that is read, or of the hidden one that receives until it is complete.
  public var path: String
  /// The final name of a received file.
  public var name: String
  /// Size and time of a sent file when it was offered; 0 for a received one.
  public var size: Int
  public var modified: Int

  public init(id: UInt64, isIncoming: Bool, path: String, name: String, size: Int = 0, modified: Int = 0) {
    self.id = id
    self.isIncoming = isIncoming
    self.path = path
    self.name = name
    self.size = size
    self.modified = modified
  }
}

extension Database {
  public func transfers(of host: [UInt8]) throws -> [StoredTransfer] {
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

  public func keep(_ transfer: StoredTransfer, of host: [UInt8]) throws(StoreError) {
    try run(
      """
      INSERT OR REPLACE INTO transfer (host, id, is_incoming, path, name, size, modified)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """, host, Int(transfer.id), transfer.isIncoming, transfer.path, transfer.name, transfer.size, transfer.modified)
  }

  /// Forgets all transfers in a copy: their files stay where they are, and are not the copy's own. An outgoing one
  /// belongs to a resource, whose content was copied and is offered again from there; an incoming one can only fail.
  public func forgetTransfers() throws(StoreError) {
    try run(
      """
      UPDATE resource SET transfer = NULL
      WHERE path IS NOT NULL AND transfer IN (SELECT id FROM transfer WHERE is_incoming = 0)
      """)
    try run("DELETE FROM transfer")
  }

  public func forgetTransfer(_ id: UInt64, of host: [UInt8]) throws(StoreError) {
    try run("DELETE FROM transfer WHERE host = ? AND id = ?", host, Int(id))
  }
}
