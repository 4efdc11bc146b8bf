/// The decision on a client's request for a WebSocket.
package enum SocketDecision {
  case refuse(Response)
  case accept(subprotocol: String?, owner: any SocketOwner, reading: SocketReading = .messages(bytesMax: 1 << 20))
}

/// The unit in which a WebSocket delivers received data.
package enum SocketReading: Sendable {
  /// Whole messages; one of more bytes closes the socket (1009).
  case messages(bytesMax: Int)
  /// Pieces of a message, as they come.
  case pieces
}

package enum MessageKind: Hashable, Sendable { case text, binary }
