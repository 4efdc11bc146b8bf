internal import Nearby
internal import Store

extension Migration {
  static let resources = Migration(
    "resources",
    """
    CREATE TABLE resource (
      id TEXT NOT NULL PRIMARY KEY,
      session INTEGER NOT NULL,
      settings BLOB NOT NULL,
      state TEXT NOT NULL,
      path TEXT,
      transfer INTEGER
    ) STRICT;
    CREATE INDEX resource_session ON resource (session);
    CREATE INDEX resource_transfer ON resource (transfer) WHERE transfer IS NOT NULL;
    """)
}

/// A resource that is sent from a session, or was received in it.
struct StoredResource: Hashable, Sendable {
  var id: String
  /// Its number.
  var session: Int
  /// JSON of the gateway's.
  var settings: [UInt8]
  var state: String
  /// The path of its content.
  var path: String?
  /// The engine's number of the transfer, while it is under way.
  var transfer: UInt64?

  init(id: String, session: Int, settings: [UInt8], state: String, path: String?, transfer: UInt64?) {
    self.id = id
    self.session = session
    self.settings = settings
    self.state = state
    self.path = path
    self.transfer = transfer
  }
}

extension Database {
  /// Reads all resources in order of insertion.
  func resources() throws -> [StoredResource] {
    var resources: [StoredResource] = []
    try each("SELECT id, session, settings, state, path, transfer FROM resource ORDER BY rowid") { row in
      resources.append(
        StoredResource(
          id: row.text(0), session: row.integer(1), settings: row.bytes(2), state: row.text(3),
          path: row.isNull(4) ? nil : row.text(4), transfer: row.isNull(5) ? nil : UInt64(row.integer(5))))
    }
    return resources
  }

  func keep(_ resource: StoredResource) throws(StoreError) {
    try run(
      """
      INSERT INTO resource (id, session, settings, state, path, transfer) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET settings = excluded.settings, state = excluded.state, path = excluded.path,
      transfer = excluded.transfer
      """, resource.id, resource.session, resource.settings, resource.state, resource.path,
      resource.transfer.map(Int.init))
  }

  /// Records how a transfer has ended, and the path of its content.
  func endTransfer(_ transfer: UInt64, _ state: String, at path: String?) throws(StoreError) {
    try run(
      "UPDATE resource SET state = ?, path = coalesce(?, path), transfer = NULL WHERE transfer = ?", state, path,
      Int(clamping: transfer))
  }

  /// Paths of the resources of sessions that have not ended, and of the host's incoming transfers. An outgoing file
  /// belongs to a resource, or to nobody any more.
  func heldPaths() throws -> [String] {
    var paths: [String] = []
    try each(
      """
      SELECT path FROM resource WHERE path IS NOT NULL AND session IN (SELECT number FROM session WHERE is_ended = 0)
      """
    ) { row in paths.append(row.text(0)) }
    return paths + (try incomingPaths())
  }

  /// Lets a copy begin its transfers anew: their files stay where they are, and are not the copy's own. An outgoing
  /// resource is offered again from its content, which was copied; an incoming one can only fail.
  func forgetTransfersOfCopy() throws {
    for transfer in try forgetTransfers() {
      try run("UPDATE resource SET transfer = NULL WHERE path IS NOT NULL AND transfer = ?", Int(clamping: transfer))
    }
  }

  func removeResource(_ id: String) throws(StoreError) { try run("DELETE FROM resource WHERE id = ?", id) }
}
