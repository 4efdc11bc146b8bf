internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("What is asked in a wrong way is refused with a sentence", .timeLimit(.minutes(2)))
struct RequestTests {
  @Test("Nothing there is 404, a method that does not fit is 405 with those that do")
  func paths() async throws {
    try await withGateway { gateway in
      let nobody = gateway.stranger
      #expect(try await nobody.get("/v1/nothing").problem == "notFound")
      #expect(try await nobody.get("/v1/peers/").problem == "notFound")
      let answer = try await nobody.ask("PUT", "/v1/peers")
      #expect(answer.status == 405 && answer["Allow"] == "GET, HEAD, OPTIONS, POST")
      let plain = try await nobody.get("/v1/socket")
      #expect(plain.status == 426 && plain["Upgrade"] == "websocket" && plain.problem == "upgradeRequired")
      #expect(try await nobody.ask("POST", "/v1/socket").status == 405)
    }
  }

  @Test("The dashboard's files are there to be looked at: another method is 405, and OPTIONS says which are not")
  func site() async throws {
    let page = "GET, HEAD, OPTIONS"
    try await withGateway({ $0.dashboardFolder = Document.site }) { gateway in
      for path in ["/", "/index.html"] {
        let refused = try await gateway.stranger.ask("POST", path)
        #expect(refused.status == 405 && refused["Allow"] == page && refused.problem == "methodNotAllowed")
        let asked = try await gateway.stranger.ask("OPTIONS", path)
        #expect(asked.status == 204 && asked["Allow"] == page)
      }
    }
  }

  @Test("A refusal by the server itself names the rule and the limit")
  func rules() async throws {
    try await withGateway { gateway in
      let anna = try await gateway.client()
      let large = [UInt8](repeating: 0x20, count: Service.jsonBytesMax + 1)
      let body = try await anna.ask("POST", "/v1/peers", large, type: "application/json")
      #expect(body.problem == "tooLarge" && body.json["rule"] == "bodyBytes")
      #expect(body.json["limit"] == .number(Service.jsonBytesMax))
      let head = try await anna.get("/v1/peers", ["X": String(repeating: "x", count: 9_000)])
      #expect(head.status == 431 && head.problem == "tooLarge" && head.json["rule"] == "headBytes", "\(head.text)")
      #expect(head.json["limit"] == 8_192 && head.json["status"] == 431)
      let many = try await anna.get(
        "/v1/peers", Dictionary(uniqueKeysWithValues: (0..<100).map { ("X\($0)", "x") }))
      #expect(many.status == 431 && many.json["rule"] == "headFields" && many.json["limit"] == 100)
      let coded = try await anna.get("/v1/peers", ["Transfer-Encoding": "zip"])
      #expect(coded.status == 501 && coded.problem == "unsupported", "\(coded.text)")
    }
  }

  @Test("Without a token it is 401, with one of too small a role 403")
  func roles() async throws {
    try await withGateway { gateway in
      let answer = try await gateway.stranger.get("/v1/peers")
      #expect(answer.status == 401 && answer["WWW-Authenticate"]?.hasPrefix("Bearer") == true)
      var wrong = gateway.stranger
      wrong.token = "vct_wrong"
      #expect(try await wrong.get("/v1/gateway").status == 401)
      wrong.headers = ["Authorization": "Basic YTpi"]
      #expect(try await wrong.get("/v1/peers").problem == "unauthorized")
      let viewer = try await gateway.client("viewer")
      #expect(try await viewer.get("/v1/peers").status == 200)
      #expect(try await viewer.post("/v1/peers", ["displayName": "Anna"]).json["rule"] == "role")
      let member = try await gateway.client()
      #expect(try await member.get("/v1/clients").status == 403)
      let own = try await gateway.client("operator").get("/v1/peers").ids.first ?? ""
      #expect(try await member.post("/v1/sessions", ["peer": .text(own)]).status == 403)
      #expect(try await member.delete("/v1/peers/\(own)").status == 403)
    }
  }

  @Test("A refusal for a role or a scope says what it needs, what the token has, and the command that helps")
  func lacking() async throws {
    try await withGateway { gateway in
      let (viewer, member) = (try await gateway.client("viewer"), try await gateway.client())
      let (chief, boss) = (try await gateway.client("operator"), try await gateway.client("admin"))
      let own = try await chief.get("/v1/peers").ids.first ?? ""
      let code = try await boss.make("/v1/pairing-codes", ["role": "operator", "scopes": ["peers", "clients"]])
      let paired = try await gateway.stranger.post("/v1/pairings", ["code": code.json["code"] ?? .null])
      let narrow = HTTPClient(port: gateway.port, token: paired.json["token"]?.text)
      let refusals = [
        (try await viewer.post("/v1/peers", ["displayName": "Anna"]), "viewer", "--role member"),
        (try await member.get("/v1/clients"), "member", "--role operator"),
        (try await member.post("/v1/sessions", ["peer": .text(own)]), "member", "--role operator"),
        (try await chief.patch("/v1/gateway", ["name": "Mine"]), "operator", "--role admin"),
        (try await chief.post("/v1/pairing-codes", ["role": "operator"]), "operator", "--role operator"),
        (try await narrow.get("/v1/sessions"), "peers", "--role operator --scope peers --scope sessions"),
        (try await narrow.get("/v1/clients/self/export"), "clients", "--role operator'"),
      ]
      for (answer, present, options) in refusals {
        let detail = answer.json["detail"]?.text ?? ""
        #expect(answer.status == 403 && detail.contains("'\(present)'"), "\(answer.text)")
        #expect(detail.contains("'vicinity pair \(options)"), "\(detail)")
      }
    }
  }

