internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("Clients are let in by codes, and sent away", .timeLimit(.minutes(2)))
struct PairingTests {
  @Test("A code is for one use, and a wrong one spends none")
  func codes() async throws {
    try await withGateway { gateway in
      let code = try await gateway.running.makePairingCode()
      let nobody = gateway.stranger
      #expect(try await nobody.post("/v1/pairings", ["code": "AAAA-AAAA"]).json["rule"] == "pairingCode")
      let answer = try await nobody.post("/v1/pairings", ["code": .text(code.lowercased()), "name": "laptop"])
      #expect(answer.status == 201 && answer.json["role"] == "operator" && answer.json["name"] == "laptop")
      #expect(try await nobody.post("/v1/pairings", ["code": .text(code)]).status == 403)
      let laptop = HTTPClient(port: gateway.port, token: answer.json["token"]?.text)
      let about = try await laptop.get("/v1/gateway")
      #expect(about.json["client"]?["name"] == "laptop" && about.json["limits"] != nil)
      #expect(try await nobody.get("/v1/gateway").json["host"] == nil)
      #expect(try await laptop.get("/v1/clients?role=operator").ids == [answer.json["client"]?.text])
      #expect(try await laptop.get("/v1/clients?role=member").ids == [])
    }
  }

  @Test("P-ID-1 A client has a name as a peer has one, and a name that cannot be one spends no code")
  func names() async throws {
    try await withGateway { gateway in
      let code = try await gateway.running.makePairingCode()
      let nobody = gateway.stranger
      for (name, why) in [
        ("", "empty"), (" ", "seen"), (" \t ", "U+0009"), ("\u{3000}", "seen"), ("\u{200b}", "seen"),
        ("a\u{1b}b", "U+001B"), (String(repeating: "ž", count: 32), "63"),
      ] {
        let answer = try await nobody.post("/v1/pairings", ["code": .text(code), "name": .text(name)])
        #expect(answer.status == 400 && answer.json["field"] == "name", "\(answer.text)")
        #expect(answer.json["detail"]?.text?.contains(why) == true, "\(answer.text)")
      }
      let answer = try await nobody.post("/v1/pairings", ["code": .text(code), "name": "Zoë 👩‍👩‍👧"])
      #expect(answer.status == 201 && answer.json["name"] == "Zoë 👩‍👩‍👧")
    }
  }

  @Test("A client lets in others of smaller roles, and the code is told once")
  func makingCodes() async throws {
    try await withGateway { gateway in
      let boss = try await gateway.client("operator")
      let made = try await boss.make("/v1/pairing-codes", ["role": "viewer", "seconds": 60])
      #expect(made.json["code"]?.text?.count == 9)
      let kept = try await boss.get(made["Location"] ?? "")
      #expect(kept.status == 200 && kept.json["code"] == nil && kept.json["role"] == "viewer")
      #expect(try await boss.get("/v1/pairing-codes").ids == [made.id])
      #expect(try await boss.post("/v1/pairing-codes", ["role": "operator"]).json["field"] == "role")
      #expect(try await boss.post("/v1/pairing-codes", ["seconds": 1]).json["field"] == "seconds")
      #expect(try await boss.delete("/v1/pairing-codes/\(made.id)").status == 204)
      #expect(try await boss.delete("/v1/pairing-codes/\(made.id)").status == 204)
      let spent = try await gateway.stranger.post("/v1/pairings", ["code": made.json["code"] ?? .null])
      #expect(spent.status == 403)
    }
  }

  @Test("A code for several clients lets in as many, is for guests only, and their tokens end when it ends")
  func sharedCodes() async throws {
    try await withGateway { gateway in
      let boss = try await gateway.client("operator")
      let wish: JSON = [
        "role": "member", "scopes": ["sessions", "resources"], "seconds": 3_600, "uses": 2, "label": "Wall",
      ]
      let made = try await boss.make("/v1/pairing-codes", wish)
      #expect(made.json["uses"] == 2 && made.json["label"] == "Wall")
      let end = made.json["expiresAt"]?.text ?? ""
      for left in [JSON.number(1), Optional<JSON>.none] {
        let guest = try await gateway.stranger.post(
          "/v1/pairings", ["code": made.json["code"] ?? .null, "name": "guest"])
        #expect(guest.status == 201 && guest.json["scopes"] == ["sessions", "resources"])
        // The two times come from two clocks, read one after the other.
        #expect(guest.json["expiresAt"]?.text?.prefix(15) == end.prefix(15), "\(guest.text) \(end)")
        #expect(try await boss.get(made["Location"] ?? "").json["uses"] == left)
      }
      let late = try await gateway.stranger.post("/v1/pairings", ["code": made.json["code"] ?? .null])
      #expect(late.status == 403 && late.json["rule"] == "pairingCode")
      for uses: JSON in [0, 1_001] {
        #expect(try await boss.post("/v1/pairing-codes", ["uses": uses]).json["field"] == "uses")
      }
      let admin = try await gateway.client("admin")
      #expect(try await admin.post("/v1/pairing-codes", ["role": "operator", "uses": 2]).json["field"] == "uses")
    }
  }

