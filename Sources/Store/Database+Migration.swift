internal import Glibc

extension Database {
  /// The table with the versions of layers. Its row without a name is the count of a database of an earlier format,
  /// for layers that were not opened since.
  private static let layers = "layer"

  /// The versions that the database has of a schema's layers.
  func versions(of schema: Schema) throws(StoreError) -> [Int] {
    let format = Int(try number("PRAGMA user_version"))
    if format < 0 { throw .damaged(path: path, what: "it says that its schema is number \(format)") }
    if format > Schema.format { throw .newer(path: path, version: format, known: Schema.format) }
    let isLayered = format == Schema.format
    let count = isLayered ? Int(try number("SELECT version FROM \(Self.layers) WHERE name = ''")) : format
    var versions: [Int] = []
    for layer in schema.layers {
      let stored =
        isLayered
        ? try number("SELECT ifnull(max(version), -1) FROM \(Self.layers) WHERE name = '\(layer.name)'") : -1
      let version = stored < 0 ? layer.version(ofCount: count) : Int(stored)
      if version > layer.version { throw .newer(path: path, version: version, known: layer.version) }
      versions.append(version)
    }
    return versions
  }

  /// Runs all missing migrations, or none.
  func migrate(from versions: [Int], to schema: Schema) throws(StoreError) {
    let format = try number("PRAGMA user_version")
    guard format < Schema.format || versions != schema.versions else { return forgetCopy() }
    if format > 0 { try keepCopy(schema.onFork(of: versions)) }
    // Foreign keys are not enforced while tables are replaced; they are checked at the end.
    try connection.execute("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE")
    var step = "versions"
    do throws(StoreError) {
      if format < Schema.format { try makeLayers(count: format) }
      for (layer, version) in zip(schema.layers, versions) {
        for migration in layer.migrations[version...] {
          step = migration.name
          try connection.execute(migration.sql)
        }
        try connection.execute("INSERT OR REPLACE INTO \(Self.layers) VALUES ('\(layer.name)', \(layer.version))")
      }
      step = "references"
      if try hasBrokenReferences() { throw .refused(rule: "a row refers to one that is not there") }
      try connection.execute("COMMIT")
    } catch {
      if connection.isInTransaction { try connection.execute("ROLLBACK") }
      // An error that is not the migration's fault is reported as it is.
      if case .full = error { throw error }
      throw .notMigrated(path: path, migration: step, what: "\(error)")
    }
  }

  private func makeLayers(count: Int64) throws(StoreError) {
    try connection.execute(
      """
      CREATE TABLE \(Self.layers) (name TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL) STRICT;
      INSERT INTO \(Self.layers) VALUES ('', \(count));
      PRAGMA user_version = \(Schema.format);
      """)
  }

  // MARK: Downgrade

  /// The copy for a downgrade: an earlier release cannot read the migrated database.
  private var copyPath: String { path + ".before-upgrade" }
  /// The copy's retention. After that a downgrade is unlikely, and what was deleted meanwhile must be gone from the
  /// copy, too.
  private static let copyDays = 30

  private func keepCopy(_ onFork: String) throws(StoreError) {
    let backup = try Backup(of: self, to: copyPath, onFork: onFork)
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
