internal import Notation
internal import Testing

@testable internal import Gateway

/// The view of each peer of one gateway of the ad hoc session that they share, whose items are kept once for all.
@Suite(.timeLimit(.minutes(3)))
struct CrowdViewTests {
  private struct Viewer {
    let client: HTTPClient
    let peer: String
    let session: String

    var path: String { "/v1/sessions/\(session)" }
    var messages: String { "\(path)/messages" }

    func bodies() async throws -> [String] { CrowdViewTests.bodies(try await client.get(messages).json["items"]) }
  }

  private static func bodies(_ items: JSON?) -> [String] { (items?.list ?? []).compactMap { $0["body"]?.text } }

  private static func viewer(_ name: String, at gateway: TestGateway, keeping history: JSON) async throws -> Viewer {
    let client = try await gateway.client()
    let peer = try await client.make("/v1/peers", ["displayName": .text(name)]).id
    let session = try await client.make(
      "/v1/sessions", ["peer": .text(peer), "adhoc": "views", "history": history]
    ).id
    return Viewer(client: client, peer: peer, session: session)
  }

  private static func crowd(
    at gateway: TestGateway, of size: Int, keeping history: JSON = ["keep": "memory"]
  ) async throws -> [Viewer] {
    var viewers: [Viewer] = []
    for number in 0..<size { viewers.append(try await viewer("Peer \(number)", at: gateway, keeping: history)) }
    for viewer in viewers { try await wait(for: viewer, toSee: size - 1) }
    return viewers
  }

  private static func wait(for viewer: Viewer, toSee count: Int) async throws {
    _ = try await viewer.client.wait(in: "/v1/sessions") {
      $0["id"] == .text(viewer.session) && $0["connected"] == .number(count)
    }
  }

  private static func send(_ text: String, from sender: Viewer, to recipients: [Viewer]? = nil) async throws {
    let query = recipients.map { "?" + $0.map { "to=\($0.peer)" }.joined(separator: "&") } ?? ""
    let sent = try await sender.client.ask("POST", sender.messages + query, Array(text.utf8), type: "text/plain")
    #expect(sent.status == 201, "\(sent.text)")
  }

  /// Messages from each to all, to some and to one, in turn; returns what each is to see.
  private static func talk(_ viewers: [Viewer], _ count: Int) async throws -> [[String]] {
    var expected = viewers.map { _ in [String]() }
    for number in 0..<count {
      let sender = number % viewers.count
      let others = viewers.indices.filter { $0 != sender }
      let recipients = [others, Array(others.dropFirst()), [others[number % others.count]]][number % 3]
      let text = "message \(number)"
      try await send(
        text, from: viewers[sender], to: recipients.count == others.count ? nil : recipients.map { viewers[$0] })
      for viewer in recipients + [sender] { expected[viewer].append(text) }
    }
    return expected
  }

