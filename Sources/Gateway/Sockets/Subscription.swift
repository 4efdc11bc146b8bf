/// A channel that a WebSocket subscribes to, with the position of its client while it is behind.
final class Subscription {
  let collection: Collection
  private var sentOffset: UInt64
  /// The way to the present; nil where the client is there and gets each change from the ring.
  private var catchUp: CatchUp?
  /// Whether it waits for its client to read more.
  var isWaiting = false

  init(_ collection: Collection) {
    self.collection = collection
    sentOffset = collection.offset
  }

  deinit { finish() }

  var position: Position { Position(epoch: collection.epoch, offset: sentOffset) }

  /// Begins to catch up after a position; a client that has a snapshot knows the items in it.
  func begin(after position: Position, knowing known: [String]? = nil, upTo ordinal: UInt64 = 0) {
    sentOffset = position.offset
    if catchUp == nil { collection.catchUpBegan() }
    catchUp = CatchUp(knowing: known, upTo: ordinal)
  }

  func next(for client: ClientView, atMost bytesMax: Int) -> CatchUp.Step {
    catchUp?.next(after: position, of: collection, for: client, atMost: bytesMax) ?? .done
  }

  func finish() {
    if catchUp.take() != nil { collection.catchUpEnded() }
  }

  /// The number of changes up to an offset that the client has not been sent, which it has been now.
  func advance(to offset: UInt64) -> Int {
    guard offset > sentOffset else { return 0 }
    defer { sentOffset = offset }
    return Int(offset - sentOffset)
  }
}
