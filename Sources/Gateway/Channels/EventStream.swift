internal import Notation
internal import Web

/// A collection as Server-Sent Events: what is there, or what was missed, then each change as it comes.
///
/// It has no queue: the client's own pace says how far it is in what is there, and in the collection's changes. One that
/// falls out of those is told on from where the channel's past is; where there is none, or a snapshot is torn, it is at the
/// end of its stream, comes back by itself, and is given all things anew.
final class EventStream: Follower, BodySource {
  private let collection: Collection
  private let listing: Listing
  let client: ClientView
  private weak var exchange: Exchange?
  /// As long as not all of it is written.
  private var snapshot: Snapshot?
  private var waiting: [UInt8]
  private var sent = 0
  private var position: Position
  private var isDismissed = false
  private weak var core: Core?
  /// For what the channel's past has to say.
  private var isLooking = false

  init(_ collection: Collection, _ listing: Listing, _ client: ClientView, _ recalled: Recalled? = nil) {
    self.collection = collection
    self.listing = listing
    self.client = client
    position = collection.position
    // Browsers come back two seconds after a stream has ended.
    waiting = Array("retry: 2000\n".utf8)
    if let since = listing.since, let news = listing.news(of: collection, recalled) {
      waiting += "event: recovered\ndata: {\"recovered\":true,\"position\":\"\(since)\"}\n\n".utf8
      // What the channel has comes at the client's pace.
      if recalled == nil { position = since } else { take(news) }
    } else {
      var snapshot = listing.snapshot(of: collection, for: client)
      waiting += "event: snapshot\nid: \(position)\ndata: ".utf8 + (snapshot.next() ?? [])
      self.snapshot = snapshot
    }
  }

  func begin(_ exchange: Exchange, in core: Core) {
    self.exchange = exchange
    self.core = core
    collection.follow(self)
    core.attendance.serves(client.id, exchange)
    exchange.onGone = { [weak core] in
      self.collection.unfollow(self)
      core?.attendance.left(self.client.id)
    }
    var response = Self.head()
    response.body = .source(self, length: nil)
    core.respond(response, to: exchange)
  }

  static func head() -> Response {
    var response = Response(200)
    response.headers.append("Content-Type", "text/event-stream")
    response.headers.append("X-Accel-Buffering", "no")
    return response
  }

  func changed(_ collection: Collection) { exchange?.wake() }
  func ended(_ collection: Collection) { exchange?.wake() }

  func dismissed() {
    isDismissed = true
    exchange?.wake()
  }

  func released() { dismissed() }

  func pull(_ room: UnsafeMutableRawBufferPointer) -> Pulled {
    if sent == waiting.count, !refill() { return .end }
    guard sent < waiting.count else { return .nothingYet }
    let count = min(room.count, waiting.count - sent)
    waiting.withUnsafeBytes { room.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[sent..<sent + count])) }
    sent += count
    return .wrote(count)
  }

  /// Whether the stream goes on.
  private func refill() -> Bool {
    waiting = []
    sent = 0
    if isDismissed { return end() }
    if let piece = snapshot?.next() {
      waiting = piece
      return true
    }
    if let snapshot = snapshot.take() {
      // An event that does not end is none.
      if snapshot.isTorn { return end() }
      waiting = Array("\n\n".utf8)
    }
    while waiting.isEmpty, !isLooking {
      tellDropped(collection.skipDropped(after: &position))
      guard let changes = collection.changes(after: position) else { return lookBack() }
      if changes.isEmpty { return collection.isEnded ? end() : true }
      for change in changes.prefix(Self.changesPerPull) { take(change) }
    }
    return true
  }

  /// Whether there is somewhere to look.
  private func lookBack() -> Bool {
    guard let core, collection.needsAttic(since: position) else { return end() }
    isLooking = true
    core.recall(collection, since: position) { [self] news in
      isLooking = false
      if let news { take(news) } else { isDismissed = true }
      exchange?.wake()
    }
    return true
  }

  private func tellDropped(_ count: Int) {
    if count > 0 { waiting += "event: dropped\nid: \(position)\ndata: {\"dropped\":\(count)}\n\n".utf8 }
  }

  private func take(_ news: News) {
    news.changes.forEach(take)
    position = news.position
  }

  private func take(_ change: Change) {
    position.offset = change.offset
    switch change.telling(to: client, where: listing.filter) {
    case .nothing: return
    case .put(let bytes): waiting += "event: put\nid: \(position)\ndata: ".utf8 + bytes
    case .del:
      waiting += "event: del\nid: \(position)\ndata: ".utf8
      JSON.object([.init("id", .text(change.id))]).write(to: &waiting)
    }
    waiting += "\n\n".utf8
  }

  private func end() -> Bool {
    collection.unfollow(self)
    return false
  }

  private static let changesPerPull = 256
}
