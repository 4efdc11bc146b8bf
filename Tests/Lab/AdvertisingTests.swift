import Testing

@testable import lab_rig

extension LabTests {
  /// Changes of an advertiser while others browse.
  @Suite @Laboratory
  struct AdvertisingTests {
    @Test
    func `P-ADV-3 Advertising that stops is lost and not found any more, and the session joined through it stays`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let browser = try await rig.hosts[2].visit("browse", "adv-stop")
        let party = try await rig.puppets("adv-stop", of: rig.hosts.dropLast())
        let (a, b) = (party[0], party[1])
        try await browser.program.event("found") { $0["peer"] == b.peer }
        try await b.does("stop x")
        try await browser.program.event("lost", within: .seconds(3)) { $0["peer"] == b.peer }
        let late = try rig.hosts[2].vicinity("peers", "adv-stop", "--keys", "ephemeral", "--timeout", "2")
        for (speaker, listener) in [(a, b), (b, a)] {
          try await speaker.does("send s reliable all still-here")
          try await listener.hears("still-here")
          #expect(speaker.told("notConnected").isEmpty)
        }
        try await late.ended()
        #expect(!late.output.contains(b.peer))
        // The peer is found again once it advertises again.
        try b.program.say("advertise y a adv-stop s")
        try await browser.program.event("found") { $0["peer"] == b.peer }
      }
    }

    @Test func `P-HAB-3 P-ADV-2 A long name, large info and a large unreliable message work, with a warning each`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let name = String(repeating: "long ", count: 9)
        let values = ["a", "b"].map { "\($0)=\(String(repeating: $0, count: 240))" }
        let info = values.flatMap { ["--info", $0] }
        let a = try await rig.hosts[0].visit("advertise", "hab-warn", info + ["--accept"], name: name)
        let plain = try rig.hosts[0].startVicinity(
          ["advertise", "hab-plain", "--keys", "ephemeral", "--name", name] + info)
        for beginning in ["The name has 45 bytes; over 40", "The discovery info has 486 bytes; over 400"] {
          try await a.program.event("warning") { $0["text"]?.hasPrefix(beginning) == true }
          _ = try await plain.line("the warning") { $0.contains("warning: \(beginning)") }
        }
        let message = String(repeating: "m", count: 1_500)
        let b = try rig.hosts[1].vicinity("send", "hab-warn", a.peer, "--unreliable", "--message", message)
        try await b.event("warning") { $0["text"]?.hasPrefix("An unreliable message has 1500 bytes") == true }
        #expect(try await a.hears(message)["mode"] == "unreliable")
        #expect(try await b.ended() == .exited(0))
        #expect(a.told("warning").count == 2)
      }
    }

    @Test func `P-BRO-2 Discovery info that changes is told as a change within seconds, with no lost and found`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let browser = try await rig.hosts[1].visit("browse", "bro-info")
        let a = try await rig.hosts[0].puppet()
        try a.program.say("advertise x a bro-info s room=1 lang=de")
        try await browser.program.event("found") { $0["peer"] == a.peer }
        for room in 2...3 {
          try await a.does("update x room=\(room) lang=de")
          let updated = try await browser.program.event("updated", within: .seconds(3)) {
            $0.object["info"] == .object(["room": .text("\(room)"), "lang": .text("de")])
          }
          #expect(updated["peer"] == a.peer)
        }
        #expect(browser.told("found").count == 1)
        #expect(browser.told("lost").isEmpty)
      }
    }
  }
}
