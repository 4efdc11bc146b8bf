internal import Glibc

/// Checks whether this host's own packet filter lets its traffic in and out.
package enum FirewallCheck {
  /// A port of 0 stands for one that is chosen at each start.
  package static func findings(linkPort: UInt16, _ bus: BusReport) -> [Finding] {
    let keepers = managers(bus)
    guard geteuid() == 0 else {
      return keepers + [
        Finding(
          .firewall, .unknown, "Only root can read the rules of the packet filter.", cure: "Look again with sudo.")
      ]
    }
    guard let (code, listing) = Tool.run("nft", ["--json", "list", "ruleset"]), code == 0,
      let rules = Ruleset(listing)
    else { return keepers + legacy() }
    if rules.isEmpty { return keepers + [Finding(.firewall, .good, "No rule of this host keeps packets out.")] }
    return keepers + [discovery(rules)] + links(rules, linkPort)
  }

  private static func discovery(_ rules: Ruleset) -> Finding {
    for (hook, verb, end) in [
      (Ruleset.Hook.input, "kept out", "nobody is found"),
      (.output, "kept in", "this host is not found, and finds nobody"),
    ] {
      guard case .dropped(let chain, let rule) = rules.answer("udp", MulticastCheck.port, at: hook) else { continue }
      return Finding(
        .firewall, .bad, "Discovery (UDP 5353) is \(verb) by \(rule) of the chain '\(chain)': \(end).",
        cure: "nft insert rule \(chain) udp dport 5353 accept; or in the tool that keeps your rules: allow mdns.")
    }
    return Finding(.firewall, .good, "No rule keeps discovery (UDP 5353) out or in.")
  }

  /// The effect on users of a blocked transport.
  private static let losses = [
    ("TCP", "Links", "others cannot connect to this host, though it can connect to them"),
    ("UDP", "Signs of life", "others take this host for lost, though it is there"),
  ]

  private static func links(_ rules: Ruleset, _ port: UInt16) -> [Finding] {
    let place = port == 0 ? "at any port" : "\(port)"
    let shut = losses.compactMap { transport, what, loss in
      // A port that no rule is likely to name.
      let answer = rules.answer(transport.lowercased(), port == 0 ? 49_999 : port, at: .input)
      guard case .dropped(let chain, let rule) = answer else { return nil as Finding? }
      let open = "nft insert rule \(chain) meta l4proto { tcp, udp } th dport \(port == 0 ? 7777 : port) accept"
      return Finding(
        .firewall, .bad, "\(what) (\(transport) \(place)) are kept out by \(rule) of the chain '\(chain)': \(loss).",
        cure: port == 0 ? "Choose a port with --port, such as 7777, and open it: \(open)" : open)
    }
    return shut.isEmpty ? [Finding(.firewall, .good, "No rule keeps out links (TCP and UDP \(place)).")] : shut
  }

  /// Programs that manage rules of their own.
  private static func managers(_ bus: BusReport) -> [Finding] {
    var findings: [Finding] = []
    let ufw = SystemFile.text(of: "/etc/ufw/ufw.conf") ?? ""
    if ufw.split(separator: "\n").contains("ENABLED=yes") {
      findings.append(
        Finding(
          .firewall, .doubtful, "ufw is on: it allows discovery by default, and links only by a rule.",
          cure: "Choose a port with --port, such as 7777, and: ufw allow 7777."))
    }
    if let firewalld = bus.firewalld { findings.append(zone(firewalld)) }
    return findings
  }

  private static func zone(_ firewalld: BusReport.Firewalld) -> Finding {
    let cure = "firewall-cmd --add-service=mdns; firewall-cmd --add-port=7777/tcp --add-port=7777/udp, and --port 7777."
    guard let isOpen = firewalld.letsDiscoveryIn else {
      return Finding(.firewall, .doubtful, "firewalld runs, and does not tell this user what it lets in.", cure: cure)
    }
    return isOpen
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
