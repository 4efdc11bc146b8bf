import Testing

@testable import lab_rig

extension LabTests {
  /// How the peers of two gateways, and of a program on a third host, find each other and lose each other.
  @Suite @Laboratory
  struct GatewayFindingTests {
    @Test
    func `P-BRO-7 The command line lists peers of all types nearby, those of gateways too, and names types in use`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let gate = try await rig.hosts[0].gate()
        for (name, type) in [("One", "gate-one"), ("Two", "gate-two")] { try await gate.peer(name).advertise(type) }
        _ = try await rig.hosts[1].visit("advertise", "native-three")
        let all = try rig.hosts[2].vicinity(["peers", "--timeout", "4"])
        for (name, type) in [("One", "gate-one"), ("Two", "gate-two")] {
          let found = try await all.event("found", within: .seconds(15)) { $0["name"] == name }
          #expect(found["type"] == type)
        }
        try await all.event("found", within: .seconds(5)) { $0["type"] == "native-three" }
        let nobody = try rig.hosts[2].vicinity(["peers", "gate-none", "--timeout", "2"])
        let error = try await nobody.event("error", within: .seconds(15))
        #expect(error["text"]?.contains("'gate-one', 'gate-two', 'native-three'") == true, "\(error)")
      }
    }

    @Test
    func
      `P-ID-1 P-ID-2 P-ID-3 P-ADV-1 P-ADV-2 P-ADV-3 P-BRO-1 P-BRO-2 P-HAB-3 Peers of gateways are found as they are, once, until they stop`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let type = "gate-found"
        let (a, b) = (try await rig.hosts[0].gate(), try await rig.hosts[1].gate())
        let native = try await rig.hosts[2].visit("browse", type)
        let start = "Ünïcødé 名前 \u{1F469}\u{200D}\u{1F680} "
        let long = start + String(repeating: "x", count: 63 - start.utf8.count)
        let (sam, other) = (try await a.peer("Sam"), try await a.peer("Sam"))
        let (named, looking) = (try await b.peer(long), try await b.peer("Looking"))
        #expect(Set([sam, other, named, looking].map(\.peer)).count == 4)

        let large = String(repeating: "v", count: 250)
        let wrongType: JSON = ["peer": .text(sam.peer), "serviceType": "sixteen-letters-"]
        for (path, body, field, limit) in [
          ("/v1/peers", ["displayName": .text(long + "x")], "displayName", "63"),
          ("/v1/advertisers", wrongType, "serviceType", "15"), ("/v1/browsers", wrongType, "serviceType", "15"),
          (
            "/v1/advertisers",
            ["peer": .text(sam.peer), "serviceType": .text(type), "discoveryInfo": ["key": .text(large + "vv")]],
            "discoveryInfo", "255"
          ),
        ] as [(String, JSON, JSON, String)] {
          let problem = try await a.refusal("POST", path, body)
          #expect(problem["type"] == "/problems/invalidParameter" && problem["field"] == field, "\(problem)")
          #expect(problem["detail"]?.text?.contains(limit) == true, "\(problem)")
        }

        let found = try await looking.browse(type)
        let changes = try b.follows(found)
        let info: JSON = ["room": "1", "much": .text(large), "more": .text(large)]
        let changing = try await sam.advertise(type, ["discoveryInfo": info])
        let stopping = try await other.advertise(type, ["discoveryInfo": ["room": "1"]])
        try await sam.advertise("\(type)-2")
        for peer in [named, looking] { try await peer.advertise(type) }
        for (peer, name, info) in [
          (sam, "Sam", info), (other, "Sam", ["room": "1"]), (named, long, .object([:])),
        ] as [(ClientPeer, String, JSON)] {
          let item = try await changes.tells("that \(peer.peer) is found", within: .seconds(10)) {
            $0["id"] == .text(peer.peer)
          }
          #expect(item["displayName"] == .text(name) && item["discoveryInfo"] == info, "\(item)")
          let event = try await native.program.event("found", within: .seconds(10)) { $0["peer"] == peer.peer }
          #expect(event["name"] == name && event.object["info"] ?? [:] == info, "\(event)")
        }
        try await native.program.event("found") { $0["peer"] == looking.peer }
        try await a.wait(in: "/v1/events", "advice about the info") {
          $0["event"] == "advice" && $0["text"]?.text?.hasPrefix("The discovery info has") == true
        }

        try await a.asks("PATCH", changing, ["discoveryInfo": ["room": "2"]])
        try await changes.tells("that the info has changed") {
          $0["id"] == .text(sam.peer) && $0["discoveryInfo"] == ["room": "2"]
        }
        try await native.program.event("updated") { $0["peer"] == sam.peer && $0.object["info"] == ["room": "2"] }
        try await a.asks("DELETE", stopping)
        try await changes.tells("that \(other.peer) is lost") { $0 == ["id": .text(other.peer)] }
        try await native.program.event("lost") { $0["peer"] == other.peer }

        // The program invites by the ID from the other gateway.
        let guest = try await rig.hosts[2].visit("invite", type, sam.peer, "--keys", "ephemeral")
        try await looking.invite(sam.peer, type)
        for inviter in [guest.peer, looking.peer] {
          try await sam.answer(try await sam.invitation(from: inviter), "declined")
        }
        #expect(try await a.asks("GET", "/v1/invitations?peer=\(other.peer)")["items"] == [])

        // Each event came once, and none about the own peer or another type.
        let told = ["found": [sam, other, named], "lost": [other]]
        for (word, peers) in told {
          let subjects = try await b.subjects(of: word).filter { $0.hasPrefix(found) }
          #expect(subjects.sorted() == peers.map { "\(found)/\($0.peer)" }.sorted(), "\(word)")
          let own = word == "found" ? [looking.peer] : []
          #expect(native.told(word).compactMap { $0["peer"] }.sorted() == (peers.map(\.peer) + own).sorted(), "\(word)")
        }
      }
    }

    @Test func `P-ID-5 A record with the ID of a gateway's peer never becomes that peer to another gateway`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let type = "gate-forged"
        let sam = try await rig.hosts[0].gate().peer("Sam")
        let guest = try await rig.hosts[1].gate().peer("Guest")
        try await sam.advertise(type, ["invitations": "accept", "session": .text(sam.sessionID)])
        try await rig.hosts[2].forge(sam.peer, type)
        let found = try await guest.browse(type)
        try await guest.gate.wait(in: found, "\(sam.peer) is found") { $0["id"] == .text(sam.peer) }
        try await guest.invite(sam.peer, type)
        try await guest.meets(sam.peer, within: .seconds(25))
        try await sam.meets(guest.peer)
        #expect(try await guest.gate.subjects(of: "found") == ["\(found)/\(sam.peer)"])
      }
    }

    @Test
    func `P-ADV-5 P-BRO-4 A gateway without Avahi says why it finds nobody, and is found and finds once there is one`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let type = "gate-mute"
        let host = rig.hosts[0]
        try await host.stopAvahi()
        let (a, b) = (try await host.gate(), try await rig.hosts[1].gate())
        let (mute, other) = (try await a.peer("Mute"), try await b.peer("Other"))
        let discovery = try await a.asks("GET", "/v1/gateway")["discovery"]
        #expect(discovery?["state"] == "unavailable", "\(discovery ?? .nothing)")
        for word in ["cause", "cure"] { #expect(discovery?[word]?.text?.isEmpty == false, "\(word)") }
        let (foundHere, foundThere) = (try await mute.browse(type), try await other.browse(type))
        for peer in [mute, other] { try await peer.advertise(type) }
        let native = try await rig.hosts[2].visit("advertise", type)
        try await b.wait(in: foundThere, "\(native.peer) is found") { $0["id"] == .text(native.peer) }
        #expect(try await a.asks("GET", foundHere)["items"] == [])
        try await host.startAvahi()
        for peer in [other.peer, native.peer] {
          try await a.wait(in: foundHere, "\(peer) is found", within: .seconds(20)) { $0["id"] == .text(peer) }
        }
        try await b.wait(in: foundThere, "\(mute.peer) is found", within: .seconds(20)) { $0["id"] == .text(mute.peer) }
        #expect(try await a.asks("GET", "/v1/gateway")["discovery"] == ["state": "available"])
      }
    }

    @Test func `A gateway with --discovery none announces nothing and finds nobody`() async throws {
      try await Rig.lend(2) { rig in
        let type = "gate-alone"
        let alone = try await rig.hosts[0].gate("--discovery", "none").peer("Alone")
        let records = try rig.hosts[1].browse(type)
        let browser = try await rig.hosts[1].visit("browse", type, "--keys", "ephemeral", name: "Looking")
        try await alone.advertise(type)
        let found = try await alone.browse(type)
        let native = try await rig.hosts[1].visit("advertise", type)
        try await browser.finds(native)
        try await records.tells("=", native.peer)
        // An announcement would arrive within this time.
        await Laboratory.pass(.seconds(4))
        #expect(browser.told("found").map { $0["peer"] } == [native.peer])
        #expect(!records.output.contains(rig.hosts[0].cable.address), "\(records.output)")
        #expect(try await alone.gate.asks("GET", found)["items"] == [])
        #expect(try await alone.gate.asks("GET", "/v1/links")["items"] == [])
      }
    }

    @Test
    func
      `P-ID-4 P-BRO-5 P-SES-1 A gateway that is killed, or whose power goes, is lost in time and is back in its place`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let type = "gate-power"
        let (anna, bert) = (try await rig.hosts[0].gate().peer("Anna"), try await rig.hosts[1].gate().peer("Bert"))
        let found = try await bert.browse(type)
        let native = try await rig.hosts[2].visit("adhoc", type)
        for peer in [anna, bert] { try await peer.gate.asks("PATCH", peer.session, ["adhoc": .text(type)]) }
        for peer in [bert.peer, native.peer] { try await anna.meets(peer) }
        try await bert.meets(native.peer)
        try await bert.gate.wait(in: found, "\(anna.peer) is found") { $0["id"] == .text(anna.peer) }
        try await native.program.event("found") { $0["peer"] == anna.peer }
        let (seen, members) = (try bert.gate.follows(found), try bert.gate.follows("\(bert.session)/members"))

        @Laboratory
        func comesBack(_ text: String) async throws {
          let gate = try await anna.gate.restart()
          let again = ClientPeer(gate: gate, peer: anna.peer, session: anna.session)
          for peer in [bert.peer, native.peer] { try await again.meets(peer, within: .seconds(20)) }
          let sent = try await again.send(text)
          try await bert.hears(text)
          #expect(try await native.hears(text)["peer"] == anna.peer, "\(sent)")
          try await bert.gate.wait(in: found, "\(anna.peer) is found again", within: .seconds(20)) {
            $0["id"] == .text(anna.peer)
          }
        }
        try await anna.gate.program.end()
        try await comesBack("after a kill")

        try await Laboratory.wait(until: "\(anna.peer) stands with the program", within: .seconds(10)) {
          native.standing.contains(anna.peer) && native.connected.contains(anna.peer)
        }
        // Earlier events about Anna are skipped.
        let (losses, ends) = (native.told("lost").count, native.told("notConnected").count)
        let (items, states) = (seen.items.count, members.items.count)
        try await anna.gate.host.kill()
        let start = ContinuousClock.now
        try await Laboratory.wait(until: "\(anna.peer) is not connected", within: .seconds(8)) {
          native.told("notConnected").count > ends
            && members.items.dropFirst(states).contains {
              $0["peer"] == .text(anna.peer) && $0["state"] == "notConnected"
            }
        }
        let ended = ContinuousClock.now - start
        try await Laboratory.wait(until: "\(anna.peer) is lost", within: .seconds(10)) {
          native.told("lost").count > losses && seen.items.dropFirst(items).contains(["id": .text(anna.peer)])
        }
        print(
          "a gateway whose power went was not connected after \(ended), and lost after \(ContinuousClock.now - start)")
        try await anna.gate.host.boot()
        try await comesBack("after a power cut")

        // Found, lost and found again, and never twice the same.
        let told = native.program.events.filter { $0["peer"] == anna.peer && ["found", "lost"].contains($0.name) }
        #expect(zip(told, told.dropFirst()).allSatisfy { $0.name != $1.name }, "\(told.map(\.name))")
        let events = try await bert.gate.asks("GET", "/v1/events?limit=1000")["items"]?.list ?? []
        let words = events.filter { $0["about"] == .text("\(found)/\(anna.peer)") }.compactMap { $0["event"]?.text }
          .filter { ["found", "lost"].contains($0) }
        #expect(words.first == "found" && zip(words, words.dropFirst()).allSatisfy { $0 != $1 }, "\(words)")
        let here = try await bert.gate.asks("GET", "\(bert.session)/members")["items"]?.list ?? []
        #expect(here.count { $0["peer"] == .text(anna.peer) } == 1, "\(here)")
        #expect(try await bert.connected() == [anna.peer, native.peer].sorted())
      }
    }
  }
}
