import FoundationEssentials
import Glibc
import Notation
import TestKit
import Testing

@testable import Gateway
@testable import Store
@testable import vicinity

/// A gateway in a process of its own that finds a store of an earlier release.
@Suite(.ownThread, .timeLimit(.minutes(5)), .serialized) struct UpgradeTests {
  private let folder = TemporaryFolder()
  private var place: String { "\(folder.path)/ada/gateway" }
  private var store: String { "\(place)/gateway.db" }

  /// A gateway that has stopped, with a client, its peer and session, and a message in that.
  private func lived() throws -> (client: GatewayClient, message: JSON) {
    let ada = try GatewayClient("ada", in: folder, ["--discovery", "static"])
    let other = try ada.ask("POST", "/v1/peers", ["displayName": "Bob"])["id"]?.text ?? ""
    let session = try ada.ask("POST", "/v1/sessions", ["peer": .text(other)])["id"]?.text ?? ""
    let path = "/v1/sessions/\(session)"
    try ada.ask("POST", "\(path)/connections", try ada.ask("GET", "\(ada.path)/connection-data"))
    try ada.ask("POST", "\(ada.path)/connections", try ada.ask("GET", "\(path)/connection-data"))
    _ = try ada.wait(in: "\(ada.path)/members") { $0["state"] == "connected" }
    try ada.ask("POST", "\(ada.path)/messages", "hello")
    _ = try ada.wait(in: "\(path)/messages") { _ in true }
    _ = try ada.wait(in: "\(ada.path)/messages") { $0["deliveries"]?["pending"] ?? 0 == 0 }
    let message = try #require(try ada.ask("GET", "\(ada.path)/messages")["items"]?.list?.first)
    ada.program.signal(SIGTERM)
    #expect(try ada.program.ended() == 0)
    return (ada, message)
  }

  /// All migrations of the releases that counted them together.
  private static let counted = Schema.gateway.layers.flatMap { $0.migrations.prefix($0.counted.count) }

  /// The store as the release of that version would have it: its tables, and of what there is what they have room for.
  private func makeOlder(_ version: Int, from present: String) throws {
    for end in ["", "-wal", "-shm", ".before-upgrade"] { try? FileManager.default.removeItem(atPath: store + end) }
    let older = try Database(store, schema: Schema([]))
    for migration in Self.counted.prefix(version) { try older.connection.execute(migration.sql) }
    try older.connection.execute("DROP TABLE layer; PRAGMA user_version = \(version)")
    try older.run("PRAGMA foreign_keys = OFF")
    try older.run("ATTACH DATABASE ? AS present", present)
    var tables: [String] = []
    try older.each("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'") {
      tables.append($0.text(0))
    }
    for table in tables {
      var columns: [String] = []
      try older.each(
        "SELECT name FROM pragma_table_info(?1, 'main') WHERE name IN (SELECT name FROM pragma_table_info(?1, 'present'))",
        table
      ) { columns.append($0.text(0)) }
      if columns.isEmpty { continue }
      let names = columns.joined(separator: ", ")
      try older.run("INSERT INTO main.\(table) (\(names)) SELECT \(names) FROM present.\(table)")
    }
    try older.run("DETACH DATABASE present")
  }

  private func has(_ table: String, in version: Int) -> Bool {
    Self.counted.prefix(version).contains { $0.name == table }
  }

  @Test("A store of every earlier version is brought to the present one, and what was there is served")
  func every() throws {
    let (client, message) = try lived()
    let present = "\(folder.path)/present.db"
    try FileManager.default.moveItem(atPath: store, toPath: present)
    for version in 1...Self.counted.count {
      try makeOlder(version, from: present)
      if !has("clients", in: version) {
        let gateway = try Program(
          GatewayClient.serving("ada", in: folder.path) + ["--discovery", "static"], .noInput, in: folder.path)
        try gateway.line("\"serving\"")
        gateway.signal(SIGTERM)
        #expect(try gateway.ended() == 0, "\(version)")
        continue
      }
      let ada = try GatewayClient(again: client, ["--discovery", "static"])
      #expect(try ada.ask("GET", "/v1/peers/\(ada.peer)")["displayName"] == "ada", "\(version)")
      if has("sessions", in: version) {
        #expect(try ada.ask("GET", "\(ada.path)/messages")["items"] == [message], "\(version)")
      }
      try ada.ask("POST", "/v1/sessions", ["peer": .text(ada.peer)])
      ada.program.signal(SIGTERM)
      #expect(try ada.program.ended() == 0, "\(version)")
    }
  }

  @Test("A program that cannot start for its port, its certificate or its keys leaves an earlier store as it was")
  func standstill() throws {
    _ = try lived()
    let present = "\(folder.path)/present.db"
    try FileManager.default.moveItem(atPath: store, toPath: present)
    let older = Self.counted.count
    try makeOlder(older, from: present)
    func expectRefusal(_ word: String, _ options: [String] = [], at port: String = "0") throws {
      let serving = GatewayClient.serving("ada", in: folder.path, at: port)
      let program = try Program(
        serving + ["--discovery", "static"] + options, .noInput, in: folder.path)
      #expect(try program.ended() != 0 && program.err.contains(word), "\(program.out) \(program.err)")
      let version = try DatabaseReader(store).number("PRAGMA user_version")
      #expect(version == older, "\(word)")
      #expect(try DatabaseReader(store).number("SELECT count(*) FROM message") == 2, "\(word)")
      #expect(access(store + ".before-upgrade", F_OK) != 0, "\(word)")
    }
    let bob = try GatewayClient("bob", in: folder, ["--discovery", "static"])
    try expectRefusal(bob.port, at: bob.port)
    let file = try folder.write(Array("none\n".utf8), to: "x.pem")
    try expectRefusal("There is no certificate", ["--certificate", file, "--key", file])
    let authority = "\(place)/authority.pem"
    try FileManager.default.moveItem(atPath: authority, toPath: "\(authority).good")
    try Data("none\n".utf8).write(to: URL(filePath: authority))
    #expect(chmod(authority, 0o600) == 0)
    try expectRefusal("authority.pem")
    try FileManager.default.removeItem(atPath: authority)
    try FileManager.default.moveItem(atPath: "\(authority).good", toPath: authority)
    let keys = "\(folder.path)/ada/keys"
    #expect(chmod(keys, 0o777) == 0)
    try expectRefusal(keys)
    #expect(chmod(keys, 0o700) == 0)
    let last = try Program(
      GatewayClient.serving("ada", in: folder.path) + ["--discovery", "static"], .noInput, in: folder.path)
    try last.line("\"serving\"")
    #expect(access(store + ".before-upgrade", F_OK) == 0)
  }
}

extension DatabaseReader {
  fileprivate func number(_ sql: String) throws(StoreError) -> Int? {
    var number: Int?
    try each(sql) { row in
      number = row.integer(0)
      return true
    }
    return number
  }
}
