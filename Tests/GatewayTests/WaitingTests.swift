internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("What waits for a client", .timeLimit(.minutes(2)))
struct WaitingTests {
  @Test("Its WebSockets, its streams and what it waits for are told, to itself and to operators")
  func queues() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let talk = try await Talk.connected(anna.client)
      _ = try await talk.ask(["id": 1, "subscribe": ["channel": .text("\(anna.path)/messages")]])
      let events = try await anna.client.follow("/v1/peers")
      _ = try await events.next()
      let stream = try await anna.client.make("\(anna.path)/streams", ["name": "voice", "to": .text(bert.peer)])
      let path = stream["Location"] ?? ""
      let socket = try await Talk.open(anna.client, at: "\(path)/socket", speaking: "vicinity.stream.v1")
      try await socket.blurt(JSON.object([.init("token", .text(anna.client.token ?? ""))]).line)
      let queues = try await anna.client.get("/v1/clients/self/queues")
      #expect(queues.json["lastSeenAt"]?.text != nil && queues.json["followers"] == 1, "\(queues.text)")
      let sockets = queues.json["sockets"]?.list ?? []
      #expect(queues.json["largeAnswers"]?["bytes"] == 0 && queues.json["largeAnswers"]?["waiting"] == 0)
      let usage = try #require(queues.json["usage"])
      #expect(usage["requests"]?.integer ?? 0 >= 6 && usage["waiting"] == 0, "\(usage.line)")
      for figure in ["bytesReceived", "bytesSent", "loopMicroseconds"] {
        #expect(usage[figure]?.integer ?? 0 > 0, "\(usage.line)")
      }
      #expect(sockets.count == 1 && sockets.first?["queuedBytes"] == 0)
      #expect(sockets.first?["channels"] == [["channel": .text("\(anna.path)/messages"), "waiting": 0, "dropped": 0]])
      #expect(queues.json["streamSockets"]?.list?.first?["stream"] == .text(path))
      let boss = try await anna.gateway.client("operator")
      let id = try await anna.client.get("/v1/gateway").json["client"]?["id"]?.text ?? ""
      #expect(try await boss.get("/v1/clients/\(id)/queues").json["sockets"] == queues.json["sockets"])
      let other = try await anna.gateway.client()
      #expect(try await other.get("/v1/clients/\(id)/queues").status == 404)
      #expect(try await boss.get("/v1/clients/nobody/queues").status == 404)
    }
  }

  @Test("A client is here when it says something on a WebSocket, too")
  func presence() async throws {
    try await withGateway { gateway in
      let client = try await gateway.client()
      let talk = try await Talk.connected(client)
      let id = try await client.get("/v1/gateway").json["client"]?["id"]?.text ?? ""
      func seen() async throws -> Timestamp {
        let moment = await withCheckedContinuation { continuation in
          gateway.running.start { continuation.resume(returning: $0.clients.lastSeen(ClientID(text: id))) }
        }
        return try #require(moment)
      }
      let before = try await seen()
      repeat {
        _ = try await talk.ask(["id": 1, "unsubscribe": ["channel": "/v1/peers"]])
      } while try await seen() <= before + .milliseconds(5)
    }
  }

  @Test("Frames that a WebSocket has not been given yet are counted, until it has them")
  func behind() async throws {
    try await withGateway { gateway in
      let client = try await gateway.client("operator")
      let talk = try await Talk.connected(client)
      let number = try await talk.ask(["id": 1, "subscribe": ["channel": "/v1/trusted-peers"]])["ok"]?["number"]
      let id = try await client.get("/v1/gateway").json["client"]?["id"]?.text ?? ""
      func waiting(_ queues: JSON) -> Int64? {
        queues["sockets"]?.list?.first?["channels"]?.list?.first?["waiting"]?.integer
      }
      // One turn of the loop does it all, so nothing is sent in between.
      let (queues, metrics) = await withCheckedContinuation { continuation in
        gateway.running.start { core in
          for count in 1...20 {
            let peer: JSON = [
              "id": "o5wc677ydd4mdmqpxhdagptaha", "displayName": .text("Anna \(count)"), "confirmation": "hand",
            ]
            core.trustedPeerList.put("o5wc677ydd4mdmqpxhdagptaha", peer, owner: .gateway)
          }
          continuation.resume(
            returning: (core.queues(of: ClientID(text: id)), Exposition(Metric.all, of: core, as: .text).text))
        }
      }
      #expect(waiting(queues) == 20, "\(queues.line)")
      #expect(metrics.contains("\nvicinity_websocket_queue_frames 20\n"))
      for _ in 1...20 { _ = try await talk.change(of: number) }
      #expect(try await waiting(client.get("/v1/clients/self/queues").json) == 0)
    }
  }
}
