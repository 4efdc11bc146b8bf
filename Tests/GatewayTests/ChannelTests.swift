internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("A list is a channel of its changes", .timeLimit(.minutes(2)))
struct ChannelTests {
  private func side(_ gateway: TestGateway) async throws -> HTTPClient {
    let client = try await gateway.client()
    _ = try await client.make("/v1/peers", ["displayName": "Anna"])
    return client
  }

  @Test("Changes after a position are given in order, and all things anew where it is not known")
  func since() async throws {
    try await withGateway { gateway in
      let anna = try await side(gateway)
      let start = try #require(try await anna.get("/v1/browsers").json["position"]?.text)
      let one = try await anna.make("/v1/browsers", ["serviceType": "chat"])
      _ = try await anna.delete(one["Location"] ?? "")
      let two = try await anna.make("/v1/browsers", ["serviceType": "game"])
      let news = try await anna.get("/v1/browsers?since=\(start)").json
      let changes = news["changes"]?.list ?? []
      try #require(news["recovered"] == true && changes.count == 3)
      #expect(changes[0]["put"] == one.json && changes[1]["del"] == .text(one.id) && changes[2]["put"] == two.json)
      #expect(changes.compactMap { $0["o"]?.integer } == [1, 2, 3])
      let lost = try await anna.get("/v1/browsers?since=other.1").json
      #expect(lost["recovered"] == false && lost["items"] == [two.json])
      let none = try await anna.get("/v1/browsers?since=\(news["position"]?.text ?? "")").json
      #expect(none["changes"] == [])
    }
  }

  @Test("A filtered subscription gets only its part, and an item that leaves the part is removed from it")
  func parts() async throws {
    try await withGateway { gateway in
      let anna = try await side(gateway)
      let session = try await anna.make("/v1/sessions")
      let path = session["Location"] ?? ""
      let list = "/v1/sessions?adhoc=chat"
      let start = try #require(try await anna.get(list).json["position"]?.text)
      let events = try await anna.follow(list)
      #expect(try await events.next()?.data["items"] == [])
      _ = try await anna.patch(path, ["locked": true])
      async let waiting = anna.get("\(list)&since=\(start)&wait=20")
      let adhoc = try await anna.patch(path, ["adhoc": "chat"])
      #expect(try await waiting.json["changes"]?.list?.map { $0["put"] } == [adhoc.json])
      _ = try await anna.patch(path, ["adhoc": nil])
      let changes = try await anna.get("\(list)&since=\(start)").json["changes"]?.list ?? []
      #expect(changes.map { $0["put"] } == [adhoc.json, nil] && changes.last?["del"] == .text(session.id))
      #expect(try await events.next()?.data == adhoc.json)
      #expect(try await events.next()?.name == "del")
    }
  }

  @Test("A request that waits is answered by the first change, or with none when its time is over")
  func waiting() async throws {
    try await withGateway { gateway in
      let (anna, bert) = (try await side(gateway), try await side(gateway))
      let start = try #require(try await anna.get("/v1/browsers").json["position"]?.text)
      let nothing = try await anna.get("/v1/browsers?since=\(start)&wait=1").json
      #expect(nothing["changes"] == [] && nothing["recovered"] == true)
      async let waiting = anna.get("/v1/browsers?since=\(start)&wait=60")
      _ = try await bert.make("/v1/browsers", ["serviceType": "chat"])
      let made = try await anna.make("/v1/browsers", ["serviceType": "chat"])
      #expect(try await waiting.json["changes"]?.list?.compactMap { $0["put"]?["id"] } == [.text(made.id)])
    }
  }

  @Test("A stream of events goes on where it was cut off, or begins anew where that is not known")
  func events() async throws {
    try await withGateway { gateway in
      let anna = try await side(gateway)
      let first = try await anna.follow("/v1/browsers")
      let snapshot = try #require(try await first.next())
      #expect(snapshot.name == "snapshot")
      let start = try #require(snapshot.data["position"]?.text)
      let one = try await anna.make("/v1/browsers", ["serviceType": "chat"])
      let put = try #require(try await first.next())
      #expect(put.name == "put" && put.data == one.json)
      first.line.hangUp()
      _ = try await anna.delete(one["Location"] ?? "")
      // An address that says where it began is asked again as it is, so the header has the last word.
      for path in ["/v1/browsers", "/v1/browsers?since=\(start)"] {
        let second = try await anna.follow(path, ["Last-Event-ID": put.id ?? ""])
        #expect(try await second.next()?.name == "recovered")
        #expect(try await second.next()?.data == ["id": .text(one.id)])
      }
      let empty = try await anna.follow("/v1/browsers?since=\(start)", ["Last-Event-ID": ""])
      #expect(try await empty.next()?.data["position"]?.text == start)
      let spoilt = try await anna.get("/v1/browsers?since=\(start)", ["Last-Event-ID": "7"])
      #expect(spoilt.status == 400 && spoilt.json["field"] == "Last-Event-ID")
      let third = try await anna.follow("/v1/browsers", ["Last-Event-ID": "other.7"])
      #expect(try await third.next()?.data["recovered"] == false)
    }
  }

  @Test("A channel ends with what it is of")
  func endings() async throws {
    try await withGateway { gateway in
      let anna = try await side(gateway)
      let session = try await anna.make("/v1/sessions")
      let events = try await anna.follow("\(session["Location"] ?? "")/messages")
      #expect(try await events.next()?.name == "snapshot")
      let talk = try await Talk.connected(anna)
      let channel = "\(session["Location"] ?? "")/members"
      let number = try await talk.ask(["id": 1, "subscribe": ["channel": .text(channel)]])["ok"]?["number"]
      _ = try await anna.delete(session["Location"] ?? "")
      #expect(try await events.next() == nil)
      #expect(try await talk.change(of: number)["end"] == true)
    }
  }
}
