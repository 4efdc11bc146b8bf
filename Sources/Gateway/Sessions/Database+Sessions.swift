internal import Store

extension Migration {
  static let sessions = Migration(
    "sessions",
    """
    CREATE TABLE session (
      id TEXT NOT NULL PRIMARY KEY,
      host TEXT NOT NULL,
      peer TEXT NOT NULL,
      settings BLOB NOT NULL,
      created INTEGER NOT NULL,
      epoch TEXT NOT NULL,
      number INTEGER NOT NULL UNIQUE,
      floor INTEGER NOT NULL DEFAULT 0,
      is_ended INTEGER NOT NULL DEFAULT 0 CHECK (is_ended IN (0, 1))
    ) STRICT;
    CREATE TABLE message (
      session INTEGER NOT NULL,
      ordinal INTEGER NOT NULL,
      changed INTEGER NOT NULL,
      count INTEGER NOT NULL,
      total INTEGER NOT NULL,
      at INTEGER NOT NULL,
      name TEXT,
      sender TEXT NOT NULL,
      mode TEXT NOT NULL,
      json BLOB NOT NULL,
      receipt INTEGER,
      recipients BLOB,
      checksum INTEGER NOT NULL,
      PRIMARY KEY (session, ordinal)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX message_changed ON message (session, changed);
    CREATE UNIQUE INDEX message_name ON message (session, name) WHERE name IS NOT NULL;
    CREATE INDEX message_receipt ON message (session, receipt) WHERE receipt IS NOT NULL;
    """, onFork: newEpochs)

  /// New epochs: channel positions of another history are invalid. The letters and digits are those of an epoch.
  private static let newEpochs = """
    UPDATE session SET epoch = replace(replace(replace(replace(
      lower(hex(randomblob(8))), '0', 'g'), '1', 'h'), '8', 'i'), '9', 'j')
    """
}

/// A session of a peer that a gateway carries.
struct StoredSession: Hashable, Sendable {
  var id: String
  /// The host whose engine knows it.
  var host: String
  var peer: String
  /// JSON of the gateway's.
  var settings: [UInt8]
  var created: Int64
  /// The epoch of its message channel.
  var epoch: String
  /// The number by which its messages refer to it.
  var number: Int
  /// The last change of the channel that was removed by retention.
  fileprivate(set) var floor: UInt64 = 0
  /// The log that has its messages, where others have the same.
  var log: Log?

  /// A session's part of a log.
  struct Log: Hashable, Sendable {
    let number: Int
    /// The service type of the ad hoc mode in which its sessions began.
    let type: String
    /// The last number of the log when the session began: later ones are its own, too.
    let joined: UInt64
  }

  init(id: String, host: String, peer: String, settings: [UInt8], created: Int64, epoch: String, number: Int) {
    self.id = id
    self.host = host
    self.peer = peer
    self.settings = settings
    self.created = created
    self.epoch = epoch
    self.number = number
  }
}

extension Database {
  /// Reads the sessions that have not ended, oldest first.
  func sessions() throws -> [StoredSession] {
    var sessions: [StoredSession] = []
    try each(
      """
      SELECT id, host, peer, settings, created, epoch, session.number, floor, log, type, joined FROM session
      LEFT JOIN message_log ON message_log.number = log WHERE is_ended = 0 ORDER BY session.number
      """
    ) { row in
      var session = StoredSession(
        id: row.text(0), host: row.text(1), peer: row.text(2), settings: row.bytes(3), created: Int64(row.integer(4)),
        epoch: row.text(5), number: row.integer(6))
      session.floor = UInt64(row.integer(7))
      if !row.isNull(8) {
        session.log = .init(number: row.integer(8), type: row.text(9), joined: UInt64(row.integer(10)))
      }
      sessions.append(session)
    }
    return sessions
  }

  /// A number above all existing ones.
  func nextSessionNumber() throws -> Int {
    try first("SELECT coalesce(max(number), 0) + 1 FROM session") { $0.integer(0) } ?? 1
  }

  /// Inserts a session, or updates it.
  func keep(_ session: StoredSession) throws(StoreError) {
    try run(
      """
      INSERT INTO session (id, host, peer, settings, created, epoch, number, log, joined)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET settings = excluded.settings
      """, session.id, session.host, session.peer, session.settings, session.created, session.epoch, session.number,
      session.log?.number, session.log.map { Int($0.joined) } ?? 0)
    guard let log = session.log else { return }
    try run("INSERT OR IGNORE INTO message_log (number, type) VALUES (?, ?)", log.number, log.type)
  }

  /// The last change of a session's channel that was removed by retention.
  func floor(of number: Int) throws -> UInt64 {
    UInt64(try first("SELECT floor FROM session WHERE number = ?", number) { $0.integer(0) } ?? .max)
  }

  /// Ends a session; `removeEndedSessions` removes its messages a piece at a time.
  func endSession(_ id: String) throws(StoreError) {
    try run("UPDATE session SET is_ended = 1 WHERE id = ?", id)
  }

  /// Removes a batch of the rows of ended sessions; returns false if nothing is left.
  func removeEndedSessions(atMost count: Int = 1_000) throws -> Bool {
    let ended = try first("SELECT number, log FROM session WHERE is_ended = 1 LIMIT 1") {
      (number: $0.integer(0), log: $0.isNull(1) ? nil : $0.integer(1))
    }
    guard let (number, log) = ended else { return false }
    if let log, try removeLog(log, of: number, atMost: count) { return true }
    try run(
      """
      DELETE FROM message WHERE session = ?1
      AND ordinal IN (SELECT ordinal FROM message WHERE session = ?1 ORDER BY ordinal LIMIT ?2)
      """, number, count)
    if changes < count {
      try run("DELETE FROM resource WHERE session = ?", number)
      try run("DELETE FROM session WHERE number = ?", number)
    }
    return true
  }
}
