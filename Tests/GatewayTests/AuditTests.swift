internal import Notation
internal import Store
internal import Synchronization
internal import Testing

@testable internal import Gateway

@Suite("Who let whom in, and with what right", .timeLimit(.minutes(2)))
struct AuditTests {
  // MARK: Scopes

  @Test("A token is for what its scopes say, by HTTP and by WebSocket, over a restart too")
  func scopes() async throws {
    let first = try await TestGateway.open()
    let boss = try await first.client("operator")
    let code = try await boss.make("/v1/pairing-codes", ["scopes": ["peers", "messages"]])
    #expect(code.json["scopes"] == ["peers", "messages"])
    let paired = try await first.stranger.post("/v1/pairings", ["code": code.json["code"] ?? .null])
    #expect(paired.json["scopes"] == ["peers", "messages"])
    let gateway = try await first.restarted()
    let narrow = HTTPClient(port: gateway.port, token: paired.json["token"]?.text)
    #expect(try await narrow.make("/v1/peers", ["displayName": "Anna"]).status == 201)
    for path in ["/v1/sessions", "/v1/events"] {
      let refused = try await narrow.get(path)
      #expect(refused.status == 403 && refused.json["rule"] == "scope", "\(path): \(refused.text)")
    }
    #expect(try await narrow.post("/v1/sessions").json["rule"] == "scope")
    #expect(try await narrow.get("/v1/clients/self/export").json["rule"] == "scope")
    let talk = try await Talk.open(narrow)
    let hello = try await talk.ask(["id": 1, "connect": ["token": .text(narrow.token ?? "")]])
    #expect(hello["ok"]?["scopes"] == ["peers", "messages"])
    #expect(
      try await talk.ask(["id": 2, "subscribe": ["channel": "/v1/sessions"]])["problem"]?["rule"] == "scope")
    #expect(
      try await talk.ask(["id": 3, "request": ["method": "POST", "path": "/v1/sessions"]])["problem"]?["rule"]
        == "scope")
    #expect(try await talk.ask(["id": 4, "subscribe": ["channel": "/v1/peers"]])["ok"] != nil)
    // The client sees its own record, and deletes it.
    #expect(try await narrow.get("/v1/clients/self").json["scopes"] == ["peers", "messages"])
    #expect(try await narrow.get("/v1/gateway").json["client"]?["scopes"] == ["peers", "messages"])
    #expect(try await narrow.delete("/v1/clients/self").status == 204)
    await gateway.close()
  }

  @Test("A client grants others no more than it has")
  func narrowing() async throws {
    try await withGateway { gateway in
      let boss = try await gateway.client("admin")
      let code = try await boss.make("/v1/pairing-codes", ["role": "operator", "scopes": ["clients", "sessions"]])
      let paired = try await gateway.stranger.post("/v1/pairings", ["code": code.json["code"] ?? .null])
      let chief = HTTPClient(port: gateway.port, token: paired.json["token"]?.text)
      #expect(try await chief.make("/v1/pairing-codes").json["scopes"] == ["sessions", "clients"])
      let wider = try await chief.post("/v1/pairing-codes", ["scopes": ["sessions", "resources"]])
      #expect(wider.status == 403 && wider.json["field"] == "scopes")
      #expect(try await boss.post("/v1/pairing-codes", ["scopes": []]).json["field"] == "scopes")
      #expect(try await boss.post("/v1/pairing-codes", ["scopes": ["all"]]).json["rule"] == "oneOf")
      #expect(try await chief.get("/v1/trusted-peers").json["rule"] == "scope")
    }
  }

  @Test("Each route is of a scope, but those that are for every token")
  func routes() {
    let free = Routes.all.filter { $0.scope == nil }.map(\.pattern)
    for path in free {
      #expect(
        [
          "/v1/gateway", "/v1/qr-codes", "/v1/socket", "/v1/pairings", "/openapi.json", "/docs", "/problems",
          "/healthz", "/readyz",
          "/metrics",
        ]
        .contains { path.hasPrefix($0) }, "\(path)")
    }
    #expect(Set(Routes.all.compactMap(\.scope)) == Set(Scope.allCases))
  }

  // MARK: Deeds

  @Test("An operator reads who came in and was sent away, by whom, over a restart")
  func clients() async throws {
    let first = try await TestGateway.open()
    let boss = try await first.client("operator")
    let id = try await boss.get("/v1/gateway").json["client"]?["id"] ?? .null
    let code = try await boss.make("/v1/pairing-codes").json["code"] ?? .null
    let guest = try await first.stranger.post("/v1/pairings", ["code": code]).json["client"]?.text ?? ""
    #expect(try await boss.delete("/v1/clients/\(guest)").status == 204)
    #expect(try await boss.delete("/v1/clients/\(guest)").status == 204)
    func deeds(_ asker: HTTPClient) async throws -> [JSON] {
      try await asker.get("/v1/audit").json["items"]?.list ?? []
    }
    let before = try await deeds(boss)
    #expect(before.map { $0["deed"] } == ["paired", "paired", "revoked"])
    #expect(before.map { $0["by"] } == ["machine", "client", "client"])
    #expect(before[1]["client"] == id && before[1]["about"] == .text("/v1/clients/\(guest)"))
    #expect(before[1]["role"] == "member" && before[2]["client"] == id)
    let gateway = try await first.restarted()
    let again = HTTPClient(port: gateway.port, token: boss.token)
    #expect(try await deeds(again) == before)
    let member = try await gateway.client()
    #expect(try await deeds(again).count == 4)
    #expect(try await again.get("/v1/audit?deed=revoked&by=client").ids == ["3"])
    #expect(try await member.get("/v1/audit").status == 403)
    await gateway.close()
  }

  @Test("Nobody comes in of whom it cannot be kept who let them in")
  func together() async throws {
    try await withGateway { gateway in
      let boss = try await gateway.client("operator")
      let store = try #require(await gateway.running.sessionStore).writer
      try await store.perform {
        try $0.run("CREATE TRIGGER refusal BEFORE INSERT ON deed BEGIN SELECT RAISE(ABORT, 'no deed'); END")
      }
      #expect(try await gateway.pair("member").status == 500)
      #expect(try await boss.get("/v1/clients").ids.count == 1)
      #expect(try await boss.get("/v1/audit").ids == ["1"])
      try await store.perform { try $0.run("DROP TRIGGER refusal") }
      #expect(try await gateway.pair("member").status == 201)
      #expect(try await boss.get("/v1/clients").ids.count == 2)
      #expect(try await boss.get("/v1/audit").ids.count == 2)
    }
  }

  @Test("A change of the gateway's trust is answered once its audit entry is stored")
  func answered() async throws {
    try await withGateway { gateway in
      let boss = try await gateway.client("operator")
      let store = try #require(await gateway.running.sessionStore).writer
      let answers = Mutex(0)
      async let answered: Void = {
        let eve: JSON = ["peer": "okdzt2qpdems2gz5wvkxfb43cq", "displayName": "Eve"]
        let answer = try await boss.post("/v1/trusted-peers", eve)
        #expect(answer.status == 201, "\(answer.text)")
        answers.withLock { $0 += 1 }
      }()
      try await Standstill.hold(on: { body in try await store.perform { _ in body() } }) {
        _ = try await boss.wait(in: "/v1/audit", "deed", "trusted")
        // Requests on the same loop are answered meanwhile.
        for _ in 0..<20 { _ = try await boss.get("/v1/trusted-peers") }
        #expect(answers.withLock { $0 } == 0)
      }
      try await answered
    }
  }

  @Test("An answer of a client is audited as its action, one of its rules as theirs")
  func answers() async throws {
    try await TwoClients.hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.bert, meeting.anna)
      let made = try await anna.client.make("\(anna.path)/resources", ["name": "a", "to": .text(bert.peer)])
      #expect(try await anna.client.ask("PUT", made.json["content"]?.text ?? "", [1, 2, 3]).status == 200)
      let came = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
      let boss = try await bert.gateway.client("operator")
      let file = try await boss.wait(
        in: "/v1/audit?by=rule", "about", .text("\(bert.path)/resources/\(came["id"]?.text ?? "")"))
      #expect(file["deed"] == "accepted" && file["peer"] == .text(anna.peer))
      let owner = try await bert.client.get("/v1/gateway").json["client"]?["id"]
      #expect(file["client"] == owner)
      let taken = try await boss.get("/v1/audit?by=client&deed=accepted").json["items"]?.list ?? []
      #expect(taken.count == 1 && taken.first?["client"] == owner && taken.first?["peer"] == .text(anna.peer))
      #expect(taken.first?["session"] == .text(bert.session))
    }
  }

  @Test("A member of an ad hoc session is audited as admitted by its rule, once")
  func adhoc() async throws {
    let here = try await TestGateway.open("Here")
    let there = try await TestGateway.open("There", nextTo: here)
    let anna = try await TwoClients.SessionClient.taken(at: here, by: "Anna", ["adhoc": "chat"])
    let bert = try await TwoClients.SessionClient.taken(at: there, by: "Bert", ["adhoc": "chat"])
    for (side, other) in [(anna, bert), (bert, anna)] {
      let member = try await side.sees(other, "connected")
      let deeds = try await side.gateway.client("operator").get("/v1/audit?by=rule").json["items"]?.list ?? []
      #expect(deeds.map { $0["deed"] } == ["accepted"] && deeds.first?["peer"] == .text(other.peer))
      #expect(deeds.first?["about"] == .text("\(side.path)/members/\(member["id"]?.text ?? "")"))
    }
    await there.close()
    await here.close()
  }
}
