public import Reactor

/// The reason why a database cannot be opened, or does not take a value, and what to do.
public enum StoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Only one process at a time; its number is nil where it did not leave it.
  case inUse(path: String, process: Int32?)
  case notADatabase(path: String)
  /// An SQLite database that is not ours.
  case foreign(path: String)
  case damaged(path: String, what: String)
  case newer(path: String, version: Int, known: Int)
  /// The old schema and its data are unchanged.
  case notMigrated(path: String, migration: String, what: String)
  /// Others could read or change the database.
  case exposed(path: String, mode: UInt32)
  case ownedBySomeoneElse(path: String, user: UInt32)
  case notAFile(path: String)
  /// Nothing of the transaction was written; earlier data are unchanged.
  case full(path: String)
  /// The values break a rule of their table.
  case refused(rule: String)
  case failed(path: String, operation: String, what: String)
  case system(path: String, SystemError)
  /// The write queue is full.
  case overloaded(countMax: Int)
  case closed

  public var description: String {
    switch self {
    case .inUse(let path, let process):
      "The database \(path) is in use by \(process.map { "process \($0)" } ?? "another process"); "
        + "stop it, or use another file."
    case .notADatabase(let path):
      "\(path) is no database, and was left as it is; name another file, or move this one away to begin anew."
    case .foreign(let path):
      "\(path) is the database of another program, and was left as it is; name another file."
    case .damaged(let path, let what):
      "The database \(path) is damaged (\(what)), and was left as it is; put back a copy of it, or move it away to "
        + "begin anew."
    case .newer(let path, let version, let known):
      "\(path) has schema \(version), of a later release (this one knows \(known)); install that release, or use "
        + "another file."
    case .notMigrated(let path, let migration, let what):
      "\(path) could not be brought to this release's schema (\(migration): \(what)), and is as it was; go back to the "
        + "release before, and report this."
    case .exposed(let path, let mode):
      "Others may read or change \(path) (mode 0\(String(mode, radix: 8))), so what is kept there is not safe; take it "
        + "from them with chmod go=, or use another place."
    case .ownedBySomeoneElse(let path, let user):
      "\(path) belongs to user \(user); run as that user, give it to this one with chown, or use another file."
    case .notAFile(let path):
      "\(path) is no plain file, as a database is; move it away, or name another file."
    case .full(let path):
      "There is no room for more in \(path), and nothing of it was written; make room on the disk, and try again."
    case .refused(let rule):
      "What was to be stored breaks a rule of its table: \(rule)."
    case .failed(let path, let operation, let what):
      "\(path): \(operation) failed (\(what)); see to the disk, and try again."
    case .system(let path, let error):
      "\(path): \(error); choose a place that this user may write to."
    case .overloaded(let countMax):
      "\(countMax) changes wait to be stored, because the disk is slow; wait until some are, and try again."
    case .closed:
      "The database has been closed; open it again."
    }
  }
}
