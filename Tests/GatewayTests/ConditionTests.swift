internal import Notation
internal import Testing
internal import Web

@testable internal import Gateway
@testable internal import Nearby

@Suite("What a request is conditional on, and what a refusal tells", .timeLimit(.minutes(2)))
struct ConditionTests {
  /// Uploads say in `Upload-Offset` what they follow.
  private static let unconditional: Set<String> = [
    "PATCH /v1/sessions/{session}/resources/{resource}/content",
    // Its state is wpa_supplicant's, and has no tag.
    "DELETE /v1/radios/{radio}/network",
    // It names the settings that it changes, and leaves the others as they are.
    "PATCH /v1/gateway",
  ]

  @Test("Every change and every removal of a thing is refused where If-Match means another state of it")
  func ifMatch() async throws {
    try await withGateway { gateway in
      let admin = try await gateway.client("admin")
      let meeting = try await TwoClients.near(at: gateway, ["resources": "ask"])
      let (anna, bert) = (meeting.anna, meeting.bert)
      let (client, path) = (anna.client, anna.path)
      func first(_ list: String, _ asker: HTTPClient? = nil) async throws -> String {
        let item = try await (asker ?? client).wait(in: list) { _ in true }
        return "\(list.prefix { $0 != "?" })/\(item["id"]?.text ?? "")"
      }
      var things: [String: (String, HTTPClient)] = [:]
      func make(_ list: String, _ body: JSON, by asker: HTTPClient? = nil) async throws -> String {
        try await (asker ?? client).make(list, body)["Location"] ?? ""
      }
      things["/v1/pairing-codes/{code}"] = (try await make("/v1/pairing-codes", [:], by: admin), admin)
      let guest = try await gateway.pair("member").json["client"]?.text ?? ""
      things["/v1/clients/{client}"] = ("/v1/clients/\(guest)", admin)
      things["/v1/peers/{peer}"] = ("/v1/peers/\(anna.peer)", client)
      things["/v1/advertisers/{advertiser}"] = (try await make("/v1/advertisers", ["serviceType": "chat"]), client)
      things["/v1/browsers/{browser}"] = (try await make("/v1/browsers", ["serviceType": "chat"]), client)
      let invitation: JSON = ["session": .text(anna.session), "to": .text(bert.peer), "serviceType": "chat"]
      things["/v1/invitations/{invitation}"] = (try await make("/v1/invitations", invitation), client)
      things["/v1/sessions/{session}"] = (path, client)
      things["/v1/sessions/{session}/members/{member}"] = (try await first("\(path)/members"), client)
      things["/v1/sessions/{session}/connections/{connection}"] = (try await first("\(path)/connections"), client)
      let comparison = try await make("\(path)/comparisons", ["member": .text(bert.peer)])
      things["/v1/sessions/{session}/comparisons/{comparison}"] = (comparison, client)
      let flow: JSON = ["name": "x", "to": .text(bert.peer)]
      things["/v1/sessions/{session}/streams/{stream}"] = (try await make("\(path)/streams", flow), client)
      things["/v1/sessions/{session}/resources/{resource}"] = (try await make("\(path)/resources", flow), client)
      // One who waits to be let in.
      let cora = try await TwoClients.SessionClient.taken(at: gateway, by: "Cora", ["trust": "ask"])
      _ = (try await cora.call(bert), try await bert.call(cora))
      things["/v1/sessions/{session}/certificates/{decision}"] = (
        try await first("\(cora.path)/certificates", cora.client), cora.client
      )
      let known: JSON = ["peer": .text(bert.peer), "displayName": "Bert"]
      things["/v1/trusted-peers/{peer}"] = (try await make("/v1/trusted-peers", known, by: admin), admin)
      try await gateway.running.host.loop.run { $0.changed(.asked(.some())) }
      things["/v1/bluetooth-pairings/{pairing}"] = (try await first("/v1/bluetooth-pairings", admin), admin)
      // These need files, and are tried in TrustTests.
      let tried: Set = ["/v1/identities/{identity}", "/v1/anchors/{anchor}"]

      for route in Routes.all where route.method == .patch || route.method == .delete {
        let name = "\(route.method.name) \(route.pattern)"
        if Self.unconditional.contains(name) || tried.contains(route.pattern) { continue }
        guard let (path, asker) = things[route.pattern] else {
          Issue.record("\(name) is tried by nobody")
          continue
        }
        let body: JSON = route.pattern.contains("certificates") ? ["decision": "trust"] : [:]
        let before = try await asker.get(path)
        let answer = try await asker.ask(
          route.method.name, path, route.method == .patch ? body.bytes : nil,
          type: route.method == .patch ? "application/json" : nil, headers: ["If-Match": "\"another.1\""])
        #expect(
          answer.status == 412 && answer.problem == "preconditionFailed", "\(name): \(answer.status) \(answer.text)")
        #expect(try await asker.get(path).status == 200 && before.status == 200, "\(name)")
      }
      let (code, asker) = try #require(things["/v1/pairing-codes/{code}"])
      let tag = try #require(try await asker.get(code)["ETag"])
      #expect(try await asker.delete(code, ["If-Match": tag]).status == 204)
      #expect(try await asker.get(code).status == 404)
    }
  }

  @Test("A limit that passes by itself says when; one that somebody has to make room under says what, and no time")
  func retryAfter() async throws {
    try await withGateway({ options in
      options.limits.peersPerClient = 1
      options.limits.sessionsPerPeer = 1
    }) { gateway in
      let (chief, anna) = (try await gateway.client("operator"), try await gateway.client())
      _ = try await anna.make("/v1/peers", ["displayName": "Anna"])
      _ = try await anna.make("/v1/sessions")
      for (path, body) in [("/v1/peers", ["displayName": "Bert"]), ("/v1/sessions", [:])] as [(String, JSON)] {
        let answer = try await anna.post(path, body)
        #expect(answer.status == 429 && answer["Retry-After"] == nil && answer.json["retryAfter"] == nil, "\(path)")
      }
      var answer = try await chief.post("/v1/pairing-codes", ["seconds": 3_600])
      while answer.status == 201 { answer = try await chief.post("/v1/pairing-codes", ["seconds": 3_600]) }
      let seconds = try #require(answer["Retry-After"].flatMap { Int($0) })
      #expect(answer.status == 429 && answer.json["rule"] == "codes" && answer.json["retryAfter"] == .number(seconds))
      #expect((1...3_601).contains(seconds))
      async let one = chief.get("/v1/gateway/diagnostics")
      async let two = chief.get("/v1/gateway/diagnostics")
      let answers = try await [one, two]
      for answer in answers where answer.status == 429 { #expect(answer["Retry-After"] == "10") }
      #expect(answers.contains { $0.status == 200 })
    }
  }

  @Test("HEAD of a list begins no stream of events, in whatever form it is asked for")
  func head() async throws {
    try await withGateway { gateway in
      let anna = try await gateway.client()
      for path in ["/v1/peers", "/v1/events", "/v1/peers?limit=1"] {
        let head = try await anna.ask("HEAD", path, headers: ["Accept": "text/event-stream"])
        #expect(head.status == 200 && head["Content-Type"] == "text/event-stream" && head.body.isEmpty)
      }
      let metrics = try await gateway.stranger.get("/metrics").text
      #expect(metrics.contains("\nvicinity_event_streams 0\n"))
    }
  }

  @Test("A page of another origin on the list may send what it needs, and read what it is told")
  func crossOrigin() async throws {
    try await withGateway({ $0.origins = ["https://stage.example"] }) { gateway in
      let friend = ["Origin": "https://stage.example"]
      func words(_ text: String?) -> Set<String> {
        Set((text ?? "").split(separator: ",").map { $0.filter { $0 != " " } })
      }
      let preflight = try await gateway.stranger.ask("OPTIONS", "/v1/peers", headers: friend)
      let allowed = words(preflight["Access-Control-Allow-Headers"])
      // Each header that the contract knows of a request, and those that carry it.
      var needed: Set = ["Authorization", "Content-Type", "Want-Repr-Digest"]
      for operation in Document.shared.operations {
        for parameter in operation.parameters where parameter["in"] == "header" {
          if let name = parameter["name"]?.text { needed.insert(name) }
        }
      }
      #expect(allowed.isSuperset(of: needed), "\(needed.subtracting(allowed))")
      let shown = words(
        try await gateway.client().get("/v1/peers", friend)["Access-Control-Expose-Headers"])
      #expect(
        shown.isSuperset(of: ["ETag", "Content-Range", "Location", "Repr-Digest", "Retry-After", "Upload-Offset"]))
    }
  }
}
