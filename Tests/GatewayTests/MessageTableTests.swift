internal import Nearby
internal import TestKit
internal import Testing

@testable internal import Gateway
@testable internal import Store

@Suite("The table of messages")
struct MessageTableTests {
  let folder = TemporaryFolder()

  private func message(_ ordinal: UInt64, changed: UInt64? = nil) -> StoredMessage {
    StoredMessage(
      ordinal: ordinal, changed: changed ?? ordinal, count: Int(ordinal), total: Int(ordinal) * 2, at: Int64(ordinal),
      name: nil, sender: "ada", mode: ordinal.isMultiple(of: 2) ? "reliable" : "unreliable", json: [123, 125])
  }

  private func database(_ schema: Schema = .gateway) throws -> Database {
    let database = try Database("\(folder.path)/history.db", schema: schema)
    // As earlier releases did, too.
    try database.run(
      "INSERT INTO session (id, host, peer, settings, created, epoch, number) VALUES (?, ?, ?, ?, ?, ?, ?)", "s", "h",
      "p", [] as [UInt8], 0, "abc", 1)
    for ordinal in 1...9 { try database.add(message(UInt64(ordinal)), to: 1) }
    return database
  }

  @Test("pages and changes come in their orders, as far as they are asked for")
  func looks() throws {
    let database = try database()
    #expect(try database.messages(of: 1, after: 3, atMost: 2).map(\.ordinal) == [4, 5])
    #expect(
      try database.messages(of: 1, after: 0, atMost: 9, where: MessageFilter(mode: "reliable")).map(\.ordinal)
        == [2, 4, 6, 8])
    try database.change(message(2, changed: 10), of: 1)
    #expect(try database.messages(of: 1, changedAfter: 7, through: 10, atMost: 9).messages.map(\.ordinal) == [8, 9, 2])
    #expect(try database.latestMessages(of: 1, atMost: 2).map(\.ordinal) == [8, 9])
    #expect(try database.latestChange(of: 1) == 10)
  }

  @Test("a page ends where its count or its bytes do, but for the first one, and says whether there are more")
  func pages() throws {
    let database = try database()
    func page(after ordinal: UInt64, _ count: Int, bytes: Int, _ filter: MessageFilter = MessageFilter()) throws
      -> String
    {
      let page = try database.page(of: 1, after: ordinal, atMost: count, bytes: bytes, where: filter)
      return page.messages.map { "\($0.ordinal)" }.joined(separator: " ") + (page.hasMore ? " …" : "")
    }
    #expect(try page(after: 3, 2, bytes: 100) == "4 5 …")
    #expect(try page(after: 3, 6, bytes: 100) == "4 5 6 7 8 9")
    #expect(try page(after: 3, 6, bytes: 7) == "4 5 6 …")
    #expect(try page(after: 3, 6, bytes: 1) == "4 …")
    #expect(try page(after: 8, 6, bytes: 1) == "9")
    #expect(try page(after: 9, 6, bytes: 1) == "")
    #expect(try page(after: 0, 2, bytes: 100, MessageFilter(mode: "reliable")) == "2 4 …")
  }

  @Test("the oldest go past count, bytes and age, from the front on, and positions before them are known no more")
  func retention() throws {
    let database = try database()
    #expect(try database.prune(1, to: 7, bytes: 100, since: 0) == 2)
    #expect(try database.floor(of: 1) == 2)
    #expect(try database.prune(1, to: 7, bytes: 10, since: 0) == 4)
    #expect(try database.prune(1, to: 7, bytes: 10, since: 7) == 6)
    #expect(try database.prune(1, to: 7, bytes: 10, since: 7) == nil)
    #expect(try database.messages(of: 1, after: 0, atMost: 9).map(\.ordinal) == [7, 8, 9])
  }

  @Test("much that is too old goes in pieces")
  func manyGo() throws {
    let database = try database()
    for ordinal in 10...1_500 { try database.add(message(UInt64(ordinal)), to: 1) }
    #expect(try database.prune(1, to: 9, bytes: .max / 2, since: 0) == 1_000)
    #expect(try database.floor(of: 1) == 1_000)
    #expect(try database.prune(1, to: 9, bytes: .max / 2, since: 0) == 1_491)
    #expect(try database.prune(1, to: 9, bytes: .max / 2, since: 0) == nil)
  }

  @Test("those whose delivery status is not known are found by their index, however long the history is")
  func open() throws {
    let database = try database()
    var sent = message(10)
    sent.receipt = 4
    try database.add(sent, to: 1)
    #expect(try database.openMessages(of: 1).map(\.ordinal) == [10])
    let plan = try database.first("EXPLAIN QUERY PLAN \(Database.open)", 1) { $0.text(3) }
    #expect(plan?.contains("INDEX message_receipt") == true, "\(plan ?? "")")
  }

  @Test("what was stored before messages lay in order is there, and goes on")
  func older() throws {
    let migrations = Schema.Layer.gateway.migrations.prefix { $0.name != "messages in order" }
    let before = Schema([.host, Schema.Layer("gateway", Array(migrations))])
    do {
      let older = try database(before)
      try older.change(message(2, changed: 10), of: 1)
    }
    let database = try Database("\(folder.path)/history.db", schema: .gateway)
    let copy = try Database("\(folder.path)/history.db.before-upgrade", schema: before)
    // Positions of what is said from now on say nothing there.
    let epoch = try #require(try copy.first("SELECT epoch FROM session") { $0.text(0) })
    #expect(epoch != "abc" && epoch.count == 16 && epoch.allSatisfy { "abcdefghijklmnopqrstuvwxyz234567".contains($0) })
    let session = try #require(try database.sessions().first)
    #expect(session.epoch == "abc" && session.log == nil)
    #expect(try database.messages(of: 1, after: 0, atMost: 99).map(\.ordinal) == Array(1...9))
    #expect(try database.messages(of: 1, changedAfter: 8, through: 99, atMost: 9).messages.map(\.ordinal) == [9, 2])
    try database.keep(message(11), of: 1)
    #expect(try database.latestChange(of: 1) == 11)
    #expect(throws: StoreError.self, "an ordinal is there once") { try database.add(message(11), to: 1) }
  }

  @Test("changes are found by their indexes, in their order, and no more than are asked for")
  func changes() throws {
    let database = try database()
    for (ordinal, changed) in [(3, 10), (1, 11), (7, 12)] as [(UInt64, UInt64)] {
      try database.change(message(ordinal, changed: changed), of: 1)
    }
    func changed(_ since: UInt64, _ last: UInt64, _ count: Int) throws -> [UInt64] {
      try database.messages(of: 1, changedAfter: since, through: last, atMost: count).messages.map(\.changed)
    }
    #expect(try changed(0, 99, 99) == [2, 4, 5, 6, 8, 9, 10, 11, 12])
    #expect(try changed(5, 11, 4) == [6, 8, 9, 10])
    #expect(try changed(9, 10, 4) == [10])
    func reach(_ since: UInt64, _ count: Int, bytes: Int = .max) throws -> UInt64 {
      try database.messages(of: 1, changedAfter: since, through: 99, atMost: count, bytes: bytes).through
    }
    #expect(try reach(0, 9) == 99 && reach(0, 8) == 11 && reach(0, 1) == 3)
    let size = try #require(try database.message(2, of: 1)).json.count
    #expect(try reach(0, 9, bytes: 2 * size) == 4 && reach(0, 9, bytes: 1) == 3)
    var plan: [String] = []
    try database.each("EXPLAIN QUERY PLAN \(Database.changed("changed"))", 1, 0, 99, 9) { plan.append($0.text(3)) }
    #expect(
      plan.contains { $0.contains("INDEX message_ordinal") } && plan.contains { $0.contains("INDEX message_changed") })
    #expect(!plan.contains { $0.hasPrefix("SCAN message") }, "\(plan)")
  }

  @Test("a message is kept as it came, and as it changes")
  func keeps() throws {
    let database = try database()
    try database.keep(message(10), of: 1)
    try database.keep(message(10, changed: 11), of: 1)
    #expect(try database.message(10, of: 1)?.changed == 11)
    #expect(try database.latestChange(of: 1) == 11)
  }

  @Test("the change of a message that was removed keeps its number")
  func lateChange() throws {
    let database = try database()
    _ = try database.prune(1, to: 0, bytes: 0, since: .max)
    try database.change(message(3, changed: 12), of: 1)
    #expect(try database.floor(of: 1) == 12)
  }

  @Test("what the disk has made something else of is told as that, at its place")
  func damage() throws {
    let database = try database()
    try database.run("UPDATE message SET json = ? WHERE ordinal = 5", [UInt8(91), 93])
    let messages = try database.messages(of: 1, after: 3, atMost: 3)
    #expect(messages.map(\.ordinal) == [4, 5, 6] && messages.map(\.isDamaged) == [false, true, false])
  }

  @Test("what an ended session has left goes a piece at a time")
  func clearing() throws {
    let database = try database()
    try database.endSession("s")
    #expect(try database.sessions().isEmpty)
    var pieces = 0
    while try database.removeEndedSessions(atMost: 4) { pieces += 1 }
    #expect(pieces == 3)
    #expect(try database.nextSessionNumber() == 1)
  }
}
