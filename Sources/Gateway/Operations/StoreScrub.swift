internal import Store

/// A check of a gateway's whole database in small steps, over a read-only connection: the writer never waits for it.
///
/// It finds malformed or unreadable pages, indexes and rows, and messages whose checksum is wrong. It does not find a
/// changed value in a row of another table: those have no checksums.
final class StoreScrub {
  enum Damage: Hashable, Sendable {
    /// SQLite's description.
    case structure(String)
    /// A message with a wrong checksum; `session` is the session's number.
    case message(session: Int, ordinal: Int)
    /// The same of a message that several sessions have.
    case sharedMessage(log: Int, ordinal: Int)
  }

  /// The message after which a check resumes.
  struct Position: Hashable, Sendable {
    var session: Int
    var ordinal: Int

    init(session: Int, ordinal: Int) {
      self.session = session
      self.ordinal = ordinal
    }
  }

  struct Step: Sendable {
    /// The number of bytes read from rows.
    fileprivate(set) var bytes = 0
    fileprivate(set) var damage: [Damage] = []
    /// Whether the whole database was checked.
    fileprivate(set) var isLast = false
  }

  private enum Walk: Int {
    /// All tables but those of messages: they are small, and each is checked in one step.
    case tables
    /// All messages and their checksums, in the order of the primary index.
    case messages
    // The other indexes of messages.
    case names, changes, receipts
    /// All messages of logs and their checksums, and their other index.
    case shared, sharedChanges
  }

  /// The position in a walk.
  private struct Key: Comparable {
    static let first = Key(session: .min)
    var session: Int
    var number = Int.min
    var text: [UInt8] = []

    static func < (a: Key, b: Key) -> Bool {
      if a.session != b.session { return a.session < b.session }
      return a.number == b.number ? a.text.lexicographicallyPrecedes(b.text) : a.number < b.number
    }
  }

  /// Large enough to amortize a transaction, and small enough to take milliseconds.
  private static let stepBytesMax = 256 << 10
  private static let stepRowsMax = 1_024
  /// The fixed cost of a row.
  private static let rowBytes = 64

  private let reader: DatabaseReader
  private let path: String
  private var tables: ArraySlice<String>
  private var walk = Walk.tables
  private var last = Key.first

  /// Begins, or resumes after a message.
  init(_ path: String, after position: Position? = nil) throws(StoreError) {
    self.path = path
    reader = try DatabaseReader(path)
    tables = try reader.tables().filter { $0 != "message" && $0 != "shared_message" }[...]
    if let position {
      walk = .messages
      last = Key(session: position.session, number: position.ordinal)
    }
  }

  /// The message after which another check can resume; nil before the first message.
  var position: Position? {
    walk == .messages && last != .first ? Position(session: last.session, ordinal: last.number) : nil
  }

  /// Checks the next piece.
  func step() throws(StoreError) -> Step {
    var step = Step()
    do throws(StoreError) {
      if try look(&step) { return step }
    } catch {
      step.damage.append(.structure(try Self.damage(error)))
      // A walk cannot pass a damaged page; other tables can still be checked.
      if walk == .tables, !tables.isEmpty { return step }
    }
    guard let next = Walk(rawValue: walk.rawValue + 1) else {
      step.isLast = true
      return step
    }
    walk = next
    last = .first
    return step
  }

  /// The damage that an error reports; rethrows other errors.
  private static func damage(_ error: StoreError) throws(StoreError) -> String {
    switch error {
    case .damaged(_, let what), .failed(_, _, let what): return what
    case .notADatabase: return "it is no database any more"
    default: throw error
    }
  }

  /// Returns whether the walk may have more.
  private func look(_ step: inout Step) throws(StoreError) -> Bool {
    switch walk {
    case .tables: try checkTable()
    case .messages: try readMessages(&step)
    case .names: try readIndex("message_name", "name", where: "name IS NOT NULL", &step)
    case .changes: try readIndex("message_changed", "changed", where: "changed > ordinal", &step)
    case .receipts: try readIndex("message_receipt", "receipt", where: "receipt IS NOT NULL", &step)
    case .shared: try readShared(&step)
    case .sharedChanges: try readSharedChanges(&step)
    }
  }

