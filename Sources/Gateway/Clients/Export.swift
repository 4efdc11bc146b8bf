internal import Nearby
internal import Notation
internal import Web

/// All data that is kept of a client, a line of JSON for each item, at the pace at which the client reads it.
///
/// It has the items that existed when it began, each in its state when its line is written. It has no items that come
/// meanwhile, so that it ends, and none that are removed meanwhile.
final class Export: BodySource {
  static let type = "application/x-ndjson"
  /// Limit for the messages in memory at a time, since one may be large.
  private static let itemsMax = 16

  /// A part of the export: the client's own items in one collection.
  private struct Section {
    let kind: String
    let path: String
    var session: String?
    /// The ordinal after which items came when the export had begun.
    let last: UInt64
    var after: UInt64 = 0

    init(_ kind: String, _ collection: Collection, in session: String? = nil) {
      self.kind = kind
      self.session = session
      path = collection.path
      last = collection.lastOrdinal
    }
  }

  private let core: Core
  private let client: ClientView
  private let number: UInt64
  private weak var exchange: Exchange?
  /// The sections that are left; the next one is the last element.
  private var sections: [Section]
  /// The sessions whose sections follow, with the messages that each had; the next one is the last element again.
  private var sessions: [(id: String, messages: Section)]
  private var waiting: [UInt8] = []
  private var sent = 0
  private var lines = 0
  private var isReading = false
  private var end: Pulled?

  static func answer(_ client: ClientView, _ call: Call, _ exchange: Exchange, in core: Core) throws(Problem) {
    guard MediaRange.accepts(call.headers["Accept"], type) else {
      throw Problem(.notAcceptable, "an export comes as \(type): lines of JSON")
    }
    var response = Response(200)
    response.headers.append("Content-Type", type)
    response.headers.append(
      "Content-Disposition", "attachment; filename*=UTF-8''\(Percent.encode("\(client.name).ndjson"))")
    if call.method == .head { return core.respond(response, to: exchange) }
    guard core.exports[client.id] == nil else {
      throw Problem.rateLimited(
        "another export of this client is in progress: let it end, or abort it", after: 1, rule: "exports", limit: 1)
    }
    let export = Export(client, exchange, core)
    core.exports[client.id] = export
    exchange.onAbort = { export.finish(.failed) }
    response.body = .source(export, length: nil)
    core.respond(response, to: exchange)
  }

  private init(_ client: ClientView, _ exchange: Exchange, _ core: Core) {
    self.core = core
    number = core.number()
    self.client = client
    self.exchange = exchange
    sections = [
      Section("event", core.events.list), Section("invitation", core.invitations.list),
      Section("browser", core.browsers.list), Section("advertiser", core.advertisers.list),
      Section("peer", core.peers.list),
    ]
    sessions = core.currentSessionList.seen(by: client).filter { $0.owner == .client(client.id) }.reversed().compactMap
    {
      item in
      core.sessions[item.id].map { ($0.id, Section("message", $0.messages, in: $0.id)) }
    }
    write("export", core.origin)
    if let item = core.clientList[client.id.text] { write("client", item.bytes) }
  }

  // MARK: Sending

  func pull(_ room: UnsafeMutableRawBufferPointer) -> Pulled {
    while sent == waiting.count {
      if let end { return end }
      if isReading { return .nothingYet }
      refill()
    }
    let count = min(room.count, waiting.count - sent)
    waiting.withUnsafeBytes { room.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[sent..<sent + count])) }
    sent += count
    return .wrote(count)
  }

  /// Ends the export of a client that has lost its access.
  func abort() {
    finish(.failed)
    exchange?.wake()
  }

  private func finish(_ end: Pulled) {
    if self.end == nil { core.exports[client.id] = nil }
    self.end = self.end ?? end
  }

  // MARK: Reading

  private func refill() {
    (waiting, sent) = ([], 0)
    guard core.clients.hasValidToken(client.id) else { return finish(.failed) }
    guard let section = sections.last else { return beginSession() }
    guard let collection = core.channels.collection(at: section.path) else { return endSection() }
    if collection.historySource != nil { return read(section) }
    let page = collection.page(after: section.after, atMost: Self.itemsMax, for: client, where: [:])
    write(page.items, hasMore: page.hasMore)
  }

  private func read(_ section: Section) {
    isReading = true
    let (client, number) = (client.id, number)
    core.start { core in
      // The page is nil where the disk cannot be read: the export is then incomplete.
      let page =
        try? await core.channels.collection(at: section.path)?.historySource?.page(
          after: section.after, atMost: Self.itemsMax, where: [:]) ?? ([], false)
      if let export = core.exports[client], export.number == number { export.finishRead(page) }
    }
  }

  private func finishRead(_ page: (items: [Item], hasMore: Bool)?) {
    isReading = false
    guard let page else { return abort() }
    write(page.items, hasMore: page.hasMore)
    exchange?.wake()
  }

  private func beginSession() {
    guard let (id, messages) = sessions.popLast() else {
      write("end", ["lines": .number(lines + 1)])
      return finish(.end)
    }
    guard let session = core.sessions[id], let item = core.sessionList[id] else { return }
    write("session", item.bytes)
    sections = [
      Section("connection", session.connections, in: id), Section("comparison", session.comparisons, in: id),
      Section("certificate", session.certificates, in: id), Section("stream", session.streams, in: id),
      Section("resource", session.resources, in: id), messages, Section("member", session.members, in: id),
    ]
  }

  private func endSection() { sections.removeLast() }

  // MARK: Writing

  private func write(_ items: [Item], hasMore: Bool) {
    guard let section = sections.last else { return }
    // All of the client's sessions is the client's.
    for item in items
    where item.ordinal <= section.last && (section.session != nil || item.owner == .client(client.id)) {
      write(section.kind, item.bytes, in: section.session)
    }
    guard hasMore, let last = items.last, last.ordinal < section.last else { return endSection() }
    sections[sections.count - 1].after = last.ordinal
  }

  private func write(_ kind: String, _ json: JSON) { write(kind, json.bytes) }

  private func write(_ kind: String, _ item: [UInt8], in session: String? = nil) {
    waiting += "{\"kind\":\"\(kind)\",".utf8
    if let session { waiting += "\"session\":\"\(session)\",".utf8 }
    waiting += "\"item\":".utf8 + item + "}\n".utf8
    lines += 1
  }
}

extension Core {
  /// The gateway, and the time, of an export.
  fileprivate var origin: JSON {
    [
      "at": .text(Timestamp.now.description), "gateway": .text(name), "host": .text(host.id.text),
      "version": .text(Gateway.version),
    ]
  }
}