  @Test(arguments: ["memory", "durable"])
  func `each sees what is for it, numbered without a gap, and resumes where it was`(kept: String) async throws {
    try await withGateway { gateway in
      let viewers = try await Self.crowd(at: gateway, of: 5, keeping: ["keep": .text(kept)])
      var talks: [(talk: Talk, number: JSON?, position: String)] = []
      for viewer in viewers {
        let talk = try await Talk.connected(viewer.client)
        let ok = try await talk.ask(["id": 1, "subscribe": ["channel": .text(viewer.messages)]])["ok"]
        talks.append((talk, ok?["number"], try #require(ok?["position"]?.text)))
      }
      let events = try await viewers[1].client.follow(viewers[1].messages)
      #expect(try await events.next()?.name == "snapshot")
      let expected = try await Self.talk(viewers, 30)
      for (viewer, (talk, number, position)) in talks.enumerated() {
        var bodies: [String] = []
        while bodies.count < expected[viewer].count {
          let change = try await talk.change(of: number)
          #expect(position.hasSuffix(".0") && change["o"] == .number(bodies.count + 1), "\(change.line)")
          bodies.append(change["put"]?["body"]?.text ?? "")
        }
        #expect(bodies == expected[viewer])
        #expect(try await viewers[viewer].bodies() == expected[viewer])

        // From the middle on, on another WebSocket and by a request.
        let middle = expected[viewer].count / 2
        let since = position.dropLast() + String(middle)
        let other = try await Talk.connected(viewers[viewer].client)
        let ok = try await other.ask([
          "id": 2, "subscribe": ["channel": .text(viewers[viewer].messages), "since": .text(String(since))],
        ])["ok"]
        #expect(ok?["recovered"] == true && ok?["missed"] == .number(expected[viewer].count - middle))
        for text in expected[viewer].dropFirst(middle) {
          #expect(try await other.change(of: ok?["number"])["put"]?["body"] == .text(text))
        }
        let news = try await viewers[viewer].client.get("\(viewers[viewer].messages)?since=\(since)").json
        let newBodies = (news["changes"]?.list ?? []).compactMap { $0["put"]?["body"]?.text }
        #expect(newBodies == Array(expected[viewer].dropFirst(middle)))
      }
      for text in expected[1] { #expect(try await events.next()?.data["body"] == .text(text)) }
    }
  }

  @Test(arguments: ["memory", "durable"])
  func `one that joins later sees what comes after its join`(kept: String) async throws {
    try await withGateway { gateway in
      let viewers = try await Self.crowd(at: gateway, of: 3, keeping: ["keep": .text(kept)])
      let expected = try await Self.talk(viewers, 6)
      let late = try await Self.viewer("Late", at: gateway, keeping: ["keep": .text(kept)])
      for viewer in viewers + [late] { try await Self.wait(for: viewer, toSee: 3) }
      #expect(try await late.bodies() == [])
      #expect(try await late.client.get("\(late.path)/members?state=connected").ids.count == 3)
      try await Self.send("welcome", from: viewers[0])
      try await Self.send("thanks", from: late)
      #expect(try await late.bodies() == ["welcome", "thanks"])
      #expect(try await late.client.position(of: late.messages).hasSuffix(".2"))
      for (viewer, bodies) in zip(viewers, expected) {
        #expect(try await viewer.bodies() == bodies + ["welcome", "thanks"])
        #expect(try await viewer.client.position(of: viewer.messages).hasSuffix(".\(bodies.count + 2)"))
      }
    }
  }

  @Test func `each keeps the latest of its own messages, and is told of those that left`() async throws {
    try await withGateway { gateway in
      let viewers = try await Self.crowd(at: gateway, of: 4, keeping: ["keep": "memory", "count": 3])
      var positions: [String] = []
      for viewer in viewers { positions.append(try await viewer.client.position(of: viewer.messages)) }
      let expected = try await Self.talk(viewers, 16)
      for (index, viewer) in viewers.enumerated() {
        #expect(try await viewer.bodies() == Array(expected[index].suffix(3)))
        let news = try await viewer.client.get("\(viewer.messages)?since=\(positions[index])").json
        let changes = news["changes"]?.list ?? []
        #expect(changes.compactMap { $0["put"]?["body"]?.text } == expected[index])
        let put = changes.compactMap { $0["put"]?["id"]?.text }
        #expect(changes.compactMap { $0["del"]?.text } == Array(put.dropLast(3)))
      }
    }
  }

  @Test func `a full history says once which of its oldest messages are gone`() async throws {
    try await withGateway { gateway in
      let viewers = try await Self.crowd(at: gateway, of: 3, keeping: ["keep": "memory", "count": 64])
      let reader = viewers[1]
      let position = try await reader.client.position(of: reader.messages)
      let talk = try await Talk.connected(reader.client)
      let ok = try await talk.ask(["id": 1, "subscribe": ["channel": .text(reader.messages)]])["ok"]
      let events = try await reader.client.follow(reader.messages)
      #expect(try await events.next()?.name == "snapshot")
      for number in 0..<100 { try await Self.send("message \(number)", from: viewers[0]) }

      var (has, gone, frames): ([JSON], [JSON], Int) = ([], [], 0)
      // Five leave at once.
      while frames < 100 + 8 {
        let change = try await talk.change(of: ok?["number"])
        frames += 1
        #expect(change["o"] == .number(frames), "\(change.line)")
        if let id = change["put"]?["id"] { has.append(id) }
        for id in change["gone"]?.list ?? [] {
          #expect(has.first == id)
          gone.append(has.removeFirst())
        }
      }
      let items = try await reader.client.get(reader.messages).json["items"]?.list ?? []
      #expect(items.compactMap { $0["id"] } == has && has.count == 60 && gone.count == 40)

      let changes = try await reader.client.get("\(reader.messages)?since=\(position)").json["changes"]?.list ?? []
      #expect(changes.compactMap { $0["del"] } == gone && changes.count == 140)
      #expect(Set(changes.compactMap { $0["o"] }).count == frames)
      var deleted: [JSON] = []
      while deleted.count < gone.count {
        let event = try #require(try await events.next())
        if event.name == "del", let id = event.data["id"] { deleted.append(id) }
      }
      #expect(deleted == gone)
    }
  }

  @Test(arguments: ["memory", "durable"])
  func `what one client deletes stays with the others, and nobody after it sees it`(kept: String) async throws {
    try await withGateway { gateway in
      let viewers = try await Self.crowd(at: gateway, of: 3, keeping: ["keep": .text(kept)])
      let expected = try await Self.talk(viewers, 9)
      let (gone, left) = (viewers[0], viewers.dropFirst())
      #expect(try await gone.client.delete("/v1/clients/self").status == 204)
      for viewer in left { try await Self.wait(for: viewer, toSee: 1) }
      for (viewer, bodies) in zip(left, expected.dropFirst()) {
        #expect(try await viewer.bodies() == bodies)
        let members = try await viewer.client.get("\(viewer.path)/members").json["items"]?.list ?? []
        #expect(members.first { $0["id"] == .text(gone.session) }?["state"] == "notConnected")
        let lines = try await viewer.client.get("/v1/clients/self/export").text.split(separator: "\n").map {
          try JSON(parsing: String($0))
        }
        #expect(lines.filter { $0["kind"] == "message" }.compactMap { $0["item"]?["body"]?.text } == bodies)
        #expect(lines.filter { $0["kind"] == "member" }.count == 2)
      }
      let next = try await Self.viewer("Next", at: gateway, keeping: ["keep": .text(kept)])
      try await Self.wait(for: next, toSee: 2)
      #expect(try await next.bodies() == [])
      #expect(try await next.client.get("\(next.path)/members").ids.count == 2)
    }
  }
}
