internal import CSQLite
internal import Glibc
internal import Reactor

/// An online copy of a database, made a piece at a time; it includes what is written meanwhile.
///
/// It is written to a draft file beside its path, which is renamed to the path when it is complete.
final class Backup {
  private let path: String
  private let draft: String
  private let source: Database
  private let target: Connection
  private let pointer: OpaquePointer
  private let file: DatabaseFile
  private let onFork: String

  private static let pagesPerStep: CInt = 256

  /// `onFork` is run on the complete copy: its history differs from the source's from then on.
  init(of source: Database, to path: String, onFork: String) throws(StoreError) {
    self.source = source
    self.onFork = onFork
    self.path = path
    draft = path + ".new"
    // A process that was killed may have left a draft.
    unlink(draft)
    file = try DatabaseFile(draft)
    target = try Connection(draft)
    guard let pointer = sqlite3_backup_init(target.pointer, "main", source.connection.pointer, "main") else {
      throw target.error(sqlite3_errcode(target.pointer), "begin a backup")
    }
    self.pointer = pointer
  }

  /// Copies the next pages; returns whether the copy is complete.
  func step() throws(StoreError) -> Bool {
    switch sqlite3_backup_step(pointer, Self.pagesPerStep) {
    case SQLITE_DONE: return true
    case SQLITE_OK, SQLITE_BUSY, SQLITE_LOCKED: return false
    case let code: throw target.error(code, "copy to the backup")
    }
  }

  /// Consumes the copy, complete or not.
  func end(isWhole: Bool) throws(StoreError) {
    let code = sqlite3_backup_finish(pointer)
    defer { unlink(draft + ".lock") }
    guard isWhole else {
      unlink(draft)
      return
    }
    guard code == SQLITE_OK else { throw target.error(code, "end a backup") }
    // Without a write-ahead log, which would stay behind when the copy is renamed to its path.
    try target.execute("PRAGMA journal_mode = DELETE")
    try target.execute(onFork)
    // The copy is another database from now on.
    try target.execute("DROP TABLE IF EXISTS \(CommitNumbers.table)")
    // SQLite has synced the bytes.
    guard rename(draft, path) == 0 else { throw .system(path: path, SystemError("rename \(draft)", code: errno)) }
    try file.syncFolder()
  }
}
