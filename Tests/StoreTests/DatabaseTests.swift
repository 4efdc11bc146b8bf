import Glibc
import TestKit
import Testing

@testable import Store

@Suite struct DatabaseTests {
  let folder = TemporaryFolder()
  var path: String { "\(folder.path)/deep/er/test.db" }

  @Test func `A database is made where there is none, for this user alone`() throws {
    let database = try Database(path, schema: .pairs)
    try database.set([1], to: [2])
    for name in ["test.db", "test.db-wal", "test.db.lock"] { #expect(folder.mode(of: "deep/er/\(name)") == 0o600) }
    #expect(folder.mode(of: "deep") == 0o700)
    #expect(folder.mode(of: "deep/er") == 0o700)
  }

  @Test func `The log stays when it is closed, empty: on a full disk none could be made`() throws {
    do {
      let database = try Database(path, schema: .pairs)
      try database.set([1], to: [2])
      #expect(!folder.bytes(of: "deep/er/test.db-wal").isEmpty)
    }
    #expect(folder.mode(of: "deep/er/test.db-wal") == 0o600 && folder.bytes(of: "deep/er/test.db-wal").isEmpty)
    #expect(folder.mode(of: "deep/er/test.db-shm") == 0o600)
  }

  @Test func `A bound value comes back as it was`() throws {
    let database = try Database(path, schema: .things)
    let blob = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
    try database.run("INSERT INTO thing VALUES (?, ?, ?, ?)", Int.max, "grüße\u{0}x", blob, 0.25)
    try database.run("INSERT INTO thing VALUES (?, ?, ?, ?)", Int.min, "", [UInt8](), Double?.none)
    var rows = 0
    try database.each("SELECT id, name, bytes, weight FROM thing ORDER BY id DESC") { row in
      rows += 1
      #expect(row.integer(0) == (rows == 1 ? .max : .min))
      #expect(row.text(1) == (rows == 1 ? "grüße\u{0}x" : ""))
      #expect(row.bytes(2) == (rows == 1 ? blob : []))
      #expect(row.withBytes(2) { $0.byteCount } == (rows == 1 ? 100_000 : 0))
      #expect(row.isNull(3) == (rows == 2))
    }
    #expect(rows == 2)
    #expect(try database.first("SELECT id FROM thing WHERE id = ?", 5) { $0.integer(0) } == nil)
  }

  @Test func `A statement runs within its own rows`() throws {
    let database = try Database(path, schema: .things)
    for id in 1...3 { try database.run("INSERT INTO thing (id, name, bytes) VALUES (?, 'x', x'')", id) }
    var pairs = 0
    let sql = "SELECT id FROM thing"
    try database.each(sql) { _ in try database.each(sql) { _ in pairs += 1 } }
    #expect(pairs == 9)
  }

  @Test func `A loop that leaves the rows early leaves the statement reset`() throws {
    struct Enough: Error {}
    let database = try Database(path, schema: .things)
    for id in 1...3 { try database.run("INSERT INTO thing (id, name, bytes) VALUES (?, 'x', x'')", id) }
    let sql = "SELECT id FROM thing ORDER BY id"
    for _ in 0..<2 {
      var seen: [Int] = []
      #expect(throws: Enough.self) {
        try database.each(sql) { row in
          seen.append(row.integer(0))
          throw Enough()
        }
      }
      #expect(seen == [1])
    }
  }

