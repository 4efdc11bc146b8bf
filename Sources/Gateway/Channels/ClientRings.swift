internal import Web

/// The rings of a channel, one for each client that follows it: most items are seen by one client, and nothing is written
/// for a change to those who do not see it. They are told later how many there were: before their next change, or once
/// they are many.
struct ClientRings {
  fileprivate struct Ring {
    let view: ClientView
    var rings = ChannelRings()
    /// The offset up to which the client was told of changes.
    var told: UInt64
  }

  /// How many changes a client is not told of at most: its position is old by so many.
  private static let untoldMax: UInt64 = 256

  private var rings: [ClientID: Ring] = [:]
  /// The number of the channel.
  private let number: Int

  init(_ number: Int) { self.number = number }

  var areFollowed: Bool { !rings.isEmpty }

  subscript(client: ClientView?) -> ChannelRings? { client.flatMap { rings[$0.id]?.rings } }

  mutating func subscribe(
    _ socket: WebSocket, of view: ClientView, _ kind: MessageKind, at offset: UInt64, _ new: @autoclosure () -> Fanout
  ) {
    rings[view.id, default: Ring(view: view, told: offset)].tell(to: offset, number)
    rings[view.id]?.rings.ring(kind, new()).subscribe(socket)
  }

  mutating func unsubscribe(_ socket: WebSocket, of view: ClientView) {
    rings[view.id]?.rings.unsubscribe(socket)
    if rings[view.id]?.rings.areFollowed == false { rings[view.id] = nil }
  }

  /// Publishes a change in the rings of those who see its owner's items.
  mutating func publish(_ change: Change, in rings: (ChannelRings) -> Void) {
    if case .client(let id) = change.owner {
      publish(change, to: id, in: rings)
    } else {
      let ids = self.rings.compactMap { id, ring in change.owner.isSeen(by: ring.view) ? id : nil }
      for id in ids { publish(change, to: id, in: rings) }
    }
    if change.offset.isMultiple(of: Self.untoldMax) {
      for id in self.rings.keys { self.rings[id]?.tell(to: change.offset, number) }
    }
  }

  private mutating func publish(_ change: Change, to client: ClientID, in publish: (ChannelRings) -> Void) {
    rings[client]?.tell(to: change.offset - 1, number)
    rings[client]?.told = change.offset
    if let ring = rings[client] { publish(ring.rings) }
  }
}

extension ClientRings.Ring {
  /// Tells how many changes up to an offset are not for the client.
  fileprivate mutating func tell(to offset: UInt64, _ number: Int) {
    guard told < offset else { return }
    rings.publish(text: SocketFrame.skip(Int(offset - told), to: offset, in: number))
    told = offset
  }
}