  @Test("Fields and query parameters that are wrong, missing or unknown are named")
  func fields() async throws {
    try await withGateway { gateway in
      let anna = try await gateway.client()
      func fault(_ body: String) async throws -> Answer {
        try await anna.ask("POST", "/v1/peers", Array(body.utf8), type: "application/json")
      }
      #expect(try await fault("{\"displayName\":\"A\",\"colour\":1}").json["field"] == "colour")
      #expect(try await fault("{}").json["rule"] == "required")
      #expect(try await fault("{\"displayName\":7}").json["field"] == "displayName")
      #expect(try await fault("{\"displayName\":\"A\",\"lifetime\":\"long\"}").json["rule"] == "oneOf")
      #expect(try await fault("{\"displayName\":\"\(String(repeating: "é", count: 32))\"}").json["rule"] == "P-ID-1")
      for name in ["", "\\u200b", "Ann\\n", "\\u001b[2J", "\\u2028Ann"] {
        let answer = try await fault("{\"displayName\":\"\(name)\"}")
        #expect(answer.status == 400 && answer.json["field"] == "displayName" && answer.json["rule"] == "P-ID-1")
      }
      #expect(try await fault("{\"displayName\"").problem == "badRequest")
      #expect(try await fault("[]").problem == "invalidParameter")
      #expect(try await anna.get("/v1/peers?colour=red").json["field"] == "colour")
      #expect(try await anna.get("/v1/peers?limit=0").json["field"] == "limit")
      #expect(try await anna.get("/v1/peers?limit=1&limit=2").json["rule"] == "once")
      for since in ["x", "0.5", "e.05", "e.-1", ".1"] {
        #expect(try await anna.get("/v1/peers?since=\(since)").json["rule"] == "position", "\(since)")
      }
      #expect(try await anna.get("/v1/peers?after=x").json["rule"] == "cursor")
      #expect(try await anna.get("/v1/peers?wait=1").json["field"] == "wait")
      #expect(try await anna.get("/v1/peers/x?a=b").json["field"] == "a")
    }
  }

  @Test("A body of another type is 415, one that is too large 413, an answer of another type 406")
  func types() async throws {
    try await withGateway { gateway in
      let anna = try await gateway.client()
      #expect(try await anna.ask("POST", "/v1/peers", Array("a".utf8), type: "text/plain").status == 415)
      let large = [UInt8](repeating: 0x20, count: (1 << 20) + 1)
      #expect(try await anna.ask("POST", "/v1/peers", large, type: "application/json").problem == "tooLarge")
      #expect(try await anna.get("/v1/peers", ["Accept": "text/html"]).problem == "notAcceptable")
      #expect(try await anna.get("/v1/gateway", ["Accept": "image/png"]).status == 406)
      #expect(try await anna.get("/v1/peers", ["Accept": "image/png, application/*;q=0.1"]).status == 200)
      #expect(try await anna.get("/v1/peers", ["Accept": "application/json;q=0"]).status == 406)
    }
  }

  @Test("HEAD says what GET would, without the body")
  func head() async throws {
    try await withGateway { gateway in
      let anna = try await gateway.client()
      let (get, head) = (try await anna.get("/v1/peers"), try await anna.ask("HEAD", "/v1/peers"))
      #expect(head.status == 200 && head.body.isEmpty && head["ETag"] == get["ETag"])
      #expect(head["Content-Length"] == get["Content-Length"])
      #expect(try await anna.ask("HEAD", "/v1/peers/x").status == 404)
    }
  }

  @Test("Only the gateway's own names and addresses are answered for")
  func hosts() async throws {
    try await withGateway({ $0.hostNames = ["box.local"] }) { gateway in
      let nobody = gateway.stranger
      for host in ["localhost:1", "127.0.0.1", "[::1]:7777", "box.local:7777", "BOX.local"] {
        #expect(try await nobody.get("/v1/gateway", ["Host": host]).status == 200, "\(host)")
      }
      for host in ["evil.example", "localhost.evil.example", "box.local.evil.example"] {
        let answer = try await nobody.get("/v1/gateway", ["Host": host])
        #expect(answer.status == 421 && answer.problem == "misdirected", "\(host)")
      }
    }
  }

