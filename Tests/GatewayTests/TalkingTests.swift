internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("Clients of several gateways talk", .timeLimit(.minutes(3)), .serialized)
struct TalkingTests {
  private func bytes(of message: JSON) -> [UInt8]? {
    guard let text = message["body"]?.text else { return nil }
    return message["encoding"] == "base64" ? Base64.bytes(text) : Array(text.utf8)
  }

  @Test("P-MSG-2 P-MSG-3 Messages of any size cross both ways to the byte, once and in order")
  func sizes() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let sizes = [0, 1, 2, 1_023, 1_024, 1_025, 65_535, 65_536, 300_000, Core.messageBytesMax]
      let bodies = sizes.enumerated().map { number, size in
        (0..<size).map { UInt8(truncatingIfNeeded: ($0 &* 31) &+ number) }
      }
      for (side, other) in [(anna, bert), (bert, anna)] {
        var ids: [String] = []
        for body in bodies {
          var answer: Answer
          repeat {
            answer = try await side.client.ask("POST", "\(side.path)/messages", body)
          } while answer.status == 429
          #expect(answer.status == 201, "\(answer.text)")
          ids.append(answer.id)
        }
        let list = "\(other.path)/messages?from=\(side.peer)"
        _ = try await other.client.wait(in: list, "size", .number(Core.messageBytesMax))
        for id in ids {
          let told = try await side.client.wait(in: "\(side.path)/messages?from=\(side.peer)") {
            $0["id"] == .text(id) && $0["delivery"]?["pending"] == 0
          }
          #expect(told["delivery"]?["delivered"] == 1)
        }
        let came = try await other.client.get(list).json["items"]?.list ?? []
        #expect(came.map { $0["size"]?.integer } == sizes.map { Int64($0) })
        #expect(zip(came, bodies).allSatisfy { bytes(of: $0) == $1 })
      }
    }
  }

  @Test("P-MSG-1 P-MSG-5 A message goes to those who are named, and to nobody where one of them is not connected")
  func recipients() async throws {
    try await ThreeClients.hold { circle in
      try await circle.gather()
      let (anna, bert, cora) = (circle.anna, circle.bert, circle.cora)
      func send(_ word: String, _ query: String) async throws -> Answer {
        try await anna.client.ask("POST", "\(anna.path)/messages?\(query)", Array(word.utf8))
      }
      // The answer does not wait for who is to have it.
      let sent = try await send("for Bert", "to=\(bert.peer)")
      #expect(sent.status == 201 && sent.json["delivery"]?["pending"] == 1)
      #expect(try await send("twice", "to=\(bert.peer)&to=\(bert.peer)").json["to"] == [.text(bert.peer)])
      #expect(try await send("for both", "to=\(bert.peer)&to=\(cora.peer)").status == 201)
      #expect(try await cora.client.delete(cora.path).status == 204)
      _ = try await anna.sees(cora, "notConnected")
      let refused = try await send("for neither", "to=\(bert.peer)&to=\(cora.peer)")
      #expect(refused.status == 409 && refused.problem == "notConnected" && refused.json["field"] == "to")
      #expect(refused.json["detail"]?.text?.contains(cora.peer) == true, "\(refused.text)")
      let nobody = try await send("for nobody", "to=")
      #expect(nobody.status == 400 && nobody.problem == "invalidParameter" && nobody.json["field"] == "to")
      #expect(try await send("for all", "").status == 201)
      _ = try await bert.client.wait(in: "\(bert.path)/messages", "body", "for all")
      let heard = try await bert.client.get("\(bert.path)/messages").json["items"]?.list ?? []
      #expect(heard.compactMap { $0["body"]?.text } == ["for Bert", "twice", "for both", "for all"])
      let own = try await anna.client.get("\(anna.path)/messages").json["items"]?.list ?? []
      #expect(own.compactMap { $0["body"]?.text } == ["for Bert", "twice", "for both", "for all"])
    }
  }

  @Test(
    "P-MSG-2 A message's content type is told to who receives it, by REST and by WebSocket, also of an unreliable one")
  func contentTypes() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let (messages, number) = try await bert.follow("messages")
      let (datagrams, other) = try await bert.follow("datagrams")
      let markdown = "text/markdown; variant=GFM"
      let sent = try await anna.client.ask("POST", "\(anna.path)/messages", Array("# 1".utf8), type: markdown)
      #expect(sent.status == 201 && sent.json["contentType"] == .text(markdown), "\(sent.text)")
      let came = try await bert.client.wait(in: "\(bert.path)/messages", "body", "# 1")
      #expect(came["contentType"] == .text(markdown))
      #expect(try await messages.change(of: number)["put"]?["contentType"] == .text(markdown))
      let said = try await anna.client.ask(
        "POST", "\(anna.path)/messages?mode=unreliable", Array("{}".utf8), type: "application/json")
      #expect(said.status == 202 && said.json["contentType"] == "application/json")
      #expect(try await datagrams.change(of: other)["put"]?["contentType"] == "application/json")
      // An invalid media type is refused before anything is sent.
      for type in ["text", "a/" + String(repeating: "b", count: 126), "a/b, c/d"] {
        let refused = try await anna.client.ask("POST", "\(anna.path)/messages", Array("no".utf8), type: type)
        #expect(
          refused.status == 400 && refused.problem == "invalidParameter" && refused.json["field"] == "Content-Type"
            && refused.json["rule"] == "mediaType", "\(refused.text)")
      }
    }
  }

  @Test("The body of a message is served by itself, as it was sent, and runs nowhere")
  func bodies() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      for (body, type, told) in [
        (Array("Grüße".utf8), "text/plain", "text/plain; charset=utf-8"), ([0xff, 0, 1], "image/png", "image/png"),
        (Array("<script>".utf8), "text/html", "application/octet-stream"),
        (Array("%PDF-1.7 x".utf8), "application/pdf", "application/octet-stream"),
      ] {
        let sent = try await anna.client.ask("POST", "\(anna.path)/messages", body, type: type)
        let own = try await anna.client.get("\(sent["Location"] ?? "")/body")
        #expect(own.body == body && own["Content-Type"] == told, "\(own.text)")
        #expect(own["Content-Security-Policy"] == "default-src 'none'; sandbox")
        #expect(own["Content-Disposition"]?.hasPrefix(told.hasPrefix("app") ? "attachment;" : "inline;") == true)
        let unchanged = ["If-None-Match": own["ETag"] ?? ""]
        #expect(try await anna.client.get("\(sent["Location"] ?? "")/body", unchanged).status == 304)
        let came = try await bert.client.wait(in: "\(bert.path)/messages", "size", .number(body.count))
        let heard = try await bert.client.get("\(bert.path)/messages/\(came["id"]?.text ?? "")/body")
        #expect(heard.body == body && heard["Content-Type"] == told)
      }
      #expect(try await anna.client.get("\(anna.path)/messages/none/body").status == 404)
    }
  }

  @Test("P-MSG-5 A member that is not a recipient gets nothing of a message")
  func others() async throws {
    try await ThreeClients.hold { circle in
      try await circle.gather()
      let (anna, bert, cora) = (circle.anna, circle.bert, circle.cora)
      for (word, query) in [("for Bert", "?to=\(bert.peer)"), ("for Cora", "?to=\(cora.peer)"), ("for all", "")] {
        let sent = try await anna.client.ask("POST", "\(anna.path)/messages\(query)", Array(word.utf8))
        #expect(sent.status == 201)
      }
      for (side, own) in [(bert, "for Bert"), (cora, "for Cora")] {
        _ = try await side.client.wait(in: "\(side.path)/messages", "body", "for all")
        let heard = try await side.client.get("\(side.path)/messages").json["items"]?.list ?? []
        #expect(heard.compactMap { $0["body"]?.text } == [own, "for all"])
      }
    }
  }
}
