internal import Store
internal import TestKit
internal import Testing

@testable internal import Gateway
@testable internal import Nearby

@Suite("A scrub of the database")
struct StoreScrubTests {
  let folder = TemporaryFolder()
  private var path: String { "\(folder.path)/test.db" }

  /// Rows for all checks: long messages and short ones, with names and without, changed and pending.
  private static func fill(_ database: Database, longBytes: Int = 60_000) throws {
    try database.keep(
      StoredSession(id: "s", host: "h", peer: "p", settings: [], created: 0, epoch: "abc", number: 1))
    for ordinal in 1...90 {
      var message = StoredMessage(
        ordinal: UInt64(ordinal), changed: UInt64(ordinal), count: ordinal, total: ordinal, at: 0,
        name: ordinal.isMultiple(of: 2) ? "name \(ordinal)" : nil, sender: "ada", mode: "reliable",
        json: Array("text \(ordinal) ".utf8)
          + [UInt8](repeating: 46, count: ordinal.isMultiple(of: 15) ? longBytes : 50))
      if ordinal.isMultiple(of: 3) { message.receipt = UInt64(ordinal) }
      try database.add(message, to: 1)
      if ordinal.isMultiple(of: 5) {
        message.changed = UInt64(100 + ordinal)
        try database.change(message, of: 1)
      }
    }
    for ordinal in 1...60 as ClosedRange<UInt64> {
      let offsets = [ordinal, ordinal + 3]
      var message = SharedMessage(
        ordinal: 2 * ordinal, at: 0, sender: "ada", mode: "reliable", json: Array("shared \(ordinal) ".utf8),
        StoredAudience(
          sessions: StoredAudience.encoded([1, 2]), offsets: StoredAudience.encoded(offsets: offsets)))
      if ordinal.isMultiple(of: 2) {
        var own = SharedMessage.Own(
          session: 3, ordinal: 2 * ordinal + 1, offset: ordinal, changed: 2 * ordinal + 1, changedOffset: ordinal,
          name: "name \(ordinal)",
          json: Array("own \(ordinal) ".utf8)
            + [UInt8](repeating: 46, count: ordinal.isMultiple(of: 20) ? longBytes / 2 : 50))
        message.own = own
        try database.add(message, toLog: 1)
        (own.changed, own.changedOffset) = (500 + ordinal, 500 + ordinal)
        if ordinal.isMultiple(of: 3) { try database.change(own, of: 2 * ordinal, inLog: 1) }
      } else {
        try database.add(message, toLog: 1)
      }
    }
    for number in 0..<50 { try database.setFact([UInt8(number)], to: [UInt8](repeating: 5, count: 300), of: [1]) }
  }

  private func make(longBytes: Int = 60_000) throws {
    try Self.fill(Database(path, schema: .gateway), longBytes: longBytes)
  }

  /// No more steps than so many: it ends, whatever the file says.
  private func scrub(after position: StoreScrub.Position? = nil, stepsMax: Int = 1_000) throws -> [StoreScrub.Damage] {
    let scrub: StoreScrub
    do { scrub = try StoreScrub(path, after: position) } catch StoreError.damaged(_, let what) {
      // A page of the schema.
      return [.structure(what)]
    }
    var damage: [StoreScrub.Damage] = []
    for _ in 0..<stepsMax {
      let step = try scrub.step()
      damage += step.damage
      if step.isLast { return damage }
    }
    Issue.record("it has no end")
    return damage
  }

  private func spoil(_ offset: Int, _ change: (UInt8) -> UInt8 = { $0 ^ 0x55 }) throws {
    var bytes = folder.bytes(of: "test.db")
    bytes[offset] = change(bytes[offset])
    try folder.write(bytes, to: "test.db")
  }

  private func offset(of text: String) throws -> Int {
    let (bytes, text) = (folder.bytes(of: "test.db"), Array(text.utf8))
    return try #require((0..<bytes.count - text.count).first { bytes[$0..<$0 + text.count].elementsEqual(text) })
  }

  @Test("reads a sound one in small steps, while others write to it, and finds nothing")
  func sound() async throws {
    let writer = try Writer(path, schema: .gateway)
    try await writer.perform { try Self.fill($0) }
    let scrub = try StoreScrub(path)
    var (steps, bytes) = (0, 0)
    while true {
      let step = try scrub.step()
      #expect(step.damage == [] && step.bytes <= 512 << 10)
      (steps, bytes) = (steps + 1, bytes + step.bytes)
      if step.isLast { break }
      try await writer.perform { [steps] in try $0.setFact([9], to: [UInt8(truncatingIfNeeded: steps)], of: [2]) }
    }
    #expect(steps > 12 && bytes > 350_000)
    await writer.close()
  }

  @Test("finds a message of which one bit was changed, and that one alone")
  func message() throws {
    try make()
    try spoil(offset(of: "text 37 "))
    #expect(try scrub() == [.message(session: 1, ordinal: 37)])
  }

  @Test("finds a message of several sessions, or what its sender has of it, of which one bit was changed")
  func shared() throws {
    try make()
    try spoil(offset(of: "shared 37 "))
    try spoil(offset(of: "own 24 "))
    #expect(try scrub() == [.sharedMessage(log: 1, ordinal: 48), .sharedMessage(log: 1, ordinal: 74)])
  }

  @Test("finds each page that has lost its form, wherever it is")
  func pages() throws {
    try make(longBytes: 20_000)
    let sound = folder.bytes(of: "test.db")
    #expect(sound.count > 30 * 4_096)
    func word(_ offset: Int) -> Int { sound[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
    // Free pages have nothing to lose: a list of trunks, of which each has the next one, a count and leaves.
    var free: Set<Int> = []
    var trunk = word(32)
    while trunk != 0 {
      let start = (trunk - 1) * 4_096
      free.insert(trunk)
      for leaf in 0..<word(start + 4) { free.insert(word(start + 8 + 4 * leaf)) }
      trunk = word(start)
    }
    for page in 1..<sound.count / 4_096 where !free.contains(page + 1) {
      try folder.write(sound, to: "test.db")
      // The last page of a long message begins with the number of no page, which nobody reads.
      let isLast = word(page * 4_096) == 0
      try spoil(page * 4_096 + (isLast ? 4 : 0)) { $0 ^ 0xF0 }
      let damage = try scrub()
      #expect(
        damage.contains {
          switch $0 {
          case .structure: !isLast
          case .message, .sharedMessage: isLast
          }
        }, "page \(page + 1): \(damage)")
    }
  }

  @Test("ends, whatever byte was changed")
  func anywhere() throws {
    try make(longBytes: 20_000)
    let sound = folder.bytes(of: "test.db")
    for offset in stride(from: 4_096, to: sound.count, by: 997) {
      try folder.write(sound, to: "test.db")
      try spoil(offset)
      _ = try scrub()
    }
  }

  @Test("goes on where another has ended")
  func position() throws {
    try make()
    try spoil(offset(of: "text 7 "))
    try spoil(offset(of: "text 77 "))
    let first = try StoreScrub(path)
    var position: StoreScrub.Position?
    while position == nil { if !(try first.step().isLast) { position = first.position } }
    #expect(
      position.map { $0.session == 1 && (7..<77).contains($0.ordinal) } == true, "\(String(describing: position))")
    #expect(try scrub(after: position) == [.message(session: 1, ordinal: 77)])
  }

  @Test("says of a file that is no database what it is")
  func foreign() throws {
    try make()
    try spoil(0)
    #expect(throws: StoreError.notADatabase(path: path)) { try scrub() }
  }
}
