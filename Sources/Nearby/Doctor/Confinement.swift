internal import Glibc

/// The container, the network namespace and the AppArmor profile of this process.
package struct Confinement: Hashable, Sendable {
  /// The network namespace of a container.
  enum Network: Hashable, Sendable {
    case host
    /// A namespace of its own, which this interface joins to a bridge of the host.
    case bridge(interface: String)
    /// A namespace of its own, with no way out.
    case none
  }

  /// The name of the container engine; nil outside of containers.
  var container: String?
  var network: Network = .host
  /// The AppArmor profile that is enforced on this process.
  var profile: String?

  package static func current(_ interfaces: [CheckedInterface]) -> Confinement {
    let container = container()
    let label = ["apparmor/current", "current"].lazy.compactMap { SystemFile.text(of: "/proc/self/attr/\($0)") }.first
    return Confinement(
      container: container, network: container == nil ? .host : network(interfaces), profile: label.flatMap(profile))
  }

  private static func container() -> String? {
    if SystemFile.exists("/run/.containerenv") { return "podman" }
    if SystemFile.exists("/.dockerenv") { return "docker" }
    let engine = getenv("container").map { String(cString: $0) } ?? SystemFile.text(of: "/run/systemd/container")
    let name = engine?.prefix { $0.isLetter || $0.isNumber || $0 == "-" } ?? ""
    return name.isEmpty ? nil : String(name)
  }

  /// A bridge's container has ends of veth pairs only. Those on the host are parts of its bridges.
  private static func network(_ interfaces: [CheckedInterface]) -> Network {
    let ways = interfaces.filter {
      !$0.isLoopback && !$0.addresses.isEmpty && !SystemFile.exists("/sys/class/net/\($0.name)/master")
    }
    guard let first = ways.first else { return .none }
    return ways.allSatisfy { isVirtual($0.name) } ? .bridge(interface: first.name) : .host
  }

  /// One end of a veth pair has the number of the other end, in another namespace, as its `iflink`.
  private static func isVirtual(_ interface: String) -> Bool {
    let folder = "/sys/class/net/\(interface)"
    return SystemFile.text(of: "\(folder)/ifindex") != SystemFile.text(of: "\(folder)/iflink")
  }

  /// The name in a label such as `docker-default (enforce)`; nil for `unconfined`, and for labels of other systems.
  static func profile(in label: String) -> String? {
    guard let end = label.ranges(of: " (enforce)").first else { return nil }
    return String(label[..<end.lowerBound])
  }

  var finding: Finding {
    guard let container else {
      let under = profile.map { " It is under the AppArmor profile '\($0)'." } ?? ""
      return Finding(.container, .good, "This program is in no container.\(under)")
    }
    let place = "This program is in a container (\(container))"
    let cure =
      "In compose.yaml: network_mode: host. Or find others at their addresses: --discovery static --at ADDRESS:PORT."
    return switch network {
    case .host: Finding(.container, .good, "\(place), with the network of its host.")
    case .bridge(let interface):
      Finding(
        .container, .doubtful,
        "\(place) on a bridge, by \(interface): multicast usually does not leave it, so that hosts outside are not found.",
        cure: cure)
    case .none: Finding(.container, .doubtful, "\(place) without a network.", cure: cure)
    }
  }

  /// The cure for a D-Bus that is missing.
  var missingBusCure: String {
    container == nil
      ? "Install and start it: apt install dbus avahi-daemon, systemctl start dbus. A unit that is kept from it: "
        + "BindReadOnlyPaths=/run/dbus."
      : "Share the host's, in compose.yaml: volumes: [\"/run/dbus:/run/dbus:ro\"]; with podman run: -v "
        + "/run/dbus:/run/dbus:ro."
  }

  /// The cure for a D-Bus that refuses this process.
  var refusedBusCure: String {
    if let profile {
      return container == nil
        ? "The AppArmor profile '\(profile)' may forbid it: add 'include <abstractions/dbus-strict>' to it, or to the unit: "
          + "AppArmorProfile=unconfined."
        : "The AppArmor profile '\(profile)' may forbid it; in compose.yaml: security_opt: [\"apparmor=unconfined\"]."
    }
    return container == nil
      ? "Run as a user that the bus knows, or see its policies in /etc/dbus-1/system.d."
      : "Run as a user that the host knows, in compose.yaml: user: \"65534:65534\"."
  }
}
