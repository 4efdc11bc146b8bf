import Glibc
import TestKit
import Testing

@testable import Store

@Suite struct LastCommitTests {
  private let folder = TemporaryFolder()
  private var path: String { "\(folder.path)/test.db" }

  private func keep(_ count: Int) async throws {
    let writer = try Writer(path, schema: .pairs)
    for number in 0..<count { try await writer.perform { try $0.set([1], to: [UInt8(number)]) } }
    await writer.close()
  }

  /// Leaves the files of a killed process: its log holds all that was not checkpointed.
  private func keepAndDie(_ count: Int, brought: Int = 0) async throws {
    let writer = try Writer(path, schema: .pairs)
    for number in 0..<count {
      try await writer.perform { try $0.set([1], to: [UInt8(number)]) }
      if number + 1 == brought { try await writer.truncateLog() }
    }
    let names = ["test.db", "test.db-wal", "test.db.last-commit"]
    let left = names.map { ($0, folder.bytes(of: $0)) }
    await writer.close()
    for (name, bytes) in left { try folder.write(bytes, to: name) }
    unlink(path + "-shm")
  }

  private func epoch() throws -> String? { try Database(path, schema: .pairs).epoch() }

  @Test func `A database that is closed, or whose process is killed, has lost nothing`() async throws {
    try await keep(3)
    #expect(try Database(path, schema: .pairs).loss == nil)
    try await keepAndDie(3)
    #expect(try Database(path, schema: .pairs).loss == nil)
    #expect(try Database(path, schema: .pairs).value(of: [1]) == [2])
  }

  @Test func `Commits that went with a lost log are told once, and what is told of it begins a new epoch`()
    async throws
  {
    try await keep(1)
    #expect(try epoch() == "first")
    try await keepAndDie(5, brought: 2)
    unlink(path + "-wal")
    do {
      let database = try Database(path, schema: .pairs)
      #expect(database.loss == .commits(3))
      #expect(try database.epoch() != "first")
    }
    let after = try epoch()
    #expect(try Database(path, schema: .pairs).loss == nil)
    #expect(try epoch() == after)
  }

  @Test func `A log that is cut in its middle is found out`() async throws {
    try await keepAndDie(5)
    let log = folder.bytes(of: "test.db-wal")
    try folder.write(Array(log.prefix(log.count - 4_000)), to: "test.db-wal")
    #expect(try Database(path, schema: .pairs).loss == .commits(1))
  }

  @Test func `A database whose pages were all in the log that was lost is found out`() async throws {
    try await keepAndDie(5)
    try folder.write([], to: "test.db")
    unlink(path + "-wal")
    #expect(try Database(path, schema: .pairs).loss == .commits(5))
  }

  @Test func `An older copy in its place is found out`() async throws {
    try await keep(2)
    let copy = folder.bytes(of: "test.db")
    try await keep(4)
    try folder.write(copy, to: "test.db")
    #expect(try Database(path, schema: .pairs).loss == .commits(4))
  }

  @Test
  func `A number that is missing is told, since nothing says whether there was more; a damaged one is written anew`()
    async throws
  {
    try await keep(2)
    unlink(path + LastCommit.suffix)
    #expect(try Database(path, schema: .pairs).loss == .unknown)
    #expect(try Database(path, schema: .pairs).loss == nil)
    var bytes = folder.bytes(of: "test.db.last-commit")
    bytes[9] ^= 1
    try folder.write(bytes, to: "test.db.last-commit")
    #expect(try Database(path, schema: .pairs).loss == nil)
    #expect(folder.bytes(of: "test.db.last-commit") != bytes)
  }

  @Test func `One that begins anew where another was moved away has lost nothing`() async throws {
    try await keep(3)
    for end in ["", "-wal", "-shm"] { unlink(path + end) }
    #expect(try Database(path, schema: .pairs).loss == nil)
    try await keep(2)
    #expect(try Database(path, schema: .pairs).loss == nil)
  }

  @Test func `A backup is whole, and in the place of the database it is a copy of it is told as older`() async throws {
    let writer = try Writer(path, schema: .pairs)
    try await writer.perform { try $0.set([1], to: [2]) }
    let copy = "\(folder.path)/copy.db"
    try await writer.backUp(to: copy)
    await writer.close()
    #expect(try Database(copy, schema: .pairs).loss == nil)
    for end in ["", "-wal", "-shm"] { unlink(path + end) }
    rename(copy, path)
    #expect(try Database(path, schema: .pairs).loss == .unknown)
  }

  @Test func `A reader commits nothing`() async throws {
    let writer = try Writer(path, schema: .pairs)
    try await writer.perform { try $0.set([1], to: [2]) }
    let before = folder.bytes(of: "test.db.last-commit")
    for _ in 0..<3 { _ = try await writer.perform { try $0.value(of: [1]) } }
    #expect(folder.bytes(of: "test.db.last-commit") == before)
    await writer.close()
  }

  @Test func `A schema of a negative number is damage`() throws {
    do { try Database(path, schema: .pairs).connection.execute("PRAGMA user_version = -3") }
    #expect(throws: StoreError.damaged(path: path, what: "it says that its schema is number -3")) {
      _ = try Database(path, schema: .pairs)
    }
  }
}
