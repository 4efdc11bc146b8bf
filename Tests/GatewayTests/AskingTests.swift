internal import Notation
internal import Testing

@testable internal import Gateway

/// Peers of one gateway that invite and are invited.
@Suite("What becomes of those who are asked", .timeLimit(.minutes(2)), .serialized)
struct AskingTests {
  private func hold(_ test: (TwoClients.SessionClient, TwoClients.SessionClient) async throws -> Void) async throws {
    let gateway = try await TestGateway.open("Here")
    do {
      try await test(try await .taken(at: gateway, by: "Anna"), try await .taken(at: gateway, by: "Bert"))
    } catch {
      await gateway.close()
      throw error
    }
    await gateway.close()
  }

  private func invitation(to side: TwoClients.SessionClient, state: JSON) async throws -> String {
    let one = try await side.client.wait(in: "/v1/invitations?direction=incoming") { $0["state"] == state }
    return "/v1/invitations/\(one["id"]?.text ?? "")"
  }

  @Test(
    "P-SES-1 An invitation that is declined, or fails, is told to the inviter's session as a member that is not connected"
  )
  func failed() async throws {
    try await hold { anna, bert in
      _ = try await bert.client.make("/v1/advertisers", ["serviceType": "chat"])
      let (talk, number) = try await anna.follow("members")
      let wish: JSON = ["session": .text(anna.session), "to": .text(bert.peer), "serviceType": "chat"]
      _ = try await anna.client.make("/v1/invitations", wish)
      let asked = try await invitation(to: bert, state: "pending")
      #expect(try await bert.client.patch(asked, ["state": "declined"]).status == 200)
      let told = try await talk.change(of: number)["put"]
      #expect(told?["state"] == "notConnected" && told?["reason"] == "declined" && told?["displayName"] == "Bert")
      #expect(told?["peer"] == .text(bert.peer) && told?["id"] == .text(bert.peer))
      let member = try await anna.client.get("\(anna.path)/members/\(bert.peer)").json
      #expect(member == told)
      #expect(try await anna.sessionEvents(["notConnected"]).count == 1)
      // The peer is a member as any other once it accepts.
      _ = try await anna.client.make("/v1/invitations", wish)
      let again = try await invitation(to: bert, state: "pending")
      _ = try await bert.client.patch(again, ["state": "accepted", "session": .text(bert.session)])
      #expect(try await talk.change(of: number)["del"] == .text(bert.peer))
      #expect(try await talk.change(of: number)["put"]?["state"] == "connected")
      let members = try await anna.client.get("\(anna.path)/members").json["items"]?.list
      #expect(members?.count == 1 && members?.first?["id"] != .text(bert.peer))
      // The inviter is visible to both sides, over the WebSocket as well as by REST.
      #expect(members?.first?["inviter"] == .text(anna.session) && members?.first?["encryption"] == "optional")
      #expect(try await bert.sees(anna, "connected")["inviter"] == nil)
    }
  }

  @Test("P-SES-1 An invitation that nobody answers is told to the inviter's session as timed out")
  func unanswered() async throws {
    try await hold { anna, bert in
      _ = try await bert.client.make("/v1/advertisers", ["serviceType": "chat"])
      _ = try await anna.client.make(
        "/v1/invitations",
        ["session": .text(anna.session), "to": .text(bert.peer), "serviceType": "chat", "timeout": .real(0.5)])
      let told = try await anna.sees(bert, "notConnected")
      #expect(told["reason"] == "timedOut")
    }
  }

  @Test("P-HAB-5 A peer that declines an ad hoc session is not asked again, and one that it blocks is declined unseen")
  func noStands() async throws {
    try await hold { anna, bert in
      _ = try await bert.client.make("/v1/advertisers", ["serviceType": "chat"])
      _ = try await anna.client.patch(anna.path, ["adhoc": "chat"])
      let asked = try await invitation(to: bert, state: "pending")
      _ = try await bert.client.patch(bert.path, ["blocked": [.text(anna.peer)]])
      _ = try await bert.client.wait(in: "/v1/invitations") {
        asked.hasSuffix($0["id"]?.text ?? "-") && $0["state"] == "declined"
      }
      #expect(try await anna.sees(bert, "notConnected")["reason"] == "blocked")
      _ = try await bert.client.patch(bert.path, ["blocked": []])
      #expect(try await bert.client.get("/v1/invitations").json["items"]?.list?.count == 1)
    }
  }

