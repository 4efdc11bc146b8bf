internal import Reactor

/// Checks whether this machine is on a network at all.
package enum InterfaceCheck {
  package static func findings(_ interfaces: [CheckedInterface]) -> [Finding] {
    let outside = interfaces.filter { !$0.isLoopback }
    var findings = outside.compactMap(finding)
    if !outside.contains(where: \.canMeet) {
      findings.append(
        Finding(
          .interfaces, .bad, "This machine is on no network: it can only meet programs on itself.",
          cure: "Plug in a cable, or join a wireless network."))
    }
    return findings
  }

  private static func finding(_ one: CheckedInterface) -> Finding? {
    guard one.isUp else { return nil }
    if !one.isRunning {
      return Finding(
        .interfaces, .doubtful, "\(one.name) is up and has no signal.", cure: "Look at the cable or the radio.")
    }
    if one.addresses.isEmpty {
      return Finding(
        .interfaces, .doubtful, "\(one.name) has no address.", cure: "Let it get one by DHCP, or give it one.")
    }
    let places = one.addresses.map(\.hostText).joined(separator: ", ")
    // 169.254: an address that a host assigns to itself when nobody gives it one.
    let isSelfMade = !one.v4.isEmpty && one.v4.allSatisfy(\.isLinkLocal)
    if isSelfMade {
      return Finding(
        .interfaces, .doubtful, "\(one.name) has only an address of its own making: \(places).",
        cure: "That is enough for two machines on one cable; else see why DHCP gives it none.")
    }
    return Finding(.interfaces, .good, "\(one.name) is up with \(places).")
  }
}
