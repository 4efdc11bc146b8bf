import Nearby
import Notation
import PowerCut
import Testing

@testable import Gateway

/// Pages of lists that a WebSocket follows.
@Suite(.timeLimit(.minutes(2)))
struct LivePageTests {
  private static let view = ClientView(id: ClientID(text: "anna"), name: "Anna", role: .member)

  /// The page as a client has it.
  private struct Reader {
    var items: [String: JSON] = [:]
    var counts: JSON?
    var next: JSON?
    var frames = 0

    mutating func take(_ frame: JSON) throws {
      let page = try #require(frame["page"], "\(frame.line)")
      for id in page["del"]?.list ?? [] { #expect(items.removeValue(forKey: id.text ?? "") != nil, "\(frame.line)") }
      for item in page["put"]?.list ?? [] { items[item["id"]?.text ?? ""] = item }
      (counts, next) = (page["counts"], page["next"])
      frames += 1
    }

    init(_ items: [JSON]) { for item in items { self.items[item["id"]?.text ?? ""] = item } }
  }

  private static func json(_ items: [Item]) throws -> [JSON] { try items.map { try JSON(parsing: $0.bytes) } }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `the differences of a page make of what a reader has the page as it is`(seed: UInt64) throws {
    var random = Chance(seed)
    let shared = SharedItems(epoch: "abc", Collection.Limits())
    let lists = (1...3).map { SharedList(path: "/\($0)", number: $0, of: shared) }
    let plain = Collection(path: "/9", number: 9, epoch: "abc", limits: Collection.Limits(), viewer: { _ in nil })
    var listing = Listing()
    listing.limit = 5
    listing.filter = seed % 2 == 0 ? ["state": "in"] : [:]
    let pages = (lists as [Collection] + [plain]).map { LivePage($0, listing, 7, for: Self.view) }
    var readers = try pages.map { Reader(try Self.json($0.items)) }
    for step in 0..<300 {
      let (id, state) = (
        "m\(Int.random(in: 0..<20, using: &random))", ["in", "out"].randomElement(using: &random) ?? ""
      )
      let bytes = JSON.object([.init("id", .text(id)), .init("state", .text(state)), .init("step", .number(step / 40))])
        .bytes
      let facets = ["state": state]
      if Int.random(in: 0..<4, using: &random) == 0 {
        lists.randomElement(using: &random)?.remove(id)
        plain.remove(id)
      } else {
        var slots = NumberSet()
        for list in lists where Bool.random(using: &random) { slots.insert(list.slot) }
        if !slots.isEmpty { shared.put(id, SharedItems.Content(bytes: bytes, facets: facets), in: slots) }
        plain.put(id, written: bytes, owner: step % 5 == 0 ? .operators : .gateway, facets: facets)
      }
      guard Int.random(in: 0..<3, using: &random) == 0 else { continue }
      for (index, page) in pages.enumerated() {
        if let frame = page.difference() { try readers[index].take(try JSON(parsing: frame)) }
        #expect(page.difference() == nil)
        let now = page.collection.page(after: 0, atMost: 5, for: Self.view, where: listing.filter)
        let expected = try Self.json(now.items)
        #expect(readers[index].items.count == expected.count)
        for item in expected { #expect(readers[index].items[item["id"]?.text ?? ""] == item) }
        if readers[index].frames > 0 {
          #expect(readers[index].counts?["all"] == .number(page.collection.seen(by: Self.view).count))
          #expect((readers[index].next != nil) == now.hasMore)
        }
      }
    }
    #expect(readers.allSatisfy { $0.frames > 20 })
  }

  @Test func `a change beyond the page is a count, and who leaves the page makes room for the next`() async throws {
    try await withGateway { gateway in
      let crowd = try await CrowdTests.crowd(at: gateway, of: 6)
      let (client, path) = crowd[0]
      let talk = try await Talk.connected(client)
      let channel = "\(path)/members?limit=3&state=connected"
      let ok = try #require(try await talk.ask(["id": 1, "subscribe": ["channel": .text(channel)]])["ok"])
      let page = try await client.get(channel).json
      #expect(ok["channel"] == .text(channel) && ok["recovered"] == false && ok["items"] == page["items"])
      #expect(ok["position"] == page["position"] && ok["next"] == page["next"] && ok["next"] != nil)
      #expect(ok["counts"] == ["all": 5, "connected": 5])
      var reader = Reader(ok["items"]?.list ?? [])
      func follow(until isMeant: (Reader) -> Bool) async throws {
        while !isMeant(reader) { try reader.take(try await talk.change(of: ok["number"])) }
      }
      let newcomer = try await gateway.client()
      let peer = try await newcomer.make("/v1/peers", ["displayName": "Late"]).id
      _ = try await newcomer.make("/v1/sessions", ["peer": .text(peer), "adhoc": "crowd"])
      try await follow { $0.counts == ["all": 6, "connected": 6] }
      #expect(reader.items == Reader(ok["items"]?.list ?? []).items)
      let first = try #require(ok["items"]?.list?.first?["id"]?.text)
      for (other, path) in crowd.dropFirst() where path.hasSuffix(first) { _ = try await other.delete(path) }
      try await follow { $0.counts?["connected"] == 5 && $0.items.count == 3 && $0.items[first] == nil }
      let now = try await client.get(channel).json["items"]?.list ?? []
      #expect(reader.items == Reader(now).items)
      // The page is there again where nothing has changed, and is sent again where something has.
      let position = try await client.get(channel).json["position"] ?? .null
      for (since, isKnown) in [(position, true), (ok["position"] ?? .null, false)] {
        #expect(
          try await talk.ask(["id": 2, "unsubscribe": ["channel": .text(channel)]])["ok"]?["channel"] == .text(channel))
        let again = try await talk.ask(["id": 3, "subscribe": ["channel": .text(channel), "since": since]])["ok"]
        #expect(again?["recovered"] == .bool(isKnown) && again?["items"] == (isKnown ? nil : .list(now)))
        #expect(again?["counts"]?["connected"] == 5 && again?["number"] != ok["number"])
      }
      let last = try await talk.ask(["id": 4, "subscribe": ["channel": .text("\(path)/members?limit=1")]])["ok"]
      _ = try await client.delete(path)
      #expect(try await talk.change(of: last?["number"])["end"] == true)
      let gone = try await talk.ask(["id": 5, "unsubscribe": ["channel": .text("\(path)/members?limit=1")]])
      #expect(gone["problem"]?["status"] == 404)
    }
  }

