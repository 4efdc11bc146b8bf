internal import Notation
internal import Web

/// Subscriptions to a channel: a snapshot, or the changes since a position, and then each change as it comes.
///
/// A backlog can be long: it is read and sent in pieces, at the client's pace (flow control), and the client subscribes
/// to the channel's ring when it has caught up. So changes that are published meanwhile do not close it as a slow
/// consumer. All of the backlog is text, whose bytes are those of the items: a binary form would be made for each client.
extension SocketClient {
  /// The size of a piece, and the limit on queued bytes at which the next one is sent.
  static let pieceBytes = unreadBytesMax / 2
  /// The size from which on a snapshot is shared by the WebSockets that begin with it.
  private static let sharedBytesMin = 16 << 10

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
    if let since, collection.needsHistory(since: since) {
      guard let reservation else {
        return wait(for: History.changesBytesMax, subscription, since, id, view)
      }
      return readHistory(subscription, since) { client, news in
        guard let news else { return client.beginWithSnapshot(subscription, since, id, view, keeping: reservation) }
        client.beginWithChanges(subscription, since, id, view)
        client.tell(news, subscription, view, keeping: reservation)
        client.sendNextChanges(subscription, view)
      }
    }
    guard let since, collection.knows(since) else {
      return beginWithSnapshot(subscription, since, id, view, keeping: reservation)
    }
    beginWithChanges(subscription, since, id, view)
    sendNextChanges(subscription, view)
  }

  /// Begins again once memory is reserved.
  private func wait(
    for bytes: Int, _ subscription: Subscription, _ since: Position?, _ id: JSON, _ view: ClientView
  ) {
    let path = subscription.collection.path
    reserve(bytes, view) { client, reserved in
      guard client.subscriptions[path] === subscription else { return }
      do throws(Problem) {
        client.begin(subscription, since, id, view, keeping: try reserved.get())
      } catch {
        client.subscriptions[path] = nil
        client.core.log.refused(error, "a frame of a WebSocket", by: view)
        client.say(.problem, id, error.json)
      }
    }
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

  private func answer(_ collection: Collection) -> [JSON.Member] {
    [.init("channel", .text(collection.path)), .init("number", .number(collection.number))]
  }

  /// Answers that the changes since a position follow.
  private func beginWithChanges(_ subscription: Subscription, _ since: Position, _ id: JSON, _ view: ClientView) {
    let collection = subscription.collection
    var answer = answer(collection)
    answer += [.init("position", .text(since.description)), .init("recovered", .bool(true))]
    answer += collection.missed(since: since).map { [.init("missed", .number($0))] } ?? []
    say(.ok, id, .object(answer))
    subscription.begin(after: since)
  }

  /// Answers with a snapshot. A large one needs a reservation, but where another WebSocket of the client is being sent
  /// one: that one is as good, with the changes since.
  private func beginWithSnapshot(
    _ subscription: Subscription, _ since: Position?, _ id: JSON, _ view: ClientView,
    keeping reservation: ResponseReservation?
  ) {
    let collection = subscription.collection
    let encoding: SnapshotEncoding
    if let shared = collection.encoding(
      for: view, ofAnyAge: reservation == nil && core.responseBudget.isTaken(by: view.id))
    {
      encoding = shared
    } else {
      let items = collection.latest(Snapshot.itemsMax, bytes: Snapshot.bytesMax, for: view, where: [:])
      let bytes = SnapshotEncoding.bytes(of: items)
      if bytes > ResponseBudget.smallBytesMax, reservation == nil {
        return wait(for: bytes, subscription, since, id, view)
      }
      encoding = SnapshotEncoding(
        items, at: collection.position, upTo: collection.lastOrdinal, for: view, keeping: reservation)
      if bytes > Self.sharedBytesMin { collection.share(encoding) }
    }
    let members = Snapshot.members(
      answer(collection), of: collection, at: encoding.position, since: since, for: view)
    var head = JSON.object([.init("id", id)]).bytes
    head.removeLast()
    head += ",\"ok\":".utf8
    head += JSON.object(members).bytes.dropLast()
    head += ",\"items\":".utf8
    var frame = Pieces([head])
    frame.append(encoding.list)
    frame.append(Array("}}".utf8))
    frame.keep(encoding)
    // It is no reason to send the client away that others have much to read.
    socket?.send(reserved: [frame])
    subscription.begin(after: encoding.position, knowing: encoding.ids, upTo: encoding.lastOrdinal)
    sendNextChanges(subscription, view)
  }

  /// Sends large frames without a copy, together with their reservation.
  private func send(_ frames: [Pieces], keeping reservation: ResponseReservation?) {
    let bytes = frames.reduce(0) { $0 + $1.count }
    guard bytes > ResponseBudget.smallBytesMax else {
      for frame in frames { send(frame.joined) }
      return
    }
    var frames = frames
    if let reservation {
      reservation.resize(to: bytes)
      frames[frames.count - 1].keep(reservation)
    }
    socket?.send(reserved: frames)
  }

  private func tell(
    _ news: ChangeBatch, _ subscription: Subscription, _ view: ClientView, keeping reservation: ResponseReservation?
  ) {
    let number = subscription.collection.number
    var frames: [Pieces] = []
    func say(_ text: String) { frames.append(Pieces([Array(text.utf8)])) }
    func skip(to offset: UInt64) {
      let count = subscription.advance(to: offset)
      if count > 0 { say(SocketFrame.skip(count, to: offset, in: number)) }
    }
    if news.dropped > 0 {
      let offset = subscription.position.offset + UInt64(news.dropped)
      say(SocketFrame.dropped(subscription.advance(to: offset), to: offset, in: number))
    }
    for change in news.changes where change.owner.isSeen(by: view) {
      skip(to: change.offset - 1)
      frames.append(
        change.bytes.map { change.pieces(putting: $0, in: number) } ?? Pieces([change.json(putting: nil, in: number)]))
      _ = subscription.advance(to: change.offset)
    }
    skip(to: news.position.offset)
    send(frames, keeping: reservation)
  }

  /// Sends the next changes until enough of them wait for the client, or there are no more: then it subscribes.
  private func sendNextChanges(_ subscription: Subscription, _ view: ClientView) {
    guard let socket, !isClosing else { return }
    while socket.queuedBytes < Self.pieceBytes {
      switch subscription.next(for: view, atMost: Self.pieceBytes) {
      case .changes(let news): tell(news, subscription, view, keeping: nil)
      case .stored: return sendStoredChanges(subscription, view)
      case .lost:
        return close(
          .lagging, "the next changes are no longer retained: reconnect, and subscribe with the last position")
      case .done:
        subscription.finish()
        return subscription.collection.subscribe(socket, bodyKind)
      }
    }
    subscription.isWaiting = true
    socket.requestWritable()
  }

  private func sendStoredChanges(_ subscription: Subscription, _ view: ClientView) {
    // A client has one large answer at a time, so it reads the one before first.
    reserve(History.changesBytesMax, view) { client, reserved in
      guard case .success(let reservation) = reserved else {
        return client.close(.lagging, "too far behind: reconnect, and subscribe with the last position")
      }
      client.readHistory(subscription, subscription.position) { client, news in
        guard let news else {
          return client.close(
            .lagging, "the next changes are no longer retained: reconnect, and subscribe with the last position")
        }
        client.tell(news, subscription, view, keeping: reservation)
        client.sendNextChanges(subscription, view)
      }
    }
  }

  /// Continues in the client's turn, so that many that catch up do not keep the loop from others.
  func resumeSubscriptions(_ socket: WebSocket) {
    guard let account, !isResumeQueued, subscriptions.values.contains(where: \.isWaiting) else { return }
    isResumeQueued = true
    core.fairQueue.add(account) { [weak self] in self?.sendToWaiting() }
  }

  private func sendToWaiting() {
    isResumeQueued = false
    guard let view else { return }
    for subscription in Array(subscriptions.values) where subscription.isWaiting {
      subscription.isWaiting = false
      sendNextChanges(subscription, view)
    }
  }
}
