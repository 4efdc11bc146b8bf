/// What the server is held to, whoever comes.
package struct WebLimits: Sendable {
  /// Of a request's line and headers.
  package var headBytesMax = 8 << 10
  package var headerFieldsMax = 100
  /// Limit for the line before a chunk of a body: its size, and extensions that nobody needs.
  package var chunkLineBytesMax = 256
  /// Of all clients together.
  package var connectionsMax = 16_384
  /// Of one address, or one network of 64 bits of IPv6. People behind one router share theirs.
  package var connectionsPerClientMax = 1_024
  /// That have not said yet what they are; where one more comes, the one that has waited longest goes.
  package var undecidedMax = 1_024
  /// From the first packet to the end of the first head, TLS handshake included.
  package var headTime: Duration = .seconds(10)
  /// Without a byte, within a request or between two.
  package var idleTime: Duration = .seconds(60)
  /// A body that comes slower than this over `slowTime` is given up, unless it is live: that may be silent for longer than
  /// `idleTime`, too.
  package var bodyBytesPerSecondMin = 256
  package var slowTime: Duration = .seconds(30)
  package var requestsPerConnectionMax = 100_000
  /// Of answers that their clients have not taken yet, as far as they are in memory: of all, and of one address or network.
  /// Past it there is room for such as have `answerShareBytesMax` at most, one on each connection.
  package var answersBytesMax = 64 << 20
  package var answersPerClientBytesMax = 32 << 20
  package var answerShareBytesMax = 64 << 10
  /// Of what one WebSocket has still to send by itself.
  package var socketQueueBytesMax = 4 << 20
  /// Of what all WebSockets have still to send by themselves: past it, each of them has `socketShareBytesMax`.
  package var socketQueuesBytesMax = 64 << 20
  package var socketShareBytesMax = 64 << 10
  /// Between pings; a socket from which nothing has come over two of them, and which took nothing, is dead.
  package var pingInterval: Duration = .seconds(25)
  /// How long a WebSocket that says goodbye waits for the answer.
  package var closingTime: Duration = .seconds(5)
  /// How much longer, where it has not taken yet what was said before: so that who reads slowly hears why it is let go.
  package var leavingTime: Duration = .seconds(30)

  package init() {}
}
