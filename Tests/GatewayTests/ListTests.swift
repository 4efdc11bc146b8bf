internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("Things are made, listed, changed and removed", .timeLimit(.minutes(2)))
struct ListTests {
  /// A client with a peer.
  private func side(_ gateway: TestGateway) async throws -> (client: HTTPClient, peer: String) {
    let client = try await gateway.client()
    return (client, try await client.make("/v1/peers", ["displayName": "Anna"]).id)
  }

  @Test(
    "A created item is listed, is hidden from other clients, and is gone when it is removed",
    arguments: [
      ("/v1/advertisers", ["serviceType": "chat", "discoveryInfo": ["a": "b"]] as JSON),
      ("/v1/browsers", ["serviceType": "chat"] as JSON), ("/v1/sessions", [:] as JSON),
      ("/v1/sessions", ["adhoc": "chat", "maxPeers": 8, "history": ["keep": "none"]] as JSON),
      ("/v1/advertisers", ["serviceType": "chat", "invitations": "adhoc"] as JSON),
    ] as [(String, JSON)])
  func lives(path: String, body: JSON) async throws {
    try await withGateway { gateway in
      let (anna, peer) = try await side(gateway)
      let bert = try await side(gateway).client
      let made = try await anna.make(path, body)
      let location = try #require(made["Location"])
      #expect(location == "\(path)/\(made.id)" && made.json["peer"] == .text(peer))
      let got = try await anna.get(location)
      #expect(got.body == made.body && got["ETag"] != nil)
      #expect(try await anna.get(path).ids == [made.id])
      #expect(try await anna.get("\(path)?peer=\(peer)").ids == [made.id])
      #expect(try await anna.get("\(path)?peer=nobody").ids == [])
      #expect(try await anna.get(location, ["If-None-Match": got["ETag"] ?? ""]).status == 304)
      #expect(try await bert.get(location).status == 404)
      #expect(try await bert.get(path).ids == [])
      #expect(try await bert.delete(location).status == 404)
      #expect(try await anna.delete(location, ["If-Match": "\"else.1\""]).status == 412)
      #expect(try await anna.delete(location, ["If-Match": got["ETag"] ?? ""]).status == 204)
      #expect(try await anna.delete(location).status == 204)
      #expect(try await anna.get(location).status == 404)
      #expect(try await anna.get(path).ids == [])
    }
  }

  @Test("A list comes in pages, whose links lead through all of it in order")
  func pages() async throws {
    try await withGateway { gateway in
      let (anna, _) = try await side(gateway)
      var made: [String] = []
      for number in 0..<7 {
        made.append(try await anna.make("/v1/browsers", ["serviceType": .text("chat-\(number % 2)")]).id)
      }
      var listed: [String] = []
      var path: String? = "/v1/browsers?limit=3"
      while let next = path {
        let page = try await anna.get(next)
        listed += page.ids
        #expect(page.ids.count <= 3)
        #expect((page.json["next"] != nil) == (page["Link"] != nil))
        path = page["Link"].map { String($0.dropFirst().prefix { $0 != ">" }) }
        // Deletions on earlier pages do not shift the later ones.
        if path != nil { _ = try await anna.delete("/v1/browsers/\(page.ids[0])") }
      }
      #expect(listed == made)
      let odd = try await anna.get("/v1/browsers?serviceType=chat-1&limit=1")
      #expect(odd["Link"]?.contains("serviceType=chat-1") == true && odd.ids.count == 1)
    }
  }

  @Test("A change names the state that it means, or is not made where that has passed")
  func matching() async throws {
    try await withGateway { gateway in
      let (anna, _) = try await side(gateway)
      let made = try await anna.make("/v1/sessions")
      let path = made["Location"] ?? ""
      let old = try await anna.get(path)["ETag"] ?? ""
      let locked = try await anna.patch(path, ["locked": true], ["If-Match": old])
      #expect(locked.status == 200 && locked.json["locked"] == true && locked["ETag"] != old)
      #expect(try await anna.patch(path, ["locked": false], ["If-Match": old]).problem == "preconditionFailed")
      #expect(try await anna.patch(path, ["locked": false], ["If-Match": "*"]).json["locked"] == false)
      #expect(try await anna.patch(path, ["blocked": ["nobody"]]).json["field"] == "blocked")
      #expect(try await anna.patch(path, ["locked": true, "blocked": ["nobody"]]).status == 400)
      #expect(try await anna.get(path).json["locked"] == false)
      #expect(try await anna.patch(path, ["adhoc": "chat"]).json["adhoc"] == "chat")
      let refused = try await anna.patch(path, ["locked": true, "adhoc": "no type"])
      #expect(refused.status == 400 && refused.json["field"] == "adhoc")
      let after = try await anna.get(path).json
      #expect(after["adhoc"] == "chat" && after["locked"] == false)
      #expect(try await anna.get("/v1/sessions?adhoc=chat").ids == [made.id])
      #expect(try await anna.patch(path, ["adhoc": nil]).json["adhoc"] == nil)
      #expect(try await anna.patch(path, ["adhoc": "Not A Type"]).json["field"] == "adhoc")
    }
  }