  @Test("P-HAB-5 A no stands over a restart of both gateways, and an invitation by hand comes through after it")
  func noStandsOverRestart() async throws {
    let here = try await TestGateway.open("Here")
    let there = try await TestGateway.open("There", nextTo: here)
    var anna = try await TwoClients.SessionClient.taken(at: here, by: "Anna")
    var bert = try await TwoClients.SessionClient.taken(at: there, by: "Bert")
    _ = try await anna.client.make("/v1/advertisers", ["serviceType": "chat"])
    _ = try await bert.client.patch(bert.path, ["adhoc": "chat"])
    let asked = try await invitation(to: anna, state: "pending")
    #expect(try await anna.client.patch(asked, ["state": "declined"]).status == 200)
    #expect(try await bert.sees(anna, "notConnected")["reason"] == "declined")
    anna = TwoClients.SessionClient(
      gateway: try await here.restarted(), client: anna.client, peer: anna.peer, session: anna.session)
    bert = TwoClients.SessionClient(
      gateway: try await there.restarted(), client: bert.client, peer: bert.peer, session: bert.session)
    #expect(try await bert.client.get(bert.path).json["adhoc"] == "chat")
    // Each sees the other, and for longer than ad hoc mode takes its time, nobody is asked.
    let found = try await bert.client.make("/v1/browsers", ["serviceType": "chat"]).json["found"]?.text ?? ""
    _ = try await bert.client.wait(in: found, "id", .text(anna.peer))
    let position = try #require(try await anna.client.get("/v1/invitations").json["position"]?.text)
    #expect(try await anna.client.get("/v1/invitations?since=\(position)&wait=5").json["changes"] == [])
    #expect(try await anna.client.get("/v1/invitations?state=pending").ids == [])
    _ = try await bert.client.make(
      "/v1/invitations", ["session": .text(bert.session), "to": .text(anna.peer), "serviceType": "chat"])
    _ = try await invitation(to: anna, state: "pending")
    await anna.gateway.close()
    await bert.gateway.close()
  }

  @Test("P-SEC-1 A session is open to every preference for encryption where nobody says another, so that none comes in")
  func optional() async throws {
    try await hold { anna, bert in
      #expect(try await anna.client.get(anna.path).json["encryption"] == "optional")
      let open = try await bert.client.make("/v1/sessions", ["encryption": "none"])
      var none = bert
      none.session = open.id
      try await anna.connect(with: none)
    }
  }

  @Test("P-HAB-1 Advertisers and browsers that last until somebody is connected, or the session is full, end then")
  func until() async throws {
    try await hold { anna, bert in
      var small = bert
      small.session = try await bert.client.make("/v1/sessions", ["maxPeers": 2]).id
      for until: JSON in ["connected", "full", "stopped"] {
        let type: JSON = .text("type-\(until.text ?? "")")
        let made = try await bert.client.make("/v1/advertisers", ["serviceType": type, "until": until])
        #expect(made.json["until"] == until)
        _ = try await anna.client.make("/v1/browsers", ["serviceType": type, "until": until])
      }
      let wrong = try await bert.client.post("/v1/advertisers", ["serviceType": "x", "until": "never"])
      #expect(wrong.status == 400 && wrong.json["field"] == "until")
      try await anna.connect(with: bert)
      try await expect(["full", "stopped"], in: "/v1/advertisers", of: bert)
      try await expect(["full", "stopped"], in: "/v1/browsers", of: anna)
      try await small.connect(with: anna.another())
      try await expect(["stopped"], in: "/v1/advertisers", of: bert)
      try await expect(["stopped"], in: "/v1/browsers", of: anna)
    }
  }

  /// Polls until the `until` values of the remaining items are these.
  private func expect(_ words: Set<String>, in path: String, of side: TwoClients.SessionClient) async throws {
    var left: Set<String> = []
    for _ in 0..<500 where left != words {
      let items = try await side.client.get("\(path)?peer=\(side.peer)").json["items"]?.list ?? []
      left = Set(items.compactMap { $0["until"]?.text })
    }
    #expect(left == words)
  }

  @Test("P-HAB-1 Ad hoc mode that lasts until somebody is connected ends then, and its advertiser with it")
  func untilAdhoc() async throws {
    try await hold { anna, bert in
      _ = try await anna.client.make(
        "/v1/advertisers",
        ["serviceType": "chat", "invitations": "adhoc", "session": .text(anna.session), "until": "connected"])
      _ = try await bert.client.patch(bert.path, ["adhoc": "chat"])
      _ = try await anna.sees(bert, "connected")
      _ = try await anna.client.wait(in: "/v1/sessions") { $0["id"] == .text(anna.session) && $0["adhoc"] == nil }
      #expect(try await anna.client.get("/v1/advertisers?peer=\(anna.peer)").json["items"] == [])
    }
  }
}

extension TwoClients.SessionClient {
  /// Another session of the same peer.
  fileprivate func another() async throws -> TwoClients.SessionClient {
    var side = self
    side.session = try await client.make("/v1/sessions", ["peer": .text(peer)]).id
    return side
  }
}
