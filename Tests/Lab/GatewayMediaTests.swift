import Testing

@testable import lab_rig

extension LabTests {
  /// Gateways that meet on the network and in a shared folder.
  @Suite @Laboratory
  struct GatewayMediaTests {
    @Test func `P-SES-9 Clients of two gateways go on talking while one medium after the other goes and comes back`()
      async throws
    {
      try await Rig.lend(2) { rig in
        try await rig.makeMeetingFolder()
        var peers: [ClientPeer] = []
        for host in rig.hosts { peers.append(try await host.gate(Rig.twoMedia).peer(host.name)) }
        let (anna, bert) = (peers[0], peers[1])
        try await anna.advertise("gate-media", ["invitations": "accept", "session": .text(anna.sessionID)])
        try await bert.join(anna, "gate-media")
        var texts: [String] = []
        @Laboratory func talk(by medium: JSON) async throws {
          for _ in 0..<10 {
            texts.append("message-\(texts.count)")
            try await anna.send(texts[texts.count - 1])
          }
          try await bert.hears(texts[texts.count - 1])
          for gate in [anna.gate, bert.gate] {
            try await Laboratory.wait(until: "the link in use is one by \(medium)", within: .seconds(10)) {
              let links = try await gate.asks("GET", "/v1/links")["items"]?.list ?? []
              return links.filter { $0["standby"] == false }.map { $0["medium"] } == [medium]
            }
          }
        }
        try await talk(by: "folder")
        try await rig.setMeetingFolder(false)
        try await talk(by: "lan")
        try await rig.setMeetingFolder(true)
        try await talk(by: "folder")
        try await bert.gate.host.cable.cut()
        try await talk(by: "folder")
        try await bert.gate.host.cable.mend()
        #expect(try await bert.messages(from: anna.peer) == texts)
        for one in [anna, bert] {
          let events = try await one.gate.asks("GET", "/v1/events?event=mediumChanged")["items"]?.list ?? []
          #expect(events.compactMap { $0["medium"] }.suffix(2) == ["lan", "folder"])
          let member = try await one.gate.asks("GET", "\(one.session)/members")["items"]?.list?.first
          #expect(member?["medium"] == "folder")
          #expect(try await one.connected() == [one.peer == anna.peer ? bert.peer : anna.peer])
        }
      }
    }

    @Test
    func `P-SES-8 Clients of two gateways without a common medium find each other, talk and send a file over a relay`()
      async throws
    {
      try await Rig.lend(3) { rig in
        try await rig.makeMeetingFolder()
        let type = "gate-relayed"
        let relay = try await rig.hosts[2].visit("adhoc", "gate-relays", Rig.twoMedia + ["--medium", "relay"])
        let anna = try await rig.hosts[0].gate(["--medium", Rig.folderMedium, "--medium", "relay"]).peer("Anna")
        let bert = try await rig.hosts[1].gate(["--medium", "lan", "--medium", "relay"]).peer("Bert")
        try await anna.advertise(type, ["invitations": "accept", "session": .text(anna.sessionID)])
        let found = try await bert.browse(type)
        try await bert.gate.wait(in: found, "\(anna.peer) is found", within: .seconds(20)) {
          $0["id"] == .text(anna.peer)
        }
        try await bert.invite(anna.peer, type)
        try await bert.meets(anna.peer, within: .seconds(20))
        try await anna.meets(bert.peer)
        for (one, other) in [(anna, bert), (bert, anna)] {
          try await one.send("from \(one.peer)")
          try await other.hears("from \(one.peer)")
          let links = try await one.gate.asks("GET", "/v1/links")["items"]?.list ?? []
          #expect(links.contains { $0["medium"] == "relay" && $0["via"] != nil && $0["loss"] != nil }, "\(links)")
        }
        let sum = try await anna.gate.host.file("picture.bin", bytes: 3_000_000)
        let resource = try await anna.gate.makes(
          "\(anna.session)/resources", ["name": "picture.bin", "to": .text(bert.peer)])
        try await anna.gate.asks("PUT", "\(resource)/content", nil, "-T", "\(LabHost.home)/picture.bin")
        let received = try await bert.gate.wait(in: "\(bert.session)/resources", "the file", within: .seconds(30)) {
          $0["state"] == "complete"
        }
        let content = try #require(received["content"]?.text)
        try await bert.gate.asks("GET", content, nil, "-o", "\(LabHost.home)/received.bin")
        #expect(try await bert.gate.host.sum("received.bin") == sum)
        #expect(relay.messages.isEmpty && relay.connected.isEmpty)
      }
    }
  }
}