  @Test func `an unknown query, a list that drops its oldest items and a page that is followed already are refused`()
    async throws
  {
    try await withGateway { gateway in
      let (client, path) = try await CrowdTests.crowd(at: gateway, of: 2)[0]
      let talk = try await Talk.connected(client)
      func status(_ channel: String) async throws -> JSON? {
        try await talk.ask(["id": 1, "subscribe": ["channel": .text(channel)]])["problem"]?["status"]
      }
      for query in [
        "limit=0", "limit=1001", "limit=x", "limit=1&limit=2", "state=away", "nobody=1", "after=x", "since=abc.1",
        "wait=3", "limit=%zz",
      ] {
        let refused = try await status("\(path)/members?\(query)")
        #expect([400, 404].contains(refused), "\(query)")
      }
      for list in ["messages", "datagrams"] { #expect(try await status("\(path)/\(list)?limit=3") == 422, "\(list)") }
      #expect(try await status("/v1/events?limit=3") == 422)
      #expect(try await status("\(path)/members?") == nil)
      #expect(try await status("\(path)/members?") == 409)
      #expect(try await status("\(path)/members") == nil)
      #expect(try await status("\(path)/%6Dembers") == 409)
      #expect(try await status("/v1/sessions?limit=1") == nil)
    }
  }

  @Test func `a client follows so many pages at most, by all its WebSockets together`() async throws {
    try await withGateway { gateway in
      let (client, path) = try await CrowdTests.crowd(at: gateway, of: 2)[0]
      var talks = [try await Talk.connected(client), try await Talk.connected(client)]
      func follow(_ number: Int) async throws -> JSON {
        let channel: JSON = .text("\(path)/members?limit=\(number)")
        return try await talks[number % 2].ask(["id": 1, "subscribe": ["channel": channel]])
      }
      for number in 1...256 { #expect(try await follow(number)["ok"] != nil) }
      let refused = try await follow(257)["problem"]
      #expect(refused?["status"] == 429 && refused?["limit"] == 256, "\(refused?.line ?? "")")
      _ = try await talks[0].ask(["id": 2, "unsubscribe": ["channel": .text("\(path)/members?limit=2")]])
      #expect(try await follow(257)["ok"] != nil)
      #expect(try await follow(258)["problem"]?["status"] == 429)
      // The pages of a WebSocket are free again once it has gone.
      talks[1].hangUp()
      talks[1] = try await Talk.connected(client)
      while try await follow(259)["problem"]?["status"] == 429 {}
      for number in 130..<258 { #expect(try await follow(2 * number + 1)["ok"] != nil, "\(number)") }
      #expect(try await follow(999)["problem"]?["status"] == 429)
    }
  }

  @Test func `the count of a session is published where a page of sessions is followed`() async throws {
    try await withGateway { gateway in
      let (client, path) = try await CrowdTests.crowd(at: gateway, of: 2)[0]
      let talk = try await Talk.connected(client)
      let ok = try await talk.ask(["id": 1, "subscribe": ["channel": "/v1/sessions?limit=1"]])["ok"]
      let newcomer = try await gateway.client()
      let peer = try await newcomer.make("/v1/peers", ["displayName": "Late"]).id
      _ = try await newcomer.make("/v1/sessions", ["peer": .text(peer), "adhoc": "crowd"])
      while true {
        let session = try await talk.change(of: ok?["number"])["page"]?["put"]?.list?.first
        #expect(session.map { path.hasSuffix($0["id"]?.text ?? "?") } != false)
        if session?["connected"] == 2 { break }
      }
    }
  }

  @Test func `members are found by a part of their name, whatever its case`() async throws {
    try await withGateway { gateway in
      let (client, path) = try await CrowdTests.crowd(at: gateway, of: 4)[0]
      for (part, count) in [("PEER", 3), ("eer%203", 1), ("peer%209", 0)] {
        #expect(try await client.get("\(path)/members?name=\(part)").json["items"]?.list?.count == count, "\(part)")
      }
    }
  }
}
