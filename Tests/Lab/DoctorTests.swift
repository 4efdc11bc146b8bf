import Glibc
import Testing

@testable import lab_rig

extension LabTests {
  /// The findings of the doctor with and without something broken.
  @Suite @Laboratory
  struct DoctorTests {
    /// Each check's states.
    private func look(_ host: LabHost, keys: String = "ephemeral") async throws -> [String: Set<String>] {
      let doctor = try host.startVicinity(["doctor", "--json", "--keys", keys])
      let ending = try await doctor.ended(within: .seconds(20))
      var states: [String: Set<String>] = [:]
      for finding in doctor.events where finding.name == "finding" {
        states[finding["check"] ?? "", default: []].insert(finding["state"] ?? "")
        if finding["state"] == "bad" { #expect(finding["cure"] != nil) }
      }
      #expect(ending == .exited(states.values.contains { $0.contains("bad") } ? 1 : 0))
      return states
    }

    @Test func `On a healthy network it finds nothing, and hears and reaches the others`() async throws {
      try await Rig.lend(3) { rig in
        let states = try await look(rig.hosts[0])
        for check in ["bus", "daemon", "interfaces", "multicast", "port", "firewall", "isolation", "discovery", "key"] {
          #expect(states[check] == ["good"], "\(check)")
        }
      }
    }

    @Test func `Without D-Bus, and without the daemon, it names what is missing`() async throws {
      try await Rig.lend(2) { rig in
        let host = rig.hosts[0]
        try await host.stopAvahi()
        var states = try await look(host)
        #expect(states["bus"] == ["good"])
        #expect(states["daemon"] == ["bad"])
        #expect(states["discovery"] == ["bad"])
        try await host.stopBus()
        states = try await look(host)
        #expect(states["bus"] == ["bad"])
        #expect(states["daemon"] == ["unknown"])
        try await host.startBus()
        try await host.startAvahi()
      }
    }

    @Test func `A packet filter that keeps others out is found, with the rule`() async throws {
      try await Rig.lend(2) { rig in
        let host = rig.hosts[0]
        try await host.run("nft", "add table inet filter")
        try await host.run("nft", "add chain inet filter input { type filter hook input priority 0; policy drop; }")
        try await host.run("nft", "add rule inet filter input iif lo accept")
        #expect(try await look(host)["firewall"] == ["bad"])
        try await host.run("nft", "add rule inet filter input udp dport 5353 accept")
        let states = try await look(host)
        #expect(states["firewall"] == ["good", "bad"])
        #expect(states["multicast"] == ["good"])
        try await host.run("nft", "flush ruleset")
      }
    }

    @Test func `A packet filter that lets out no discovery is found, and so is what the system refuses to send`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let host = rig.hosts[0]
        try await host.run("nft", "add table inet filter")
        try await host.run("nft", "add chain inet filter output { type filter hook output priority 0; }")
        try await host.run("nft", "add rule inet filter output udp dport 5353 drop")
        let states = try await look(host)
        #expect(states["firewall"] == ["good", "bad"])
        #expect(states["multicast"] == ["bad"])
        try await host.run("nft", "flush ruleset")
      }
    }

