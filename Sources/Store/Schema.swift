internal import Glibc

/// A migration: one step from a version of the schema to the next.
public struct Migration: Sendable {
  /// For people.
  let name: String
  let sql: String

  public init(_ name: String, _ sql: String) {
    self.name = name
    self.sql = sql
  }
}

/// The schema of a database: all migrations ever, in order. The version is their count.
///
/// A released migration is never changed or removed; a change is another one, behind all others. The tables of one
/// family stand in its file in `Families`, beside the queries that use them.
public struct Schema: Sendable {
  let migrations: [Migration]
  /// Run on a database whose commits are missing.
  let lossRecoverySQL: String?
  var version: Int { migrations.count }

  public init(_ migrations: [Migration], lossRecoverySQL: String? = nil) {
    self.migrations = migrations
    self.lossRecoverySQL = lossRecoverySQL
  }

  /// The schema of our databases.
  public static let current = Schema(
    [
      .facts,
      .transfers,
      .clients,
      .sessions,
      .resources,
      .intents,
      .messagesInOrder,
      .scopes,
      .audit,
    ], lossRecoverySQL: Database.newEpochs)
}

extension Database {
  /// Runs all missing migrations, or none.
  func migrate(from version: Int, to schema: Schema) throws(StoreError) {
    guard version < schema.version else { return forgetCopy() }
    if version > 0 { try keepCopy() }
    // Foreign keys are not enforced while tables are replaced; they are checked at the end.
    try connection.execute("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE")
    var step = ""
    do throws(StoreError) {
      for migration in schema.migrations[version...] {
        step = migration.name
        try connection.execute(migration.sql)
      }
      step = "references"
      if try hasBrokenReferences() { throw .refused(rule: "a row refers to one that is not there") }
      try connection.execute("PRAGMA user_version = \(schema.version); COMMIT")
    } catch {
      if connection.isInTransaction { try connection.execute("ROLLBACK") }
      // An error that is not the migration's fault is reported as it is.
      if case .full = error { throw error }
      throw .notMigrated(path: path, migration: step, what: "\(error)")
    }
  }

  // MARK: Downgrade

  /// The copy for a downgrade: an earlier release cannot read the migrated database.
  private var copyPath: String { path + ".before-upgrade" }
  /// The copy's retention. After that a downgrade is unlikely, and what was deleted meanwhile must be gone from the
  /// copy, too.
  private static let copyDays = 30

  private func keepCopy() throws(StoreError) {
    let backup = try Backup(of: self, to: copyPath)
    do throws(StoreError) {
      while try !backup.step() {}
    } catch {
      try? backup.end(isWhole: false)
      throw error
    }
    try backup.end(isWhole: true)
  }

  private func forgetCopy() {
    var status = stat()
    guard lstat(copyPath, &status) == 0, time(nil) - status.st_mtim.tv_sec > Self.copyDays * 86_400 else { return }
    unlink(copyPath)
  }
}
