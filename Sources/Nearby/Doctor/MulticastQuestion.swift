internal import Reactor

/// mDNS queries that every host near an address can answer, whatever it offers: reverse look-ups of the addresses. They
/// go in few packets, each smaller than any network's largest.
enum MulticastQuestion {
  private static let perPacketMax = 127
  private static let pointer: UInt8 = 12  // PTR
  private static let internet: UInt8 = 1  // IN

  /// A query for all services, where there are too many addresses to ask for each: every host with a service answers.
  static let services: [UInt8] =
    [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0] + ["_services", "_dns-sd", "_udp", "local"].flatMap(label)
    + [0, 0, pointer, 0, internet]

  /// About the IPv4 addresses that differ from this one in the last byte only.
  static func packets(near address: SocketAddress) -> [[UInt8]] {
    guard case .v4(let parts) = address.host else { return [] }
    let rest = parts.prefix(3).reversed().map(String.init) + ["in-addr", "arpa"]
    let all = Array(1...254)
    return stride(from: 0, to: all.count, by: perPacketMax).map { start in
      packet(all[start..<min(all.count, start + perPacketMax)].map(String.init), rest)
    }
  }

  /// The first question has the full name, the others point to it (name compression).
  private static func packet(_ hosts: [String], _ rest: [String]) -> [UInt8] {
    var bytes: [UInt8] = [0, 0, 0, 0, 0, UInt8(hosts.count), 0, 0, 0, 0, 0, 0]
    var place: UInt8?
    for host in hosts {
      bytes += label(host)
      if let place {
        bytes += [0xC0, place]
      } else {
        place = UInt8(bytes.count)
        bytes += rest.flatMap(label) + [0]
      }
      bytes += [0, pointer, 0, internet]
    }
    return bytes
  }

  private static func label(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + Array(text.utf8) }
}
