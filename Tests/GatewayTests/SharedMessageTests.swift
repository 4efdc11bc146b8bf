internal import Nearby
internal import PowerCut
internal import TestKit
internal import Testing

@testable internal import Gateway
@testable internal import Store

@Suite("The table of messages that several sessions have")
struct SharedMessageTests {
  private static let ids = ["arub73uzbqcozmyjrntpp6nkbu", "brub73uzbqcozmyjrntpp6nkbu"]

  let folder = TemporaryFolder()

  private static func message(_ ordinal: UInt64, _ audience: [(session: Int, offset: UInt64)]) -> SharedMessage {
    SharedMessage(
      ordinal: ordinal, at: 0, sender: "ada", mode: "reliable", json: Array("{\"id\":\"m\(ordinal)\"}".utf8),
      StoredAudience(
        sessions: StoredAudience.encoded(audience.map(\.session)),
        offsets: StoredAudience.encoded(offsets: audience.map(\.offset))))
  }

  private static func own(_ ordinal: UInt64, _ session: Int, _ offset: UInt64) -> SharedMessage.Own {
    SharedMessage.Own(
      session: session, ordinal: ordinal, offset: offset, changed: ordinal, changedOffset: offset, name: nil,
      json: Array("{\"id\":\"m\(ordinal)\"}".utf8))
  }

  /// Two sessions of a log, of which the second joined later.
  private static func keepSessions(_ database: Database, joined: UInt64) throws {
    for (index, id) in Self.ids.enumerated() {
      var session = StoredSession(
        id: id, host: "h", peer: "p", settings: Array(#"{"keep":"durable","count":10000}"#.utf8), created: 0,
        epoch: "epoch", number: index + 1)
      session.log = .init(number: 1, type: "chat", joined: index == 0 ? 0 : joined)
      try database.keep(session)
    }
  }

  @Test("an audience is told as it was, and says of each session which change a message was", arguments: 1...50)
  func audience(seed: Int) {
    var random = Chance(UInt64(seed))
    let sessions = (1...400).filter { _ in Bool.random(using: &random) }
    let offsets = sessions.map { _ in
      UInt64.random(in: 1...(1 << UInt64.random(in: 1...40, using: &random)), using: &random)
    }
    let audience = StoredAudience(
      sessions: StoredAudience.encoded(sessions), offsets: StoredAudience.encoded(offsets: offsets))
    #expect(StoredAudience.sessions(of: audience.sessions) == sessions)
    for session in 1...400 {
      #expect(audience.offset(for: session) == sessions.firstIndex(of: session).map { offsets[$0] })
    }
    #expect(!StoredAudience.eachOffset(of: audience.offsets, sessions.count + 1) { _, _ in })
    #expect(StoredAudience.sessions(of: [0x80]) == nil && StoredAudience.sessions(of: [1, 0]) == nil)
  }

  @Test("removed messages leave the numbers that they had, also where their status changes later")
  func removal() throws {
    let database = try Database("\(folder.path)/table.db", schema: .gateway)
    try Self.keepSessions(database, joined: 0)
    var both = Self.message(1, [(1, 1)])
    both.own = Self.own(2, 2, 1)
    try database.add(both, toLog: 1)
    try database.add(Self.message(3, [(1, 2), (2, 2)]), toLog: 1)
    try database.remove([], own: [1], fromLog: 1)
    #expect(try database.floor(of: 2) == 1 && database.floor(of: 1) == 0)
    #expect(try database.sharedMessages(ofLog: 1, after: 0, atMost: 9).map { $0.own == nil } == [true, true])
    try database.remove([1, 3], own: [], fromLog: 1)
    #expect(try database.floor(of: 2) == 2 && database.floor(of: 1) == 2 && database.lastNumber(ofLog: 1) == 3)
    var late = Self.own(2, 2, 1)
    (late.changed, late.changedOffset) = (4, 3)
    try database.change(late, of: 1, inLog: 1)
    #expect(try database.floor(of: 2) == 3 && database.lastNumber(ofLog: 1) == 4)
  }

  @Test("a session with the number of one that has ended has nothing of what that one had")
  func reusedNumber() throws {
    let database = try Database("\(folder.path)/table.db", schema: .gateway)
    try Self.keepSessions(database, joined: 5)
    for ordinal in [3, 7] as [UInt64] {
      try database.add(Self.message(ordinal, [(1, ordinal), (2, 8 - ordinal)]), toLog: 1)
    }
    try database.remove([3], own: [], fromLog: 1)
    #expect(try database.floor(of: 1) == 3 && database.floor(of: 2) == 0)
    try database.remove([7], own: [], fromLog: 1)
    #expect(try database.floor(of: 1) == 7 && database.floor(of: 2) == 1)
  }

  @Test("who missed thousands of changes gets them in pieces, by the numbers of its own channel")
  func changes() async throws {
    let writer = try Writer("\(folder.path)/gateway.db", schema: .gateway)
    try await writer.perform { database in
      try Self.keepSessions(database, joined: 1_000)
      var (first, second): (UInt64, UInt64) = (0, 0)
      for ordinal in stride(from: UInt64(1), to: 10_000, by: 2) {
        var audience: [(session: Int, offset: UInt64)] = []
        // Now and then there is nothing for the first one for a while.
        if ordinal % 1_000 < 900 {
          first += 1
          audience.append((1, first))
        }
        var row = Self.message(ordinal, audience)
        if ordinal > 1_000 {
          second += 1
          if ordinal % 7 == 0 {
            row.own = Self.own(ordinal + 1, 2, second)
          } else {
            row = Self.message(ordinal, audience + [(2, second)])
          }
        }
        try database.add(row, toLog: 1)
      }
      var changed = Self.own(1_016, 2, 8)
      (changed.changed, changed.changedOffset) = (10_001, second + 1)
      try database.change(changed, of: 1_015, inLog: 1)
    }
    let sessionStore = try await SessionStore.open(writer, in: folder.path, isDurable: true)
    for (index, id) in Self.ids.enumerated() {
      let view = try #require(sessionStore.history(of: EndpointID(text: id)) as? LogView)
      #expect(view.published == [4_500, 4_501][index] && view.oldest?.ordinal == [1, 1_002][index])
      for since in [0, 10, 11, 700, 4_490, 4_499] as [UInt64] {
        var (position, offsets, ids): (UInt64, [UInt64], [String]) = (since, [], [])
        while position < view.published {
          let (changes, through) = try #require(
            try await view.changes(after: position, through: view.published))
          #expect(through > position)
          position = through
          offsets += changes.map(\.offset)
          ids += changes.map(\.id)
        }
        // The first change of the message whose status changed is replaced by the second.
        #expect(offsets == (since + 1...view.published).filter { index == 0 || $0 != 8 })
        #expect(Set(ids).count == ids.count)
        #expect(index == 0 || ids.last == "m1016")
      }
    }
    await writer.close()
  }
}
