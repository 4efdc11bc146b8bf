internal import Reactor

/// Checks whether multicast goes out and comes in: an mDNS query on each interface, which every host with such a daemon
/// answers.
package struct MulticastCheck: Sendable {
  static let port: UInt16 = 5353

  /// The hosts heard on an interface.
  package struct Heard: Hashable, Sendable {
    let interface: CheckedInterface
    /// Why the system refused to send there.
    var refusal: String?
    /// This host's own daemon.
    var isSelfHeard = false
    /// With port 0.
    var others: Set<SocketAddress> = []

    /// In a stable order.
    var known: [SocketAddress] { others.sorted { ($0.rank, $0.description) < ($1.rank, $1.description) } }
  }

  package static func listen(
    on interfaces: [CheckedInterface], for time: Duration, pause: (Duration) async -> Void
  ) async -> [Heard] {
    let own = Set(interfaces.flatMap(\.addresses))
    let probes = interfaces.filter { $0.canMeet && $0.isMulticast }.map { MulticastProbe($0) }
    for probe in probes { probe.ask() }
    await pause(time / 2)
    // A lost packet is seldom lost twice.
    for probe in probes { probe.ask() }
    await pause(time / 2)
    return probes.map { $0.heard(own) }
  }

  package static func findings(_ heard: [Heard], _ interfaces: [CheckedInterface], time: Duration) -> [Finding] {
    let mute = interfaces.filter { $0.canMeet && !$0.isMulticast }.map {
      Finding(
        .multicast, .bad, "\($0.name) carries no multicast, so nobody is found there.",
        cure: "ip link set \($0.name) multicast on. Tunnels carry none: use --at ADDRESS for hosts behind one.")
    }
    return mute + heard.map { finding($0, time) }
  }

  private static func finding(_ heard: Heard, _ time: Duration) -> Finding {
    let name = heard.interface.name
    if let refusal = heard.refusal {
      return Finding(
        .multicast, .bad, "Nothing can be sent by multicast on \(name): \(refusal).",
        cure:
          "Look for a route and a firewall rule that forbid it: ip route show table all type multicast; nft list ruleset."
      )
    }
    let others = heard.known.map(\.hostText)
    if !others.isEmpty {
      let hosts = others.prefix(4).joined(separator: ", ")
      let more = others.count > 4 ? " and \(others.count - 4) more" : ""
      return Finding(.multicast, .good, "Other hosts were heard by multicast on \(name): \(hosts)\(more).")
    }
    let nobody = "No other host was heard by multicast on \(name) in \(time.components.seconds) s"
    let cure =
      "If other hosts are there: a firewall on one of the two, or a switch or access point that drops "
      + "multicast (look for IGMP snooping, 'multicast enhancement', client isolation)."
    return heard.isSelfHeard
      ? Finding(.multicast, .doubtful, "\(nobody), only this host's own daemon.", cure: cure)
      : Finding(.multicast, .doubtful, "\(nobody), not even a daemon of this host.", cure: cure)
  }
}
