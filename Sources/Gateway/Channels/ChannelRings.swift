internal import Web

/// The rings of a channel: one for WebSockets that are sent text alone, and one for those that agreed on binary frames.
/// Each is made for its first subscriber, and has each change in its form, made once for all.
struct ChannelRings {
  private var text: Fanout?
  private var binary: Fanout?

  /// The ring of a kind, which is made where there is none yet.
  mutating func ring(_ kind: MessageKind, _ new: @autoclosure () -> Fanout) -> Fanout {
    let ring = (kind == .text ? text : binary) ?? new()
    if kind == .text { text = ring } else { binary = ring }
    return ring
  }

  var areFollowed: Bool { Self.isFollowed(text) || Self.isFollowed(binary) }

  private static func isFollowed(_ ring: Fanout?) -> Bool { ring.map { $0.subscriberCount > 0 } ?? false }

  func isSubscribed(_ socket: WebSocket) -> Bool {
    text?.isSubscribed(socket) ?? false || binary?.isSubscribed(socket) ?? false
  }

  /// Publishes a change of an item, or a removal, as text; and as a binary frame behind `head` for those who agreed on
  /// it, where the item has a body that is no text.
  func publish(
    _ item: [UInt8]?, _ forms: BinaryForms?, behind head: @autoclosure () -> [UInt8],
    to listeners: Fanout.Listeners? = nil,
    _ publishText: (Fanout) -> Void
  ) {
    if let text, Self.isFollowed(text) { publishText(text) }
    guard let binary, Self.isFollowed(binary) else { return }
    guard let form = item.flatMap({ forms?.form(of: $0) }) else { return publishText(binary) }
    form.publish(behind: head(), in: binary, to: listeners)
  }

  /// Publishes a text that is no change.
  func publish(text frame: String) {
    for ring in [text, binary] where Self.isFollowed(ring) {
      Array(frame.utf8).withUnsafeBytes { ring?.publish($0, .text) }
    }
  }

  func unsubscribe(_ socket: WebSocket) {
    text?.unsubscribe(socket)
    binary?.unsubscribe(socket)
  }

  /// The number of frames that wait for a WebSocket.
  func waitingCount(for socket: WebSocket) -> Int {
    (text.map(socket.waitingCount(of:)) ?? 0) + (binary.map(socket.waitingCount(of:)) ?? 0)
  }

  /// The number of frames that were dropped for a WebSocket.
  func droppedCount(for socket: WebSocket) -> Int {
    (text.map(socket.droppedCount(of:)) ?? 0) + (binary.map(socket.droppedCount(of:)) ?? 0)
  }
}
