internal import Foundation
internal import Store
internal import Testing

@testable internal import Gateway

@Suite("The history of a session beside its store", .timeLimit(.minutes(1)))
struct HistoryTests {
  @Test("who finds that what was missed has gone is told what is the oldest by then, also before the loop hears of it")
  func oldest() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("history-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let writer = try Writer("\(folder)/gateway.db", schema: .gateway)
    let settings = Array(#"{"keep":"durable","count":100}"#.utf8)
    let session = StoredSession(
      id: "srub73uzbqcozmyjrntpp6nkbu", host: "host", peer: "peer", settings: settings, created: 0, epoch: "epoch",
      number: 1)
    try await writer.perform { database in
      try database.keep(session)
      for ordinal in 1...231 {
        let message = StoredMessage(
          ordinal: UInt64(ordinal), changed: UInt64(ordinal), count: ordinal, total: ordinal * 2, at: 0, name: nil,
          sender: "peer", mode: "reliable", json: Array("{}".utf8))
        try database.keep(message, of: 1)
      }
    }
    let sessionStore = try await SessionStore.open(writer, in: folder, isDurable: true)
    let history = try #require(sessionStore.histories.values.first)
    #expect(history.oldest?.ordinal == 1)
    // The writer's thread prunes, and the loop does not know of the commit yet.
    _ = try await writer.perform { try $0.prune(1, to: 100, bytes: .max, since: .min) }
    let there = try await history.changes(after: 200, through: 231)?.changes.map(\.offset)
    #expect(there == Array(201...231) && history.oldest?.ordinal == 1)
    let gone = try await history.changes(after: 25, through: 231)
    #expect(gone == nil)
    #expect(history.oldest?.ordinal == 132)
    await writer.close()
  }
}
