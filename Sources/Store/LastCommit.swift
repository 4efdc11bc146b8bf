internal import Glibc
internal import Reactor

/// Commits that a database had once and has no more.
public enum StoreLoss: Hashable, Sendable, CustomStringConvertible {
  case commits(Int64)
  /// The file with their number is gone, or another database's.
  case unknown

  public var description: String {
    switch self {
    case .commits(let count):
      "the last \(count) commits are missing from the database: its log (the file that ends in -wal) was lost, cut or damaged, "
        + "or an older copy was put in its place"
    case .unknown:
      "nothing says whether the database is whole: the file beside it that has the number of its last commit "
        + "(it ends in \(LastCommit.suffix)) is missing, or another database's"
    }
  }
}

/// The number of a database's last commit, in a file beside it. SQLite itself cannot detect a lost or truncated log: it
/// takes the log as ending there, and reports nothing.
///
/// It is written after each commit and not synced. So after a power cut it may be behind the database, but never ahead.
final class LastCommit {
  struct Mark: Equatable {
    /// A random number that identifies the database.
    var database: Int64
    var number: Int64
  }

  static let suffix = ".last-commit"
  private let file: Descriptor
  private static let bytesCount = 24

  init(_ file: consuming Descriptor) { self.file = file }

  enum Found: Equatable {
    case nothing
    /// A power cut may leave it half written.
    case damaged
    case mark(Mark)
  }

  func read() -> Found {
    var bytes = [UInt8](repeating: 0, count: Self.bytesCount)
    guard pread(file.number, &bytes, bytes.count, 0) == bytes.count else { return .nothing }
    let mark = Mark(database: Self.number(bytes[0..<8]), number: Self.number(bytes[8..<16]))
    return Self.bytes(mark) == bytes ? .mark(mark) : .damaged
  }

  /// A failed write leaves the mark behind, so that a smaller loss is found: no commit depends on it.
  func write(_ mark: Mark) {
    let bytes = Self.bytes(mark)
    _ = pwrite(file.number, bytes, bytes.count, 0)
  }

  func sync() throws(SystemError) {
    let number = file.number
    try system("fsync") { fsync(number) }
  }

  private static func bytes(_ mark: Mark) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(bytesCount)
    func append(_ value: Int64) { for byte in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * byte))) } }
    append(mark.database)
    append(mark.number)
    append(Int64(Checksum.of(bytes)))
    return bytes
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> Int64 {
    bytes.reversed().reduce(0) { $0 << 8 | Int64($1) }
  }
}

/// Commit numbers: the last one is stored in a row of the database, written with each commit, and in a file beside it.
final class CommitNumbers {
  private var mark: LastCommit.Mark
  private let file: LastCommit
  let loss: StoreLoss?

  static let table = "last_commit"

  /// For a database that is migrated to its schema, and is new if there was no file. If commits are missing, its
  /// history branches off here.
  init(of database: Database, isNew: Bool, file: LastCommit) throws(StoreError) {
    let found = file.read()
    let isNumbered = try database.number("SELECT count(*) FROM sqlite_schema WHERE name = '\(Self.table)'") == 1
    let row = isNumbered ? try Self.row(of: database) : nil
    loss = isNew ? nil : Self.loss(row, found)
    mark = row ?? LastCommit.Mark(database: .random(in: .min ... .max), number: 0)
    self.file = file
    if loss != nil {
      // The new number is above that of any copy.
      if case .mark(let inFile) = found, inFile.database == mark.database {
        mark.number = max(mark.number, inFile.number)
      }
      let change = isNumbered ? "UPDATE \(Self.table) SET number = \(mark.number);" : ""
      try database.connection.execute("BEGIN IMMEDIATE; \(database.onFork); \(change) COMMIT")
    }
    if found != .mark(mark) {
      file.write(mark)
      do throws(SystemError) { try file.sync() } catch {
        throw StoreError.system(path: database.path + LastCommit.suffix, error)
      }
    }
    // The row comes after the file, so that each numbered database has a file.
    if row == nil {
      try database.connection.execute(
        """
        BEGIN IMMEDIATE;
        CREATE TABLE \(Self.table) (database INTEGER NOT NULL, number INTEGER NOT NULL) STRICT;
        INSERT INTO \(Self.table) VALUES (\(mark.database), \(mark.number));
        COMMIT
        """)
    }
  }

  private static func row(of database: Database) throws(StoreError) -> LastCommit.Mark {
    LastCommit.Mark(
      database: try database.number("SELECT database FROM last_commit"),
      number: try database.number("SELECT number FROM last_commit"))
  }

  private static func loss(_ row: LastCommit.Mark?, _ found: LastCommit.Found) -> StoreLoss? {
    switch (row, found) {
    case (nil, .nothing): nil
    // The first mark is of no commit.
    case (nil, .mark(let inFile)): inFile.number > 0 ? .commits(inFile.number) : nil
    case (_?, .nothing): .unknown
    case (let row?, .mark(let inFile)) where inFile.database != row.database: .unknown
    case (let row?, .mark(let inFile)): inFile.number > row.number ? .commits(inFile.number - row.number) : nil
    // The file is unreadable, and the database has what it has synced.
    case (_, .damaged): nil
    }
  }

  /// Writes the next number within a transaction, before it is committed.
  func writeNext(in database: Database) throws(StoreError) {
    try database.run("UPDATE last_commit SET number = ?", mark.number + 1)
  }

  /// Records the commit after it has succeeded.
  func recordCommit() {
    mark.number += 1
    file.write(mark)
  }
}
