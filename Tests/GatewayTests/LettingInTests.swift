internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("A client says who comes into its session", .timeLimit(.minutes(2)), .serialized)
struct LettingInTests {
  /// How it ends for the one who wants to come in, and for the one inside.
  private func tries(_ guest: TwoClients.SessionClient, _ host: TwoClients.SessionClient) async throws -> (
    guest: JSON, host: JSON
  ) {
    let (one, two) = (try await guest.call(host), try await host.call(guest))
    return (try await guest.end(of: one), try await host.end(of: two))
  }

  /// Expects that a host cannot connect to a peer that it has banned or blocked, and that the peer cannot get in.
  private func expectBarred(_ guest: TwoClients.SessionClient, by host: TwoClients.SessionClient) async throws {
    let data = try await guest.client.get("\(guest.path)/connection-data").json
    let asked = try await host.client.post("\(host.path)/connections", data)
    #expect(asked.status == 400 && asked.json["detail"]?.text?.contains("banned or blocked") == true, "\(asked.text)")
    let end = try await guest.end(of: try await guest.call(host, timeout: 1))
    #expect(end["state"] == "timedOut" || end["state"] == "failed", "\(end.line)")
    for (side, other) in [(guest, host), (host, guest)] {
      let members = try await side.client.get("\(side.path)/members?state=connected").json["items"]?.list ?? []
      #expect(!members.contains { $0["peer"] == .text(other.peer) })
    }
  }

  @Test("A locked session admits nobody else and keeps its members; an unlocked one admits")
  func locked() async throws {
    try await withGateway { gateway in
      let meeting = try await TwoClients.near(at: gateway)
      let (anna, bert) = (meeting.anna, meeting.bert)
      let cora = try await TwoClients.SessionClient.taken(at: gateway, by: "Cora")
      #expect(try await anna.client.patch(anna.path, ["locked": true]).json["locked"] == true)
      let shut = try await tries(cora, anna)
      #expect(shut.guest["state"] == "failed" && shut.guest["problem"]?["detail"]?.text?.isEmpty == false, "\(shut)")
      #expect(try await cora.client.get("\(cora.path)/members?state=connected").ids == [])
      let sent = try await anna.client.ask("POST", "\(anna.path)/messages", Array("inside".utf8), type: "text/plain")
      #expect(sent.json["delivery"]?["recipients"]?.list?.count == 1)
      _ = try await bert.client.wait(in: "\(bert.path)/messages", "body", "inside")
      #expect(try await cora.client.get("\(cora.path)/messages").ids == [])
      #expect(try await anna.client.patch(anna.path, ["locked": false]).json["locked"] == false)
      try await cora.connect(with: anna)
    }
  }

  @Test("A blocked peer is removed and does not return, everybody else does; unblocked, it does")
  func blocked() async throws {
    try await withGateway { gateway in
      let meeting = try await TwoClients.near(at: gateway)
      let (anna, bert) = (meeting.anna, meeting.bert)
      let cora = try await TwoClients.SessionClient.taken(at: gateway, by: "Cora")
      let blocked = try await anna.client.patch(anna.path, ["blocked": [.text(cora.peer)]])
      #expect(blocked.json["blocked"] == [.text(cora.peer)])
      try await expectBarred(cora, by: anna)
      // Bert is not meant by it, until he is: then he has to go.
      #expect(try await bert.client.get("\(bert.path)/members?state=connected").ids.count == 1)
      let both: JSON = ["blocked": [.text(cora.peer), .text(bert.peer)]]
      #expect(try await anna.client.patch(anna.path, both).status == 200)
      let told = try await bert.client.wait(in: "\(bert.path)/members", "state", "notConnected")
      #expect(told["reason"] == "blocked", "\(told.line)")
      #expect(try await anna.client.patch(anna.path, ["blocked": []]).json["blocked"] == [])
      try await cora.connect(with: anna)
    }
  }