  private func checkTable() throws(StoreError) -> Bool {
    guard let name = tables.popFirst() else { return false }
    try reader.check(table: name)
    return true
  }

  private func readMessages(_ step: inout Step) throws(StoreError) -> Bool {
    try read(
      """
      SELECT session, ordinal, name, sender, mode, recipients, json, checksum FROM message INDEXED BY message_ordinal
      WHERE (session, ordinal) > (?, ?) ORDER BY session, ordinal
      """, &step
    ) { row, step in
      let (session, ordinal, json) = (row.integer(0), row.integer(1), row.bytes(6))
      step.bytes += json.count + (2...5).reduce(0) { sum, column in sum + row.withBytes(column) { $0.byteCount } }
      if Checksum.of(json) != row.integer(7) { step.damage.append(.message(session: session, ordinal: ordinal)) }
      return Key(session: session, number: ordinal)
    }
  }

  private func readShared(_ step: inout Step) throws(StoreError) -> Bool {
    try read(
      """
      SELECT log, ordinal, sender, mode, own_name, recipients, audience, offsets, json, checksum, own_json, own_checksum
      FROM shared_message INDEXED BY shared_message_ordinal
      WHERE (log, ordinal) > (?, ?) ORDER BY log, ordinal
      """, &step
    ) { row, step in
      let (log, ordinal) = (row.integer(0), row.integer(1))
      step.bytes += (2...8).reduce(row.withBytes(10) { $0.byteCount }) { sum, column in
        sum + row.withBytes(column) { $0.byteCount }
      }
      let isSound = SharedMessage.checksum(of: row.bytes(6), row.bytes(7), row.bytes(8)) == row.integer(9)
      if !isSound || !row.isNull(10) && Checksum.of(row.bytes(10)) != row.integer(11) {
        step.damage.append(.sharedMessage(log: log, ordinal: ordinal))
      }
      return Key(session: log, number: ordinal)
    }
  }

  private func readSharedChanges(_ step: inout Step) throws(StoreError) -> Bool {
    try read(
      """
      SELECT own, own_changed_offset FROM shared_message INDEXED BY shared_message_changed
      WHERE own_changed_offset > own_offset AND (own, own_changed_offset) > (?, ?) ORDER BY own, own_changed_offset
      """, &step
    ) { row, _ in Key(session: row.integer(0), number: row.integer(1)) }
  }

  private func readIndex(
    _ index: String, _ column: String, where condition: String, _ step: inout Step
  ) throws(StoreError) -> Bool {
    let isText = walk == .names
    return try read(
      """
      SELECT session, \(column) FROM message INDEXED BY \(index)
      WHERE \(condition) AND (session, \(column)) > (?, ?) ORDER BY session, \(column)
      """, &step
    ) { row, _ in
      isText
        ? Key(session: row.integer(0), text: row.bytes(1)) : Key(session: row.integer(0), number: row.integer(1))
    }
  }

  /// Reads the next piece of a walk.
  private func read(
    _ sql: String, _ step: inout Step, _ look: (borrowing Row, inout Step) -> Key
  ) throws(StoreError) -> Bool {
    let before = last
    var count = 0
    func read(_ row: borrowing Row) -> Bool {
      last = look(row, &step)
      step.bytes += Self.rowBytes
      count += 1
      return count < Self.stepRowsMax && step.bytes < Self.stepBytesMax
    }
    if walk == .names {
      try reader.each(sql, last.session, String(decoding: last.text, as: UTF8.self), row: read)
    } else {
      try reader.each(sql, last.session, last.number, row: read)
    }
    // An index out of order would loop for ever.
    if count > 0, last <= before { throw .damaged(path: path, what: "the rows of an index are out of order") }
    return count > 0
  }
}
