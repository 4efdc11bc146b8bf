internal import Glibc
internal import Reactor

/// Checks whether hosts that are heard can be reached: an access point may carry multicast, or only that of others, and
/// nothing from one of its clients to another.
package enum IsolationCheck {
  private static let answerMax: Duration = .seconds(2)
  /// Enough to tell one host that is off from a network that isolates its hosts.
  private static let hostsMax = 8

  /// Hosts whose hardware address does not resolve, which no firewall of theirs prevents.
  package static func findings(
    _ heard: [MulticastCheck.Heard], pause: (Duration) async -> Void
  ) async -> [Finding] {
    let known = heard.flatMap { one in one.known.prefix(hostsMax).map { (one.interface.name, $0) } }
    let sockets = known.compactMap { knock($0.1) }
    await pause(known.isEmpty ? .zero : answerMax)
    for socket in sockets { close(socket) }
    let answers = (try? Neighbours.answers()) ?? [:]
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
      let nobody = Finding(.isolation, .unknown, "No other host was heard, so this could not be checked.")
      return wireless.isEmpty ? [nobody] : wireless
    }
    return wireless
      + known.map { name, address in
        let host = address.hostText
        return answers[address] == true
          ? Finding(.isolation, .good, "\(host) on \(name) can be reached.")
          : Finding(
            .isolation, .bad, "\(host) on \(name) is heard and cannot be reached.",
            cure: "Switch 'client isolation' (also 'AP isolation', 'guest mode') off in the access point.")
      }
  }

  /// A dial that need not succeed: whatever its outcome, the kernel resolves the hardware address first.
  private static func knock(_ host: SocketAddress) -> CInt? {
    guard let socket = try? Descriptor.connecting(to: host.with(port: MulticastCheck.port)) else { return nil }
    return socket.release()
  }
}
