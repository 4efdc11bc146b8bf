internal import Notation

/// The kernel's packet filter, as `nft --json list ruleset` shows it.
///
/// A rule with a condition that is not about ports may match a packet or not. Of such rules an acceptance is counted
/// and a drop is not: a port that may be open is not reported as closed.
struct Ruleset {
  enum Answer: Equatable {
    case passes
    /// The chain with its table, and the rule in it, or the chain's policy.
    case dropped(chain: String, by: String)
  }

  /// The hooks of packets to this host, and of packets that it sends.
  enum Hook: String, CaseIterable {
    case input, output
  }

  private struct Rule {
    let handle: Int64
    let expressions: [JSON]
  }

  private struct Chain {
    var hook: Hook?
    var dropsByDefault = false
    var rules: [Rule] = []
  }

  /// The first packet of a new connection.
  private struct Packet {
    let transport: String
    let port: UInt16
  }

  private enum Fit: Comparable {
    case no, maybe, yes
  }

  /// Longer chains of jumps are loops.
  private static let jumpsMax = 16

  /// By table and name.
  private var chains: [String: Chain] = [:]
  private var sets: [String: [JSON]] = [:]
  /// The chains with a hook, in order.
  private var entrances: [String] = []

  var isEmpty: Bool { entrances.isEmpty }

  /// Nil where the listing is not what `nft` prints.
  init?(_ listing: String) {
    guard let items = try? JSON(parsing: Array(listing.utf8))["nftables"]?.list else { return nil }
    for item in items {
      guard let (kind, value) = item.members?.first.map({ ($0.name, $0.value) }) else { continue }
      let table = "\(value["family"]?.text ?? "") \(value["table"]?.text ?? "")"
      let name = "\(table) \(value[kind == "rule" ? "chain" : "name"]?.text ?? "")"
      switch kind {
      case "chain":
        var chain = Chain()
        if value["type"] == "filter" { chain.hook = value["hook"]?.text.flatMap(Hook.init) }
        chain.dropsByDefault = value["policy"] == "drop"
        chains[name] = chain
        if chain.hook != nil { entrances.append(name) }
      case "rule":
        let rule = Rule(handle: value["handle"]?.integer ?? 0, expressions: value["expr"]?.list ?? [])
        chains[name]?.rules.append(rule)
      case "set": sets[name] = value["elem"]?.list ?? []
      default: break
      }
    }
  }

  /// The verdict on the first packet of a new connection, in or out.
  func answer(_ transport: String, _ port: UInt16, at hook: Hook) -> Answer {
    let packet = Packet(transport: transport, port: port)
    for name in entrances where chains[name]?.hook == hook {
      switch verdict(of: name, on: packet, isCertain: true, jumps: 0) {
      case .dropped(let chain, let rule): return .dropped(chain: chain, by: rule)
      case .passes: continue
      case nil: if chains[name]?.dropsByDefault == true { return .dropped(chain: name, by: "the policy") }
      }
    }
    return .passes
  }

  /// Nil where the chain has no verdict on the packet.
  private func verdict(of name: String, on packet: Packet, isCertain: Bool, jumps: Int) -> Answer? {
    guard jumps <= Self.jumpsMax, let chain = chains[name] else { return nil }
    let table = name.split(separator: " ").prefix(2).joined(separator: " ")
    for rule in chain.rules {
      var fit = isCertain ? Fit.yes : .maybe
      for expression in rule.expressions where fit != .no {
        guard let statement = expression.members?.first else { continue }
        switch statement.name {
        case "match": fit = min(fit, self.fit(statement.value, packet, in: table))
        case "accept": return .passes
        case "drop", "reject":
          if fit == .yes { return .dropped(chain: name, by: "rule \(rule.handle)") }
        case "jump", "goto":
          let target = "\(table) \(statement.value["target"]?.text ?? "")"
          let answer = verdict(of: target, on: packet, isCertain: fit == .yes, jumps: jumps + 1)
          if let answer { return answer }
          if statement.name == "goto", fit == .yes { return nil }
        case "return": if fit == .yes { return nil }
        case "counter", "log", "comment": break
        // A verdict map, a limit, a match of iptables: it may end the rule or not.
        default:
          if Self.accepts(statement.value) { return .passes }
          fit = .maybe
        }
      }
    }
    return nil
  }

  /// Whether a verdict map lets some packets pass.
  private static func accepts(_ value: JSON) -> Bool {
    value["data"]?["set"]?.list?.contains { $0.list?.last?["accept"] != nil } ?? false
  }

  private func fit(_ match: JSON, _ packet: Packet, in table: String) -> Fit {
    guard let left = match["left"], let right = match["right"] else { return .maybe }
    let isInverse = match["op"] == "!="
    func known(_ holds: Bool) -> Fit { holds != isInverse ? .yes : .no }
    if let payload = left["payload"] {
      switch (payload["protocol"]?.text, payload["field"]?.text) {
      case (packet.transport, "dport"), ("th", "dport"):
        return known(values(right, in: table).contains { Self.holds($0, packet.port) })
      case (packet.transport, _), ("th", _): return .maybe
      case ("ip", "protocol"), ("ip6", "nexthdr"):
        return known(names(right, in: table).contains(packet.transport)) == .no ? .no : .maybe
      case ("tcp", _), ("udp", _), ("icmp", _), ("icmpv6", _), ("igmp", _), ("sctp", _), ("dccp", _): return .no
      default: return .maybe
      }
    }
    switch left["meta"]?["key"]?.text {
    case "l4proto": return known(names(right, in: table).contains(packet.transport))
    // A new connection of others does not come from this host.
    case "iif", "iifname", "oif", "oifname": return right == "lo" ? known(false) : .maybe
    default: break
    }
    // Known connections and invalid packets are no new ones.
    if left["ct"]?["key"] == "state" { return known(names(right, in: table).contains("new")) }
    return .maybe
  }

  /// The values on the right side of a match, those of a named set included.
  private func values(_ right: JSON, in table: String) -> [JSON] {
    if case .text(let name) = right, name.hasPrefix("@") { return sets["\(table) \(name.dropFirst())"] ?? [] }
    return right["set"]?.list ?? right.list ?? [right]
  }

  private func names(_ right: JSON, in table: String) -> [String] { values(right, in: table).compactMap(\.text) }

  /// `5353`, `{"range": [5000, 6000]}`, or either with a comment or timeout.
  private static func holds(_ value: JSON, _ port: UInt16) -> Bool {
    let value = value["elem"]?["val"] ?? value
    if let ends = value["range"]?.list, let low = ends.first?.integer, let high = ends.last?.integer, low <= high {
      return (low...high).contains(Int64(port))
    }
    return value == .integer(Int64(port))
  }
}
