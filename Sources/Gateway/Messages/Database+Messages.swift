internal import Store

extension Migration {
  /// An append-only table with a small index takes half the writes; messages that have not changed since they came need
  /// no second index.
  static let messagesInOrder = Migration(
    "messages in order",
    """
    CREATE TABLE message_in_order (
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
      checksum INTEGER NOT NULL
    ) STRICT;
    INSERT INTO message_in_order
    SELECT session, ordinal, changed, count, total, at, name, sender, mode, json, receipt, recipients, checksum
    FROM message ORDER BY session, ordinal;
    DROP TABLE message;
    ALTER TABLE message_in_order RENAME TO message;
    CREATE UNIQUE INDEX message_ordinal ON message (session, ordinal);
    CREATE INDEX message_changed ON message (session, changed) WHERE changed > ordinal;
    CREATE UNIQUE INDEX message_name ON message (session, name) WHERE name IS NOT NULL;
    CREATE INDEX message_receipt ON message (session, receipt) WHERE receipt IS NOT NULL;
    """)
}

/// A message in the history of a session.
struct StoredMessage: Hashable, Sendable {
  /// The change that added it; it orders the messages.
  var ordinal: UInt64
  /// Its latest change.
  var changed: UInt64
  /// The running number of messages up to this one, and of bytes of their JSON.
  var count: Int
  var total: Int
  var at: Int64
  /// Given by its sender; nil for a message that is known by its ordinal.
  var name: String?
  var sender: String
  var mode: String
  /// The message as clients see it; empty if it is damaged.
  var json: [UInt8]
  /// The receipt and the recipients of its delivery status, while that is not final.
  var receipt: UInt64?
  var recipients: [UInt8]?

  var isDamaged: Bool { json.isEmpty }

  init(
    ordinal: UInt64, changed: UInt64, count: Int, total: Int, at: Int64, name: String?, sender: String, mode: String,
    json: [UInt8]
  ) {
    self.ordinal = ordinal
    self.changed = changed
    self.count = count
    self.total = total
    self.at = at
    self.name = name
    self.sender = sender
    self.mode = mode
    self.json = json
  }
}

/// A filter for a session's messages; nil matches all.
struct MessageFilter: Hashable, Sendable {
  var sender: String?
  var mode: String?

  init(sender: String? = nil, mode: String? = nil) {
    self.sender = sender
    self.mode = mode
  }
}

extension Database {
  private static let columns =
    "ordinal, changed, count, total, at, name, sender, mode, json, receipt, recipients, checksum"
  private static let insertion =
    "INSERT INTO message (session, \(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

  /// Stores a new message, or the change of one.
  func keep(_ message: StoredMessage, of session: Int) throws(StoreError) {
    if message.changed == message.ordinal { try add(message, to: session) } else { try change(message, of: session) }
  }

  func add(_ message: StoredMessage, to session: Int) throws(StoreError) {
    try run(
      Self.insertion, session, Int(message.ordinal), Int(message.changed), message.count, message.total, message.at,
      message.name,
      message.sender, message.mode, message.json, message.receipt.map(Int.init), message.recipients,
      Checksum.of(message.json))
  }

  /// Updates a message. The change of a removed message has its number all the same.
  func change(_ message: StoredMessage, of session: Int) throws(StoreError) {
    try run(
      """
      UPDATE message SET changed = ?, json = ?, receipt = ?, recipients = ?, checksum = ?
      WHERE session = ? AND ordinal = ?
      """, Int(message.changed), message.json, message.receipt.map(Int.init), message.recipients,
      Checksum.of(message.json), session, Int(message.ordinal))
    if changes == 0 { try raiseFloor(of: session, to: Int(message.changed)) }
  }

  func raiseFloor(of session: Int, to change: Int) throws(StoreError) {
    try run("UPDATE session SET floor = max(floor, ?) WHERE number = ?", change, session)
  }

  // MARK: Queries

  /// Messages after an ordinal, in order.
  func messages(
    of session: Int, after ordinal: UInt64, atMost count: Int, where filter: MessageFilter = MessageFilter()
  ) throws -> [StoredMessage] {
    try messages(Self.after(Self.columns), session, Int(ordinal), filter.sender, filter.mode, count)
  }

  /// The same with a limit in bytes, which the first message may exceed; also whether there are more.
  func page(
    of session: Int, after ordinal: UInt64, atMost count: Int, bytes bytesMax: Int, where filter: MessageFilter
  ) throws -> (messages: [StoredMessage], hasMore: Bool) {
    // Sizes are read first, so that many large messages are not read in vain.
    var (found, bytes, fitting) = (0, 0, 0)
    try each(
      Self.after("length(json)"), session, Int(ordinal), filter.sender, filter.mode, count + 1
    ) { row in
      found += 1
      bytes += row.integer(0)
      if found <= count, found == 1 || bytes <= bytesMax { fitting = found }
    }
    let messages = try messages(of: session, after: ordinal, atMost: fitting, where: filter)
    return (messages, found > fitting)
  }

  private static func after(_ columns: String) -> String {
    """
    SELECT \(columns) FROM message WHERE session = ?1 AND ordinal > ?2
    AND (?3 IS NULL OR sender = ?3) AND (?4 IS NULL OR mode = ?4) ORDER BY ordinal LIMIT ?5
    """
  }

