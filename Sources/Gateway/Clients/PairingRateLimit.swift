internal import Reactor
internal import Web

/// Rate limits that throttle wrong pairing codes, by their source in the last minute: codes cannot be guessed, and an attacker
/// locks out nobody but itself and its network.
///
/// Invariant: requests on the machine itself have a budget that nobody elsewhere can spend.
struct PairingRateLimit {
  struct Limits: Sendable {
    /// Limit for the machine itself, for all its users.
    var machineMax = 20
    var addressMax = 10
    /// Limit for the addresses of one subscriber: 256 of IPv4, 2^64 of IPv6.
    var networkMax = 20
    /// Limit for all but the machine itself: an attacker with many networks needs 10^4 years for a code of 40 bits.
    var elsewhereMax = 120
  }

  enum Source: Hashable, Sendable {
    case machine
    case address(SocketAddress.Host)

    fileprivate var network: [UInt8] {
      switch self {
      case .machine: []
      case .address(.v4(let bytes)): Array(bytes.prefix(3))
      case .address(.v6(let bytes, _)): Array(bytes.prefix(8))
      }
    }
  }

  /// The limit that was reached, and the time until it passes.
  struct Refusal: Hashable {
    let limit: Int
    let time: Duration
  }

  private static let time: Duration = .seconds(60)

  private let limits: Limits
  /// Wrong codes in order, no more than the limits allow in a minute.
  private var guesses: [(at: Instant, source: Source)] = []

  init(_ limits: Limits) {
    self.limits = limits
  }

  /// Nil where a code from this source may be tried.
  mutating func refusal(of source: Source, at now: Instant) -> Refusal? {
    guesses.removeAll { $0.at + Self.time <= now }
    let isMachine = source == .machine
    let near = guesses.filter { ($0.source == .machine) == isMachine }
    func refusal(_ limit: Int, _ counted: [(at: Instant, source: Source)]) -> Refusal? {
      guard counted.count >= limit else { return nil }
      return Refusal(limit: limit, time: counted[counted.count - limit].at + Self.time - now)
    }
    if isMachine { return refusal(limits.machineMax, near) }
    return refusal(limits.addressMax, near.filter { $0.source == source })
      ?? refusal(limits.networkMax, near.filter { $0.source.network == source.network })
      ?? refusal(limits.elsewhereMax, near)
  }

  /// Counts a wrong code.
  mutating func spend(_ source: Source, at now: Instant) { guesses.append((now, source)) }
}
