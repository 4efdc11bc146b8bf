import Glibc
import TestKit
import Testing

@testable import Store

@Suite("The layers of a schema")
struct LayerTests {
  let folder = TemporaryFolder()
  private var path: String { "\(folder.path)/layers.db" }

  private static func step(_ name: String) -> Migration {
    Migration(
      name, "CREATE TABLE \(name) (id INTEGER PRIMARY KEY) STRICT; INSERT INTO \(name) VALUES (1)",
      onFork: "UPDATE \(name) SET id = id + 1")
  }

  /// The layers as an earlier release declared them, with one count of all migrations.
  private static let low = Schema.Layer("low", [step("a"), step("b")], counted: 0..<2)
  private static let high = Schema.Layer("high", [step("c"), step("d")], counted: 2..<4)
  /// Each with one more.
  private static let lowNow = Schema.Layer("low", low.migrations + [step("e")], counted: 0..<2)
  private static let highNow = Schema.Layer("high", high.migrations + [step("f")], counted: 2..<4)

  private func tables(_ layers: [Schema.Layer]) throws -> [String] {
    try Database(path, schema: Schema(layers)).tables()
  }

  /// Makes a file as an earlier release left it: with a count of migrations, and no versions of layers.
  private func makeCounted(_ count: Int) throws {
    for end in ["", "-wal", "-shm", ".before-upgrade", LastCommit.suffix] { unlink(path + end) }
    let database = try Database(path, schema: .none)
    for migration in (Self.low.migrations + Self.high.migrations).prefix(count) {
      try database.connection.execute(migration.sql)
    }
    try database.connection.execute("DROP TABLE layer; PRAGMA user_version = \(count)")
  }

  @Test("each makes its own tables alone, and another may come later")
  func alone() throws {
    #expect(try tables([Self.low]) == ["a", "b"])
    #expect(try tables([Self.low, Self.high]) == ["a", "b", "c", "d"])
  }

  @Test("one that is not named is left as it is, and keeps its version")
  func unnamed() throws {
    _ = try tables([Self.low, Self.high])
    #expect(try tables([Self.lowNow]) == ["a", "b", "c", "d", "e"])
    #expect(try tables([Self.lowNow, Self.highNow]) == ["a", "b", "c", "d", "e", "f"])
  }

  @Test("one of a later release is refused, whatever the others are")
  func newer() throws {
    _ = try tables([Self.low, Self.highNow])
    #expect(throws: StoreError.newer(path: path, version: 3, known: 2)) { try tables([Self.lowNow, Self.high]) }
    #expect(try tables([Self.low]) == ["a", "b", "c", "d", "f"])
  }

  @Test("a database that counts all migrations together is understood, and a copy is kept for the release before")
  func counted() throws {
    for count in 1...4 {
      try makeCounted(count)
      #expect(try tables([Self.lowNow, Self.highNow]) == ["a", "b", "c", "d", "e", "f"], "\(count)")
      let copy = try Database("\(path).before-upgrade", schema: .none)
      #expect(try copy.tables().count == count, "\(count)")
      // The history of the copy branches off.
      #expect(try copy.first("SELECT id FROM a") { $0.integer(0) } == 2, "\(count)")
    }
  }

  @Test("who opens its own tables alone in such a database leaves the others understood")
  func countedAlone() throws {
    for count in 1...4 {
      try makeCounted(count)
      #expect(try tables([Self.lowNow]) == ["a", "b"] + ["c", "d"].prefix(max(0, count - 2)) + ["e"], "\(count)")
      #expect(try tables([Self.lowNow, Self.highNow]) == ["a", "b", "c", "d", "e", "f"], "\(count)")
    }
  }

  @Test("an earlier release refuses a database with versions of layers")
  func earlier() throws {
    let database = try Database(path, schema: Schema([Self.low]))
    #expect(try database.first("PRAGMA user_version") { $0.integer(0) } ?? 0 > 9)
  }
}
