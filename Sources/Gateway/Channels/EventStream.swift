internal import Notation
internal import Web

/// A collection as Server-Sent Events: a snapshot or the missed changes, then each change as it comes.
///
/// It has no queue: its position in the snapshot, and in the collection's changes, moves at the client's pace. A stream
/// that falls out of those changes continues from the channel's stored history; where there is none, or the snapshot is
/// torn, the stream ends, and the client reconnects and gets a new snapshot.
final class EventStream: Follower, BodySource {
  private let collection: Collection
  private let listing: Listing
  let client: ClientView
  private weak var exchange: Exchange?
  /// The snapshot, until all of it is written.
  private var snapshot: Snapshot?
  /// Items of the collection are shared, not copied.
  private var waiting: Pieces
  private var position: Position
  private var isDismissed = false
  private weak var core: Core?
  /// Whether a read from stored history is under way.
  private var isReading = false

  init(
    _ collection: Collection, _ listing: Listing, _ client: ClientView, _ recalled: HistoryResult? = nil,
    keeping reservation: ResponseReservation? = nil
  ) {
    self.collection = collection
    self.listing = listing
    self.client = client
    position = collection.position
    // Browsers reconnect two seconds after a stream has ended.
    waiting = Pieces([Array("retry: 2000\n".utf8)])
    if let since = listing.since, let news = listing.changes(of: collection, recalled) {
      write("event: recovered\ndata: {\"recovered\":true,\"position\":\"\(since)\"}\n\n")
      // The changes that the channel has are read at the client's pace.
      if recalled == nil { position = since } else { take(news, keeping: reservation) }
    } else {
      var snapshot = listing.snapshot(of: collection, for: client)
      write("event: snapshot\nid: \(position)\ndata: ")
      if let piece = snapshot.next() { waiting.append(piece) }
      self.snapshot = snapshot
    }
  }

  func begin(_ exchange: Exchange, in core: Core) {
    self.exchange = exchange
    self.core = core
    collection.follow(self)
    core.presence.trackRequest(of: client.id, exchange)
    exchange.onAbort = { [weak core] in
      self.collection.unfollow(self)
      core?.presence.restartTimer(of: self.client.id)
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

  func accessRevoked() {
    isDismissed = true
    exchange?.wake()
  }

  func gatewayStopping() { accessRevoked() }

  func pull(_ room: UnsafeMutableRawBufferPointer) -> Pulled {
    if waiting.isEmpty, !refill() { return .end }
    return waiting.isEmpty ? .nothingYet : .wrote(waiting.take(into: room))
  }

  /// Whether the stream continues.
  private func refill() -> Bool {
    if isDismissed { return end() }
    if let piece = snapshot?.next() {
      waiting = piece
      return true
    }
    if let snapshot = snapshot.take() {
      // The client discards an event that is not terminated.
      if snapshot.isTorn { return end() }
      write("\n\n")
    }
    while waiting.isEmpty, !isReading {
      writeDropNotice(collection.skipDropped(after: &position))
      guard let changes = collection.changes(after: position) else { return beginHistoryRead() }
      if changes.isEmpty { return collection.isEnded ? end() : true }
      for change in changes.prefix(Self.changesPerPull) where waiting.count < Self.pullBytes { take(change) }
    }
    return true
  }

  /// Begins a read from stored history; whether there is any.
  private func beginHistoryRead() -> Bool {
    guard let core, collection.needsHistory(since: position) else { return end() }
    isReading = true
    // The stored changes take memory, so the read waits for a reservation.
    core.responseBudget.reserve(History.changesBytesMax, for: client.id) { [self] reserved in
      guard case .success(let reservation) = reserved, exchange?.isOver == false, !isDismissed else {
        return finishHistoryRead(nil, reservation: nil)
      }
      core.readHistory(of: collection, since: position) { [self] in finishHistoryRead($0, reservation: reservation) }
    }
    return true
  }

  private func finishHistoryRead(_ news: ChangeBatch?, reservation: ResponseReservation?) {
    isReading = false
    if let news { take(news, keeping: reservation) } else { isDismissed = true }
    exchange?.wake()
  }

  private func writeDropNotice(_ count: Int) {
    if count > 0 { write("event: dropped\nid: \(position)\ndata: {\"dropped\":\(count)}\n\n") }
  }

  private func take(_ news: ChangeBatch, keeping reservation: ResponseReservation?) {
    news.changes.forEach(take)
    position = news.position
    if let reservation, !waiting.isEmpty { waiting.keep(reservation) }
  }

  private func write(_ text: String) { waiting.append(Array(text.utf8)) }

  private func take(_ change: Change) {
    position.offset = change.offset
    switch change.update(for: client, where: listing.filter) {
    case .nothing: return
    case .put(let bytes):
      let head = Array("event: put\nid: \(position)\ndata: ".utf8)
      let end = "\n\n".utf8
      waiting.append(
        bytes.count > Self.sharedBytesMin ? Pieces([head, bytes, Array(end)]) : Pieces([head + bytes + end]))
    case .del(let ids):
      // A client that has read only some of them resumes before all of them.
      for id in ids {
        let place = id == ids.last ? "id: \(position)\n" : ""
        write("event: del\n\(place)data: \(JSON.object([.init("id", .text(id))]).line)\n\n")
      }
    }
  }

  private func end() -> Bool {
    collection.unfollow(self)
    return false
  }

  private static let changesPerPull = 256
  /// Larger pieces are written in place, without a copy.
  private static let sharedBytesMin = 4 << 10
  /// Limit for the bytes that are taken from the channel before they are written, but for the last change.
  private static let pullBytes = 16 << 10
}
