internal import Glibc

/// Whether this host's own packet filter lets in what others send.
package enum FirewallCheck {
  /// A port of 0 stands for one that is chosen at each start.
  package static func findings(linkPort: UInt16) -> [Finding] {
    let keepers = managers()
    guard geteuid() == 0 else {
      return keepers + [
        Finding(
          .firewall, .unknown, "Only root can read the rules of the packet filter.", cure: "Look again with sudo.")
      ]
    }
    guard let (code, listing) = Tool.run("nft", ["list", "ruleset"]), code == 0 else {
      return keepers + legacy()
    }
    let rules = Ruleset(listing)
    if rules.isEmpty { return keepers + [Finding(.firewall, .good, "No rule of this host keeps packets out.")] }
    return keepers + [discovery(rules), links(rules, linkPort)]
  }

  private static func discovery(_ rules: Ruleset) -> Finding {
    switch rules.answer("udp", MulticastCheck.port) {
    case .passes:
      return Finding(.firewall, .good, "No rule keeps out discovery (UDP 5353).")
    case .dropped(let chain, let rule):
      return Finding(
        .firewall, .bad, "Discovery (UDP 5353) is kept out by '\(rule)' in the chain '\(chain)': nobody is found.",
        cure: "nft insert rule \(chain) udp dport 5353 accept; or in the tool that keeps your rules: allow mdns.")
    }
  }

  private static func links(_ rules: Ruleset, _ port: UInt16) -> Finding {
    // One that no rule is likely to name.
    switch rules.answer("tcp", port == 0 ? 49_999 : port) {
    case .passes:
      return Finding(.firewall, .good, "No rule keeps out links (TCP \(port == 0 ? "at any port" : "\(port)")).")
    case .dropped(let chain, let rule):
      let cure =
        port == 0
        ? "Choose a port with --port, such as 7777, and open it: nft insert rule \(chain) tcp dport 7777 accept, and the "
          + "same for udp."
        : "nft insert rule \(chain) tcp dport \(port) accept, and the same for udp."
      return Finding(
        .firewall, .bad,
        "Links (TCP \(port == 0 ? "at any port" : "\(port)")) are kept out by '\(rule)' in the chain "
          + "'\(chain)': others cannot connect to this host, though it can connect to them.", cure: cure)
    }
  }

  /// Programs that keep rules of their own.
  private static func managers() -> [Finding] {
    var findings: [Finding] = []
    let ufw = SystemFile.text(of: "/etc/ufw/ufw.conf") ?? ""
    if ufw.split(separator: "\n").contains("ENABLED=yes") {
      findings.append(
        Finding(
          .firewall, .doubtful, "ufw is switched on: it lets discovery in by itself, and links only where it is told.",
          cure: "Choose a port with --port, such as 7777, and: ufw allow 7777."))
    }
    if let bus = try? BusConnection(), bus.hasOwner(firewalld) { findings.append(zone(bus)) }
    return findings
  }

  private static let firewalld = "org.fedoraproject.FirewallD1"

  /// The default zone's view of multicast DNS.
  private static func zone(_ bus: BusConnection) -> Finding {
    let answer = bus.call(
      firewalld, "/org/fedoraproject/FirewallD1", "\(firewalld).zone", "queryService", ["", "mdns"])
    let cure = "firewall-cmd --add-service=mdns; firewall-cmd --add-port=7777/tcp --add-port=7777/udp, and --port 7777."
    guard case .returned(let body) = answer else {
      return Finding(.firewall, .doubtful, "firewalld runs, and does not tell this user what it lets in.", cure: cure)
    }
    return BusMessage.number(body, at: 0) == 1
      ? Finding(.firewall, .good, "firewalld runs and lets discovery (mdns) in.")
      : Finding(.firewall, .bad, "firewalld runs and keeps discovery (mdns) out.", cure: cure)
  }

  /// The older filter, where there is no `nft` to read both.
  private static func legacy() -> [Finding] {
    guard let (code, listing) = Tool.run("iptables", ["-S", "INPUT"]), code == 0 else {
      return [
        Finding(
          .firewall, .unknown, "The rules of the packet filter cannot be read: there is neither nft nor iptables.",
          cure: "apt install nftables, and look again.")
      ]
    }
    guard listing.split(separator: "\n").contains("-P INPUT DROP") else {
      return [Finding(.firewall, .good, "iptables lets packets in that no rule names.")]
    }
    let isOpen = listing.contains("--dport 5353 -j ACCEPT")
    return [
      isOpen
        ? Finding(.firewall, .good, "iptables keeps packets out by default, and lets discovery (UDP 5353) in.")
        : Finding(
          .firewall, .bad, "iptables keeps packets out by default, and no rule lets discovery (UDP 5353) in.",
          cure: "iptables -I INPUT -p udp --dport 5353 -j ACCEPT")
    ]
  }
}
