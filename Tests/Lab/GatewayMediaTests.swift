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
          #expect(try await one.connected() == [one.peer == anna.peer ? bert.peer : anna.peer])
        }
      }
    }
  }
}
