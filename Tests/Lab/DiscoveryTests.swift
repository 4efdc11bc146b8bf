import Glibc
import Testing

@testable import lab_rig

extension LabTests {
  @Suite @Laboratory
  struct DiscoveryTests {
    @Test
    func `P-BRO-1 P-ADV-3 Found once, with its info, over IPv4 and IPv6, and lost once; not oneself, nor another type`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let browser = try await rig.hosts[1].visit("browse", "bro-one")
        let own = try await rig.hosts[1].visit("advertise", "bro-one", "--keys", "ephemeral")
        let other = try await rig.hosts[0].visit("advertise", "bro-one-more", "--keys", "ephemeral")
        let a = try await rig.hosts[0].visit("advertise", "bro-one", "--info", "room=7", "--info", "lang=de")
        let found = try await browser.finds(a)
        #expect(found["name"] == a.name)
        #expect(found.object["info"] == .object(["room": .text("7"), "lang": .text("de")]))
        try await browser.finds(own)
        await Laboratory.pass(.seconds(2))
        #expect(browser.told("found").count == 2)
        try await a.leave()
        try await browser.program.event("lost", within: .seconds(3)) { $0["peer"] == a.peer }
        await Laboratory.pass(.seconds(2))
        #expect(browser.told("lost").count == 1)
        #expect(browser.told("updated").isEmpty)
        #expect(!browser.program.output.contains(other.peer))
      }
    }

    @Test func `P-ADV-2 Discovery info stands in the TXT record, a pair of 255 bytes too, and longer ones are refused`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let browser = try await rig.hosts[1].visit("browse", "adv-txt")
        let records = try rig.hosts[1].browse("adv-txt")
        let value = String(repeating: "v", count: 255 - "key0=".utf8.count)
        let pairs = (0..<4).flatMap { ["--info", "key\($0)=\(value)"] }
        let a = try await rig.hosts[0].visit("advertise", "adv-txt", pairs)
        #expect(try await records.tells("=", a.peer).contains("\"key3=\(value)\""))
        #expect(
          try await browser.finds(a).object["info"]
            == .object(
              Dictionary(uniqueKeysWithValues: (0..<4).map { ("key\($0)", .text(value)) })))
        let tooLong = try rig.hosts[0].vicinity(
          "advertise", "adv-txt", "--keys", "ephemeral", "--info", "key0=\(value)v")
        #expect(try await tooLong.ended() != .exited(0))
        #expect(tooLong.log().contains("255"))
      }
    }

    @Test(arguments: ["Avahi", "D-Bus"])
    func `P-ADV-5 P-BRO-4 Without its daemon it says why and what to do, and begins by itself once that is there`(
      _ daemon: String
    ) async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        let type = "adv-" + daemon.lowercased()
        if daemon == "Avahi" { try await a.stopAvahi() } else { try await a.stopBus() }
        let advertiser = try await a.visit("advertise", type)
        let browser = try await a.visit("browse", type, "--keys", "ephemeral")
        for visitor in [advertiser, browser] {
          let warning = try await visitor.program.event("warning")
          #expect(warning["text"]?.isEmpty == false)
          #expect(warning["cure"]?.isEmpty == false)
        }
        let other = try await b.visit("browse", type)
        let own = try await b.visit("advertise", type, "--keys", "ephemeral")
        // Avahi ends with the bus.
        if daemon == "D-Bus" { try await a.startBus() }
        try await a.startAvahi()
        try await other.finds(advertiser, within: .seconds(20))
        try await browser.finds(own, within: .seconds(20))
      }
    }

    @Test func `P-ADV-5 A name that somebody else has taken on the network does not keep a peer from being found`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let first = try await rig.hosts[0].visit("advertise", "adv-taken")
        try await first.leave()
        // The name of the record is the peer's ID.
        let squatter = try await rig.hosts[2].publish(first.peer, "adv-taken")
        let again = try await rig.hosts[0].visit("advertise", "adv-taken")
        let browser = try await rig.hosts[1].visit("browse", "adv-taken")
        try await browser.finds(again, within: .seconds(15))
        try await squatter.end()
      }
    }

    @Test func `P-CUS-1 Without Avahi two hosts connect by what they were given by hand`() async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        for host in rig.hosts { try await host.stopAvahi() }
        let host = try await a.visit("advertise", "cus-hand", "--accept", "--discovery", "static", "--port", "7000")
        let guest = try await b.visit(
          "invite", "cus-hand", host.peer, "--discovery", "static", "--at", "\(a.cable.address):7000")
        try await guest.meets(host)
        try await host.meets(guest)
        let alone = try b.vicinity(
          "invite", "cus-hand", host.peer, "--name", "Bob", "--keys", "ephemeral", "--discovery", "static", "--at",
          "\(a.cable.address):7001", "--timeout", "3")
        #expect(try await alone.ended(within: .seconds(8)) == .exited(3))
      }
    }
  }
}
