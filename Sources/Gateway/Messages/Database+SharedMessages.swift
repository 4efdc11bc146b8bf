internal import Store

extension Migration {
  /// A message of sessions that share a log is one row, whatever their number.
  static let sharedMessages = Migration(
    "shared messages",
    """
    CREATE TABLE message_log (
      number INTEGER NOT NULL PRIMARY KEY,
      type TEXT NOT NULL,
      last INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE shared_message (
      log INTEGER NOT NULL,
      ordinal INTEGER NOT NULL,
      at INTEGER NOT NULL,
      sender TEXT NOT NULL,
      mode TEXT NOT NULL,
      json BLOB NOT NULL,
      audience BLOB NOT NULL,
      offsets BLOB NOT NULL,
      checksum INTEGER NOT NULL,
      own INTEGER,
      own_ordinal INTEGER,
      own_offset INTEGER,
      own_changed INTEGER,
      own_changed_offset INTEGER,
      own_name TEXT,
      own_json BLOB,
      own_checksum INTEGER,
      receipt INTEGER,
      recipients BLOB
    ) STRICT;
    CREATE UNIQUE INDEX shared_message_ordinal ON shared_message (log, ordinal);
    CREATE INDEX shared_message_changed ON shared_message (own, own_changed_offset)
    WHERE own_changed_offset > own_offset;
    ALTER TABLE session ADD COLUMN log INTEGER;
    ALTER TABLE session ADD COLUMN joined INTEGER NOT NULL DEFAULT 0;
    """)
}

/// The sessions here that have received a message, by their numbers, in ascending order; and the number of the change
/// that it was in the channel of each.
struct StoredAudience: Hashable, Sendable {
  /// The encoded sessions: the difference of each to the one before.
  let sessions: [UInt8]
  let offsets: [UInt8]

  static let none = StoredAudience(sessions: [], offsets: [])

  init(sessions: [UInt8], offsets: [UInt8]) { (self.sessions, self.offsets) = (sessions, offsets) }

  static func encoded(_ sessions: some Sequence<Int>) -> [UInt8] {
    var (bytes, last): ([UInt8], Int) = ([], 0)
    for session in sessions {
      bytes.append(varint: UInt64(session - last))
      last = session
    }
    return bytes
  }

  /// Differences to the one before: those of sessions that joined together are mostly the same.
  static func encoded(offsets: some Sequence<UInt64>) -> [UInt8] {
    var (bytes, last): ([UInt8], Int64) = ([], 0)
    for offset in offsets {
      let difference = Int64(offset) - last
      bytes.append(varint: UInt64(bitPattern: difference << 1 ^ difference >> 63))
      last = Int64(offset)
    }
    return bytes
  }

  /// Nil if they are damaged.
  static func sessions(of bytes: [UInt8]) -> [Int]? {
    var (sessions, last, place): ([Int], Int, Int) = ([], 0, 0)
    while place < bytes.count {
      guard let difference = bytes.varint(at: &place), difference > 0, difference < 1 << 40 else { return nil }
      last += Int(difference)
      sessions.append(last)
    }
    return sessions
  }

  /// Calls back with each offset; whether there were so many.
  static func eachOffset(of bytes: [UInt8], _ count: Int, _ body: (_ index: Int, _ offset: UInt64) -> Void) -> Bool {
    var (last, place): (Int64, Int) = (0, 0)
    for index in 0..<count {
      guard let coded = bytes.varint(at: &place) else { return false }
      last &+= Int64(coded >> 1) ^ -Int64(coded & 1)
      body(index, UInt64(clamping: last))
    }
    return place == bytes.count
  }

  /// The offset for one session; nil where it is not among them.
  func offset(for session: Int) -> UInt64? {
    var (last, place, index): (Int, Int, Int) = (0, 0, 0)
    while last < session, place < sessions.count {
      guard let difference = sessions.varint(at: &place) else { return nil }
      last &+= Int(truncatingIfNeeded: difference)
      index += 1
    }
    guard last == session else { return nil }
    var found: UInt64?
    _ = Self.eachOffset(of: offsets, index) { found = $1 }
    return found
  }
}

extension [UInt8] {
  /// Seven bits in each byte, the lowest first; the highest bit says whether there are more.
  fileprivate mutating func append(varint value: UInt64) {
    var value = value
    while value >= 0x80 {
      append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    append(UInt8(value))
  }

  fileprivate func varint(at place: inout Int) -> UInt64? {
    var (value, shift): (UInt64, UInt64) = (0, 0)
    while place < count, shift < 63 {
      let byte = self[place]
      place += 1
      value |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return value }
      shift += 7
    }
    return nil
  }
}

/// A message of sessions that share a log.
struct SharedMessage: Sendable {
  /// The sender's side of a message, where the sender's session is one of this log.
  struct Own: Sendable {
    /// The session's number.
    let session: Int
    let ordinal: UInt64
    /// The number of the change that added it, in the session's channel.
    let offset: UInt64
    /// Its latest change, in the log and in the session's channel.
    var changed: UInt64
    var changedOffset: UInt64
    /// Given by its sender.
    let name: String?
    /// The message with its delivery status; empty if it is damaged.
    var json: [UInt8]
    /// The receipt and the recipients of its delivery status, while that is not final.
    var receipt: UInt64?
    var recipients: [UInt8]?
  }

