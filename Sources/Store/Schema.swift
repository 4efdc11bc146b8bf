internal import Glibc

/// One step of a schema: what takes a database from the version before it to its own.
public struct Migration: Sendable {
  /// For people.
  let name: String
  let sql: String

  public init(_ name: String, _ sql: String) {
    self.name = name
    self.sql = sql
  }
}

/// What a database's tables are: each step there ever was, in order. The version is their count.
///
/// A step that was released is never changed, nor taken out; a change is another step, behind all others. The tables of
/// one family stand in its file in `Families`, beside the queries that use them.
public struct Schema: Sendable {
  let migrations: [Migration]
  /// Done to a database of which commits are missing.
  let afterLoss: String?
  var version: Int { migrations.count }

  public init(_ migrations: [Migration], afterLoss: String? = nil) {
    self.migrations = migrations
    self.afterLoss = afterLoss
  }

  /// Of the databases of this house.
  public static let house = Schema(
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
    ], afterLoss: Database.newEpochs)
}

extension Database {
  /// All steps that are missing, or none.
  func migrate(from version: Int, to schema: Schema) throws(StoreError) {
    guard version < schema.version else { return forgetCopy() }
    if version > 0 { try keepCopy() }
    // References are not held to while tables change places; that they hold is made sure of in the end.
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
      // What is no fault of the step is said as it is.
      if case .full = error { throw error }
      throw .notMigrated(path: path, migration: step, what: "\(error)")
    }
  }

  // MARK: The way back

  /// What an earlier release goes on from: it does not read what this one has changed.
  private var copyPath: String { path + ".before-upgrade" }
  /// By then nobody goes back any more, and what was deleted meanwhile is to be gone from there, too.
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