    @Test func `Another host with this one's key is found, and while a program holds the keys nothing is claimed`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let copied = try await rig.copiedKeys()
        _ = try await rig.hosts[0].visit("advertise", "doc-copied", "--keys", copied)
        #expect(try await look(rig.hosts[1], keys: copied)["key"] == ["bad"])
        let states = try await look(rig.hosts[0], keys: copied)
        #expect(states["key"] == ["unknown"])
        #expect(states["discovery"] == ["good"])
      }
    }

    @Test func `On a network with IPv6 alone others are heard by it, and blocked output is reported as well`()
      async throws
    {
      try await Rig.lend(2) { rig in
        for host in rig.hosts { try await host.run("ip", "-4", "address", "flush", "dev", host.cable.interface) }
        let host = rig.hosts[0]
        _ = try await rig.hosts[1].visit("advertise", "doc-six")
        #expect(try await look(host)["multicast"] == ["good"])
        try await host.run("nft", "add table inet filter")
        try await host.run("nft", "add chain inet filter output { type filter hook output priority 0; }")
        try await host.run("nft", "add rule inet filter output udp dport 5353 drop")
        #expect(try await look(host)["multicast"] == ["bad"])
        // The hosts are restored, with all addresses.
        for host in rig.hosts {
          try await host.kill()
          try await host.boot()
        }
      }
    }

    @Test func `On a network with IPv6 alone hosts that are heard are reached, or reported as isolated`() async throws {
      try await Rig.lend(2) { rig in
        for host in rig.hosts { try await host.run("ip", "-4", "address", "flush", "dev", host.cable.interface) }
        let (host, other) = (rig.hosts[0], rig.hosts[1])
        _ = try await other.publish("Ann", "doc-six")
        #expect(try await look(host)["isolation"] == ["good"])
        // The other host drops neighbour discovery, as behind an access point that passes on nothing but multicast.
        try await other.run("nft", "add table ip6 filter")
        try await other.run("nft", "add chain ip6 filter output { type filter hook output priority 0; }")
        try await other.run(
          "nft", "add rule ip6 filter output icmpv6 type { nd-neighbor-advert, nd-neighbor-solicit } drop")
        try await host.run("ip", "neigh", "flush", "all")
        let states = try await look(host)
        #expect(states["multicast"] == ["good"])
        #expect(states["isolation"] == ["bad"])
        // The hosts are restored, with all addresses.
        for host in rig.hosts {
          try await host.kill()
          try await host.boot()
        }
      }
    }

    @Test func `A network that drops multicast, and one that is not there, are told apart`() async throws {
      try await Rig.lend(2) { rig in
        let host = rig.hosts[0]
        try await host.cable.set(Faults(blocked: [.udp(5353)]))
        var states = try await look(host)
        #expect(states["multicast"] == ["doubtful"])
        #expect(states["interfaces"] == ["good"])
        try await host.cable.cut()
        states = try await look(host)
        #expect(states["interfaces"]?.contains("bad") == true)
        try await host.cable.mend()
      }
    }

    @Test func `A gateway's diagnosis names a link that loses much, and what helps`() async throws {
      try await Rig.lend(2) { rig in
        let party = try await Gate.party(rig, "doc-links")
        func links() async throws -> [JSON] {
          let found = try await party[0].gate.asks("GET", "/v1/gateway/diagnostics")["findings"]?.list ?? []
          return found.filter { $0["check"] == "link" }
        }
        #expect(try await links().map { $0["state"] } == ["good"])
        try await party[1].gate.host.cable.set(.loss(0.08))
        for number in 0..<20 { try await party[0].send("\(number) " + String(repeating: "x", count: 60_000)) }
        let poor = try await links()
        #expect(poor.map { $0["state"] } == ["doubtful"], "\(poor)")
        #expect(poor.first?["text"]?.text?.contains("of its bytes") == true && poor.first?["cure"] != nil)
      }
    }

    @Test func `Hosts that are heard and cannot be reached are told as kept apart`() async throws {
      try await Rig.lend(2) { rig in
        let (host, other) = (rig.hosts[0], rig.hosts[1])
        // The other host drops ARP, as behind an access point that passes on nothing but multicast.
        try await other.run("nft", "add table arp filter")
        try await other.run("nft", "add chain arp filter input { type filter hook input priority 0; policy drop; }")
        try await host.run("ip", "neigh", "flush", "all")
        let states = try await look(host)
        #expect(states["multicast"] == ["good"])
        #expect(states["isolation"]?.contains("bad") == true)
        try await other.run("nft", "flush ruleset")
      }
    }
  }
}
