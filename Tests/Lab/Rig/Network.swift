/// A switch into which hosts plug their cables.
@Laboratory
final class Network {
  let number: Int
  unowned let rig: Rig

  init(_ number: Int, of rig: Rig) async throws {
    self.number = number
    self.rig = rig
    try await rig.configure([
      "link add \(name) type bridge mcast_snooping 0 forward_delay 0",
      "link set \(name) addrgenmode none up",
    ])
  }

  var name: String { "net\(number)" }

  /// The default addresses of a host there.
  func addresses(ofHost host: Int) -> [String] {
    ["10.\(76 + number).0.\(host)/24", "fe80::\(String(host, radix: 16))/64"]
  }
}
