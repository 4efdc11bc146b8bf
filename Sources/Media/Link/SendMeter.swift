/// The rate of a socket's sends, for media of which the system measures none.
///
/// Invariant: only times count in which bytes waited for room in the socket, so that a link that has little to send is not
/// taken for a slow one.
struct SendMeter {
  /// The bytes that had been sent when the latest wait began, and when that was.
  private var wait: (bytes: UInt64, since: UInt64)?
  private var bytes: UInt64 = 0
  private var nanoseconds: UInt64 = 0
  private(set) var bytesPerSecond: UInt64?

  /// So long are waits added up: some of one turn say little.
  private static let nanosecondsMin: UInt64 = 20_000_000

  /// A turn has ended, in which so many bytes had been sent in all.
  mutating func turned(isBlocked: Bool, sent: UInt64, at now: () -> UInt64) {
    guard isBlocked || wait != nil else { return }
    let now = now()
    if let wait {
      bytes += sent - wait.bytes
      nanoseconds += now - wait.since
    }
    if nanoseconds >= Self.nanosecondsMin {
      bytesPerSecond = UInt64(Double(bytes) / Double(nanoseconds) * 1e9)
      (bytes, nanoseconds) = (0, 0)
    }
    wait = isBlocked ? (sent, now) : nil
  }
}
