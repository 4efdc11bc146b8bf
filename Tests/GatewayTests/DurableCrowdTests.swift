internal import Notation
internal import Store
internal import Testing

@testable internal import Gateway

/// Peers of one gateway in one session whose history is durable: a message is one row for all of them.
@Suite(.timeLimit(.minutes(3)))
struct DurableCrowdTests {
  private struct Viewer {
    let client: HTTPClient
    let peer: String
    let session: String

    var messages: String { "/v1/sessions/\(session)/messages" }

    func bodies() async throws -> [String] {
      (try await client.get("\(messages)?limit=1000").json["items"]?.list ?? []).compactMap { $0["body"]?.text }
    }

    func position() async throws -> String { try await client.position(of: messages) }
  }

  private static func viewer(_ name: String, at gateway: TestGateway, _ history: JSON = [:]) async throws -> Viewer {
    let client = try await gateway.client()
    let peer = try await client.make("/v1/peers", ["displayName": .text(name)]).id
    let wish: JSON = ["peer": .text(peer), "adhoc": "lasting", "history": history]
    return Viewer(client: client, peer: peer, session: try await client.make("/v1/sessions", wish).id)
  }

  private static func crowd(at gateway: TestGateway, of size: Int, _ history: JSON = [:]) async throws -> [Viewer] {
    var viewers: [Viewer] = []
    for number in 0..<size { viewers.append(try await viewer("Peer \(number)", at: gateway, history)) }
    try await wait(for: viewers, toSee: size - 1)
    return viewers
  }

  private static func wait(for viewers: [Viewer], toSee count: Int) async throws {
    for viewer in viewers {
      _ = try await viewer.client.wait(in: "/v1/sessions") {
        $0["id"] == .text(viewer.session) && $0["connected"] == .number(count)
      }
    }
  }

  @discardableResult
  private static func send(_ text: String, from sender: Viewer, to recipients: [Viewer]? = nil) async throws -> JSON {
    let query = recipients.map { "?" + $0.map { "to=\($0.peer)" }.joined(separator: "&") } ?? ""
    let sent = try await sender.client.ask("POST", sender.messages + query, Array(text.utf8), type: "text/plain")
    try #require(sent.status == 201, "\(sent.text)")
    return sent.json
  }

  private static func number(_ sql: String, at gateway: TestGateway) async throws -> Int {
    let store = try #require(await gateway.running.sessionStore)
    return try await store.writer.perform { try $0.first(sql) { $0.integer(0) } ?? 0 }
  }

  /// Asks until it is so: rows are removed apart from requests.
  private static func wait(until isSo: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(20)
    while try await !isSo() {
      try #require(ContinuousClock.now < deadline)
      await Task.yield()
    }
  }

  private static func rows(at gateway: TestGateway) async throws -> Int {
    try await number("SELECT (SELECT count(*) FROM message) + (SELECT count(*) FROM shared_message)", at: gateway)
  }

  @Test func `a message is one row for its sender and all who receive it, with as many bytes for each more`()
    async throws
  {
    try await withGateway { gateway in
      let viewers = try await Self.crowd(at: gateway, of: 12)
      let sent = try await Self.send("hello", from: viewers[0])
      #expect(sent["delivery"]?["delivered"] == 11 && sent["delivery"]?["pending"] == 0, "\(sent.line)")
      for viewer in viewers { #expect(try await viewer.bodies() == ["hello"]) }
      #expect(try await Self.rows(at: gateway) == 1)
      try await Self.send("you two", from: viewers[1], to: [viewers[2], viewers[3]])
      #expect(try await Self.rows(at: gateway) == 2)
      #expect(
        try await Self.number("SELECT max(length(audience) + length(offsets)) FROM shared_message", at: gateway) <= 24)
    }
  }