  @Test("A removed member is notified, and returns unless it was banned")
  func removed() async throws {
    try await withGateway { gateway in
      let meeting = try await TwoClients.near(at: gateway)
      let (anna, bert) = (meeting.anna, meeting.bert)
      for isBanned in [false, true] {
        let member = try await anna.client.wait(in: "\(anna.path)/members?state=connected") { _ in true }
        let path = "\(anna.path)/members/\(member["id"]?.text ?? "")\(isBanned ? "?ban=true" : "")"
        #expect(try await anna.client.delete(path).status == 204)
        let told = try await bert.client.wait(in: "\(bert.path)/members", "state", "notConnected")
        #expect(told["reason"] == "removed" && told["detail"]?.text?.isEmpty == false)
        if isBanned {
          try await expectBarred(bert, by: anna)
        } else {
          try await bert.connect(with: anna)
        }
      }
    }
  }

  @Test("An untrusted peer is not admitted, and gets the reason")
  func rejected() async throws {
    try await withGateway { gateway in
      let anna = try await TwoClients.SessionClient.taken(at: gateway, by: "Anna", ["trust": "ask"])
      let bert = try await TwoClients.SessionClient.taken(at: gateway, by: "Bert")
      let (one, two) = (try await anna.call(bert), try await bert.call(anna))
      let pending = try await anna.client.wait(in: "\(anna.path)/certificates", "state", "pending")
      #expect(pending["peer"] == .text(bert.peer) && pending["chain"] == [])
      let path = "\(anna.path)/certificates/\(pending["id"]?.text ?? "")"
      #expect(try await anna.client.patch(path, ["decision": "reject"]).status == 204)
      #expect(try await anna.end(of: one)["state"] == "failed")
      #expect(try await bert.end(of: two)["state"] == "failed")
      let told = try await bert.client.wait(in: "\(bert.path)/members", "state", "notConnected")
      #expect(told["reason"] == "untrusted", "\(told.line)")
      #expect(try await anna.client.get("\(anna.path)/certificates").ids == [])
      #expect(try await anna.client.patch(path, ["decision": "trust"]).status == 404)
    }
  }

  @Test("P-SEC-5 The first by a name is known by its key from then on, and nobody else comes by that name")
  func firstUse() async throws {
    let gateway = try await TestGateway.open()
    let chief = try await gateway.client("operator")
    let anna = try await TwoClients.SessionClient.taken(at: gateway, by: "Anna", ["trust": "firstUse"])
    let bert = try await TwoClients.SessionClient.taken(at: gateway, by: "Bert")
    let impostor = try await TwoClients.SessionClient.taken(at: gateway, by: "Bert")
    try await bert.connect(with: anna)
    // It is known, and nobody has made sure of it.
    let known = try await chief.get("/v1/trusted-peers/\(bert.peer)").json
    #expect(known["displayName"] == "Bert" && known["confirmation"] == "firstUse")
    #expect(try await anna.client.wait(in: "\(anna.path)/members", "state", "connected")["verified"] == false)
    #expect(try await tries(impostor, anna).guest["state"] == "failed")
    // The session's rule made these decisions.
    let deeds = try await chief.get("/v1/audit?by=rule").json["items"]?.list ?? []
    #expect(deeds.map { $0["deed"] } == ["trusted", "accepted", "declined"], "\(deeds.map(\.line))")
    #expect(deeds.first?["about"] == .text("/v1/trusted-peers/\(bert.peer)"))
    #expect(deeds.dropFirst().map { $0["peer"] } == [.text(bert.peer), .text(impostor.peer)])
    #expect(deeds.dropFirst().allSatisfy { $0["session"] == .text(anna.session) })
    #expect(try await chief.get("/v1/trusted-peers").ids == [bert.peer])
    // A peer that somebody has confirmed is verified as before.
    let hand: JSON = ["peer": .text(bert.peer), "displayName": "Bert"]
    #expect(try await chief.post("/v1/trusted-peers", hand).json["confirmation"] == "hand")
    #expect(try await anna.client.wait(in: "\(anna.path)/members", "state", "connected")["verified"] == true)

    let again = try await gateway.restarted()
    let late = try await TwoClients.SessionClient.taken(at: again, by: "Anna2", ["trust": "firstUse"])
    #expect(try await tries(impostor, late).guest["state"] == "failed")
    try await bert.connect(with: late)
    // Another peer may have the name once somebody has allowed it.
    #expect(try await chief.delete("/v1/trusted-peers/\(bert.peer)").status == 204)
    try await impostor.connect(with: late)
    let trusted = try await chief.get("/v1/trusted-peers")
    #expect(trusted.ids.contains(impostor.peer) && !trusted.ids.contains(bert.peer), "\(trusted.text)")
    await again.close()
  }
}
