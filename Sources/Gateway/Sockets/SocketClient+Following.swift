internal import Notation
internal import Web

/// A channel that a WebSocket follows, and how far its client was told of it while it is behind.
final class Following {
  let collection: Collection
  fileprivate var told: UInt64
  /// For its client to have read more.
  fileprivate var isWaiting = false

  fileprivate init(_ collection: Collection) {
    self.collection = collection
    told = collection.offset
  }

  fileprivate var position: Position { Position(epoch: collection.epoch, offset: told) }
}

/// Following a channel: all that is there, or what has changed since a position, and then each change as it comes.
///
/// What has changed since a position may be much: it is looked for and told piece by piece, at its client's pace, until
/// the channel has the rest itself.
extension SocketClient {
  /// What may wait to be sent when more is looked for: many may come back at once.
  private static let leadBytes = 1 << 20

  func follow(_ collection: Collection, _ since: Position?, _ id: JSON, _ view: ClientView) {
    let following = Following(collection)
    subscriptions[collection.path] = following
    guard let since, collection.needsAttic(since: since) else {
      return begin(following, since, since.flatMap(collection.news), id, view)
    }
    recall(following, since) { $0.begin(following, since, $1, id, view) }
  }

  private func recall(
    _ following: Following, _ since: Position, _ tell: @escaping (SocketClient, News?) -> Void
  ) {
    core.recall(following.collection, since: since) { [weak self] news in
      // The client or the wish may have gone meanwhile.
      guard let self, subscriptions[following.collection.path] === following else { return }
      tell(self, news)
    }
  }

  /// Nil where it is not known what has changed since then: then everything is told.
  private func begin(_ following: Following, _ since: Position?, _ news: News?, _ id: JSON, _ view: ClientView) {
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
      tell(news, following, view)
    } else {
      let snapshot = Snapshot(of: collection, since: since, for: view, answer)
      var frame = JSON.object([.init("id", id)]).bytes.dropLast() + Array(",\"ok\":".utf8)
      for piece in snapshot { frame += piece }
      frame.append(UInt8(ascii: "}"))
      send(Array(frame))
      following.told = snapshot.position.offset
    }
    goOn(following, view)
  }

  private func tell(_ news: News, _ following: Following, _ view: ClientView) {
    let collection = following.collection
    func skip(to offset: UInt64) {
      if offset > following.told {
        send(Array(SocketFrame.skip(Int(offset - following.told), to: offset, in: collection.number).utf8))
      }
      following.told = offset
    }
    if news.dropped > 0 {
      following.told += UInt64(news.dropped)
      send(Array(SocketFrame.dropped(news.dropped, to: following.told, in: collection.number).utf8))
    }
    for change in news.changes where change.owner.isSeen(by: view) {
      skip(to: change.offset - 1)
      send(change.json(putting: change.bytes, in: collection.number))
      following.told = change.offset
    }
    skip(to: news.position.offset)
  }

  private func goOn(_ following: Following, _ view: ClientView) {
    guard let socket, !isClosing else { return }
    let collection = following.collection
    if let news = collection.news(since: following.position) {
      tell(news, following, view)
      return collection.subscribe(socket)
    }
    guard socket.queuedBytes < Self.leadBytes else {
      following.isWaiting = true
      return socket.wantsWritable()
    }
    recall(following, following.position) { client, news in
      guard let news else {
        return client.close(
          .lagging, "what comes next is kept no more: reconnect, and subscribe with the last position")
      }
      client.tell(news, following, view)
      client.goOn(following, view)
    }
  }

  func writable(_ socket: WebSocket) {
    guard let view else { return }
    for following in subscriptions.values where following.isWaiting {
      following.isWaiting = false
      goOn(following, view)
    }
  }
}
