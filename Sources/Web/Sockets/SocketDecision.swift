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
