internal import Notation
internal import Web

/// A channel that a WebSocket subscribes to, with the position of its client while it is behind.
final class Following {
  let collection: Collection
  fileprivate var told: UInt64
  /// Whether it waits for its client to read more.
  fileprivate var isWaiting = false

  fileprivate init(_ collection: Collection) {
    self.collection = collection
    told = collection.offset
  }

  fileprivate var position: Position { Position(epoch: collection.epoch, offset: told) }
}

/// Subscriptions to a channel: a snapshot, or the changes since a position, and then each change as it comes.
///
/// The changes since a position may be many: they are read and sent piece by piece, at the client's pace, until the
/// channel itself has the rest.
extension SocketClient {
  /// The limit on queued bytes at which more is read: many clients may reconnect at once.
  private static let sendAheadBytes = 1 << 20

  func follow(_ collection: Collection, _ since: Position?, _ id: JSON, _ view: ClientView) {
    let following = Following(collection)
    subscriptions[collection.path] = following
    begin(following, since, id, view)
  }

  private func begin(
    _ following: Following, _ since: Position?, _ id: JSON, _ view: ClientView,
    keeping reservation: AnswerReservation? = nil
  ) {
    let collection = following.collection
    func wait(for bytes: Int) {
      reserve(bytes, view) { client, reserved in
        guard client.subscriptions[collection.path] === following else { return }
        do throws(Problem) {
          client.begin(following, since, id, view, keeping: try reserved.get())
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
      if bytes > AnswerBudget.smallBytesMax, reservation == nil { return wait(for: bytes) }
      return begin(following, since, news, id, view, keeping: reservation)
    }
    guard let reservation else { return wait(for: History.changesBytesMax) }
    readHistory(following, since) { $0.begin(following, since, $1, id, view, keeping: reservation) }
  }

  private func readHistory(
    _ following: Following, _ since: Position, _ tell: @escaping (SocketClient, ChangeBatch?) -> Void
  ) {
    core.readHistory(of: following.collection, since: since) { [weak self] news in
      // The client may have gone or unsubscribed meanwhile.
      guard let self, subscriptions[following.collection.path] === following else { return }
      tell(self, news)
    }
  }

  /// Answers with the changes since a position; nil where these are not known: then with a snapshot.
  private func begin(
    _ following: Following, _ since: Position?, _ news: ChangeBatch?, _ id: JSON, _ view: ClientView,
    keeping reservation: AnswerReservation?
  ) {
    let collection = following.collection
    var answer: [JSON.Member] = [
      .init("channel", .text(collection.path)), .init("number", .number(collection.number)),
    ]
    if let news {
      let position = since ?? collection.position
      answer += [.init("position", .text(position.description)), .init("recovered", .bool(true))]
      answer += collection.missed(since: since).map { [.init("missed", .number($0))] } ?? []
      say(.ok, id, .object(answer))
      following.told = position.offset
      tell(news, following, view, keeping: reservation)
    } else {
      let snapshot = Snapshot(of: collection, since: since, for: view, answer)
      var frame = Pieces([JSON.object([.init("id", id)]).bytes.dropLast() + Array(",\"ok\":".utf8)])
      frame.append(snapshot.pieces())
      frame.append([UInt8(ascii: "}")])
      send([frame], keeping: reservation)
      following.told = snapshot.position.offset
    }
    sendNextChanges(following, view, keeping: reservation)
  }

  /// Sends large frames without a copy, together with their reservation.
  private func send(_ frames: [Pieces], keeping reservation: AnswerReservation?) {
    let bytes = frames.reduce(0) { $0 + $1.count }
    guard let reservation, bytes > AnswerBudget.smallBytesMax else {
      for frame in frames { send(frame.joined) }
      return
    }
    reservation.resize(to: bytes)
    var frames = frames
    frames[frames.count - 1].keep(reservation)
    socket?.send(reserved: frames)
  }

  private func tell(
    _ news: ChangeBatch, _ following: Following, _ view: ClientView, keeping reservation: AnswerReservation?
  ) {
    let collection = following.collection
    var frames: [Pieces] = []
    func say(_ text: String) { frames.append(Pieces([Array(text.utf8)])) }
    func skip(to offset: UInt64) {
      if offset > following.told {
        say(SocketFrame.skip(Int(offset - following.told), to: offset, in: collection.number))
      }
      following.told = offset
    }
    if news.dropped > 0 {
      following.told += UInt64(news.dropped)
      say(SocketFrame.dropped(news.dropped, to: following.told, in: collection.number))
    }
    for change in news.changes where change.owner.isSeen(by: view) {
      skip(to: change.offset - 1)
      frames.append(
        change.bytes.map { change.pieces(putting: $0, in: collection.number) }
          ?? Pieces([change.json(putting: nil, in: collection.number)]))
      following.told = change.offset
    }
    skip(to: news.position.offset)
    send(frames, keeping: reservation)
  }

  private func sendNextChanges(_ following: Following, _ view: ClientView, keeping reservation: AnswerReservation?) {
    guard let socket, !isClosing else { return }
    let collection = following.collection
    if let news = collection.changeBatch(since: following.position) {
      tell(news, following, view, keeping: reservation)
      return collection.subscribe(socket)
    }
    guard socket.queuedBytes < Self.sendAheadBytes else {
      following.isWaiting = true
      return socket.requestWritable()
    }
    // A client has one large answer at a time, so it reads the one before first.
    reserve(History.changesBytesMax, view) { client, reserved in
      guard case .success(let reservation) = reserved else {
        return client.close(.lagging, "too far behind: reconnect, and subscribe with the last position")
      }
      client.readHistory(following, following.position) { client, news in
        guard let news else {
          return client.close(
            .lagging, "what comes next is kept no more: reconnect, and subscribe with the last position")
        }
        client.tell(news, following, view, keeping: reservation)
        client.sendNextChanges(following, view, keeping: reservation)
      }
    }
  }

  func resumeSubscriptions(_ socket: WebSocket) {
    guard let view else { return }
    for following in subscriptions.values where following.isWaiting {
      following.isWaiting = false
      sendNextChanges(following, view, keeping: nil)
    }
  }
}
