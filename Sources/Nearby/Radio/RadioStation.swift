/// A device in a network that a radio of this machine is in: a station, in the words of 802.11.
package struct RadioStation: Hashable, Sendable {
  /// As many as wpa_supplicant lets into a group, unless it is configured otherwise.
  static let countMax = 128
  static let hardwareBytes = 6

  /// Its hardware address, such as `02:00:00:00:01:00`.
  package let hardware: String
  /// Its IPv4 address: the one that this process has given it, or else the one by which this machine has talked with it.
  package var address: String?
  /// The host name that it gave itself when it asked for that address: printable ASCII, and a claim.
  package var name: String?

  /// Nil where this is no hardware address.
  init?(_ hardware: [UInt8], _ lease: AddressLeases.Holding?, _ neighbours: NeighbourTable) {
    guard hardware.count == Self.hardwareBytes else { return nil }
    self.hardware = hardware.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: ":")
    address = lease.map { $0.address.map(String.init).joined(separator: ".") } ?? neighbours[self.hardware]
    name = lease?.name
  }
}
