internal import Nearby

/// A session that is put together from the list of who is nearby: how many it takes, with this peer.
struct Gathering: Sendable {
  static let peersMin = 2
  static let peersMax = 8

  let peersMin: Int
  let peersMax: Int

  init(_ invocation: Invocation) throws(Misuse) {
    peersMin = invocation.number("peers-min") ?? Self.peersMin
    peersMax = invocation.number("peers-max") ?? Self.peersMax
    if peersMin > peersMax {
      throw Misuse("--peers-min \(peersMin) is more than --peers-max \(peersMax).", in: invocation.command.name)
    }
  }

  /// Whether so many may be all.
  func isEnough(_ peers: Int) -> Bool { peers >= peersMin }

  /// `2 of 2 to 8 peers`.
  func standing(_ peers: Int) -> String { "\(peers) of \(peersMin) to \(peersMax) peers" }
}

/// Where this peer stands with another one nearby.
enum Nearness: Equatable, Sendable {
  case nearby
  case invited
  case connecting
  case connected
  case declined
  /// It was connected, or invited, and is not.
  case notConnected(Reason)

  /// As events and the list say it.
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

  var words: String {
    if case .notConnected(let reason) = self { return "not connected: \(reason.sentence)" }
    return name
  }
}

/// One line of the list.
struct NearbyPeer: Sendable {
  let id: PeerID
  let name: String
  let label: String
  let info: [String: String]
  let nearness: Nearness
  /// Since when it is away; nil while it is here.
  let awaySince: ContinuousClock.Instant?
}