  @Test(
    "A client that guesses codes waits, locks out neither another address nor the machine itself, and spends no code")
  func guessing() async throws {
    try await withGateway({ $0.trustedProxies = ["127.0.0.1"] }) { gateway in
      func guess(_ address: String?, _ code: String = "AAAA-AAAA") async throws -> Answer {
        try await gateway.stranger.post(
          "/v1/pairings", ["code": .text(code)], address.map { ["X-Forwarded-For": $0] } ?? [:])
      }
      let code = try await gateway.running.makePairingCode(role: "member")
      for _ in 0..<10 { #expect(try await guess("203.0.113.7").status == 403) }
      let answer = try await guess("203.0.113.7", code)
      #expect(answer.status == 429 && answer.json["rule"] == "guesses" && answer.json["limit"] == 10)
      let time = try #require(answer["Retry-After"].flatMap { Int($0) })
      #expect((1...60).contains(time) && answer.json["retryAfter"] == .number(time))
      #expect(try await guess("203.0.113.8").status == 403)
      for _ in 0..<20 { #expect(try await guess(nil).status == 403) }
      #expect(try await guess(nil, code).status == 429)
      #expect(try await guess("198.51.100.1", code).status == 201)
    }
  }

  @Test("With HTTPS alone, a code that was sent in the clear is void, whatever it is for")
  func spoilt() async throws {
    try await withGateway({ ($0.trustedProxies, $0.isHTTPSOnly) = (["127.0.0.1"], true) }) { gateway in
      let code = try await gateway.running.makePairingCode(role: "viewer")
      func spend(_ scheme: String) async throws -> Answer {
        try await gateway.stranger.post(
          "/v1/pairings", ["code": .text(code)], ["X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": scheme])
      }
      #expect(try await spend("http").json["rule"] == "privateConnection")
      #expect(try await spend("https").json["rule"] == "pairingCode")
    }
  }

  @Test("A page's cookie needs the word of its pairing with each change")
  func cookies() async throws {
    try await withGateway { gateway in
      let paired = try await gateway.pair("member", [.init("cookie", true)])
      let cookie = try #require(paired["Set-Cookie"])
      #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && paired.json["token"] == nil)
      var page = gateway.stranger
      page.headers["Cookie"] = "other=1; \(cookie.prefix { $0 != ";" })"
      #expect(try await page.get("/v1/peers").status == 200)
      #expect(try await page.post("/v1/peers", ["displayName": "Anna"]).json["rule"] == "csrf")
      page.headers["X-Vicinity-CSRF"] = "wrong"
      #expect(try await page.post("/v1/peers", ["displayName": "Anna"]).status == 403)
      // A page that has lost its word pairs anew.
      let code = try await gateway.running.makePairingCode()
      #expect(try await page.post("/v1/pairings", ["code": .text(code)]).status == 201)
      page.headers["X-Vicinity-CSRF"] = paired.json["csrf"]?.text
      #expect(try await page.post("/v1/peers", ["displayName": "Anna"]).status == 201)
      let talk = try await Talk.open(page, ["Cookie": page.headers["Cookie"] ?? ""])
      #expect(try await talk.ask(["id": 1, "connect": [:]])["ok"]?["role"] == "member")
    }
  }

  @Test("A revoked client is out at once: token, WebSockets, event streams, waiting requests, peers")
  func revocation() async throws {
    try await withGateway { gateway in
      let boss = try await gateway.client("operator")
      let paired = try await gateway.pair("member")
      let id = paired.json["client"]?.text ?? ""
      let anna = HTTPClient(port: gateway.port, token: paired.json["token"]?.text)
      let peer = try await anna.make("/v1/peers", ["displayName": "Anna"]).id
      let talk = try await Talk.connected(anna)
      let events = try await anna.follow("/v1/peers")
      #expect(try await events.next()?.name == "snapshot")
      let position = try #require(try await anna.get("/v1/browsers").json["position"]?.text)
      // Requests that wait already, and later ones, are answered 401.
      async let waiting = anna.get("/v1/browsers?wait=60&since=\(position)")
      #expect(try await boss.delete("/v1/clients/\(id)").status == 204)
      #expect(try await talk.closing() == 4403)
      #expect(try await waiting.status == 401)
      var last = try await events.next()
      while last?.name == "put" || last?.name == "del" { last = try await events.next() }
      #expect(last == nil)
      #expect(try await anna.get("/v1/peers").status == 401)
      #expect(try await boss.get("/v1/clients/\(id)").status == 404)
      #expect(try await !boss.get("/v1/peers").ids.contains(peer))
      #expect(try await boss.delete("/v1/clients/\(id)").status == 204)
    }
  }

  @Test("A client ends its own token, and nobody else's")
  func leaving() async throws {
    try await withGateway { gateway in
      let (anna, bert) = (try await gateway.client(), try await gateway.client())
      let (annas, berts) = (
        try await anna.get("/v1/gateway").json["client"]?["id"]?.text ?? "",
        try await bert.get("/v1/gateway").json["client"]?["id"]?.text ?? ""
      )
      #expect(try await anna.delete("/v1/clients/\(berts)").status == 403)
      #expect(try await anna.delete("/v1/clients/\(annas)").status == 204)
      #expect(try await anna.get("/v1/gateway").status == 401)
    }
  }

  @Test("An operator ends the tokens of others and their codes, and none of an admin's")
  func ranks() async throws {
    try await withGateway { gateway in
      let (admin, chief) = (try await gateway.client("admin"), try await gateway.client("operator"))
      let (other, member) = (try await gateway.client("operator"), try await gateway.client())
      func id(_ asker: HTTPClient) async throws -> String {
        try await asker.get("/v1/gateway").json["client"]?["id"]?.text ?? ""
      }
      let code = try await admin.post("/v1/pairing-codes", ["role": "admin"])
      #expect(try await chief.delete(code["Location"] ?? "").status == 403)
      #expect(try await chief.delete("/v1/clients/\(try await id(admin))").json["rule"] == "role")
      for asker in [other, member] {
        #expect(try await chief.delete("/v1/clients/\(try await id(asker))").status == 204)
      }
      #expect(try await admin.get("/v1/clients").status == 200)
      #expect(try await admin.delete(code["Location"] ?? "").status == 204)
      #expect(try await admin.delete("/v1/clients/\(try await id(chief))").status == 204)
    }
  }

  /// A guest whose token ends in a few seconds.
  private func guest(of gateway: TestGateway) async -> HTTPClient {
    let token: String? = await withCheckedContinuation { continuation in
      gateway.running.start { core in
        let made = try? core.clients.add(name: "guest", role: .member, lasting: .seconds(6))
        if let made { try? await core.keep(made.client, letInBy: .machine) }
        continuation.resume(returning: made?.token)
      }
    }
    return HTTPClient(port: gateway.port, token: token)
  }

  @Test("A client's peers and sessions are removed some time after its token has expired")
  func removal() async throws {
    try await withGateway {
      $0.expiredTime = .seconds(2)
    } _: { gateway in
      let chief = try await gateway.client("operator")
      let guest = await guest(of: gateway)
      let peer = try await guest.make("/v1/peers", ["displayName": "Guest"]).id
      _ = try await guest.make("/v1/sessions", ["peer": .text(peer)])
      let path = "/v1/clients/\(try await guest.get("/v1/clients/self").json["id"]?.text ?? "")"
      let entry = try await chief.wait(in: "/v1/audit", "deed", "expired")
      #expect(entry["about"] == .text(path) && entry["by"] == "machine")
      #expect(try await guest.get("/v1/peers").status == 401)
      #expect(try await chief.get(path).status == 404)
      let left = await gateway.running.answer { core in (Array(core.peers.ids), core.sessions.count) }
      #expect(left.map { !$0.0.contains(peer) && $0.1 == 0 } == true, "\(String(describing: left))")
    }
  }

  @Test("The streams of a client end with its token")
  func ending() async throws {
    try await withGateway { gateway in
      let guest = await guest(of: gateway)
      let talk = try await Talk.connected(guest)
      let events = try await guest.follow("/v1/peers")
      #expect(try await events.next()?.name == "snapshot")
      #expect(try await talk.closing() == 4403)
      #expect(try await events.next() == nil)
      #expect(try await guest.get("/v1/peers").status == 401)
    }
  }
}
