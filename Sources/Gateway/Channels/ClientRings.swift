internal import Web

/// The rings of a channel, one for each client that follows it: most items are seen by one client, and nothing is written
/// for a change to those who do not see it. They are told later how many there were: before their next change, or once
/// they are many.
///
/// A class, of which no access lasts while frames go out: a socket that lags then is unsubscribed at once.
final class ClientRings {
  private final class Ring {
    let view: ClientView
    var rings = ChannelRings()
    /// The offset up to which the client was told of changes.
    var told: UInt64

    init(_ view: ClientView, told: UInt64) { (self.view, self.told) = (view, told) }

    /// Tells how many changes up to an offset are not for the client.
    func tell(to offset: UInt64, _ number: Int) {
      guard told < offset else { return }
      let (count, rings) = (Int(offset - told), rings)
      told = offset
      rings.publish(text: SocketFrame.skip(count, to: offset, in: number))
    }
  }

  /// How many changes a client is not told of at most: its position is old by so many.
  private static let untoldMax: UInt64 = 256

  private var rings: [ClientID: Ring] = [:]
  /// The number of the channel.
  private let number: Int

  init(_ number: Int) { self.number = number }

  var areFollowed: Bool { !rings.isEmpty }

  subscript(client: ClientView?) -> ChannelRings? { client.flatMap { rings[$0.id]?.rings } }

  func subscribe(
    _ socket: WebSocket, of view: ClientView, _ kind: MessageKind, at offset: UInt64, _ new: @autoclosure () -> Fanout
  ) {
    let ring = rings[view.id] ?? Ring(view, told: offset)
    rings[view.id] = ring
    ring.tell(to: offset, number)
    let fanout = ring.rings.ring(kind, new())
    fanout.subscribe(socket)
  }

  func unsubscribe(_ socket: WebSocket, of view: ClientView) {
    guard let rings = rings[view.id]?.rings else { return }
    rings.unsubscribe(socket)
    if !rings.areFollowed { self.rings[view.id] = nil }
  }

  /// Publishes a change in the rings of those who see its owner's items.
  func publish(_ change: Change, in publish: (ChannelRings) -> Void) {
    if case .client(let id) = change.owner {
      if let ring = rings[id] { self.publish(change, to: ring, in: publish) }
    } else {
      for ring in rings.values where change.owner.isSeen(by: ring.view) { self.publish(change, to: ring, in: publish) }
    }
    if change.offset.isMultiple(of: Self.untoldMax) {
      for ring in rings.values { ring.tell(to: change.offset, number) }
    }
  }

  private func publish(_ change: Change, to ring: Ring, in publish: (ChannelRings) -> Void) {
    ring.tell(to: change.offset - 1, number)
    ring.told = change.offset
    let rings = ring.rings
    publish(rings)
  }
}