  @Test("Pages of others may ask only where they are on the list, and are told what they may")
  func origins() async throws {
    try await withGateway({ $0.origins = ["https://stage.example"] }) { gateway in
      let anna = try await gateway.client()
      let (friend, foe) = (["Origin": "https://stage.example"], ["Origin": "https://evil.example"])
      let refused = try await anna.get("/v1/peers", foe)
      #expect(refused.status == 403 && refused["Access-Control-Allow-Origin"] == nil)
      #expect(try await anna.ask("OPTIONS", "/v1/peers", headers: foe).status == 403)
      #expect(try await anna.get("/v1/peers", ["Origin": "http://127.0.0.1:\(gateway.port)"]).status == 200)
      #expect(try await anna.get("/v1/peers", ["Origin": "null"]).status == 403)
      let preflight = try await gateway.stranger.ask("OPTIONS", "/v1/peers", headers: friend)
      #expect(preflight.status == 204 && preflight["Access-Control-Allow-Origin"] == "https://stage.example")
      #expect(preflight["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS, POST")
      for path in ["/v1/peers", "/v1/peers/nobody"] {
        #expect(try await anna.get(path, friend)["Access-Control-Allow-Origin"] == "https://stage.example")
      }
      let plain = try await anna.ask("OPTIONS", "/v1/peers")
      #expect(plain.status == 204 && plain["Allow"] == "GET, HEAD, OPTIONS, POST")
      #expect(plain["Access-Control-Allow-Methods"] == nil)
    }
  }

  @Test("A request that is repeated under the same key is done once")
  func idempotency() async throws {
    try await withGateway { gateway in
      let (anna, bert) = (try await gateway.client(), try await gateway.client())
      let key = ["Idempotency-Key": "one"]
      let first = try await anna.post("/v1/peers", ["displayName": "Anna"], key)
      let again = try await anna.post("/v1/peers", ["displayName": "Anna"], key)
      #expect(first.status == 201 && again.status == 201 && again.body == first.body)
      #expect(again["Location"] == first["Location"])
      #expect(try await anna.get("/v1/peers").ids.count == 2)
      #expect(try await anna.post("/v1/peers", ["displayName": "Annabel"], key).status == 422)
      #expect(try await bert.post("/v1/peers", ["displayName": "Bert"], key).status == 201)
      // A refused request is not replayed: the key is free again.
      let other = ["Idempotency-Key": "two"]
      #expect(try await anna.post("/v1/peers", ["displayName": ""], other).status == 400)
      #expect(try await anna.post("/v1/peers", ["displayName": "Anni"], other).status == 201)
      #expect(try await anna.post("/v1/peers", ["displayName": "A"], ["Idempotency-Key": ""]).status == 400)
      let long = String(repeating: "k", count: 256)
      #expect(try await anna.post("/v1/peers", ["displayName": "A"], ["Idempotency-Key": long]).status == 400)
    }
  }

  @Test("One of several concurrent requests under one key is done, and the others get its response or a conflict")
  func concurrency() async throws {
    try await withGateway { gateway in
      let anna = try await gateway.client()
      let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
        for _ in 0..<8 {
          group.addTask { try await anna.post("/v1/peers", ["displayName": "Anna"], ["Idempotency-Key": "k"]) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(answers.allSatisfy { $0.status == 201 || $0.status == 409 })
      #expect(Set(answers.filter { $0.status == 201 }.map(\.id)).count == 1)
      #expect(try await anna.get("/v1/peers").ids.count == 2)
    }
  }

  @Test("An operator is told what stands in the way of others, and what the host advises is among the events")
  func diagnosing() async throws {
    try await withGateway { gateway in
      let (chief, member) = (try await gateway.client("operator"), try await gateway.client())
      #expect(try await member.get("/v1/gateway/diagnostics").status == 403)
      let findings = try await chief.get("/v1/gateway/diagnostics").json["findings"]?.list ?? []
      let checks = Set(findings.compactMap { $0["check"]?.text })
      #expect(checks.isSuperset(of: ["bus", "daemon", "firewall", "isolation", "discovery", "key"]), "\(checks)")
      #expect(findings.first { $0["check"] == "key" }?["state"] == "good")
      _ = try await member.make("/v1/peers", ["displayName": .text(String(repeating: "n", count: 60))])
      let info: JSON = ["a": .text(String(repeating: "x", count: 200)), "b": .text(String(repeating: "y", count: 200))]
      _ = try await member.make("/v1/advertisers", ["serviceType": "chat", "discoveryInfo": info])
      let advice = try await member.wait(in: "/v1/events?event=advice") { _ in true }
      #expect(advice["text"]?.text?.isEmpty == false)
    }
  }
}
