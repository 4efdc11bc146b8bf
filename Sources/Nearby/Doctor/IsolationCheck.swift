internal import Glibc

/// Whether hosts that are heard can be reached: an access point may carry multicast, or only that of others, and
/// nothing from one of its clients to another.
package enum IsolationCheck {
  private static let answerMax: Duration = .seconds(2)
  /// Enough to tell one host that is off from a network that keeps its hosts apart.
  private static let hostsMax = 8

  /// Those that do not answer when their hardware address is asked for, which no firewall of theirs forbids.
  package static func findings(
    _ heard: [MulticastCheck.Heard], pause: (Duration) async -> Void
  ) async -> [Finding] {
    let known = heard.flatMap { one in one.others.sorted().prefix(hostsMax).map { (one.interface.name, $0) } }
    let sockets = known.map { knock($0.1) }
    await pause(known.isEmpty ? .zero : answerMax)
    for socket in sockets { close(socket) }
    let answers = Neighbours.text().map(Neighbours.parse) ?? [:]
    let wireless = heard.filter { $0.interface.isWireless && $0.others.isEmpty }.map { one in
      Finding(
        .isolation, .doubtful,
        "\(one.interface.name) is wireless and nobody is heard there: the access point may keep "
          + "its clients apart.",
        cure:
          "Switch 'client isolation' (also 'AP isolation', 'guest mode') off in the access point, or use another network."
      )
    }
    if known.isEmpty {
      let nobody = Finding(.isolation, .unknown, "Nobody else was heard, so nobody could be asked for an answer.")
      return wireless.isEmpty ? [nobody] : wireless
    }
    return wireless
      + known.map { name, address in
        let host = NetworkInterface.text(address)
        return answers[host] == true
          ? Finding(.isolation, .good, "\(host) on \(name) can be reached.")
          : Finding(
            .isolation, .bad, "\(host) on \(name) is heard and cannot be reached.",
            cure: "Switch 'client isolation' (also 'AP isolation', 'guest mode') off in the access point.")
      }
  }

  /// A dial that need not succeed: whatever comes of it, the kernel asks for the hardware address first.
  private static func knock(_ host: UInt32) -> CInt {
    let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = MulticastCheck.port.bigEndian
    address.sin_addr.s_addr = host
    _ = withUnsafePointer(to: &address) {
      // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return socket
  }
}

/// What the kernel knows of hardware addresses.
enum Neighbours {
  static func text() -> String? { SystemFile.text(of: "/proc/net/arp") }

  /// For each address, whether somebody has answered for it.
  static func parse(_ table: String) -> [String: Bool] {
    var answers: [String: Bool] = [:]
    for line in table.split(separator: "\n").dropFirst() {
      let words = line.split(separator: " ")
      guard words.count >= 4, words[2].hasPrefix("0x"), let flags = UInt32(words[2].dropFirst(2), radix: 16) else {
        continue
      }
      let isComplete = flags & 2 != 0
      answers[String(words[0])] = isComplete || answers[String(words[0])] == true
    }
    return answers
  }
}
