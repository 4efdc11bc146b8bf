import Testing

@testable import lab_rig

extension LabTests {
  /// Gateways on hosts of their own, as those who ask them see it.
  @Suite @Laboratory
  struct GatewayTests {
    private func advertise(_ type: String, at gate: Gate) async throws -> String {
      try await gate.makes("/v1/advertisers", ["peer": .text(gate.peer(type).peer), "serviceType": .text(type)])
    }

    @Test
    func
      `P-ADV-5 An advertiser that Avahi has no room for fails at a gateway, says what to do, and begins once there is room`()
      async throws
    {
      try await Rig.lend(1) { rig in
        let host = rig.hosts[0]
        try await host.stopAvahi()
        try await host.startAvahi("objects-per-client-max=3")
        let gate = try await host.gate()
        let all = try gate.follows("/v1/advertisers")
        var paths: [String] = []
        for number in 1...4 { paths.append(try await advertise("gate-\(number)", at: gate)) }
        var failed: String?
        try await all.tells("one that failed") {
          guard $0["state"] == "failed" else { return false }
          failed = $0["id"]?.text
          return $0["problem"]?["detail"]?.text?.contains("objects-per-client-max") == true
        }
        let (one, other) = (paths.first { $0.hasSuffix(failed ?? "") }, paths.first { !$0.hasSuffix(failed ?? "") })
        #expect(try await gate.asks("GET", #require(one))["state"] == "failed")
        let further = try gate.follows("/v1/advertisers")
        try await further.tells("that it failed") { $0["id"]?.text == failed && $0["state"] == "failed" }
        try await gate.asks("DELETE", #require(other))
        try await further.tells("that it is advertised") { $0["id"]?.text == failed && $0["state"] == "advertising" }
      }
    }

    @Test
    func `P-ADV-5 P-BRO-4 A failure of one advertiser or browser of a gateway is its own, and no other's`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let host = rig.hosts[0]
        try await host.stopAvahi()
        try await host.startAvahi("objects-per-client-max=4")
        let gate = try await host.gate()
        let peers = try await [gate.peer("One"), gate.peer("Two"), gate.peer("Three"), gate.peer("Four")]
        let browser = try await gate.asks(
          "POST", "/v1/browsers", ["peer": .text(peers[0].peer), "serviceType": "gate-own"])
        // The daemon takes no type of one letter.
        let refused = try await gate.asks("POST", "/v1/browsers", ["peer": .text(peers[0].peer), "serviceType": "x"])
        let problem = try await gate.wait(in: "/v1/browsers", "a browser that failed") { $0["state"] == "failed" }
        #expect(
          problem["id"] == refused["id"] && problem["problem"]?["detail"]?.text?.contains("two to fifteen") == true)
        try await gate.wait(in: "/v1/browsers", "one that browses") {
          $0["id"] == browser["id"] && $0["state"] == "browsing" && $0["problem"] == nil
        }
        for peer in peers { try await peer.advertise("gate-own") }
        let all = try gate.follows("/v1/advertisers")
        try await all.tells("one that has no room") {
          $0["state"] == "failed" && $0["problem"]?["detail"]?.text?.contains("objects-per-client-max") == true
        }
        try await all.tells("one that is advertised") { $0["state"] == "advertising" && $0["problem"] == nil }
        #expect(try await gate.subjects(of: "advertisingFailed").isEmpty == false)
        let native = try await rig.hosts[1].visit("browse", "gate-own")
        try await native.program.event("found", within: .seconds(10))
        // The command line reports the same.
        let short = try await rig.hosts[1].visit("advertise", "x", "--keys", "ephemeral", name: "short")
        try await short.program.event("warning", within: .seconds(10)) {
          $0["cure"]?.contains("two to fifteen") == true
        }
        #expect(short.told("discoveryUnavailable").isEmpty)
      }
    }

    @Test
    func `P-ADV-5 A gateway that finds no Avahi says so, and what it was to advertise is found once there is one`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let host = rig.hosts[0]
        try await host.stopAvahi()
        let gate = try await host.gate()
        let warning = try await gate.program.event("warning")
        #expect(warning["cure"]?.isEmpty == false)
        let peer = try await gate.peer("early").peer
        _ = try await gate.makes("/v1/advertisers", ["peer": .text(peer), "serviceType": "gate-early"])
        try await gate.wait(in: "/v1/advertisers", "one that failed") {
          $0["state"] == "failed" && $0["problem"]?["detail"]?.text?.contains("does not run") == true
        }
        _ = try await gate.makes("/v1/browsers", ["peer": .text(peer), "serviceType": "gate-early"])
        try await gate.wait(in: "/v1/browsers", "one that failed") { $0["state"] == "failed" }
        let browser = try await rig.hosts[1].visit("browse", "gate-early")
        try await host.startAvahi()
        try await browser.program.event("found", within: .seconds(20)) { $0["peer"] == peer }
        try await gate.wait(in: "/v1/advertisers", "that it is advertised") { $0["state"] == "advertising" }
        try await gate.wait(in: "/v1/browsers", "that it browses") { $0["state"] == "browsing" }
      }
    }

    @Test
    func `P-HAB-4 A client that leaves its gateway is away to the command line of another host, and back at once`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let gate = try await rig.hosts[0].gate("--away-after", "1")
        let peer = try await gate.peer("brief").peer
        let advertiser = try await gate.makes("/v1/advertisers", ["peer": .text(peer), "serviceType": "gate-away"])
        let browser = try await rig.hosts[1].visit("browse", "gate-away")
        try await browser.program.event("found", within: .seconds(10)) { $0["peer"] == peer }
        let away = try await browser.program.event("away", within: .seconds(20)) { $0["peer"] == peer }
        #expect(away["awaySince"] != nil)
        try await gate.asks("GET", advertiser)
        try await browser.program.event("here", within: .seconds(5)) { $0["peer"] == peer }
        #expect(browser.told("lost").isEmpty)
        // A browser that starts while the peer is away sees it as away.
        try await browser.program.event("away", within: .seconds(20)) { $0["peer"] == peer }
        let late = try await rig.hosts[1].visit("browse", "gate-away", "--keys", "ephemeral", name: "late")
        try await late.program.event("away", within: .seconds(20)) { $0["peer"] == peer }
      }
    }

    @Test
    func `P-HAB-1 Advertisers and browsers of gateways end once somebody is connected, or once the session is full`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let anna = try await rig.hosts[0].gate().peer("Anna", ["maxPeers": 3])
        let bert = try await rig.hosts[1].gate().peer("Bert", ["maxPeers": 3])
        var seen: [String: VicinityPeer] = [:]
        var advertisers: [String: String] = [:]
        for until in ["connected", "full", "stopped"] {
          let type = "gate-\(until)"
          seen[until] = try await rig.hosts[2].visit("browse", type, "--keys", "ephemeral", name: until)
          advertisers[until] = try await anna.advertise(
            type, ["invitations": "accept", "session": .text(anna.sessionID), "until": .text(until)])
          _ = try await bert.gate.makes(
            "/v1/browsers", ["peer": .text(bert.peer), "serviceType": .text(type), "until": .text(until)])
        }
        for browser in seen.values {
          try await browser.program.event("found", within: .seconds(10)) { $0["peer"] == anna.peer }
        }

        @Laboratory
        func remain(_ left: Set<String>) async throws {
          for (path, peer) in [("/v1/advertisers", anna), ("/v1/browsers", bert)] {
            try await Laboratory.wait(until: "of \(path) those until \(left) remain", within: .seconds(10)) {
              let items = try await peer.gate.asks("GET", "\(path)?peer=\(peer.peer)")["items"]?.list ?? []
              return Set(items.compactMap { $0["until"]?.text }) == left
            }
          }
          for (until, browser) in seen {
            if left.contains(until) {
              #expect(browser.told("lost").isEmpty)
            } else if browser.told("lost").isEmpty {
              try await browser.program.event("lost", within: .seconds(10)) { $0["peer"] == anna.peer }
            }
          }
        }
        try await remain(["connected", "full", "stopped"])
        try await bert.invite(anna.peer, "gate-stopped")
        try await anna.meets(bert.peer)
        try await remain(["full", "stopped"])

        // The program is the third in both sessions.
        let native = try await rig.hosts[2].visit("invite", "gate-full", anna.peer, name: "Cleo")
        for peer in [anna, bert] { try await peer.meets(native.peer, within: .seconds(15)) }
        try await remain(["stopped"])
        try await anna.gate.asks("DELETE", #require(advertisers["stopped"]))
        try await #require(seen["stopped"]).program.event("lost", within: .seconds(10)) { $0["peer"] == anna.peer }
        #expect(try await anna.connected() == [bert.peer, native.peer].sorted())
      }
    }

    @Test
    func `P-HAB-4 A client that leaves is away to another gateway and to a program; its messages wait for its return`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let type = "gate-grace"
        let anna = try await rig.hosts[0].gate("--away-after", "1").peer("Anna")
        let bert = try await rig.hosts[1].gate().peer("Bert")
        let found = try await bert.browse(type)
        let native = try await rig.hosts[2].visit("adhoc", type)
        for peer in [anna, bert] { try await peer.gate.asks("PATCH", peer.session, ["adhoc": .text(type)]) }
        for peer in [anna, bert] { try await peer.meets(native.peer, within: .seconds(15)) }
        try await bert.meets(anna.peer)

        @Laboratory
        func sees(away: Bool) async throws {
          for (path, key) in [(found, "id"), ("\(bert.session)/members", "peer")] {
            try await bert.gate.wait(in: path, "\(anna.peer) is \(away ? "away" : "here")", within: .seconds(15)) {
              $0[key] == .text(anna.peer) && ($0["awaySince"] != nil) == away
            }
          }
          try await native.program.event(away ? "away" : "here", within: .seconds(15)) { $0["peer"] == anna.peer }
        }
        try await sees(away: true)
        try await bert.send("for later")
        try native.say("for later too")
        for text in ["for later", "for later too"] { try await anna.hears(text) }
        // A client that follows a list is present for as long.
        let messages = try anna.gate.follows("\(anna.session)/messages")
        try await sees(away: false)
        try await messages.program.end()
        for events in [native.told("lost"), native.told("notConnected")] { #expect(events.isEmpty) }
        #expect(try await bert.gate.subjects(of: "lost").isEmpty)
      }
    }

    @Test
    func `P-HAB-5 A refusal stands for another gateway, over its restart, and for a program, until a user invites`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let (type, other) = ("gate-refusal", "gate-refusal-2")
        let (anna, bert) = (try await rig.hosts[0].gate().peer("Anna"), try await rig.hosts[1].gate().peer("Bert"))
        for type in [type, other] { try await anna.advertise(type) }
        try await bert.gate.asks("PATCH", bert.session, ["adhoc": .text(type)])
        let native = try await rig.hosts[2].visit("adhoc", other)
        for peer in [bert.peer, native.peer] {
          try await anna.answer(try await anna.invitation(from: peer, within: .seconds(20)), "declined")
        }
        try await bert.sees(anna.peer, leaveAs: "declined")
        let declined = try await native.program.event("notConnected", within: .seconds(5)) { $0["peer"] == anna.peer }
        #expect(declined["reason"] == "declined" && declined.object["askedAgain"] == .truth(false), "\(declined)")

        try await bert.gate.program.end()
        let again = ClientPeer(gate: try await bert.gate.restart(), peer: bert.peer, session: bert.session)
        let found = try await again.browse(type)
        try await again.gate.wait(in: found, "\(anna.peer) is found", within: .seconds(20)) {
          $0["id"] == .text(anna.peer)
        }
        // Ad hoc mode invites within this time.
        await Laboratory.pass(.seconds(6))
        let asked = try await anna.gate.asks("GET", "/v1/invitations?peer=\(anna.peer)")["items"]?.list ?? []
        #expect(asked.count == 2 && asked.allSatisfy { $0["state"] == "declined" }, "\(asked)")

        try await again.invite(anna.peer, type)
        try native.program.say("invite Anna")
        for peer in [bert.peer, native.peer] {
          try await anna.answer(try await anna.invitation(from: peer), "accepted")
          try await anna.meets(peer)
        }
      }
    }

    @Test func `P-NET-1 The session of two gateways on two networks outlives one of them`() async throws {
      try await Rig.lend(2) { rig in
        let second = try await rig.addNetwork()
        for host in rig.hosts { try await host.plug(into: second) }
        let party = try await Gate.party(rig, "gate-networks")
        let (a, b) = (party[0], party[1])
        let said = try b.gate.follows("\(b.session)/messages")
        let members = try b.gate.follows("\(b.session)/members")
        for index in [0, 1] {
          try await a.gate.host.cables[index].cut()
          let text = "over the other, without \(index)"
          try await a.gate.asks(
            "POST", "\(a.session)/messages", nil, "-H", "Content-Type: text/plain", "--data-raw", text)
          try await said.tells(text, within: .seconds(20)) { $0["body"] == .text(text) }
          try await a.gate.host.cables[index].mend()
        }
        let told = members.program.output
        #expect(!told.contains("notConnected") && !told.contains("event: del"), "\(told)")
      }
    }

    @Test(arguments: [2, 10])
    func `P-RES-5 A cable between two gateways is cut in the middle of a file: it goes on, and the hash is right`(
      _ seconds: Int
    ) async throws {
      try await Rig.lend(2) { rig in
        let party = try await Gate.party(rig, "gate-cut")
        let (a, b) = (party[0], party[1])
        let size = 20_000_000
        let sum = try await a.gate.host.file("long.bin", bytes: size)
        try await b.gate.host.cable.set(Faults(bytesPerSecondMax: 5_000_000))
        let sentBefore = try await a.gate.host.bytesSent()
        let resource = try await a.gate.makes(
          "\(a.session)/resources", ["name": "long.bin", "to": .text(b.peer)])
        let ends = try b.gate.follows("\(b.session)/resources")
        try await a.gate.asks("PUT", "\(resource)/content", nil, "-T", "\(LabHost.home)/long.bin")
        try await ends.tells("that a part of it is here", within: .seconds(20)) {
          $0["bytes"]?.count ?? 0 > size / 4
        }
        try await b.gate.host.cable.cut()
        await Laboratory.pass(.seconds(seconds))
        try await b.gate.host.cable.mend()
        var content: String?
        try await ends.tells("that it is here", within: .seconds(60)) {
          content = $0["content"]?.text
          return $0["state"] == "complete"
        }
        try await b.gate.asks("GET", try #require(content), nil, "-o", "\(LabHost.home)/come.bin")
        #expect(try await b.gate.host.sum("come.bin") == sum)
        let sent = try await a.gate.host.bytesSent() - sentBefore
        print("a file of \(size) bytes between two gateways that was cut off for \(seconds) s took \(sent) bytes")
        #expect(sent < size * 5 / 4)
      }
    }
  }
}
