import Engine

/// A medium of a world with several: its profile, and its wires.
struct MediumPlan: Sendable {
  var profile: MediumProfile
  /// Milliseconds of the way.
  var latency: Int
  /// Bytes each second of a link; 0 is without limit.
  var bandwidth = 0
  /// Packets that are lost, of a thousand: a datagram is gone, and a link's bytes are sent again.
  var loss = 0
  /// 0: its links have no datagrams.
  var datagramBytesMax = 0
  /// The bytes in flight that a sender's socket holds.
  var socketBytesMax = 65_536

  static let wifi = MediumPlan(profile: .lan, latency: 2, datagramBytesMax: 1_200)

  static func bluetooth(latency: Int, bandwidth: Int) -> MediumPlan {
    var profile = MediumProfile.bluetooth
    profile.addressPrefix = Array("bluetooth:".utf8)
    return MediumPlan(profile: profile, latency: latency, bandwidth: bandwidth, socketBytesMax: 16_384)
  }

  /// Circuits through hosts with several of the others; it has no wires of its own.
  static let relay = MediumPlan(profile: .relay, latency: 0)

  /// A better one than the first: a cable to the same room.
  static func cable() -> MediumPlan {
    var profile = MediumProfile.folder
    profile.name = "cable"
    profile.addressPrefix = Array("cable:".utf8)
    return MediumPlan(profile: profile, latency: 0)
  }
}