  @Test func `A table takes what it was made for, and says what it does not`() throws {
    let database = try Database(path, schema: .things)
    #expect(throws: StoreError.self) { try database.run("INSERT INTO thing (id, name, bytes) VALUES (1, ?, x'')", [1]) }
    try database.run("INSERT INTO thing (id, name, bytes) VALUES (1, 'x', x'')")
    let error = #expect(throws: StoreError.self) {
      try database.run("INSERT INTO thing (id, name, bytes) VALUES (1, 'x', x'')")
    }
    #expect(error?.description.contains("UNIQUE") == true)
    #expect(throws: StoreError.self) { try database.run("INSERT INTO part VALUES (7)") }
  }

  @Test func `Every table of its own is strict`() throws {
    let database = try Database(path, schema: .none)
    var loose: [String] = []
    try database.each("SELECT name, strict FROM pragma_table_list WHERE type = 'table' AND schema = 'main'") { row in
      if !row.flag(1), !row.text(0).hasPrefix("sqlite_") { loose.append(row.text(0)) }
    }
    #expect(loose.isEmpty)
  }

  // MARK: Migrations

  @Test func `Steps that are missing are made up for, each once`() throws {
    let first = Migration("first", "CREATE TABLE a (id INTEGER PRIMARY KEY) STRICT; INSERT INTO a VALUES (1)")
    let second = Migration("second", "ALTER TABLE a ADD COLUMN name TEXT; INSERT INTO a VALUES (2, 'two')")
    _ = try Database(path, schema: Schema([first]))
    for _ in 0..<2 {
      let database = try Database(path, schema: Schema([first, second]))
      #expect(try database.first("SELECT count(*), max(id) FROM a") { [$0.integer(0), $0.integer(1)] } == [2, 2])
      #expect(try database.first("SELECT version FROM layer WHERE name = 'test'") { $0.integer(0) } == 2)
    }
  }

  @Test func `The database before an upgrade is kept for thirty days, and an earlier release can use it`() throws {
    let copy = path + ".before-upgrade"
    let step = Migration("first", "CREATE TABLE a (id INTEGER PRIMARY KEY) STRICT; INSERT INTO a VALUES (1)")
    let (first, second) = (Schema([step]), Schema([step, Migration("second", "INSERT INTO a VALUES (2)")]))
    func numbers(_ schema: Schema, at path: String) throws -> String? {
      try Database(path, schema: schema).first("SELECT group_concat(id) FROM a") { $0.text(0) }
    }
    #expect(try numbers(first, at: path) == "1" && access(copy, F_OK) != 0)
    for _ in 0..<2 { #expect(try numbers(second, at: path) == "1,2" && access(copy, F_OK) == 0) }
    #expect(throws: StoreError.self) { try numbers(first, at: path) }
    #expect(try numbers(first, at: copy) == "1")
    for (days, isThere) in [(29, true), (31, false)] {
      var times = [timeval](repeating: timeval(tv_sec: time(nil) - days * 86_400, tv_usec: 0), count: 2)
      #expect(utimes(copy, &times) == 0)
      _ = try numbers(second, at: path)
      #expect((access(copy, F_OK) == 0) == isThere)
    }
  }

  @Test(arguments: [
    "CREATE TABLE b (id INTEGER PRIMARY KEY) STRICT; INSERT INTO a VALUES (1)",
    "CREATE TABLE b (id INTEGER REFERENCES a) STRICT; INSERT INTO b VALUES (17)",
    "DROP TABLE a; SELECT nothing FROM nowhere",
  ])
  func `A step that fails leaves the database as it was`(_ sql: String) throws {
    let first = Migration("first", "CREATE TABLE a (id INTEGER PRIMARY KEY) STRICT; INSERT INTO a VALUES (1)")
    _ = try Database(path, schema: Schema([first]))
    let broken = Schema([first, Migration("well", "INSERT INTO a VALUES (2)"), Migration("broken", sql)])
    let error = #expect(throws: StoreError.self) { _ = try Database(path, schema: broken) }
    #expect(error?.description.contains("is as it was") == true)
    let database = try Database(path, schema: Schema([first]))
    #expect(try database.tables() == ["a"])
    #expect(try database.first("SELECT count(*) FROM a") { $0.integer(0) } == 1)
  }

  @Test func `A database of a later release is left as it is`() throws {
    let step = Migration("first", "CREATE TABLE a (id INTEGER PRIMARY KEY) STRICT")
    _ = try Database(path, schema: Schema([step, Migration("second", "")]))
    func expectRefusal(_ version: Int, known: Int) throws {
      let before = folder.bytes(of: "deep/er/test.db")
      let error = #expect(throws: StoreError.self) { _ = try Database(path, schema: Schema([step])) }
      #expect(error == .newer(path: path, version: version, known: known))
      #expect(folder.bytes(of: "deep/er/test.db") == before)
    }
    try expectRefusal(2, known: 1)
    try Database(path, schema: .none).connection.execute("PRAGMA user_version = \(Schema.format + 1)")
    try expectRefusal(Schema.format + 1, known: Schema.format)
  }

  // MARK: Files that are none

  @Test func `A file that is no database is left as it is, and reported`() throws {
    let text = Array(repeating: UInt8(ascii: "x"), count: 20_000)
    try folder.write(text, to: "notes.txt")
    let path = "\(folder.path)/notes.txt"
    #expect(throws: StoreError.notADatabase(path: path)) { _ = try Database(path, schema: .pairs) }
    #expect(folder.bytes(of: "notes.txt") == text)
  }

  @Test func `A database of another program is left as it is, and said`() throws {
    let path = "\(folder.path)/other.db"
    #expect(
      system("python3 -c 'import sqlite3,sys; sqlite3.connect(sys.argv[1]).execute(\"create table t(x)\")' \(path)")
        == 0)
    chmod(path, 0o600)
    let before = folder.bytes(of: "other.db")
    #expect(throws: StoreError.foreign(path: path)) { _ = try Database(path, schema: .pairs) }
    #expect(folder.bytes(of: "other.db") == before)
  }

  @Test(arguments: [0, 100, 4_096, 40_000])
  func `A damaged database is found damaged, and left as it is`(_ place: Int) throws {
    do {
      let database = try Database(path, schema: .pairs)
      for number in 0..<200 {
        try database.set([UInt8(number)], to: [UInt8](repeating: 5, count: 1_000))
      }
    }
    var bytes = folder.bytes(of: "deep/er/test.db")
    for index in place..<place + 3_000 { bytes[index] ^= 0xA5 }
    try folder.write(bytes, to: "deep/er/test.db")
    let error = #expect(throws: StoreError.self) {
      let database = try Database(path, schema: .pairs)
      // It may be what a value says, which nobody can see.
      for number in 0..<200 where try database.value(of: [UInt8(number)]) != [UInt8](repeating: 5, count: 1_000) {
        throw StoreError.damaged(path: path, what: "a value")
      }
    }
    #expect(error?.description.contains("left as it is") == true)
    #expect(folder.bytes(of: "deep/er/test.db") == bytes)
  }

  @Test func `A cut database is found damaged`() throws {
    do {
      let database = try Database(path, schema: .pairs)
      for number in 0..<200 {
        try database.set([UInt8(number)], to: [UInt8](repeating: 5, count: 1_000))
      }
    }
    try folder.write(folder.bytes(of: "deep/er/test.db").prefix(50_000), to: "deep/er/test.db")
    let error = #expect(throws: StoreError.self) { _ = try Database(path, schema: .pairs) }
    if case .damaged = error {} else { Issue.record("\(error.map { "\($0)" } ?? "nothing")") }
  }

  @Test func `A file that others may read is not used`() throws {
    try folder.write([], to: "open.db")
    chmod("\(folder.path)/open.db", 0o644)
    let error = #expect(throws: StoreError.self) { _ = try Database("\(folder.path)/open.db", schema: .pairs) }
    #expect(error == .exposed(path: "\(folder.path)/open.db", mode: 0o644))
    symlink("/nowhere", "\(folder.path)/link.db")
    #expect(throws: StoreError.notAFile(path: "\(folder.path)/link.db")) {
      _ = try Database("\(folder.path)/link.db", schema: .pairs)
    }
    mkdir("\(folder.path)/folder.db", 0o700)
    #expect(throws: StoreError.notAFile(path: "\(folder.path)/folder.db")) {
      _ = try Database("\(folder.path)/folder.db", schema: .pairs)
    }
  }

  // MARK: Alone

  @Test func `A second one is refused, here and in another process, while the first lives`() throws {
    let path = path
    do {
      let first = try Database(path, schema: .things)
      #expect(throws: StoreError.inUse(path: path, process: getpid())) { _ = try Database(path, schema: .things) }
      try first.run("INSERT INTO thing (id, name, bytes) VALUES (1, 'x', x'')")
    }
    let child = try StoreChild("hold", path)
    #expect(try child.line() == "open")
    let error = #expect(throws: StoreError.self) { _ = try Database(path, schema: .pairs) }
    #expect(error == .inUse(path: path, process: child.process))
    child.kill()
    _ = try Database(path, schema: .things)
  }
}
