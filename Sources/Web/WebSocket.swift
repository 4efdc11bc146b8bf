/// What becomes of a client's wish for a WebSocket.
package enum SocketDecision {
  case refuse(Response)
  case accept(subprotocol: String?, owner: any SocketOwner, reading: SocketReading = .messages(bytesMax: 1 << 20))
}

/// In what pieces a WebSocket tells what it receives.
package enum SocketReading: Sendable {
  /// Whole messages; one of more bytes closes the socket (1009).
  case messages(bytesMax: Int)
  /// Whatever has come of a message, at once.
  case pieces
}

package enum MessageKind: Hashable, Sendable { case text, binary }

/// What a WebSocket tells the one that it is for; always on the loop. The server keeps the owner until `closed`.
package protocol SocketOwner: AnyObject {
  func opened(_ socket: WebSocket)

  /// A message, or the next piece of one; the bytes are there for the call only. Text is valid UTF-8.
  func received(_ bytes: UnsafeRawBufferPointer, _ kind: MessageKind, isLast: Bool, from socket: WebSocket)

  /// What waits to be sent has fallen below half of the limit, after a send was refused or `wantsWritable` was set.
  func writable(_ socket: WebSocket)

  /// The socket is so far behind that the ring no longer has what comes next for it. It is no longer subscribed.
  func lagging(_ socket: WebSocket, in fanout: Fanout)

  /// Told exactly once, and nothing after it. Where nobody said why, the code is 1006.
  func closed(_ socket: WebSocket, _ code: UInt16)
}

extension SocketOwner {
  package func opened(_ socket: WebSocket) {}
  package func writable(_ socket: WebSocket) {}
  package func lagging(_ socket: WebSocket, in fanout: Fanout) {}
}

/// One WebSocket. What it sends and what rings send to it goes out in the order in which it was said.
///
/// It belongs to the server's thread; after it is closed, what is asked of it does nothing.
package final class WebSocket {
  package let head: Head
  package let subprotocol: String?

  init(_ head: Head, subprotocol: String?) {
    self.head = head
    self.subprotocol = subprotocol
  }

  /// The bytes that wait to be sent, those of rings not counted.
  package var queuedBytes: Int { 0 }

  /// Takes the whole message or, where the queue is full, nothing: then `writable` is told once there is room.
  @discardableResult
  package func send(_ text: String) -> Bool { fatalError("not yet") }

  @discardableResult
  package func send(_ bytes: UnsafeRawBufferPointer, _ kind: MessageKind = .binary) -> Bool { fatalError("not yet") }

  /// Sends what is queued, then says goodbye. Nothing more is received.
  package func close(_ code: UInt16 = 1000, _ reason: String = "") { fatalError("not yet") }

  /// Holds the client back, or lets it go on.
  package var isReading: Bool {
    get { true }
    set { fatalError("not yet") }
  }
}
