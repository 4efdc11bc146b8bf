internal import Foundation
internal import Notation
internal import Testing

@Suite("What lasts of a gateway", .timeLimit(.minutes(3)), .serialized)
struct LastingTests {
  private func post(_ text: String, _ seat: Meeting.Seat) async throws -> Answer {
    let answer = try await seat.client.ask("POST", "\(seat.path)/messages", Array(text.utf8), type: "text/plain")
    try #require(answer.status == 201, "\(answer.text)")
    return answer
  }

  private func bodies(_ json: JSON?) -> [String] { (json?.list ?? []).compactMap { $0["body"]?.text } }

  @Test("a session, its history and its positions are there again after a restart, and so is the one at the other end")
  func restart() async throws {
    var meeting = try await Meeting.begin()
    let (anna, path) = (meeting.anna, meeting.bert.path)
    for number in 1...3 { _ = try await post("before \(number)", anna) }
    let bert = meeting.bert.client
    _ = try await bert.wait(in: "\(path)/messages", "body", "before 3")
    let before = try await bert.get("\(path)/messages")
    #expect(bodies(before.json["items"]) == ["before 1", "before 2", "before 3"])
    let position = try #require(before.json["position"]?.text)
    let session = try await bert.get(path)
    #expect(session.json["history"]?["keep"] == "durable")

    meeting.bert = Meeting.Seat(
      place: try await meeting.bert.place.restarted { _ = try await post("meanwhile", anna) }, client: bert,
      peer: meeting.bert.peer, session: meeting.bert.session)
    let again = try await bert.get(path)
    #expect(again.status == 200 && again.json["createdAt"] == session.json["createdAt"])
    _ = try await bert.wait(in: "\(path)/messages", "body", "meanwhile")
    let news = try await bert.get("\(path)/messages?since=\(position)")
    #expect(news.json["recovered"] == true, "\(news.text)")
    #expect(bodies(.list((news.json["changes"]?.list ?? []).compactMap { $0["put"] })) == ["meanwhile"])
    let after = try await bert.get("\(path)/messages")
    #expect(bodies(after.json["items"]) == ["before 1", "before 2", "before 3", "meanwhile"])
    #expect(after.ids.prefix(3) == before.ids[...], "they have the same names")

    _ = try await bert.wait(in: "\(path)/members", "state", "connected")
    _ = try await post("back", meeting.bert)
    _ = try await anna.client.wait(in: "\(anna.path)/messages", "body", "back")
    await meeting.end()
  }

  @Test("what became of a message is told though its sender was started again meanwhile")
  func fate() async throws {
    var meeting = try await Meeting.begin()
    let bert = meeting.bert
    let sent = try await post("hello", bert)
    meeting.bert = Meeting.Seat(
      place: try await bert.place.restarted(), client: bert.client, peer: bert.peer, session: bert.session)
    let item = try await bert.client.wait(in: "\(bert.path)/messages") { $0["delivery"]?["delivered"] == 1 }
    #expect(item["id"] == .text(sent.id) && item["delivery"]?["pending"] == 0)
    await meeting.end()
  }

  @Test("a message with a name of its own is sent once, also over a restart")
  func name() async throws {
    var meeting = try await Meeting.begin()
    let bert = meeting.bert
    func put() async throws -> Int {
      try await bert.client.ask("PUT", "\(bert.path)/messages/mine", Array("once".utf8), type: "text/plain").status
    }
    let statuses = try await [put(), put()]
    #expect(statuses == [201, 200])
    meeting.bert = Meeting.Seat(
      place: try await bert.place.restarted(), client: bert.client, peer: bert.peer, session: bert.session)
    #expect(try await put() == 200)
    let reserved = try await bert.client.ask("PUT", "\(bert.path)/messages/m7", [1], type: "text/plain")
    #expect(reserved.status == 400 && reserved.json["rule"] == "reserved")
    _ = try await meeting.anna.client.wait(in: "\(meeting.anna.path)/messages", "body", "once")
    #expect(try await meeting.anna.client.get("\(meeting.anna.path)/messages").ids.count == 1)
    await meeting.end()
  }

  @Test("a client that was away over a restart is told what it missed on its WebSocket, without a gap")
  func socket() async throws {
    var meeting = try await Meeting.begin()
    let (anna, bert) = (meeting.anna, meeting.bert)
    _ = try await post("seen", anna)
    _ = try await bert.client.wait(in: "\(bert.path)/messages", "body", "seen")
    let position = try #require(try await bert.client.get("\(bert.path)/messages").json["position"]?.text)
    for number in 1...5 { _ = try await post("own \(number)", bert) }
    // Each has changed since it came: their fate is known.
    for number in 1...5 {
      _ = try await bert.client.wait(in: "\(bert.path)/messages") {
        $0["body"] == .text("own \(number)") && $0["delivery"]?["delivered"] == 1
      }
    }
    meeting.bert = Meeting.Seat(
      place: try await bert.place.restarted(), client: bert.client, peer: bert.peer, session: bert.session)
    let talk = try await Talk.connected(bert.client)
    let answer = try await talk.ask([
      "id": 1, "subscribe": ["channel": .text("\(bert.path)/messages"), "since": .text(position)],
    ])
    #expect(answer["ok"]?["recovered"] == true && answer["ok"]?["missed"] == 5, "\(answer.line)")
    var offset = try #require(position.split(separator: ".").last.flatMap { Int64($0) })
    var told: [String] = []
    while told.count < 5 {
      guard case .text(let change) = try await talk.next() else { break }
      let to = try #require(change["o"]?.integer)
      #expect(to == offset + (change["skip"]?.integer ?? 1), "no gap: \(change.line)")
      offset = to
      if let body = change["put"]?["body"]?.text { told.append(body) }
    }
    #expect(told == (1...5).map { "own \($0)" })
    await meeting.end()
  }

  @Test("no more of a history is kept than was asked for, and what is older than memory is paged from the store")
  func retention() async throws {
    try await Meeting.hold(["history": ["keep": "durable", "count": 40]]) { meeting in
      let anna = meeting.anna
      for number in 1...60 { _ = try await post("text \(number)", anna) }
      let items = try await anna.client.get("\(anna.path)/messages?limit=100").json["items"]
      let texts = bodies(items)
      #expect((40...43).contains(texts.count) && texts.last == "text 60", "\(texts)")
      #expect(try await anna.client.get("\(anna.path)/messages/m1").status == 404)
    }
  }

  @Test("the history of a peer that lives with its WebSocket cannot last")
  func connectionPeer() async throws {
    try await atPlace { place in
      let client = try await place.client()
      let talk = try await Talk.connected(client)
      let peer = try await client.make("/v1/peers", ["displayName": "Eve", "lifetime": "connection"])
      let answer = try await client.post("/v1/sessions", ["peer": .text(peer.id), "history": ["keep": "durable"]])
      #expect(answer.status == 422 && answer.json["field"] == "history.keep", "\(answer.text)")
      let session = try await client.make("/v1/sessions", ["peer": .text(peer.id)])
      #expect(session.json["history"]?["keep"] == "memory")
      _ = talk
    }
  }
}
