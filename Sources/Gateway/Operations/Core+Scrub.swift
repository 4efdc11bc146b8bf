internal import Nearby
internal import Notation
internal import Store

/// A stored file that the scrub reads.
struct ScrubbedFile: Sendable {
  /// The order in which files are read.
  struct Key: Hashable, Comparable, Sendable {
    let session: String
    let resource: String

    static func < (a: Key, b: Key) -> Bool {
      a.session == b.session ? a.resource < b.resource : a.session < b.session
    }
  }

  let key: Key
  let path: String
}

/// Counts and results of the scrub since the start.
struct ScrubFindings {
  enum Kind: String, CaseIterable { case file, message, database }

  private(set) var counts: [Kind: Int] = [:]
  private(set) var passCount = 0
  private(set) var lastPass: Timestamp?
  /// SQLite's description of a damaged database, found in the current pass or the one before.
  private(set) var brokenDatabase: String?
  private var isBrokenNow = false
  /// Damage that was reported; it is reported once.
  private var known: Set<StoreScrub.Damage> = []
  /// Limit on memory; a disk with so much damage needs no more reports.
  private static let knownMax = 10_000

  mutating func count(_ kind: Kind) { counts[kind, default: 0] += 1 }

  /// Whether this damage was not reported before.
  mutating func add(_ damage: StoreScrub.Damage) -> Bool {
    if case .structure(let what) = damage {
      isBrokenNow = true
      brokenDatabase = brokenDatabase ?? what
    }
    return known.count < Self.knownMax && known.insert(damage).inserted
  }

  mutating func endPass(at time: Timestamp) {
    passCount += 1
    lastPass = time
    if !isBrokenNow { brokenDatabase = nil }
    isBrokenNow = false
  }
}

extension Core {
  /// The approximate number of bytes that a pass reads.
  var bytesToScrub: Int {
    let database = Folder.size(of: "\(options.folder)/\(Gateway.storeName)")
    let (sum, isTooMuch) = database.addingReportingOverflow(Int(clamping: disk.used.total))
    return isTooMuch ? .max : sum
  }

  /// The next complete files in order.
  func filesToScrub(after last: ScrubbedFile.Key?, atMost count: Int) -> [ScrubbedFile] {
    var files: [ScrubbedFile] = []
    for id in sessions.ids.filter({ $0 >= last?.session ?? "" }).sorted() {
      guard let session = sessions[id], files.count < count else { break }
      files += session.resourceModels.values.compactMap { model in
        let key = ScrubbedFile.Key(session: id, resource: model.id)
        // A content that several resources share is read once.
        guard let path = model.content.path, model.isWholeHere, model.content.holders.first == model.id,
          last.map({ $0 < key }) ?? true
        else { return nil }
        return ScrubbedFile(key: key, path: path)
      }.sorted { $0.key < $1.key }
    }
    return Array(files.prefix(count))
  }

  /// Handles the result of reading one file.
  func scrubbed(_ file: ScrubbedFile, _ finding: FileFinding) {
    // The resource may have been deleted, sent or uploaded again meanwhile.
    guard let session = sessions[file.key.session], let model = session.resourceModels[file.key.resource],
      model.content.path == file.path, model.isWholeHere
    else { return }
    switch finding {
    case .read(let digest, let size):
      let isSound = verify(model.content, in: session, against: digest, size: size)
      if !isSound { scrub.count(.file) }
    case .damaged(let what):
      markDamaged(model.content, in: session, what)
      scrub.count(.file)
    case .unread(let why):
      log(
        .warning, for: .operator, "notScrubbed", "a stored file could not be read, so it was not checked: \(why)",
        [.init("resource", .text("\(session.resources.path)/\(model.id)")), .init("file", .text(file.path))])
    }
  }

  func found(_ damage: StoreScrub.Damage) {
    guard scrub.add(damage) else { return }
    switch damage {
    case .structure(let what):
      scrub.count(.database)
      log(
        .error, for: .operator, "damaged",
        "the database is damaged: the disk or memory may be failing; stop the gateway and restore a backup",
        [.init("what", .text(what)), .init("file", .text("\(options.folder)/\(Gateway.storeName)"))])
      events.publish("storeDamaged", about: "/v1/gateway", .operators, [.init("cause", .text(what))])
    case .message(let number, let ordinal):
      foundMessage("number \(number)", ordinal, of: sessions.values.filter { $0.stored?.number == number })
    case .sharedMessage(let log, let ordinal):
      foundMessage(
        "log \(log)", ordinal,
        of: sessions.values.filter { ($0.history as? LogView)?.has(rowAt: UInt64(clamping: ordinal), of: log) ?? false }
      )
    }
  }

  /// Limit for the events of one damaged message.
  private static let damageEventsMax = 16

  private func foundMessage(_ place: String, _ ordinal: Int, of sessions: [SessionModel]) {
    scrub.count(.message)
    log(
      .error, for: .operator, "damaged",
      "a stored message is damaged: the disk or memory may be failing; restore a backup if it matters",
      [.init("session", .text(sessions.first?.path ?? place)), .init("ordinal", .number(ordinal))])
    for session in sessions.prefix(Self.damageEventsMax) {
      events.publish("messageDamaged", about: session.messages.path, session.owner)
    }
  }

  func endScrubPass() { scrub.endPass(at: Timestamp.now) }

  /// The finding for the diagnostics.
  var storageFinding: Finding {
    let count = scrub.counts.values.reduce(0, +)
    if let what = scrub.brokenDatabase {
      return Finding(
        .storage, .bad, "The gateway's database is damaged (\(what)).",
        cure: "Stop the gateway, restore a backup, and check the disk.")
    }
    if count > 0 {
      let files = scrub.counts[.file, default: 0]
      return Finding(
        .storage, .bad,
        "\(count) stored files and messages are damaged (\(files) of them files, which are now in \(Quarantine.name)).",
        cure: "Check the disk, and restore a backup if they matter; the log names them.")
    }
    guard let time = scrub.lastPass else {
      return Finding(.storage, .unknown, "Stored data has not been checked since the gateway was started.")
    }
    return Finding(.storage, .good, "All stored data was checked, last at \(time), and is intact.")
  }
}
