/// Messages for many WebSockets: each is put into frames once, and every subscriber reads it from the same ring.
///
/// Law: a publisher never waits. A subscriber that is further behind than the ring reaches is told that it lags.
package final class Fanout {
  /// Whom a message is for; asked for each subscriber when its turn comes.
  package struct Audience {
    package let includes: (WebSocket) -> Bool
    /// What the others are sent in its place; nil for nothing.
    package let otherwise: [UInt8]?

    package init(otherwise: [UInt8]?, includes: @escaping (WebSocket) -> Bool) {
      self.otherwise = otherwise
      self.includes = includes
    }
  }

  /// Keeps the last `bytesMax` bytes, so that is what a subscriber may be behind.
  package init(bytesMax: Int) {
    fatalError("not yet")
  }

  /// Nil for an audience is everybody. The message must have no more than a quarter of the ring.
  package func publish(_ bytes: UnsafeRawBufferPointer, _ kind: MessageKind = .binary, to audience: Audience? = nil) {
    fatalError("not yet")
  }

  /// The socket hears what is published from now on.
  package func subscribe(_ socket: WebSocket) { fatalError("not yet") }

  /// What was published before still goes out.
  package func unsubscribe(_ socket: WebSocket) { fatalError("not yet") }

  package var subscriberCount: Int { 0 }
}