  /// Messages changed after one change and up to another, in the order of their changes, with limits on their count and
  /// on their bytes, which the first may exceed. `through` says how far they go: not to the end if they are not all.
  func messages(
    of session: Int, changedAfter since: UInt64, through last: UInt64, atMost count: Int, bytes bytesMax: Int = .max
  ) throws -> (messages: [StoredMessage], through: UInt64) {
    let (since, end) = (Int(clamping: since), Int(clamping: last))
    // Sizes are read first: rows are sorted, and many large ones must not be.
    var (found, bytes, reached) = (0, 0, end)
    try each(Self.changed("changed, length(json)"), session, since, end, count + 1) { row in
      bytes += row.integer(1)
      if reached == end, found == count || found > 0 && bytes > bytesMax { reached = row.integer(0) - 1 }
      found += 1
    }
    let messages = try messages(Self.changed(Self.columns), session, since, reached, count)
    return (messages, reached == end ? last : UInt64(reached))
  }

  /// Unchanged messages and changed ones, each in the order of an index.
  static func changed(_ columns: String) -> String {
    """
    SELECT * FROM (
      SELECT \(columns) FROM message
      WHERE session = ?1 AND ordinal > ?2 AND ordinal <= ?3 AND changed = ordinal ORDER BY ordinal LIMIT ?4
    ) UNION ALL SELECT * FROM (
      SELECT \(columns) FROM message
      WHERE session = ?1 AND changed > ?2 AND changed <= ?3 AND changed > ordinal ORDER BY changed LIMIT ?4
    ) ORDER BY changed LIMIT ?4
    """
  }

  /// The latest messages, oldest first.
  func latestMessages(of session: Int, atMost count: Int) throws -> [StoredMessage] {
    try messages(
      "SELECT \(Self.columns) FROM message WHERE session = ? ORDER BY ordinal DESC LIMIT ?", session, count
    ).reversed()
  }

  /// Messages whose delivery status is not final.
  func openMessages(of session: Int) throws -> [StoredMessage] { try messages(Self.open, session) }

  /// In the order of its index: the order of ordinals would scan the whole history for a few rows.
  static let open = "SELECT \(columns) FROM message WHERE session = ? AND receipt IS NOT NULL ORDER BY receipt"

  func message(_ ordinal: UInt64, of session: Int) throws -> StoredMessage? {
    try messages(
      "SELECT \(Self.columns) FROM message WHERE session = ? AND ordinal = ?", session, Int(clamping: ordinal)
    ).first
  }

  func message(named name: String, of session: Int) throws -> StoredMessage? {
    try messages("SELECT \(Self.columns) FROM message WHERE session = ? AND name = ?", session, name).first
  }

  func latestChange(of session: Int) throws -> UInt64 {
    let sql = """
      SELECT max(
        coalesce((SELECT max(ordinal) FROM message WHERE session = ?1), 0),
        coalesce((SELECT max(changed) FROM message WHERE session = ?1 AND changed > ordinal), 0))
      """
    return UInt64(try first(sql, session) { $0.integer(0) } ?? 0)
  }

  /// A message that the disk has changed is returned without its text.
  private func messages<each Value: Bindable>(
    _ sql: String, _ values: repeat each Value
  ) throws -> [StoredMessage] {
    var messages: [StoredMessage] = []
    try self.each(sql, repeat each values) { row in
      var message = StoredMessage(
        ordinal: UInt64(row.integer(0)), changed: UInt64(row.integer(1)), count: row.integer(2), total: row.integer(3),
        at: Int64(row.integer(4)), name: row.isNull(5) ? nil : row.text(5), sender: row.text(6), mode: row.text(7),
        json: row.bytes(8))
      if !row.isNull(9) { message.receipt = UInt64(row.integer(9)) }
      if !row.isNull(10) { message.recipients = row.bytes(10) }
      if Checksum.of(message.json) != row.integer(11) { message.json = [] }
      messages.append(message)
    }
    return messages
  }

  // MARK: Removing

  /// Retention: removes the oldest messages until the limits on count, bytes and age hold. Returns nil if there was
  /// nothing to remove, else the ordinal of the last removed message.
  func prune(
    _ session: Int, to count: Int, bytes: Int, since time: Int64
  ) throws -> UInt64? {
    guard
      let last = try first(
        "SELECT count, total FROM message WHERE session = ? ORDER BY ordinal DESC LIMIT 1", session,
        row: { (count: $0.integer(0), total: $0.integer(1)) })
    else { return nil }
    guard
      let oldest = try first(
        "SELECT count FROM message WHERE session = ? ORDER BY ordinal LIMIT 1", session, row: { $0.integer(0) })
    else { return nil }
    // Only from the front on: the clock may have been set back between them. In pieces, so that no writer waits for
    // long.
    let kept = try first(
      """
      SELECT ordinal FROM message
      WHERE session = ?1 AND (count > ?2 AND total - length(json) >= ?3 AND at >= ?4 OR count >= ?5)
      ORDER BY ordinal LIMIT 1
      """, session, last.count - count, last.total - bytes, time, oldest + Self.pruneMax, row: { $0.integer(0) })
    let gone = try first(
      "SELECT max(ordinal), max(changed) FROM message WHERE session = ? AND ordinal < ?", session, kept ?? .max,
      row: { $0.isNull(0) ? nil : (end: UInt64($0.integer(0)), floor: $0.integer(1)) })
    guard let gone, let (end, floor) = gone else { return nil }
    try run("DELETE FROM message WHERE session = ? AND ordinal <= ?", session, Int(end))
    try raiseFloor(of: session, to: floor)
    return end
  }

  private static let pruneMax = 1_000
}