  @Test("A repeated request on one connection gets the present state, and nothing once its token is revoked")
  func asking() async throws {
    try await withGateway { gateway in
      let boss = try await gateway.client("operator")
      let (anna, _) = try await side(gateway)
      let path = try await anna.make("/v1/sessions")["Location"] ?? ""
      let line = try anna.line()
      let words = anna.head("GET", path, nil, nil, ["Connection": "keep-alive"])
      func again() async throws -> Answer {
        try await onThread {
          try line.write(words)
          return try line.readAnswer(to: "GET")
        }
      }
      let first = try await again()
      #expect(first.status == 200 && first.json["locked"] == false)
      for _ in 0..<2 {
        let same = try await again()
        #expect(same.body == first.body && same["ETag"] == first["ETag"] && same["Vary"] == first["Vary"])
      }
      _ = try await anna.patch(path, ["locked": true])
      let changed = try await again()
      #expect(changed.json["locked"] == true && changed["ETag"] != first["ETag"])
      // A valid token stays valid when others are forgotten.
      let other = try await gateway.pair("member")
      #expect(try await boss.delete("/v1/clients/\(other.json["client"]?.text ?? "")").status == 204)
      #expect(try await again().body == changed.body)
      let id = try await anna.get("/v1/clients/self").id
      #expect(try await boss.delete("/v1/clients/\(id)").status == 204)
      #expect(try await again().status == 401)
      #expect(try await again().status == 401)
    }
  }

  @Test("An advertiser can be changed, and invalid fields are named")
  func advertisers() async throws {
    try await withGateway { gateway in
      let (anna, peer) = try await side(gateway)
      let made = try await anna.make("/v1/advertisers", ["serviceType": "chat"])
      let path = made["Location"] ?? ""
      #expect(made.json["state"] == "advertising" && made.json["invitations"] == "ask")
      #expect(try await anna.patch(path, ["discoveryInfo": ["a": "b"]]).json["discoveryInfo"] == ["a": "b"])
      #expect(try await anna.post("/v1/advertisers", ["serviceType": "No Good"]).json["field"] == "serviceType")
      let large: JSON = ["a": .text(String(repeating: "b", count: 300))]
      #expect(
        try await anna.post("/v1/advertisers", ["serviceType": "chat", "discoveryInfo": large]).json["field"]
          == "discoveryInfo")
      #expect(try await anna.get("/v1/advertisers").ids == [made.id])
      #expect(try await anna.delete("/v1/peers/\(peer)").status == 204)
      #expect(try await anna.get("/v1/advertisers").ids == [])
      #expect(try await anna.post("/v1/browsers", ["serviceType": "chat"]).json["field"] == "peer")
    }
  }

  @Test("A peer of a connection goes some time after its last WebSocket, and not before")
  func connections() async throws {
    try await withGateway({ $0.reconnectTimeout = .milliseconds(200) }) { gateway in
      let anna = try await gateway.client()
      let talk = try await Talk.connected(anna)
      let brief = try await anna.make("/v1/peers", ["displayName": "Brief", "lifetime": "connection"]).id
      let stored = try await anna.make("/v1/peers", ["displayName": "Stored"]).id
      let events = try await anna.follow("/v1/peers")
      #expect(try await events.next()?.data["items"]?.list?.count == 3)
      talk.hangUp()
      let gone = try await events.next()
      #expect(gone?.name == "del" && gone?.data == ["id": .text(brief)])
      #expect(try await anna.get("/v1/peers").ids.contains(stored))
    }
  }
}
