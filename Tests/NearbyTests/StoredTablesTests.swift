import TestKit
import Testing

@testable import Nearby
@testable import Store

@Suite("The database of a host", .timeLimit(.minutes(1)))
struct StoredTablesTests {
  private let folder = TemporaryFolder()

  private func start() async throws {
    var options = HostOptions()
    options.keys = .folder("\(folder.path)/keys")
    options.store = .file("\(folder.path)/host.db")
    options.discovery = .fixed([])
    let host = try await Host.start(options)
    _ = try await host.peer(named: "Ada").openSession()
    await host.suspend()
  }

  private func names(_ kind: String) throws -> [String] {
    let database = try Database("\(folder.path)/host.db", schema: Schema([]))
    var names: [String] = []
    try database.each("SELECT name FROM sqlite_schema WHERE type = ? ORDER BY name", kind) { names.append($0.text(0)) }
    return names
  }

  @Test("has the tables of a host, and none of a gateway")
  func own() async throws {
    try await start()
    #expect(try names("table") == ["fact", "last_commit", "layer", "transfer"])
    #expect(try names("trigger").isEmpty)
  }

  @Test("of an earlier release, which made a gateway's tables in it too, keeps what it has")
  func earlier() async throws {
    try await start()
    do {
      let database = try Database("\(folder.path)/host.db", schema: .host)
      try database.setFact([1], to: [2], of: [3])
      try database.connection.execute(
        "DROP TABLE layer; CREATE TABLE client (id TEXT NOT NULL PRIMARY KEY) STRICT; PRAGMA user_version = 9")
    }
    try await start()
    #expect(try names("table") == ["client", "fact", "last_commit", "layer", "transfer"])
    let facts = try Database("\(folder.path)/host.db", schema: .host).facts(of: [3])
    #expect(facts.map(\.key) == [[1]] && facts.map(\.value) == [[2]])
  }
}
