import PowerCut
import Synchronization
import TestKit
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(5)), .serialized) struct PowerCutTests {
  @Test func `An acknowledged write is there after a power cut, once, whole and in order`() async throws {
    for seed in 0..<20 as Range<UInt64> {
      var ledger = Ledger(seed: seed)
      let findings = try await ledger.run(lives: 2, cuts: 6)
      try #require(findings.isEmpty, "seed \(seed)")
    }
  }

  @Test(arguments: [("NORMAL", "are lost"), ("OFF", "")])
  func `A store that does not sync what it acknowledges is found out`(
    _ synchronous: String, _ word: String
  ) async throws {
    var findings: [String] = []
    for seed in 0..<20 as Range<UInt64> where findings.isEmpty {
      var ledger = Ledger(seed: seed, synchronous: synchronous)
      findings = try await ledger.run(lives: 1, cuts: 6)
    }
    #expect(findings.first?.contains(word) == true, "\(findings)")
  }
}

/// A writer's lives, each recorded and cut short at several moments; the next begins on what the last cut has left.
///
/// Its entries are numbered as they are asked for, and each belongs together with a change of their total.
private struct Ledger {
  private static let schema = Schema([
    Migration(
      "ledger",
      """
      CREATE TABLE entry (number INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
      CREATE INDEX entry_by_number ON entry (number);
      CREATE TABLE total (entries INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
      INSERT INTO total VALUES (0, 0);
      """)
  ])
  /// The size of the log at which it is checkpointed: small, so that it begins anew in the middle of the test.
  private static let logPages = 30

  private var chance: Chance
  /// The `synchronous` setting of the writer.
  private let synchronous: String
  private var files: [String: [UInt8]] = [:]
  private var entriesKept = 0

  init(seed: UInt64, synchronous: String = "FULL") {
    chance = Chance(seed)
    self.synchronous = synchronous
  }

  /// The findings after the first cut that has any.
  mutating func run(lives: Int, cuts: Int) async throws -> [String] {
    for _ in 0..<lives {
      let folder = TemporaryFolder(in: .memory)
      let recording = Recording(of: folder.path, from: files)
      defer { recording.end() }
      let (first, promises) = (entriesKept, Promises())
      try await live("\(folder.path)/ledger.db", recording, promises)
      for _ in 0..<cuts {
        let moment = chance.number(in: 0..<recording.count + 1)
        files = recording.cut(at: moment, seed: chance.next())
        let findings = look(for: max(first, promises.entries(at: moment)))
        if !findings.isEmpty { return findings + ["moment \(moment) of \(recording.count)"] }
      }
    }
    return []
  }

  // MARK: Writing

  /// Many at once, so that they are committed together; some that fail; and now and then all is closed in between.
  private mutating func live(_ path: String, _ recording: Recording, _ promises: Promises) async throws {
    var number = entriesKept
    for _ in 0..<chance.number(in: 1..<3) {
      let writer = try await open(path)
      for _ in 0..<chance.number(in: 1..<10) {
        for _ in 0..<chance.number(in: 1..<8) {
          let fails = chance.hits(0.2)
          if !fails { number += 1 }
          enqueue(fails ? -1 : number - 1, on: writer) { [number] failed in
            #expect(failed == fails)
            if !failed { promises.note(entries: number, at: recording.count) }
          }
        }
        try await writer.perform { _ in }
      }
      // Else the next one finds the log as this one has left it.
      await writer.close()
    }
  }

  private func open(_ path: String) async throws -> Writer {
    let writer = try Writer(path, schema: Self.schema, logPagesMax: Self.logPages)
    try await writer.perform { [synchronous] database in
      // It cannot be set within a transaction: what the writer has begun is ended, and begun anew.
      try database.connection.execute(
        "COMMIT; PRAGMA synchronous = \(synchronous); BEGIN IMMEDIATE;")
    }
    return writer
  }

  private func enqueue(_ number: Int, on writer: Writer, answer: @escaping @Sendable (_ failed: Bool) -> Void) {
    struct Changed: Error {}
    let body = Self.body(of: number)
    let refusal = writer.enqueue {
      try $0.run("INSERT INTO entry VALUES (?, ?)", number, body)
      if number < 0 { throw Changed() }
      try $0.run("UPDATE total SET entries = entries + 1, bytes = bytes + ?", body.count)
    } answer: {
      answer($0 != nil)
    }
    #expect(refusal == nil)
  }

  private static func body(of number: Int) -> [UInt8] {
    var chance = Chance(UInt64(bitPattern: Int64(number)))
    return (0..<chance.number(in: 0..<1_500)).map { UInt8(truncatingIfNeeded: $0 &* number) }
  }

  // MARK: Looking

  private mutating func look(for entriesMin: Int) -> [String] {
    let folder = TemporaryFolder(in: .memory)
    Recording.put(files, into: folder.path)
    var findings: [String] = []
    do {
      let database = try Database("\(folder.path)/ledger.db", schema: Self.schema)
      if let loss = database.loss, synchronous == "FULL" { findings.append("\(loss)") }
      try database.each("PRAGMA integrity_check") { if $0.text(0) != "ok" { findings.append($0.text(0)) } }
      var (entries, bytes) = (0, 0)
      try database.each("SELECT number, body FROM entry ORDER BY rowid") { row in
        if row.integer(0) != entries { findings.append("entry \(row.integer(0)) stands where \(entries) should") }
        if row.bytes(1) != Self.body(of: row.integer(0)) { findings.append("entry \(row.integer(0)) is another") }
        entries += 1
        bytes += row.withBytes(1) { $0.byteCount }
      }
      if entries < entriesMin { findings.append("\(entriesMin - entries) of \(entriesMin) acknowledged are lost") }
      let total = try database.first("SELECT entries, bytes FROM total") { ($0.integer(0), $0.integer(1)) }
      if total.map({ $0 == (entries, bytes) }) != true { findings.append("the total is of other entries") }
      entriesKept = entries
    } catch {
      findings.append("\(error)")
    }
    return findings
  }
}

/// When it was said of entries that they are stored.
private final class Promises: Sendable {
  private let list = Mutex<[(entries: Int, moment: Int)]>([])

  func note(entries: Int, at moment: Int) { list.withLock { $0.append((entries, moment)) } }

  /// How many are to be there after a cut at that moment.
  func entries(at moment: Int) -> Int { list.withLock { $0.filter { $0.moment <= moment }.map(\.entries).max() ?? 0 } }
}
