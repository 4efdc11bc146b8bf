/// The owner of a WebSocket, which gets its events; all calls are on the loop. The server retains it until `closed`.
package protocol SocketOwner: AnyObject {
  func opened(_ socket: WebSocket)

  /// A message, or the next piece of one; the bytes are there for the call only. Text is valid UTF-8.
  func received(_ bytes: UnsafeRawBufferPointer, _ kind: MessageKind, isLast: Bool, from socket: WebSocket)

  /// The send queue has fallen below half of the limit, after a send was refused.
  func writable(_ socket: WebSocket)

  /// The socket is so far behind that the ring no longer has its next frame. It is not subscribed any more.
  func lagging(_ socket: WebSocket, in fanout: Fanout)

  /// The socket is closed: called exactly once, and nothing after it. The code is 1006 without a close frame.
  func closed(_ socket: WebSocket, _ code: UInt16)
}

extension SocketOwner {
  package func opened(_ socket: WebSocket) {}
  package func writable(_ socket: WebSocket) {}
  package func lagging(_ socket: WebSocket, in fanout: Fanout) {}
}
