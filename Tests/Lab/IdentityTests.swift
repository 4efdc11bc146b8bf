import Glibc
import Testing

@testable import lab_rig

extension LabTests {
  @Suite @Laboratory
  struct IdentityTests {
    @Test
    func `P-ID-1 Names of one byte and of 63 in any script are found as they are; others say what limit they broke`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let start = "Ünïcødé 名前 \u{1F469}\u{200D}\u{1F680} "
        let long = start + String(repeating: "x", count: 63 - start.utf8.count)
        let browser = try await rig.hosts[1].visit("browse", "id-names")
        for name in ["x", long] {
          let visitor = try await rig.hosts[0].visit("advertise", "id-names", name: name)
          #expect(try await browser.finds(visitor)["name"] == name)
          try await visitor.leave()
        }
        for (name, limit) in [("", "empty"), (long + "x", "63")] {
          let refused = try rig.hosts[0].vicinity("advertise", "id-names", "--name", name)
          #expect(try await refused.ended() == .exited(2))
          #expect(try await refused.event("error")["text"]?.contains(limit) == true)
        }
      }
    }

    @Test
    func `P-ID-2 P-ID-3 Two hosts of one name are two peers, and the ID that one writes is what the other invites by`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let a = try await rig.hosts[0].visit("advertise", "id-same", "--accept", name: "Sam")
        let b = try await rig.hosts[1].visit("advertise", "id-same", "--accept", name: "Sam")
        #expect(a.peer != b.peer)
        let ambiguous = try rig.hosts[2].vicinity("invite", "id-same", "Sam", "--timeout", "5")
        #expect(try await ambiguous.ended(within: .seconds(10)) != .exited(0))
        let guest = try await rig.hosts[2].visit("invite", "id-same", b.peer)
        try await guest.meets(b)
        try await b.meets(guest)
        #expect(a.told("invitation").isEmpty)
      }
    }

    @Test func `P-ID-4 Killed and started again, and after a power cut, it is the same peer in place`() async throws {
      try await Rig.lend(2) { rig in
        let browser = try await rig.hosts[1].visit("browse", "id-again")
        let first = try await rig.hosts[0].visit("advertise", "id-again", name: "Ann")
        try await browser.finds(first)
        // Its daemon sends a goodbye, after which other daemons keep the record for a second.
        try await first.program.end()
        try await browser.program.event("lost")
        let second = try await rig.hosts[0].visit("advertise", "id-again", name: "Ann")
        #expect(second.peer == first.peer)
        try await browser.finds(second)
        try await rig.hosts[0].kill()
        try await rig.hosts[0].boot()
        let third = try await rig.hosts[0].visit("advertise", "id-again", name: "Ann")
        #expect(third.peer == first.peer)
        // One who looks for the first time sees what is left of the second, and then the third in its place.
        let fresh = try await rig.hosts[1].visit("browse", "id-again", "--keys", "ephemeral")
        try await fresh.finds(third)
        await Laboratory.pass(.seconds(3))
        #expect(Set((browser.told("found") + fresh.told("found")).map { $0["peer"] }) == [first.peer])
        #expect(fresh.told("found").count == 1 && fresh.told("lost").isEmpty)
        #expect(browser.told("found").count == 2 && browser.told("lost").count == 1)
        #expect(browser.standing == [first.peer])
      }
    }

    @Test func `P-ID-5 A record with another's ID never becomes that peer`() async throws {
      try await Rig.lend(3) { rig in
        let real = try await rig.hosts[0].visit("advertise", "id-forged", "--accept", name: "Ann")
        try await rig.hosts[1].forge(real.peer, "id-forged")
        let guest = try await rig.hosts[2].visit("invite", "id-forged", real.peer, "--timeout", "20")
        try await guest.meets(real, within: .seconds(25))
        try await real.meets(guest)
        #expect(Set(guest.told("found").map { $0["peer"] }) == [real.peer])
      }
    }

    @Test func `Two hosts with one folder of keys are both told so, once one sees the other`() async throws {
      try await Rig.lend(2) { rig in
        let copied = try await rig.copiedKeys()
        let first = try await rig.hosts[0].visit("advertise", "id-copied", "--keys", copied)
        let second = try await rig.hosts[1].visit("browse", "id-copied", "--keys", copied)
        for one in [first, second] {
          try await one.program.event("warning", within: .seconds(10)) {
            $0["text"]?.contains("in use on another one") == true
          }
        }
      }
    }

    @Test func `Two hosts with one folder of keys are both told so, where each only advertises, and not the same`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let copied = try await rig.copiedKeys()
        let first = try await rig.hosts[0].visit("advertise", "id-photos", "--keys", copied)
        let second = try await rig.hosts[1].visit("advertise", "id-chat", "--keys", copied)
        for one in [first, second] {
          try await one.program.event("warning", within: .seconds(10)) {
            $0["text"]?.contains("in use on another one") == true
          }
        }
      }
    }

    @Test func `P-ADV-1 P-ERR-1 A service type that is none ends the program with the rule that it breaks`()
      async throws
    {
      try await Rig.lend(1) { rig in
        for (type, rule) in [
          ("", "15"), ("sixteen-letters-", "15"), ("Chat", "a–z"), ("a--b", "hyphen"), ("-a", "hyphen"),
          ("12", "letter"),
        ] {
          let refused = try rig.hosts[0].startVicinity(["advertise", "--name", "Ann", "--json", "--", type])
          #expect(try await refused.ended() == .exited(2))
          #expect(try await refused.event("error")["text"]?.contains(rule) == true, "\(type): \(refused.log())")
        }
      }
    }
  }
}

extension VicinityPeer {
  /// The peers that were found and not lost since.
  var standing: Set<String> {
    program.events.reduce(into: []) { standing, event in
      guard let peer = event["peer"] else { return }
      if event.name == "found" { standing.insert(peer) }
      if event.name == "lost" { standing.remove(peer) }
    }
  }
}

extension Rig {
  /// A folder that holds the same keys on each host.
  func copiedKeys() async throws -> String {
    let folder = "\(LabHost.home)/copied"
    try await hosts[0].vicinity("identity", "show", "--keys", folder).ended()
    for host in hosts.dropFirst() {
      try await run(["cp", "-a", "\(Self.disk(of: hosts[0]))/copied", Self.disk(of: host)])
    }
    return folder
  }
}

extension LabHost {
  /// Publishes the record of another host's peer as if it were here.
  func forge(_ peer: String, _ type: String) async throws {
    let line = try await browse(type).tells("=", peer)
    // The last field of the line: strings in quotation marks.
    let strings = line.split(separator: ";").last.map { $0.split(separator: "\"").filter { $0 != " " } } ?? []
    try #require(strings.contains { $0.contains(peer) })
    let forger = try start(["avahi-publish", "--service", "Ann", "_\(type)._tcp", "7777"] + strings.map(String.init))
    _ = try await forger.line("that it is established") { $0.hasPrefix("Established") }
  }
}
