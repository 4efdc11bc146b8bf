internal import Notation
internal import Web

/// A channel that a WebSocket subscribes to, with the position of its client while it is behind.
final class Subscription {
  let collection: Collection
  fileprivate var sentOffset: UInt64
  /// Whether it waits for its client to read more.
  fileprivate var isWaiting = false

  fileprivate init(_ collection: Collection) {
    self.collection = collection
    sentOffset = collection.offset
  }

  fileprivate var position: Position { Position(epoch: collection.epoch, offset: sentOffset) }
}

/// Subscriptions to a channel: a snapshot, or the changes since a position, and then each change as it comes.
///
/// The changes since a position may be many: they are read and sent piece by piece, at the client's pace, until the
/// channel itself has the rest.
extension SocketClient {
  /// The limit on queued bytes at which more is read: many clients may reconnect at once.
  private static let sendAheadBytes = 1 << 20

  func follow(_ collection: Collection, _ since: Position?, _ id: JSON, _ view: ClientView) {
    let subscription = Subscription(collection)
    subscriptions[collection.path] = subscription
    begin(subscription, since, id, view)
  }

  private func begin(
    _ subscription: Subscription, _ since: Position?, _ id: JSON, _ view: ClientView,
    keeping reservation: ResponseReservation? = nil
  ) {
    let collection = subscription.collection
    func wait(for bytes: Int) {
      reserve(bytes, view) { client, reserved in
        guard client.subscriptions[collection.path] === subscription else { return }
        do throws(Problem) {
          client.begin(subscription, since, id, view, keeping: try reserved.get())
        } catch {
          client.subscriptions[collection.path] = nil
          client.core.log.refused(error, "a frame of a WebSocket", by: view)
          client.say(.problem, id, error.json)
        }
      }
    }
    guard let since, collection.needsHistory(since: since) else {
      let news = since.flatMap(collection.changeBatch)
      let bytes = news?.bytes ?? Snapshot(of: collection, since: since, for: view).pieces().count
      if bytes > ResponseBudget.smallBytesMax, reservation == nil { return wait(for: bytes) }
      return begin(subscription, since, news, id, view, keeping: reservation)
    }
    guard let reservation else { return wait(for: History.changesBytesMax) }
    readHistory(subscription, since) { $0.begin(subscription, since, $1, id, view, keeping: reservation) }
  }

  private func readHistory(
    _ subscription: Subscription, _ since: Position, _ tell: @escaping (SocketClient, ChangeBatch?) -> Void
  ) {
    core.readHistory(of: subscription.collection, since: since) { [weak self] news in
      // The client may have gone or unsubscribed meanwhile.
      guard let self, subscriptions[subscription.collection.path] === subscription else { return }
      tell(self, news)
    }
  }

  /// Answers with the changes since a position; nil where these are not known: then with a snapshot.
  private func begin(
    _ subscription: Subscription, _ since: Position?, _ news: ChangeBatch?, _ id: JSON, _ view: ClientView,
    keeping reservation: ResponseReservation?
  ) {
    let collection = subscription.collection
    var answer: [JSON.Member] = [
      .init("channel", .text(collection.path)), .init("number", .number(collection.number)),
    ]
    if let news {
      let position = since ?? collection.position
      answer += [.init("position", .text(position.description)), .init("recovered", .bool(true))]
      answer += collection.missed(since: since).map { [.init("missed", .number($0))] } ?? []
      say(.ok, id, .object(answer))
      subscription.sentOffset = position.offset
      tell(news, subscription, view, keeping: reservation)
    } else {
      let snapshot = Snapshot(of: collection, since: since, for: view, answer)
      var frame = Pieces([JSON.object([.init("id", id)]).bytes.dropLast() + Array(",\"ok\":".utf8)])
      frame.append(snapshot.pieces())
      frame.append([UInt8(ascii: "}")])
      send([frame], keeping: reservation)
      subscription.sentOffset = snapshot.position.offset
    }
    sendNextChanges(subscription, view, keeping: reservation)
  }

  /// Sends large frames without a copy, together with their reservation.
  private func send(_ frames: [Pieces], keeping reservation: ResponseReservation?) {
    let bytes = frames.reduce(0) { $0 + $1.count }
    guard let reservation, bytes > ResponseBudget.smallBytesMax else {
      for frame in frames { send(frame.joined) }
      return
    }
    reservation.resize(to: bytes)
    var frames = frames
    frames[frames.count - 1].keep(reservation)
    socket?.send(reserved: frames)
  }

  private func tell(
    _ news: ChangeBatch, _ subscription: Subscription, _ view: ClientView, keeping reservation: ResponseReservation?
  ) {
    let collection = subscription.collection
    var frames: [Pieces] = []
    func say(_ text: String) { frames.append(Pieces([Array(text.utf8)])) }
    func skip(to offset: UInt64) {
      if offset > subscription.sentOffset {
        say(SocketFrame.skip(Int(offset - subscription.sentOffset), to: offset, in: collection.number))
      }
      subscription.sentOffset = offset
    }
    if news.dropped > 0 {
      subscription.sentOffset += UInt64(news.dropped)
      say(SocketFrame.dropped(news.dropped, to: subscription.sentOffset, in: collection.number))
    }
    for change in news.changes where change.owner.isSeen(by: view) {
      skip(to: change.offset - 1)
      frames.append(
        change.bytes.map { change.pieces(putting: $0, in: collection.number) }
          ?? Pieces([change.json(putting: nil, in: collection.number)]))
      subscription.sentOffset = change.offset
    }
    skip(to: news.position.offset)
    send(frames, keeping: reservation)
  }

  private func sendNextChanges(
    _ subscription: Subscription, _ view: ClientView, keeping reservation: ResponseReservation?
  ) {
    guard let socket, !isClosing else { return }
    let collection = subscription.collection
    if let news = collection.changeBatch(since: subscription.position) {
      tell(news, subscription, view, keeping: reservation)
      return collection.subscribe(socket)
    }
    guard socket.queuedBytes < Self.sendAheadBytes else {
      subscription.isWaiting = true
      return socket.requestWritable()
    }
    // A client has one large answer at a time, so it reads the one before first.
    reserve(History.changesBytesMax, view) { client, reserved in
      guard case .success(let reservation) = reserved else {
        return client.close(.lagging, "too far behind: reconnect, and subscribe with the last position")
      }
      client.readHistory(subscription, subscription.position) { client, news in
        guard let news else {
          return client.close(
            .lagging, "what comes next is kept no more: reconnect, and subscribe with the last position")
        }
        client.tell(news, subscription, view, keeping: reservation)
        client.sendNextChanges(subscription, view, keeping: reservation)
      }
    }
  }

  func resumeSubscriptions(_ socket: WebSocket) {
    guard let view else { return }
    for subscription in subscriptions.values where subscription.isWaiting {
      subscription.isWaiting = false
      sendNextChanges(subscription, view, keeping: nil)
    }
  }
}
