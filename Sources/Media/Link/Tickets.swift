internal import COpenSSL
internal import Wire

/// A cache of TLS session tickets (session resumption), for quick handshakes: one of each host, each used once.
///
/// Invariants:
/// - A ticket is stored under the host whose certificate its session carries, and is good for a dial of that host
///   alone.
/// - They are in memory only. There are at most `hostsMax`; the oldest is evicted first.
final class Tickets {
  /// More than a host has links; a ticket takes about 2 KiB.
  private static let hostsMax = 512

  private var sessions: [HostID: (session: OpaquePointer, order: UInt64)] = [:]
  private var came: UInt64 = 0

  deinit {
    for (session, _) in sessions.values { SSL_SESSION_free(session) }
  }

  func keep(_ session: OpaquePointer, of host: HostID) {
    came += 1
    if let old = sessions.updateValue((session, came), forKey: host) {
      SSL_SESSION_free(old.session)
    } else if sessions.count > Self.hostsMax, let oldest = sessions.min(by: { $0.value.order < $1.value.order }) {
      SSL_SESSION_free(oldest.value.session)
      sessions[oldest.key] = nil
    }
  }

  /// Lends the host's ticket to one dial, and forgets it: used twice, it would show that both are of one host.
  func use(for host: HostID, _ body: (OpaquePointer) -> Void) {
    guard let (session, _) = sessions.removeValue(forKey: host) else { return }
    body(session)
    SSL_SESSION_free(session)
  }
}
