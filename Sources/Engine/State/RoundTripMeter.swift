import Wire

/// The round trip of a link over a medium of which the system measures none, by pings in place of some heartbeats.
///
/// Invariant: the answer to the latest ping alone counts. It stands for the other host's next heartbeat.
struct RoundTripMeter {
  private var ping: (token: UInt64, sent: Instant)?
  /// The latest round trips, the oldest first.
  private var trips: [Duration] = []

  private static let interval: Duration = .seconds(5)
  /// A minute of them.
  private static let tripsMax = 12

  /// The shortest one of the last minute: a longer one may have waited behind other bytes.
  var shortest: Duration? { trips.min() }

  func isDue(at now: Instant) -> Bool { ping.map { now - $0.sent >= Self.interval } ?? true }

  mutating func begin(_ token: UInt64, at now: Instant) { ping = (token, now) }

  /// A pong came, of whatever kind.
  mutating func take(_ token: UInt64, at now: Instant) {
    guard let sent = ping?.sent, ping?.token == token else { return }
    // Answered, and not due before the interval has passed.
    ping = (0, sent)
    if trips.count == Self.tripsMax { trips.removeFirst() }
    trips.append(now - sent)
  }
}
