internal import Notation
internal import Web

/// A client's query of a collection: filters, pagination by cursors, and changes since a position.
struct Listing: Sendable {
  static let pageDefault = 100
  static let pageMax = 1_000
  /// Limit for the items of a page, but for its first one.
  static let pageBytesMax = 16 << 20
  /// Limit for the wait of a long poll, in seconds.
  static let waitMax = 60

  var filter: [String: String] = [:]
  var limit = Listing.pageDefault
  /// The ordinal after which the page begins.
  var after: UInt64 = 0
  var since: Position?
  var wait = 0

  /// The query parameters that every collection takes, besides its filters.
  static let parameters = ["limit", "after", "since", "wait"]

  /// The first page, without a filter.
  init() {}

  init(_ call: Call, facets: [Facet]) throws(Problem) {
    for facet in facets {
      if let value = try facet.value(in: call) { filter[facet.name] = value }
    }
    limit = try call.count("limit", in: 1...Self.pageMax) ?? Self.pageDefault
    wait = try call.count("wait", in: 0...Self.waitMax) ?? 0
    if let cursor = try call.parameter("after") {
      guard let after = Self.ordinal(cursor) else {
        throw Problem(
          .invalidParameter, "\(QuotedText.of(cursor)) is no cursor: take it from 'next' of the page before",
          field: "after", rule: "cursor")
      }
      self.after = after
    }
    if let since = try call.parameter("since") { self.since = try Position.parsing(since, field: "since") }
    // A browser that reconnects sends its first position in the address, and its latest one in the header.
    if let last = call.headers["Last-Event-ID"], !last.isEmpty {
      since = try Position.parsing(last, field: "Last-Event-ID")
    }
    if since != nil, after != 0 {
      throw Problem(.invalidParameter, "'since' asks for changes and 'after' for a page: one of them", field: "after")
    }
    if wait > 0, since == nil {
      throw Problem(.invalidParameter, "'wait' waits for changes after 'since', which is missing", field: "wait")
    }
  }

  static func cursor(_ ordinal: UInt64) -> String { Base64.safeText(Array("c\(ordinal)".utf8)) }

  private static func ordinal(_ cursor: String) -> UInt64? {
    guard let bytes = Base64.safeBytes(cursor), bytes.first == UInt8(ascii: "c") else { return nil }
    // The store has no larger numbers.
    return Int64(String(decoding: bytes.dropFirst(), as: UTF8.self)).flatMap(UInt64.init(exactly:))
  }

  /// Limit for the bytes that are read from stored history at once.
  var historyBytesMax: Int { since == nil ? Self.pageBytesMax : History.changesBytesMax }

  /// A page, or the changes since a position.
  func reply(of collection: Collection, for client: ClientView, _ recalled: HistoryResult?) -> Reply {
    since == nil ? page(of: collection, for: client, recalled) : changes(of: collection, for: client, recalled)
  }

  /// A page of the collection as it is now.
  func page(of collection: Collection, for client: ClientView, _ recalled: HistoryResult? = nil) -> Reply {
    var (items, hasMore) = collection.page(
      after: after, atMost: limit, bytes: Self.pageBytesMax, for: client, where: filter)
    if case .page(let past, let isMore)? = recalled { (items, hasMore) = (past, isMore) }
    var end = "],\"position\":\"\(collection.position)\""
    var reply = Reply(200)
    if hasMore, let last = items.last {
      let next = Self.cursor(last.ordinal)
      end += ",\"next\":\"\(next)\""
      let query = filter.sorted { $0.key < $1.key }.map { "&\($0.key)=\(Percent.encode($0.value))" }.joined()
      reply.headers.append(
        .init(name: "Link", value: "<\(collection.path)?after=\(next)&limit=\(limit)\(query)>; rel=\"next\""))
    }
    reply.tag = collection.tag
    reply.body = Self.body(of: items, end + "}")
    return reply
  }

  /// The items' own bytes, joined: copied once where that is little.
  private static func body(of items: [Item], _ end: String) -> Reply.Body {
    let start = "{\"items\":["
    let bytesMax = items.reduce(start.utf8.count + end.utf8.count) { $0 + $1.bytes.count + 1 }
    guard bytesMax <= ResponseBudget.smallBytesMax else { return body(start, Item.separated(items), end) }
    var json: [UInt8] = []
    json.reserveCapacity(bytesMax)
    json += start.utf8
    for (index, item) in items.enumerated() {
      if index > 0 { json.append(UInt8(ascii: ",")) }
      json += item.bytes
    }
    json += end.utf8
    return .json(json)
  }

  /// Small bodies are copied into one array; large ones are lists of the collection's own bytes.
  private static func body(_ start: String, _ pieces: [[UInt8]], _ end: String) -> Reply.Body {
    let all = Pieces([Array(start.utf8)] + pieces + [Array(end.utf8)])
    return all.count <= ResponseBudget.smallBytesMax ? .json(all.joined) : .pieces(all)
  }

  /// Whether there are changes for the client; true as well where the changes are no longer known.
  func hasChanges(_ collection: Collection, for client: ClientView) -> Bool {
    guard let since, let changes = collection.changes(after: since) else { return true }
    return changes.contains { change in
      if case .nothing = change.update(for: client, where: filter) { false } else { true }
    }
  }

  /// The changes after `since`, or a snapshot where some of them are no longer kept.
  func changes(of collection: Collection, for client: ClientView, _ recalled: HistoryResult? = nil) -> Reply {
    guard let news = changes(of: collection, recalled) else {
      let all = snapshot(of: collection, for: client).pieces()
      return Reply(200, all.count <= ResponseBudget.smallBytesMax ? .json(all.joined) : .pieces(all))
    }
    var told: [[UInt8]] = []
    for change in news.changes {
      switch change.update(for: client, where: filter) {
      case .nothing: break
      case .put(let bytes):
        if !told.isEmpty { told.append(Item.comma) }
        told += [Array("{\"o\":\(change.offset),\"put\":".utf8), bytes, [UInt8(ascii: "}")]]
      case .del(let ids):
        for id in ids {
          if !told.isEmpty { told.append(Item.comma) }
          told.append(JSON.object([.init("o", .number(Int(clamping: change.offset))), .init("del", .text(id))]).bytes)
        }
      }
    }
    let dropped = news.dropped > 0 ? ",\"dropped\":\(news.dropped)" : ""
    return Reply(
      200, Self.body("{\"recovered\":true\(dropped),\"changes\":[", told, "],\"position\":\"\(news.position)\"}"))
  }

  /// The changes after `since`, or nil where some of them are no longer kept.
  func changes(of collection: Collection, _ recalled: HistoryResult?) -> ChangeBatch? {
    if case .changes(let news)? = recalled { return news }
    return since.flatMap(collection.changeBatch)
  }

  func snapshot(of collection: Collection, for client: ClientView) -> Snapshot {
    Snapshot(of: collection, since: since, for: client, where: filter)
  }
}