  @Test func `after a restart each has its messages, its numbers and its place, and whoever joined late no more`()
    async throws
  {
    let gateway = try await TestGateway.open("Box")
    var viewers = try await Self.crowd(at: gateway, of: 3)
    try await Self.send("one", from: viewers[0])
    try await Self.send("for the last", from: viewers[0], to: [viewers[2]])
    let late = try await Self.viewer("Late", at: gateway)
    viewers.append(late)
    try await Self.wait(for: viewers, toSee: 3)
    var middle: [String] = []
    for viewer in viewers { middle.append(try await viewer.position()) }
    try await Self.send("two", from: late)
    try await Self.send("three", from: viewers[1], to: [viewers[0], late])
    let expected = [
      ["one", "for the last", "two", "three"], ["one", "two", "three"], ["one", "for the last", "two"],
      ["two", "three"],
    ]
    var lists: [JSON] = []
    for (viewer, bodies) in zip(viewers, expected) {
      #expect(try await viewer.bodies() == bodies)
      lists.append(try await viewer.client.get(viewer.messages).json)
    }

    let again = try await gateway.restarted()
    for (index, viewer) in viewers.enumerated() {
      let list = try await viewer.client.get(viewer.messages).json
      #expect(list == lists[index], "\(list.line) after \(lists[index].line)")
      let id = list["items"]?.list?.first?["id"]?.text ?? ""
      #expect(try await viewer.client.get("\(viewer.messages)/\(id)").json == list["items"]?.list?.first)
      let news = try await viewer.client.get("\(viewer.messages)?since=\(middle[index])").json
      let changes = news["changes"]?.list ?? []
      #expect(news["recovered"] == true && news["position"] == list["position"])
      let start = middle[index].split(separator: ".").last.flatMap { Int($0) } ?? -1
      #expect(changes.map { $0["o"] } == (0..<changes.count).map { .number(start + $0 + 1) })
      #expect(changes.compactMap { $0["put"]?["body"]?.text } == Array(expected[index].suffix(changes.count)))
      #expect(changes.count == expected[index].count - start)
      let lines = try await viewer.client.get("/v1/clients/self/export").text.split(separator: "\n").map {
        try JSON(parsing: String($0))
      }
      #expect(
        lines.filter { $0["kind"] == "message" }.compactMap { $0["item"]?["body"]?.text } == expected[index])
    }
    try await Self.wait(for: viewers, toSee: 3)
    let before = try await Self.rows(at: again)
    try await Self.send("four", from: viewers[2])
    #expect(try await Self.rows(at: again) == before + 1)
    for (index, viewer) in viewers.enumerated() {
      #expect(try await viewer.bodies() == expected[index] + ["four"])
      #expect(try await viewer.position().hasSuffix(".\(expected[index].count + 1)"))
      let ids = try await viewer.client.get(viewer.messages).ids
      #expect(Set(ids).count == ids.count)
    }
    await again.close()
  }

  @Test func `what one client deletes is gone from the store, and the others keep theirs over a restart`() async throws
  {
    let gateway = try await TestGateway.open("Box")
    let viewers = try await Self.crowd(at: gateway, of: 3)
    try await Self.send("from the first", from: viewers[0])
    try await Self.send("only for the first", from: viewers[1], to: [viewers[0]])
    try await Self.send("from the second", from: viewers[1])
    #expect(try await viewers[0].client.delete("/v1/clients/self").status == 204)
    try await Self.wait(for: Array(viewers[1...]), toSee: 1)
    let again = try await gateway.restarted()
    #expect(try await viewers[1].bodies() == ["from the first", "only for the first", "from the second"])
    #expect(try await viewers[2].bodies() == ["from the first", "from the second"])
    await again.running.run { core in _ = core.sessionStore.prune(at: .now) }
    // The first one's side of its own message is emptied.
    try await Self.wait { try await Self.number("SELECT count(own) FROM shared_message", at: again) == 2 }
    #expect(try await Self.number("SELECT count(*) FROM shared_message", at: again) == 3)
    for viewer in viewers[1...] { #expect(try await viewer.client.delete("/v1/clients/self").status == 204) }
    try await Self.wait { try await Self.rows(at: again) == 0 }
    try await Self.wait { try await Self.number("SELECT count(*) FROM message_log", at: again) == 0 }
    await again.close()
  }

  @Test func `a row stays as long as one session keeps it, and whoever missed what is gone is told how much`()
    async throws
  {
    let gateway = try await TestGateway.open("Box")
    let viewers = try await Self.crowd(at: gateway, of: 3, ["keep": "durable", "count": 4])
    let start = try await viewers[0].position()
    try await Self.send("for the last", from: viewers[0], to: [viewers[2]])
    for number in 1...9 { try await Self.send("message \(number)", from: viewers[0], to: [viewers[1]]) }
    let latest = (6...9).map { "message \($0)" }
    #expect(try await viewers[0].bodies() == latest)
    #expect(try await viewers[1].bodies() == latest)
    #expect(try await viewers[2].bodies() == ["for the last"])
    try await Self.wait { try await Self.rows(at: gateway) == 5 }
    let again = try await gateway.restarted()
    #expect(try await viewers[0].bodies() == latest)
    #expect(try await viewers[2].bodies() == ["for the last"])
    let news = try await viewers[0].client.get("\(viewers[0].messages)?since=\(start)").json
    #expect(news["recovered"] == false && news["missed"] == 10, "\(news.line)")
    let ids = try await viewers[0].client.get(viewers[0].messages).ids
    #expect(news["oldest"]?.text == ids.first)
    #expect(try await viewers[0].position().hasSuffix(".10"))
    await again.close()
  }

  @Test func `messages past their age are gone from memory, changes and the store`() async throws {
    try await withGateway { gateway in
      let viewers = try await Self.crowd(at: gateway, of: 3, ["keep": "durable", "age": 3_600])
      let start = try await viewers[1].position()
      try await Self.send("old", from: viewers[0])
      await gateway.running.run { core in _ = core.sessionStore.prune(at: .now + .seconds(3_700)) }
      for viewer in viewers { #expect(try await viewer.bodies() == []) }
      try await Self.wait { try await Self.rows(at: gateway) == 0 }
      let news = try await viewers[1].client.get("\(viewers[1].messages)?since=\(start)").json
      #expect(news["recovered"] == false && news["missed"] == 1, "\(news.line)")
      try await Self.send("new", from: viewers[0])
      for viewer in viewers { #expect(try await viewer.bodies() == ["new"]) }
    }
  }

  @Test func `a message that the disk has changed is shown as damaged to all who have it`() async throws {
    let gateway = try await TestGateway.open("Box")
    let viewers = try await Self.crowd(at: gateway, of: 3)
    try await Self.send("first", from: viewers[0])
    try await Self.send("second", from: viewers[0])
    let store = try #require(await gateway.running.sessionStore)
    try await store.writer.perform { database in
      try database.run(
        "UPDATE shared_message SET json = ? WHERE ordinal = (SELECT min(ordinal) FROM shared_message)",
        [1] as [UInt8])
    }
    let again = try await gateway.restarted()
    for viewer in viewers[1...] {
      let items = try await viewer.client.get(viewer.messages).json["items"]?.list ?? []
      #expect(items.map { $0["damaged"] } == [true, nil] && items.last?["body"] == "second")
      #expect(try await viewer.position().hasSuffix(".2"))
    }
    // Its sender has what it sent.
    #expect(try await viewers[0].bodies() == ["first", "second"])
    await again.close()
  }

  @Test func `what became of a message at another gateway is told though its sender was started again meanwhile`()
    async throws
  {
    let here = try await TestGateway.open("Here")
    let there = try await TestGateway.open("There", nextTo: here)
    let viewers = try await Self.crowd(at: here, of: 2)
    let other = try await Self.viewer("Other", at: there)
    try await Self.wait(for: viewers + [other], toSee: 2)
    let sent = try await Self.send("hello", from: viewers[0])
    let again = try await here.restarted()
    let item = try await viewers[0].client.wait(in: viewers[0].messages) { $0["delivery"]?["delivered"] == 2 }
    #expect(item["id"] == sent["id"] && item["delivery"]?["pending"] == 0)
    #expect(try await viewers[1].bodies() == ["hello"])
    _ = try await other.client.wait(in: other.messages, "body", "hello")
    #expect(try await Self.rows(at: again) == 1)
    let position = try await viewers[0].position()
    let epoch = try #require(position.split(separator: ".").first)
    let news = try await viewers[0].client.get("\(viewers[0].messages)?since=\(epoch).0").json
    #expect(news["recovered"] == true && news["position"] == .text(position), "\(news.line)")
    #expect(news["changes"]?.list?.last?["put"] == item)
    await there.close()
    await again.close()
  }

  @Test func `a message with a name of its own is one row, and is sent once, also over a restart`() async throws {
    let gateway = try await TestGateway.open("Box")
    let viewers = try await Self.crowd(at: gateway, of: 3)
    func put(_ status: Int) async throws {
      let sent = try await viewers[0].client.ask("PUT", "\(viewers[0].messages)/mine", Array("named".utf8))
      #expect(sent.status == status && sent.id == "mine", "\(sent.text)")
    }
    try await put(201)
    try await put(200)
    let again = try await gateway.restarted()
    try await put(200)
    #expect(try await viewers[1].bodies() == ["named"])
    #expect(try await Self.rows(at: again) == 1)
    await again.close()
  }
}
