internal import Nearby
internal import Notation

extension PeerReach {
  /// Such as "lan, 0.31 ms".
  var summary: String {
    roundTrip.map { "\(medium), \(Quantity.threeDigits($0 / .milliseconds(1))) ms" } ?? medium
  }

  var fields: [JSON.Member?] {
    [.text("medium", medium), roundTrip.map { .init("roundTripMilliseconds", .real($0 / .milliseconds(1))) }]
  }
}