  /// The first of its numbers in the log.
  let ordinal: UInt64
  let at: Int64
  let sender: String
  let mode: String
  /// The message as those who have received it see it; empty if nobody here has, or if it is damaged.
  var json: [UInt8]
  var audience: StoredAudience
  var own: Own?
  fileprivate(set) var isDamaged = false

  init(
    ordinal: UInt64, at: Int64, sender: String, mode: String, json: [UInt8] = [], _ audience: StoredAudience = .none
  ) {
    (self.ordinal, self.at, self.sender, self.mode) = (ordinal, at, sender, mode)
    (self.json, self.audience) = (json, audience)
  }

  fileprivate var checksum: Int { Self.checksum(of: audience.sessions, audience.offsets, json) }

  /// The checksum of what receivers have.
  static func checksum(of sessions: [UInt8], _ offsets: [UInt8], _ json: [UInt8]) -> Int {
    Checksum.of(sessions + offsets + json)
  }
}

extension Database {
  private static let columns = """
    ordinal, at, sender, mode, json, audience, offsets, checksum, own, own_ordinal, own_offset, own_changed,
    own_changed_offset, own_name, own_json, own_checksum, receipt, recipients
    """

  /// Stores a new message of a log.
  func add(_ message: SharedMessage, toLog log: Int) throws(StoreError) {
    let own = message.own
    try run(
      """
      INSERT INTO shared_message (log, \(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """, log, Int(message.ordinal), message.at, message.sender, message.mode, message.json,
      message.audience.sessions, message.audience.offsets, message.checksum, own?.session,
      own.map { Int($0.ordinal) }, own.map { Int($0.offset) }, own.map { Int($0.changed) },
      own.map { Int($0.changedOffset) }, own?.name, own?.json, own.map { Checksum.of($0.json) },
      own?.receipt.map(Int.init), own?.recipients)
  }

  /// Updates what the sender's session has of a message. The change of a removed one has its number all the same.
  func change(_ own: SharedMessage.Own, of ordinal: UInt64, inLog log: Int) throws(StoreError) {
    try run(
      """
      UPDATE shared_message
      SET own_changed = ?, own_changed_offset = ?, own_json = ?, own_checksum = ?, receipt = ?, recipients = ?
      WHERE log = ? AND ordinal = ? AND own = ?
      """, Int(own.changed), Int(own.changedOffset), own.json, Checksum.of(own.json), own.receipt.map(Int.init),
      own.recipients, log, Int(ordinal), own.session)
    if changes == 0 {
      try raiseFloor(of: own.session, to: Int(own.changedOffset))
      try raiseLast(of: log, to: own.changed)
    }
  }

  // MARK: Queries

  /// Messages of a log after an ordinal, in order.
  func sharedMessages(ofLog log: Int, after ordinal: UInt64, atMost count: Int) throws -> [SharedMessage] {
    var messages: [SharedMessage] = []
    try each(
      "SELECT \(Self.columns) FROM shared_message WHERE log = ? AND ordinal > ? ORDER BY ordinal LIMIT ?", log,
      Int(clamping: ordinal), count
    ) { row in
      var message = SharedMessage(
        ordinal: UInt64(row.integer(0)), at: Int64(row.integer(1)), sender: row.text(2), mode: row.text(3),
        json: row.bytes(4), StoredAudience(sessions: row.bytes(5), offsets: row.bytes(6)))
      message.isDamaged = message.checksum != row.integer(7)
      if message.isDamaged { message.json = [] }
      if !row.isNull(8) {
        var own = SharedMessage.Own(
          session: row.integer(8), ordinal: UInt64(row.integer(9)), offset: UInt64(row.integer(10)),
          changed: UInt64(row.integer(11)), changedOffset: UInt64(row.integer(12)),
          name: row.isNull(13) ? nil : row.text(13), json: row.bytes(14))
        if Checksum.of(own.json) != row.integer(15) { own.json = [] }
        if !row.isNull(16) { own.receipt = UInt64(row.integer(16)) }
        if !row.isNull(17) { own.recipients = row.bytes(17) }
        message.own = own
      }
      messages.append(message)
    }
    return messages
  }

  /// The last number of a log whose message was removed.
  func lastNumber(ofLog log: Int) throws -> UInt64 {
    UInt64(try first("SELECT last FROM message_log WHERE number = ?", log) { $0.integer(0) } ?? 0)
  }

  /// A message that is as it came, by its number in a session's channel and its ordinal in the log.
  typealias Place = (offset: UInt64, ordinal: UInt64)

