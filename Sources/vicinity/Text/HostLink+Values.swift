internal import Nearby
internal import Notation

extension HostLink {
  /// Such as "lan, 0.31 ms, 1.2 % lost".
  var summary: String {
    let lost = loss.flatMap { $0 >= 0.001 ? ", \(Quantity.threeDigits($0 * 100)) % lost" : nil }
    return Self.summary(medium, roundTrip) + (lost ?? "")
  }

  static func summary(_ medium: String, _ roundTrip: Duration?) -> String {
    roundTrip.map { "\(medium), \(Quantity.threeDigits($0 / .milliseconds(1))) ms" } ?? medium
  }

  var fields: [JSON.Member?] {
    Self.fields(medium, roundTrip) + [
      relay.map { .init("via", .text($0.text)) }, bytesPerSecond.map { .init("bytesPerSecond", .number($0)) },
      loss.map { .init("loss", .real($0)) },
    ]
  }

  static func fields(_ medium: String, _ roundTrip: Duration?) -> [JSON.Member?] {
    [.text("medium", medium), roundTrip.map { .init("roundTripMilliseconds", .real($0 / .milliseconds(1))) }]
  }
}
