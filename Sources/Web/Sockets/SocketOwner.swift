/// What a WebSocket tells the one that it is for; always on the loop. The server keeps the owner until `closed`.
package protocol SocketOwner: AnyObject {
  func opened(_ socket: WebSocket)

  /// A message, or the next piece of one; the bytes are there for the call only. Text is valid UTF-8.
  func received(_ bytes: UnsafeRawBufferPointer, _ kind: MessageKind, isLast: Bool, from socket: WebSocket)

  /// What waits to be sent has fallen below half of the limit, after a send was refused.
  func writable(_ socket: WebSocket)

  /// The socket is so far behind that the ring no longer has what comes next for it. It is not subscribed any more.
  func lagging(_ socket: WebSocket, in fanout: Fanout)

  /// Told exactly once, and nothing after it. Where nobody said why, the code is 1006.
  func closed(_ socket: WebSocket, _ code: UInt16)
}

extension SocketOwner {
  package func opened(_ socket: WebSocket) {}
  package func writable(_ socket: WebSocket) {}
  package func lagging(_ socket: WebSocket, in fanout: Fanout) {}
}
