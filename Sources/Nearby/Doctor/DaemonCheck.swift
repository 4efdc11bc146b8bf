internal import Glibc

/// Checks the discovery daemon, and the D-Bus over which it is asked.
package enum DaemonCheck {
  package static func findings() -> [Finding] {
    do throws(BusConnection.Failure) {
      let bus = try BusConnection()
      return [Finding(.bus, .good, "The system's D-Bus answers at \(BusConnection.path).")] + daemon(bus)
    } catch {
      return [
        broken(error), Finding(.daemon, .unknown, "The Avahi daemon is asked over D-Bus, which does not answer."),
      ]
    }
  }

  private static func broken(_ failure: BusConnection.Failure) -> Finding {
    let why = String(cString: strerror(failure.code))
    switch failure.code {
    case ENOENT, ECONNREFUSED:
      return Finding(
        .bus, .bad, "There is no D-Bus at \(failure.path): \(why).",
        cure: "Install and start it: apt install dbus, systemctl start dbus. In a container, share /run/dbus with it.")
    case EACCES, EPERM:
      return Finding(
        .bus, .bad, "D-Bus does not let this user in at \(failure.path).",
        cure: "Run as a user that the bus knows, or see its policies in /etc/dbus-1/system.d.")
    default:
      return Finding(
        .bus, .bad, "D-Bus does not answer at \(failure.path): \(why).", cure: "Restart it: systemctl restart dbus.")
    }
  }

  private static let avahi = "org.freedesktop.Avahi"

  private static func daemon(_ bus: BusConnection) -> [Finding] {
    guard bus.hasOwner(avahi) else {
      return [
        Finding(
          .daemon, .bad, "The Avahi daemon, through which hosts find each other, does not run.",
          cure: "apt install avahi-daemon, systemctl start avahi-daemon. Without one: --at ADDRESS for each other host."
        )
      ]
    }
    let version = ask(bus, "GetVersionString").flatMap(BusMessage.text) ?? "Avahi of a version that it does not tell"
    guard let state = ask(bus, "GetState").flatMap({ BusMessage.number($0, at: 0) }) else {
      return [
        Finding(
          .daemon, .bad, "The Avahi daemon runs and does not answer.",
          cure: "Restart it: systemctl restart avahi-daemon; journalctl -u avahi-daemon says what it says itself.")
      ]
    }
    return [finding(state: state, version) ?? named(bus, version)] + rivals()
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

  private static func named(_ bus: BusConnection, _ version: String) -> Finding {
    let name = ask(bus, "GetHostNameFqdn").flatMap(BusMessage.text) ?? "an unknown name"
    return Finding(.daemon, .good, "\(version) runs, and this host is \(name).")
  }

  private static func ask(_ bus: BusConnection, _ question: String) -> [UInt8]? {
    guard case .returned(let body) = bus.call(avahi, "/", "\(avahi).Server", question) else { return nil }
    return body
  }

  /// Other programs that answer mDNS queries for this host.
  private static func rivals() -> [Finding] {
    let resolved = SystemFile.text(of: "/run/systemd/resolve/resolv.conf") != nil
    guard resolved, let settings = SystemFile.text(of: "/etc/systemd/resolved.conf"),
      settings.split(separator: "\n").contains(where: { $0.hasPrefix("MulticastDNS=yes") })
    else { return [] }
    return [
      Finding(
        .daemon, .doubtful, "systemd-resolved answers for this host as well, and the two get into each other's way.",
        cure: "Set MulticastDNS=resolve in /etc/systemd/resolved.conf and restart systemd-resolved.")
    ]
  }
}
