import Wire

/// The circuits of a host, as one of their ends and as a relay, and the reports of other relays.
final class Circuits {
  /// The circuits that end here, by their numbers for the medium.
  var ends = OrderedDictionary<CircuitID, CircuitLeg>()
  /// The count of circuits through this host.
  var relayedCount = 0
  /// Whether members have changed since it was looked whether circuits are between members.
  var mustReview = false
  /// The bytes that have gone through this host over them.
  var relayedBytes: UInt64 = 0
  /// Legs that are not open yet and have a due time.
  var pending: [CircuitLeg] = []

  // MARK: The rate

  /// Bytes that may go through now by each host's share, and by none.
  private var shares = OrderedDictionary<HostID, Int>()
  private var unshared = 0
  /// The most that a host's share may hold.
  private(set) var shareMax = Int.max
  private var counted: Instant?

  func share(of host: HostID) -> Int { shares[host] ?? 0 }

  func spend(_ bytes: Int, of host: HostID) { shares[host, default: 0] -= bytes }

  /// Shares what was earned meanwhile among the hosts that send, however many circuits each has: a token bucket that holds
  /// a second's worth in all.
  func earn(perSecond rate: Int, at now: Instant, among hosts: [HostID]) {
    let elapsed = counted.map { now - $0 } ?? .seconds(1)
    guard !hosts.isEmpty, elapsed >= .milliseconds(1) else { return }
    counted = now
    shareMax = max(1, rate / hosts.count)
    var left = unshared + Int(min(elapsed, .seconds(1)).nanoseconds) / 1_000 * rate / 1_000_000
    shares.forEach { left += $1 }
    left = min(left, max(rate, hosts.count))
    var shared = OrderedDictionary<HostID, Int>()
    for host in hosts {
      let kept = min(share(of: host), shareMax)
      shared[host] = kept
      left -= kept
    }
    let gift = left / hosts.count
    for host in hosts {
      let more = min(gift, shareMax - (shared[host] ?? 0))
      shared[host, default: 0] += more
      left -= more
    }
    (shares, unshared) = (shared, left)
  }

  // MARK: Relays

  /// Hosts with an open link that relay: the ways to hosts that are reached by no other.
  var ways = OrderedDictionary<HostID, Bool>()
  /// Hosts that relays hear, and whether their reports are of the present link.
  private(set) var hearsay = OrderedDictionary<HostID, OrderedDictionary<HostID, Bool>>()
  /// Until when the hearsay of a relay without a link counts.
  var expiries = OrderedDictionary<HostID, Instant>()
  var isSearching = false
  var hasBegun = false

  func isHeard(_ host: HostID) -> Bool { hearsay.contains { $0.contains(host) } }
  func isHeard(_ host: HostID, by relay: HostID) -> Bool { hearsay[relay]?.contains(host) ?? false }
  func heard(by relay: HostID) -> Int { hearsay[relay]?.count ?? 0 }

  func addReport(of host: HostID, by relay: HostID) { hearsay[relay, default: OrderedDictionary()][host] = true }

  func removeReport(of host: HostID, by relay: HostID) {
    hearsay[relay]?[host] = nil
    if hearsay[relay]?.isEmpty == true { hearsay[relay] = nil }
  }

  /// Marks the reports of a relay as stale: it will repeat those that still hold.
  func doubt(_ relay: HostID) { for host in hearsay[relay]?.keys ?? [] { hearsay[relay]?[host] = false } }

  /// Hosts that it has not reported again.
  func doubted(of relay: HostID) -> [HostID] {
    var hosts: [HostID] = []
    hearsay[relay]?.forEach { host, isFresh in if !isFresh { hosts.append(host) } }
    return hosts
  }

  // MARK: As a relay

  /// The media by which the own records of hosts are received, and how many of the hosts are missing on each.
  var receivedBy = OrderedDictionary<HostID, [MediumID]>()
  var missing: [Int: Int] = [:]
  /// The media on which this host announces itself as a relay.
  var shownOn: Set<MediumID> = []
}
