internal import Programs
internal import Report
internal import Store

/// A gateway that keeps ten million messages of each of two sessions, and takes the place of the oldest with each new one,
/// beside one that has the usual ten thousand of them.
extension Suite {
  private static let messages = 10_000_000
  /// The tail of one is by chance a half more than that of another.
  private static let turns = 15
  private static let fansInTurn = 4

  mutating func history() throws {
    let disk = try WorkPlace(onDisk: true)
    var few = try GatewayUnderTest("few", port: ports.next(), at: [], in: disk.folder)
    let fewStage = try stage(few, .durable)
    var many = try GatewayUnderTest("many", port: ports.next(), at: [], in: disk.folder)
    let manyStage = try stage(many, .durable, keeping: ["count": Self.messages, "bytes": 1 << 34])
    few.process.end(asking: true)
    many.process.end(asking: true)
    let start = now()
    let bytes = try Self.fill("\(disk.folder)/many/vicinity/gateway/gateway.db")
    table.add("history-fill", now() - start, "s")
    table.add("history-file", Double(bytes) / 1e9, "GB")
    var starts: [Double] = []
    var figures: [String: [Double]] = [:]
    // Two processes of one program differ by a fifth: each turn has its own.
    for turn in 0..<Self.turns {
      few = try few.again(in: disk.folder).gateway
      try disk.chill("many/vicinity/gateway/gateway.db")
      let (again, seconds) = try many.again(in: disk.folder)
      many = again
      starts.append(seconds)
      var both = [("history", many, manyStage), ("history-of-few", few, fewStage)]
      if !turn.isMultiple(of: 2) { both.reverse() }
      for (name, gateway, stage) in both {
        _ = try gateway.waitForMember(of: stage.sending)
        figures["\(name)-acknowledged", default: []].append(try acknowledge(gateway, stage).rate)
        figures["\(name)-at-half-p99", default: []].append(try acknowledge(gateway, stage, at: 10_000).p99 * 1e3)
      }
      for _ in 0..<Self.fansInTurn {
        for (name, gateway, stage) in both {
          figures["\(name)-fanout", default: []].append(try fan(gateway, stage, for: Self.shortTime).rate)
        }
      }
      few.process.end(asking: true)
      many.process.end(asking: true)
    }
    table.add("history-start", median(starts) * 1e3, "ms", goal: .atMost(1_000))
    for (figure, unit) in [("acknowledged", "/s"), ("at-half-p99", "ms"), ("fanout", "/s")] {
      let few = median(figures["history-of-few-\(figure)"] ?? [])
      table.add(
        "history-\(figure)", median(figures["history-\(figure)"] ?? []), unit,
        goal: unit == "ms" ? .atMost(1.1 * few) : .atLeast(0.9 * few))
      table.add("history-of-few-\(figure)", few, unit)
    }
  }

  /// A session as the gateway stores it.
  private struct StoredSession {
    let number: Int
    let peer: String
    let created: Int
  }

  /// The messages of its two sessions, as the gateway keeps them; says how large the file is.
  private static func fill(_ path: String) throws -> Int {
    let database = try Database(path, schema: Schema([]))
    // An interrupted run is thrown away.
    try database.run("PRAGMA synchronous = OFF")
    var sessions: [StoredSession] = []
    try database.each("SELECT number, peer, created FROM session WHERE is_ended = 0 ORDER BY number") {
      sessions.append(StoredSession(number: $0.integer(0), peer: $0.text(1), created: $0.integer(2)))
    }
    if sessions.count != 2 { throw Failure("the gateway has stored \(sessions.count) sessions") }
    for session in sessions { try fill(session, in: database) }
    try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    return try database.first("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size") {
      $0.integer(0)
    } ?? 0
  }

  private static func fill(_ session: StoredSession, in database: Database) throws {
    let head =
      #"","from":"\#(session.peer)","displayName":"Speaker","mode":"reliable","at":"2026-01-01T00:00:00.000Z","#
    let body = #""size":100,"contentType":"text/plain; charset=utf-8","body":""# + String(repeating: "x", count: 100)
    let rest = Array((head + body + "\"}").utf8)
    var total = 0
    for first in stride(from: 1, to: messages, by: 20_000) {
      try database.run("BEGIN")
      for ordinal in first..<first + 20_000 {
        let json = Array(#"{"id":"m\#(ordinal)"#.utf8) + rest
        total += json.count
        try database.run(
          """
          INSERT INTO message (session, ordinal, changed, count, total, at, sender, mode, json, checksum)
          VALUES (?, ?, ?, ?, ?, ?, ?, 'reliable', ?, ?)
          """, session.number, ordinal, ordinal, ordinal, total, session.created, session.peer, json,
          Checksum.of(json))
      }
      try database.run("COMMIT")
      if first % 1_000_000 == 1 { try database.run("PRAGMA wal_checkpoint(TRUNCATE)") }
    }
  }
}
