internal import Notation
internal import Store
internal import Testing

@testable internal import Gateway

@Suite("Unreliable messages are a channel of their own", .timeLimit(.minutes(3)), .serialized)
struct DatagramTests {
  private func post(_ text: String, from side: TwoClients.SessionClient, _ query: String = "mode=unreliable")
    async throws -> Answer
  {
    try await side.client.ask("POST", "\(side.path)/messages?\(query)", Array(text.utf8), type: "text/plain")
  }

  /// A gateway stores nothing meanwhile.
  private func holdingUp(_ gateways: [TestGateway], _ body: () async throws -> Void) async throws {
    guard let gateway = gateways.first else { return try await body() }
    let store = try #require(await gateway.running.sessionStore).writer
    try await Standstill.hold(on: { stand in try await store.perform { _ in stand() } }) {
      try await holdingUp(Array(gateways.dropFirst()), body)
    }
  }

  @Test("P-MSG-4 Unreliable messages of a durable session wait for no commit, and are never in its history")
  func waitForNoCommit() async throws {
    try await TwoClients.hold(["history": ["keep": "durable"]]) { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let (datagrams, number) = try await anna.follow("datagrams")
      let (messages, other) = try await anna.follow("messages")
      try await withThrowingTaskGroup(of: Int.self) { group in
        try await holdingUp([anna.gateway, bert.gateway]) {
          // Reliable ones wait on both sides, and so do those who post them.
          for side in [anna, bert] {
            for _ in 0..<8 { group.addTask { try await post("waits", from: side, "").status } }
          }
          for count in 1...20 {
            let sent = try await post("at once \(count)", from: bert)
            #expect(sent.status == 202 && sent["Location"] == nil && sent.json["delivery"] == nil, "\(sent.text)")
            let told = try await datagrams.change(of: number)
            #expect(told["put"]?["body"] == .text("at once \(count)") && told["put"]?["mode"] == "unreliable")
          }
        }
        for try await status in group { #expect(status == 201) }
      }
      _ = try await post("kept", from: bert, "")
      while try await messages.change(of: other)["put"]?["body"] != "kept" {}
      for side in [anna, bert] {
        #expect(try await side.client.get("\(side.path)/messages?mode=unreliable").ids == [])
        #expect(try await side.client.get("\(side.path)/datagrams").ids == [])
      }
      let named = try await anna.client.ask("PUT", "\(anna.path)/messages/x?mode=unreliable", [1])
      #expect(named.status == 400 && named.json["field"] == "mode")
    }
  }

  @Test("P-MSG-4 A client that is behind in unreliable messages loses the oldest and is told how many, in every form")
  func dropped() async throws {
    try await withGateway { gateway in
      let meeting = try await TwoClients.near(at: gateway)
      let (anna, bert) = (meeting.anna, meeting.bert)
      let path = "\(anna.path)/datagrams"
      let before = try await anna.client.position(of: path)
      for number in 1...300 { #expect(try await post("\(number)", from: bert).status == 202) }
      let offset = try #require(before.split(separator: ".").last.flatMap { Int64($0) })
      let kept = (45...300).map { JSON.text("\($0)") }
      // Late ones follow, at once.
      var polled = try await anna.client.get("\(path)?since=\(before)").json
      while polled["changes"]?.list?.last?["put"]?["body"] != "300" {
        polled = try await anna.client.get("\(path)?since=\(before)").json
      }
      #expect(polled["recovered"] == true && polled["dropped"] == 44)
      #expect(polled["changes"]?.list?.compactMap { $0["put"]?["body"] } == kept)
      #expect(polled["changes"]?.list?.first?["o"] == .integer(offset + 45))

      let talk = try await Talk.connected(anna.client)
      let ok = try await talk.ask(["id": 1, "subscribe": ["channel": .text(path), "since": .text(before)]])["ok"]
      #expect(ok?["recovered"] == true && ok?["missed"] == 300, "\(ok?.line ?? "")")
      let first = try await talk.change(of: ok?["number"])
      #expect(first["dropped"] == 44 && first["o"] == .integer(offset + 44), "\(first.line)")
      for body in kept { #expect(try await talk.change(of: ok?["number"])["put"]?["body"] == body) }

      let events = try await anna.client.follow("\(path)?since=\(before)")
      #expect(try await events.next()?.name == "recovered")
      let dropped = try await events.next()
      #expect(dropped?.name == "dropped" && dropped?.data == ["dropped": 44])
      #expect(try await events.next()?.data["body"] == "45")
      events.line.hangUp()

      // New messages arrive as usual; a subscriber without a position gets only those.
      let (fresh, number) = try await anna.follow("datagrams")
      #expect(try await post("new", from: bert).status == 202)
      for (follower, number) in [(talk, ok?["number"]), (fresh, number)] {
        #expect(try await follower.change(of: number)["put"]?["body"] == "new")
      }
      let metrics = try await gateway.stranger.get("/metrics").text
      let count = metrics.split(separator: "\n").first { $0.hasPrefix("vicinity_messages_dropped_total ") }
      let total = count?.split(separator: " ").last.flatMap { Int($0) } ?? 0
      #expect(total >= 132 && total % 44 == 0, "\(count ?? "none")")
    }
  }
}
