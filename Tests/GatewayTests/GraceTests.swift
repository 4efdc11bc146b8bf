internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("A peer that lives with its client's WebSocket", .timeLimit(.minutes(2)))
struct GraceTests {
  private func areSockets(_ count: Int, at gateway: TestGateway) async throws {
    while try await !gateway.stranger.get("/metrics").text.contains(
      "\nvicinity_websockets{kind=\"channels\"} \(count)\n")
    {}
  }

  @Test("It stays as it was for a WebSocket that breaks and comes back in time, and nobody else notices")
  func comingBack() async throws {
    try await withGateway({ $0.reconnectTimeout = .seconds(3) }) { gateway in
      var isProved = false
      while !isProved {
        let client = try await gateway.client()
        let first = try await Talk.connected(client)
        let anna = try await TwoClients.SessionClient.taken(at: gateway, by: "Anna", as: client, lifetime: "connection")
        let bert = try await TwoClients.SessionClient.taken(at: gateway, by: "Bert")
        try await anna.connect(with: bert)
        let session = try await anna.client.get(anna.path)
        let members = "\(bert.path)/members"
        let position = try #require(try await bert.client.get(members).json["position"]?.text)
        let broken = ContinuousClock.now
        first.hangUp()
        try await areSockets(0, at: gateway)
        let second = try await Talk.connected(anna.client)
        // A busy machine may come too late: then all is done again.
        let isInTime = ContinuousClock.now - broken < .seconds(3)
        // Nothing happens for longer than the time of grace.
        let news = try await bert.client.get("\(members)?since=\(position)&wait=4").json
        guard isInTime else { continue }
        #expect(news["recovered"] == true && news["changes"] == [], "\(news.line)")
        #expect(try await anna.client.get("/v1/peers").ids.contains(anna.peer))
        #expect(try await anna.client.get(anna.path).body == session.body)
        let sent = try await second.ask([
          "id": 1, "request": ["method": "POST", "path": .text("\(anna.path)/messages"), "body": "still here"],
        ])
        #expect(sent["ok"]?["delivery"]?["recipients"]?.list?.count == 1, "\(sent.line)")
        _ = try await bert.client.wait(in: "\(bert.path)/messages", "body", "still here")
        isProved = true

        // The peer and its session are removed if the client does not come back, and the other members see it.
        second.hangUp()
        let gone = try await bert.client.wait(in: members, "state", "notConnected")
        #expect(gone["peer"] == .text(anna.peer) && gone["reason"] == "left", "\(gone.line)")
        #expect(try await anna.client.get("/v1/peers").ids.contains(anna.peer) == false)
        #expect(try await anna.client.get(anna.path).status == 404)
        let third = try await Talk.connected(anna.client)
        #expect(try await anna.client.get(anna.path).status == 404)
        withExtendedLifetime(third) {}
      }
    }
  }

  @Test("It lives as long as any of its client's WebSockets")
  func several() async throws {
    try await withGateway({ $0.reconnectTimeout = .seconds(1) }) { gateway in
      let anna = try await gateway.client()
      let (first, second) = (try await Talk.connected(anna), try await Talk.connected(anna))
      let peer = try await anna.make("/v1/peers", ["displayName": "Brief", "lifetime": "connection"]).id
      let position = try #require(try await anna.get("/v1/peers").json["position"]?.text)
      first.hangUp()
      try await areSockets(1, at: gateway)
      #expect(try await anna.get("/v1/peers?since=\(position)&wait=2").json["changes"] == [])
      second.hangUp()
      let gone = try await anna.get("/v1/peers?since=\(position)&wait=60").json["changes"]?.list
      #expect(gone?.compactMap { $0["del"]?.text } == [peer])
    }
  }
}
