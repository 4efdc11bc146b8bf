/// A migration: one step from a version of a layer's tables to the next.
public struct Migration: Sendable {
  /// For people.
  let name: String
  let sql: String
  /// SQL for a database whose history branches off: a copy, or one whose last commits are missing.
  let onFork: String

  public init(_ name: String, _ sql: String, onFork: String = "") {
    self.name = name
    self.sql = sql
    self.onFork = onFork
  }
}

/// The schema of a database: the tables of its layers, lower layers first.
///
/// Each layer of the program brings its own migrations, and its tables may refer to those of lower layers. The database
/// has a version for each layer; those of layers that this schema does not name are left as they are.
public struct Schema: Sendable {
  /// All migrations of one layer ever, in order. Their count is the layer's version.
  ///
  /// A released migration is never changed or removed; a change is another one, behind all others.
  public struct Layer: Sendable {
    /// Its key in the database.
    let name: String
    let migrations: [Migration]
    /// The numbers of the first migrations in databases of format 9 and before, which counted those of all layers
    /// together.
    let counted: Range<Int>
    var version: Int { migrations.count }

    public init(_ name: String, _ migrations: [Migration], counted: Range<Int> = 0..<0) {
      precondition(counted.count <= migrations.count, "a migration is never removed")
      self.name = name
      self.migrations = migrations
      self.counted = counted
    }

    /// The version in a database of such a count.
    func version(ofCount count: Int) -> Int { max(0, min(count, counted.upperBound) - counted.lowerBound) }
  }

  /// `PRAGMA user_version` of databases with a version for each layer. Earlier ones have the count of their migrations
  /// there, nine at most, and earlier releases refuse a larger number.
  static let format = 10

  let layers: [Layer]

  public init(_ layers: [Layer]) { self.layers = layers }

  var versions: [Int] { layers.map(\.version) }

  /// The SQL for a fork of a database with these versions.
  func onFork(of versions: [Int]) -> String {
    zip(layers, versions).flatMap { layer, version in layer.migrations.prefix(version).map(\.onFork) }
      .filter { !$0.isEmpty }.joined(separator: ";")
  }
}
