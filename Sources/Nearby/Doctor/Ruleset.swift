/// The kernel's packet filter, read from `nft list ruleset`.
///
/// A rule with a condition that is not about ports may match a packet or not. Of such rules an acceptance is counted
/// and a drop is not: a port that may be open is not reported as closed.
struct Ruleset {
  enum Answer: Equatable {
    case passes
    /// The chain, and the rule in it.
    case dropped(chain: String, by: String)
  }

  /// The hooks of packets to this host, and of packets that it sends.
  enum Hook: String, CaseIterable {
    case input, output
  }

  private struct Chain {
    /// With its table.
    let name: String
    let table: String
    var hook: Hook?
    var dropsByDefault = false
    var rules: [String] = []
  }

  /// Longer chains of jumps are loops.
  private static let jumpsMax = 16

  private var chains: [String: Chain] = [:]
  private var entrances: [(hook: Hook, chain: String)] = []

  var isEmpty: Bool { entrances.isEmpty }

  init(_ listing: String) {
    var table = ""
    var open: Chain?
    for line in listing.split(separator: "\n") {
      let words = line.split { $0 == " " || $0 == "\t" }
      let text = words.joined(separator: " ")
      if words.first == "table" {
        table = words.dropFirst().prefix { $0 != "{" }.joined(separator: " ")
      } else if words.first == "chain", words.count > 1 {
        open = Chain(name: "\(table) \(words[1])", table: table)
      } else if words.first == "type", text.contains(" hook ") {
        open?.hook = Hook.allCases.first { text.contains("type filter hook \($0) ") }
        open?.dropsByDefault = text.contains("policy drop")
      } else if words.first == "}", let chain = open {
        chains[chain.name] = chain
        if let hook = chain.hook { entrances.append((hook, chain.name)) }
        open = nil
      } else {
        open?.rules.append(text)
      }
    }
  }

  /// The verdict on the first packet of a new connection, in or out.
  func answer(_ transport: String, _ port: UInt16, at hook: Hook) -> Answer {
    for (_, name) in entrances.filter({ $0.hook == hook }) {
      guard let chain = chains[name] else { continue }
      switch verdict(of: chain, transport, port, isCertain: true, jumps: 0) {
      case .dropped(let chain, let rule): return .dropped(chain: chain, by: rule)
      case .passes: continue
      case nil: if chain.dropsByDefault { return .dropped(chain: name, by: "policy drop") }
      }
    }
    return .passes
  }

  /// Nil where the chain has no verdict on the packet.
  private func verdict(
    of chain: Chain, _ transport: String, _ port: UInt16, isCertain: Bool, jumps: Int
  ) -> Answer? {
    if jumps > Self.jumpsMax { return nil }
    for rule in chain.rules {
      let fit = Self.fit(rule, transport, port)
      if fit == .no { continue }
      let isCertain = isCertain && fit == .yes
      let words = rule.split(separator: " ")
      if words.contains("accept") { return .passes }
      if words.contains("drop") || words.contains("reject") {
        if isCertain { return .dropped(chain: chain.name, by: rule) }
      } else if let jump = words.firstIndex(where: { $0 == "jump" || $0 == "goto" }), jump + 1 < words.count,
        let target = chains["\(chain.table) \(words[jump + 1])"],
        let answer = verdict(of: target, transport, port, isCertain: isCertain, jumps: jumps + 1)
      {
        return answer
      }
    }
    return nil
  }

  private enum Fit {
    case yes, maybe, no
  }

  private static func fit(_ rule: String, _ transport: String, _ port: UInt16) -> Fit {
    // Rules for known connections, this host itself, and invalid packets do not match a new one.
    if rule.contains("ct state"), !rule.contains("new") { return .no }
    if ["iifname", "iif", "oifname", "oif"].contains(where: { rule.contains("\($0) \"lo\"") }) { return .no }
    if let place = rule.ranges(of: " dport ").first {
      let protocols = rule[..<place.lowerBound].split(separator: " ").last ?? ""
      guard protocols == transport || protocols == "th" else { return .no }
      let isOnly = rule.hasPrefix("\(protocols) dport")
      return holds(port, rule[place.upperBound...]) ? isOnly ? .yes : .maybe : .no
    }
    let others = ["icmp", "igmp", "icmpv6", "ipv6-icmp", transport == "udp" ? "tcp" : "udp"]
    if rule.split(separator: " ").contains(where: { others.contains(String($0)) }) { return .no }
    return isUnconditional(rule) ? .yes : .maybe
  }

  private static func isUnconditional(_ rule: String) -> Bool {
    rule.split(separator: " ").first.map {
      ["counter", "drop", "reject", "accept", "jump", "goto", "log"].contains($0)
    } ?? true
  }

  /// `5353`, `{ 53, 5353 }`, `5000-6000`, or by name.
  private static func holds(_ port: UInt16, _ ports: Substring) -> Bool {
    let list = ports.first == "{" ? ports.dropFirst().prefix { $0 != "}" } : ports.prefix { $0 != " " }
    return list.split { ", ".contains($0) }.contains { item in
      let ends = item.split(separator: "-").compactMap { UInt16($0) ?? names[String($0)] }
      guard let low = ends.first, let high = ends.last, low <= high else { return false }
      return (low...high).contains(port)
    }
  }

  private static let names: [String: UInt16] = ["mdns": 5353]
}
