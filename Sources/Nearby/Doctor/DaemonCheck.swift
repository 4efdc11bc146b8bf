internal import Glibc

/// Checks the discovery daemon, and the D-Bus over which it is asked.
package enum DaemonCheck {
  package static func findings(_ interfaces: [CheckedInterface], _ bus: BusReport) -> [Finding] {
    let confinement = Confinement.current(interfaces)
    if let failure = bus.failure {
      return [
        confinement.finding, broken(failure, confinement),
        Finding(.daemon, .unknown, "The Avahi daemon is asked over D-Bus, which does not answer."),
      ]
    }
    return [confinement.finding, Finding(.bus, .good, "The system's D-Bus answers at \(bus.path).")] + daemon(bus.avahi)
  }

  static func broken(_ failure: BusReport.Failure, _ confinement: Confinement) -> Finding {
    let why = String(cString: strerror(failure.code))
    switch failure.code {
    case ENOENT, ECONNREFUSED:
      return Finding(.bus, .bad, "There is no D-Bus at \(failure.path): \(why).", cure: confinement.missingBusCure)
    case EACCES, EPERM:
      return Finding(
        .bus, .bad, "D-Bus does not let this user (\(geteuid())) in at \(failure.path).",
        cure: confinement.refusedBusCure)
    default:
      return Finding(
        .bus, .bad, "D-Bus does not answer at \(failure.path): \(why).", cure: "Restart it: systemctl restart dbus.")
    }
  }

  private static func daemon(_ avahi: BusReport.Avahi?) -> [Finding] {
    guard let avahi else {
      return [
        Finding(
          .daemon, .bad, "The Avahi daemon, through which hosts find each other, does not run.",
          cure: "apt install avahi-daemon, systemctl start avahi-daemon. Without one: --at ADDRESS for each other host."
        )
      ]
    }
    guard let state = avahi.state else {
      return [
        Finding(
          .daemon, .bad, "The Avahi daemon runs and does not answer.",
          cure: "Restart it: systemctl restart avahi-daemon; journalctl -u avahi-daemon says what it says itself.")
      ]
    }
    let version = avahi.version ?? "Avahi of a version that it does not tell"
    let name = avahi.hostName ?? "an unknown name"
    let good = Finding(.daemon, .good, "\(version) runs, and this host is \(name).")
    return [finding(state: state, version) ?? good] + rivals()
  }

  /// Nil where it is well. The numbers are `AvahiServerState`.
  private static func finding(state: UInt32, _ version: String) -> Finding? {
    switch state {
    case 2: nil
    case 0, 1:
      Finding(
        .daemon, .doubtful, "\(version) runs and is not ready yet.", cure: "Wait a few seconds, and look again.")
    case 3:
      Finding(
        .daemon, .doubtful, "\(version) runs, and another host has this one's name; it is choosing another.",
        cure: "Give each host a name of its own: hostnamectl set-hostname NAME.")
    default:
      Finding(
        .daemon, .bad, "\(version) runs and has failed.",
        cure: "journalctl -u avahi-daemon says why; then systemctl restart avahi-daemon.")
    }
  }

  /// Other programs that answer mDNS queries for this host.
  private static func rivals() -> [Finding] {
    let port = MulticastCheck.port
    let listing = SystemFile.text(of: "/proc/net/udp") ?? ""
    return rivals(listing, PortHolder.all(of: .udp, port).map(\.name))
  }

  /// Counts responders in the kernel's table, which has those of other users too; `names` are the processes that this user may see.
  static func rivals(_ listing: String, _ names: [String]) -> [Finding] {
    // Browsers listen at the group's own address, and answer nothing.
    let responders = listing.split(separator: "\n").filter { line in
      PortHolder.socket(in: String(line), .udp, MulticastCheck.port) != nil && line.contains(" 00000000:14E9 ")
    }
    guard responders.count > 1 else { return [] }
    let others = Set(names).subtracting(["avahi-daemon", "vicinity"]).sorted()
    if others.contains("systemd-resolve") {
      return [
        Finding(
          .daemon, .doubtful, "systemd-resolved answers for this host as well, and the two get into each other's way.",
          cure: "Set MulticastDNS=resolve in /etc/systemd/resolved.conf and restart systemd-resolved.")
      ]
    }
    let who = others.isEmpty ? "" : " (\(others.joined(separator: ", ")))"
    return [
      Finding(
        .daemon, .doubtful,
        "\(responders.count) programs\(who) answer multicast DNS at port 5353, and get into each other's way.",
        cure: "Keep the host's Avahi, and stop the others; 'sudo ss -lunp sport = :5353' names them. A container "
          + "shares the host's: volumes: [\"/run/dbus:/run/dbus:ro\"].")
    ]
  }
}
