/// The server's limits, for any client.
package struct WebLimits: Sendable {
  /// Limit for a request's line and headers.
  package var headBytesMax = 8 << 10
  package var headerFieldsMax = 100
  /// Limit for the line before a chunk of a body: its size, and extensions that nobody needs.
  package var chunkLineBytesMax = 256
  /// Limit for all clients together.
  package var connectionsMax = 16_384
  /// Limit for the descriptors of all connections: one in the clear or of a WebSocket has one, others have three. Those
  /// that the process may open are a limit, too.
  package var descriptorsMax = Int.max
  /// Limit for one address, or one network of 64 bits of IPv6. People behind one router share theirs.
  package var connectionsPerClientMax = 1_024
  /// Limit for connections whose protocol is not known yet; a further one replaces the one that has waited longest.
  package var undecidedMax = 1_024
  /// The timeout from the first packet to the end of the first head, TLS handshake included.
  package var headTime: Duration = .seconds(10)
  /// The idle timeout: the time without a byte, within a request or between two (keep-alive).
  package var idleTime: Duration = .seconds(60)
  /// A body that is slower than this over `slowTime` is aborted, unless it is live: a live body may also be silent for
  /// longer than `idleTime`.
  package var bodyBytesPerSecondMin = 256
  package var slowTime: Duration = .seconds(30)
  package var requestsPerConnectionMax = 100_000
  /// Limit for responses in memory that their clients have not taken yet: of all clients, and of one address or
  /// network. Past it, each connection has room for one response of at most `answerShareBytesMax`.
  package var answersBytesMax = 64 << 20
  package var answersPerClientBytesMax = 32 << 20
  package var answerShareBytesMax = 64 << 10
  /// Limit for the send queue of one WebSocket.
  package var socketQueueBytesMax = 4 << 20
  /// Limit for the send queues of all WebSockets; past it, each of them has `socketShareBytesMax`.
  package var socketQueuesBytesMax = 64 << 20
  package var socketShareBytesMax = 64 << 10
  /// The heartbeat interval of WebSockets (ping and pong): one that has sent nothing over two of them, and taken
  /// nothing, is dead.
  package var pingInterval: Duration = .seconds(25)
  /// The time for which a closing WebSocket waits for the client's close frame.
  package var closingTime: Duration = .seconds(5)
  /// The additional time where earlier frames are not sent yet, so that a slow reader gets the close code.
  package var leavingTime: Duration = .seconds(30)

  package init() {}
}
