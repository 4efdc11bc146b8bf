internal import Nearby
internal import Notation

extension PeerReach {
  /// Such as "lan, 0.31 ms", or "relay, 3.1 ms, 1.2 % lost".
  var summary: String { link?.summary ?? HostLink.summary(medium, roundTrip) }

  var fields: [JSON.Member?] { link?.fields ?? HostLink.fields(medium, roundTrip) }
}
