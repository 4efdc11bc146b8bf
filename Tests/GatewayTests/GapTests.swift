internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("Who missed more than is kept is told so, and given all anew", .timeLimit(.minutes(2)))
struct GapTests {
  private static let kept = 1_024

  /// A session that nobody stores, which can be changed quickly.
  private struct Busy {
    let client: HTTPClient
    let talk: Talk
    let path: String
    var isLocked = false

    static func begin(at gateway: TestGateway) async throws -> Busy {
      let client = try await gateway.client()
      let talk = try await Talk.connected(client)
      _ = try await client.make("/v1/peers", ["displayName": "Anna", "lifetime": "connection"])
      return Busy(client: client, talk: talk, path: try await client.make("/v1/sessions")["Location"] ?? "")
    }

    mutating func change(_ count: Int) async throws {
      for _ in 0..<count {
        isLocked.toggle()
        let answer = try await talk.ask([
          "id": 1, "request": ["method": "PATCH", "path": .text(path), "body": ["locked": .bool(isLocked)]],
        ])
        try #require(answer["ok"]?["locked"] == .bool(isLocked), "\(answer.line)")
      }
    }

    func position() async throws -> (epoch: Substring, offset: Int) {
      let parts = try await client.get("/v1/sessions").json["position"]?.text?.split(separator: ".") ?? []
      try #require(parts.count == 2)
      return (parts[0], try #require(Int(parts[1])))
    }
  }

  @Test("As many changes as are kept are told one after another; where there was one more, all things are")
  func longPoll() async throws {
    try await withGateway { gateway in
      var busy = try await Busy.begin(at: gateway)
      let start = try await busy.position()
      try await busy.change(Self.kept)
      func ask() async throws -> JSON {
        try await busy.client.get("/v1/sessions?since=\(start.epoch).\(start.offset)&wait=60").json
      }
      let all = try await ask()
      #expect(all["recovered"] == true)
      #expect(
        all["changes"]?.list?.compactMap { $0["o"]?.integer }
          == (1...Self.kept).map { Int64(start.offset + $0) })
      try await busy.change(1)
      let anew = try await ask()
      #expect(anew["recovered"] == false && anew["changes"] == nil)
      #expect(anew["items"] == [try await busy.client.get(busy.path).json])
      #expect(anew["position"] == .text("\(start.epoch).\(start.offset + Self.kept + 1)"))
    }
  }

  @Test("A WebSocket and a stream of events begin anew, and go on from there without a gap")
  func followers() async throws {
    try await withGateway { gateway in
      var busy = try await Busy.begin(at: gateway)
      let start = try await busy.position()
      let since = "\(start.epoch).\(start.offset)"
      try await busy.change(Self.kept + 1)
      let item = try await busy.client.get(busy.path).json
      let end = "\(start.epoch).\(start.offset + Self.kept + 1)"
      let next = "\(start.epoch).\(start.offset + Self.kept + 2)"

      let talk = try await Talk.connected(busy.client)
      let ok = try await talk.ask(["id": 1, "subscribe": ["channel": "/v1/sessions", "since": .text(since)]])["ok"]
      #expect(ok?["recovered"] == false && ok?["items"] == [item])
      #expect(ok?["missed"] == .number(Self.kept + 1) && ok?["oldest"] == nil)
      #expect(ok?["position"] == .text(end))
      let byHeader = try await busy.client.follow("/v1/sessions", ["Last-Event-ID": since])
      let byAddress = try await busy.client.follow("/v1/sessions?since=\(since)")
      for events in [byHeader, byAddress] {
        let first = try #require(try await events.next())
        #expect(first.name == "snapshot" && first.id == end && first.data["recovered"] == false)
        #expect(first.data["items"] == [item] && first.data["position"] == .text(end))
      }

      try await busy.change(1)
      let put = try await talk.change(of: ok?["number"])
      #expect(put["o"] == .number(start.offset + Self.kept + 2) && put["put"]?["locked"] == .bool(busy.isLocked))
      for events in [byHeader, byAddress] {
        let put = try await events.next()
        #expect(put?.name == "put" && put?.id == next && put?.data["locked"] == .bool(busy.isLocked))
      }
    }
  }

  @Test("A long poll of a part gets its changes, however many others there are meanwhile")
  func waitingForPart() async throws {
    try await TwoClients.hold(["history": ["keep": "durable"]]) { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let (client, list) = (bert.client, "\(bert.path)/messages")
      let start = try await client.get(list).json["position"]?.text ?? ""
      // The channel itself keeps no two of these.
      func hear(_ letter: String) async throws {
        let text = String(repeating: letter, count: 600_000)
        #expect(
          try await anna.client.ask("POST", "\(anna.path)/messages", Array(text.utf8), type: "text/plain").status == 201
        )
        _ = try await client.wait(in: list, "body", .text(text))
      }
      try await hear("a")
      async let waiting = client.get("\(list)?from=\(bert.peer)&since=\(start)&wait=60")
      while try await client.get("/v1/clients/self/queues").json["followers"] != 1 {}
      for letter in ["b", "c"] { try await hear(letter) }
      #expect(try await client.ask("POST", list, Array("mine".utf8), type: "text/plain").status == 201)
      let news = try await waiting.json
      #expect(news["recovered"] == true && news["changes"]?.list?.first?["put"]?["body"] == "mine")
    }
  }
}