  /// The messages of a session among the next so many of its log, but for those that have changed; and the ordinal that
  /// they reach, nil at the end.
  func places(
    of session: Int, inLog log: Int, after ordinal: UInt64, atMost count: Int
  ) throws -> (places: [Place], through: UInt64?) {
    var (places, rows, through): ([Place], Int, UInt64) = ([], 0, ordinal)
    try each(
      """
      SELECT ordinal, audience, offsets, own, own_ordinal, own_offset, own_changed_offset FROM shared_message
      WHERE log = ? AND ordinal > ? ORDER BY ordinal LIMIT ?
      """, log, Int(clamping: ordinal), count
    ) { row in
      rows += 1
      through = UInt64(row.integer(0))
      let audience = StoredAudience(sessions: row.bytes(1), offsets: row.bytes(2))
      if let offset = audience.offset(for: session) { places.append((offset, through)) }
      if !row.isNull(3), row.integer(3) == session, row.integer(5) == row.integer(6) {
        places.append((UInt64(row.integer(5)), UInt64(row.integer(4))))
      }
    }
    return (places, rows == count ? through : nil)
  }

  /// An ordinal up to which a session has no message that came after a change of its channel: mostly the last of these,
  /// found by bisection.
  func start(
    of session: Int, inLog log: Int, after since: UInt64, between first: UInt64, and end: UInt64
  ) throws -> UInt64 {
    var (low, high) = (first, end)
    while high - low > Self.probeMax {
      let middle = (low + high) / 2
      let places = try places(of: session, inLog: log, after: middle, atMost: Int(Self.probeMax)).places
      guard let place = places.first else { return low }
      if place.offset <= since { low = max(middle, place.ordinal) } else { high = middle }
    }
    return low
  }

  /// How many rows are looked through for one of a session.
  private static let probeMax: UInt64 = 16

  /// Messages that a session has sent, in the order of their latest changes.
  func changedPlaces(
    of session: Int, after since: UInt64, through last: UInt64, atMost count: Int
  ) throws -> [Place] {
    var places: [Place] = []
    try each(
      """
      SELECT own_changed_offset, own_ordinal FROM shared_message
      WHERE own = ? AND own_changed_offset > ? AND own_changed_offset <= ? AND own_changed_offset > own_offset
      ORDER BY own_changed_offset LIMIT ?
      """, session, Int(clamping: since), Int(clamping: last), count
    ) { row in places.append((UInt64(row.integer(0)), UInt64(row.integer(1)))) }
    return places
  }

  // MARK: Removing

  /// Removes messages of a log that no session has any more, and of others what their senders had.
  func remove(_ ordinals: [UInt64], own owns: [UInt64], fromLog log: Int) throws {
    // A session may have the number of one that has ended, and joined after these messages.
    var joined: [Int: UInt64] = [:]
    try each("SELECT number, joined FROM session WHERE log = ?", log) { joined[$0.integer(0)] = UInt64($0.integer(1)) }
    var floors: [Int: UInt64] = [:]
    var last: UInt64 = 0
    func raise(_ session: Int, _ offset: UInt64, at ordinal: UInt64) {
      guard let joined = joined[session], joined < ordinal else { return }
      floors[session] = max(floors[session] ?? 0, offset)
    }
    func see(_ ordinal: UInt64, _ isWhole: Bool) throws {
      try each(
        """
        SELECT audience, offsets, own, own_changed, own_changed_offset FROM shared_message
        WHERE log = ? AND ordinal = ?
        """, log, Int(ordinal)
      ) { row in
        if !row.isNull(2) {
          raise(row.integer(2), UInt64(row.integer(4)), at: ordinal)
          last = max(last, UInt64(row.integer(3)))
        }
        guard isWhole, let sessions = StoredAudience.sessions(of: row.bytes(0)) else { return }
        last = max(last, ordinal)
        _ = StoredAudience.eachOffset(of: row.bytes(1), sessions.count) { index, offset in
          raise(sessions[index], offset, at: ordinal)
        }
      }
    }
    for ordinal in ordinals {
      try see(ordinal, true)
      try run("DELETE FROM shared_message WHERE log = ? AND ordinal = ?", log, Int(ordinal))
    }
    for ordinal in owns {
      try see(ordinal, false)
      try run(
        """
        UPDATE shared_message
        SET own = NULL, own_ordinal = NULL, own_offset = NULL, own_changed = NULL, own_changed_offset = NULL,
          own_name = NULL, own_json = NULL, own_checksum = NULL, receipt = NULL, recipients = NULL
        WHERE log = ? AND ordinal = ?
        """, log, Int(ordinal))
    }
    for (session, floor) in floors {
      try raiseFloor(of: session, to: Int(clamping: floor))
    }
    try raiseLast(of: log, to: last)
  }

  private func raiseLast(of log: Int, to number: UInt64) throws(StoreError) {
    try run("UPDATE message_log SET last = max(last, ?) WHERE number = ?", Int(number), log)
  }

  /// Removes a batch of the messages of a log that has no session but this one; whether there may be more.
  func removeLog(_ log: Int, of session: Int, atMost count: Int) throws -> Bool {
    let isShared = try first("SELECT 1 FROM session WHERE log = ? AND number <> ?", log, session) { _ in true } ?? false
    if isShared { return false }
    try run(
      "DELETE FROM shared_message WHERE rowid IN (SELECT rowid FROM shared_message WHERE log = ? LIMIT ?)", log, count)
    if changes == count { return true }
    try run("DELETE FROM message_log WHERE number = ?", log)
    return false
  }
}
