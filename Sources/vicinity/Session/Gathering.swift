internal import Nearby

/// The size limits of a session that is gathered from the list of nearby peers; they include this peer.
struct Gathering: Sendable {
  static let peersMin = 2
  static let peersMax = 8

  let peersMin: Int
  let peersMax: Int

  init(_ invocation: Invocation) throws(UsageError) {
    peersMin = invocation.number("peers-min") ?? Self.peersMin
    peersMax = invocation.number("peers-max") ?? Self.peersMax
    if peersMin > peersMax {
      throw UsageError("--peers-min \(peersMin) is more than --peers-max \(peersMax).", in: invocation.command.name)
    }
  }

  /// Whether so many peers are enough.
  func isEnough(_ peers: Int) -> Bool { peers >= peersMin }

  /// The count as text: `2 of 2 to 8 peers`.
  func countText(_ peers: Int) -> String { "\(peers) of \(peersMin) to \(peersMax) peers" }
}

/// The state of a nearby peer towards this one.
enum PeerState: Equatable, Sendable {
  case nearby
  case invited
  case connecting
  case connected
  case declined
  /// It was connected, or invited, and is not any more.
  case notConnected(Reason)

  /// The name in events and in the list.
  var name: String {
    switch self {
    case .nearby: "nearby"
    case .invited: "invited"
    case .connecting: "connecting"
    case .connected: "connected"
    case .declined: "declined"
    case .notConnected: "notConnected"
    }
  }

  var text: String {
    if case .notConnected(let reason) = self { return "not connected: \(reason.sentence)" }
    return name
  }
}

/// One row of the list.
struct NearbyPeer: Sendable {
  let id: PeerID
  let name: String
  let label: String
  let info: [String: String]
  let state: PeerState
  /// The time since which it is away; nil while it is present.
  let awaySince: ContinuousClock.Instant?
}
