internal import Nearby
internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("Bodies that are no text come in binary messages to those who agreed on it", .timeLimit(.minutes(2)))
struct BinaryMessageTests {
  /// Bytes that are no text, with all that could be taken for an end.
  private static func bytes(_ count: Int) -> [UInt8] {
    [0xff, 0x0a, 0x22, 0x00] + (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
  }

  private static let bodies = [
    bytes(0), Array("text, ü".utf8), [0xff], bytes(300), Array("\",\"encoding\":\"base64\"".utf8), bytes(65_500),
    bytes(200_000), [], Array("the last".utf8),
  ]

  private static func subscribe(_ talk: Talk, _ path: String) async throws -> JSON {
    let answer = try await talk.ask(["id": .text(path), "subscribe": ["channel": .text(path)]])
    return try #require(answer["ok"]?["number"], "\(answer.line)")
  }

  /// Reads all bodies from both WebSockets: they say the same, each as it was agreed on.
  private static func compare(_ text: Talk, _ binary: Talk, _ number: JSON, to bodies: [[UInt8]] = bodies) async throws
  {
    for expected in bodies {
      let change = try await text.change(of: number)
      let (same, body) = try await binary.put(of: [number])
      #expect(same == change)
      #expect(body == (String(validating: expected, as: UTF8.self) == nil ? expected : nil))
    }
  }

  @Test(arguments: ["memory", "durable"])
  func `clients of both kinds follow one channel, and each gets what it agreed on`(keep: String) async throws {
    try await withGateway { gateway in
      let meeting = try await TwoClients.near(at: gateway, ["history": ["keep": .text(keep)]])
      let (anna, bert) = (meeting.anna, meeting.bert)
      let text = try await Talk.connected(bert.client)
      let binary = try await Talk.connected(bert.client, binary: true)
      let path = "\(bert.path)/messages"
      let number = try await Self.subscribe(text, path)
      #expect(try await Self.subscribe(binary, path) == number)
      for body in Self.bodies {
        #expect(try await anna.client.ask("POST", "\(anna.path)/messages", body).status == 201)
      }
      try await Self.compare(text, binary, number)
      // A snapshot is the same for all.
      let late = try await Talk.connected(bert.client, binary: true)
      let items = try await late.ask(["id": 1, "subscribe": ["channel": .text(path)]])["ok"]?["items"]?.list ?? []
      #expect(items.count == Self.bodies.count && items.first?["encoding"] == "base64")
      _ = try await anna.client.ask("POST", "\(anna.path)/messages", Self.bytes(9))
      #expect(try await text.change(of: number)["put"]?["body"] == .text(Base64.text(Self.bytes(9))))
      #expect(try await late.put(of: [number]).body == Self.bytes(9))
    }
  }

  @Test func `unreliable messages are told to clients of both kinds`() async throws {
    try await withGateway { gateway in
      let meeting = try await TwoClients.near(at: gateway)
      let (anna, bert) = (meeting.anna, meeting.bert)
      let text = try await Talk.connected(bert.client)
      let binary = try await Talk.connected(bert.client, binary: true)
      let number = try await Self.subscribe(text, "\(bert.path)/datagrams")
      _ = try await Self.subscribe(binary, "\(bert.path)/datagrams")
      let bodies = [Self.bytes(0), Array("text".utf8), Self.bytes(500)]
      for body in bodies {
        #expect(try await anna.client.ask("POST", "\(anna.path)/messages?mode=unreliable", body).status == 202)
      }
      try await Self.compare(text, binary, number, to: bodies)
    }
  }

  @Test func `a crowd's messages are made binary once, and each list has its own numbers`() async throws {
    try await withGateway { gateway in
      let crowd = try await CrowdTests.crowd(at: gateway, of: 4)
      // One client has two of the lists.
      let watching = crowd[1].client
      let peer = try await watching.make("/v1/peers", ["displayName": "Second"]).id
      let wishes: JSON = ["peer": .text(peer), "adhoc": "crowd", "history": ["keep": "memory"]]
      let second = try await watching.make("/v1/sessions", wishes).id
      for side in crowd {
        let id = JSON.text(String(side.path.split(separator: "/").last ?? ""))
        _ = try await side.client.wait(in: "/v1/sessions") { $0["id"] == id && $0["connected"] == 4 }
      }
      _ = try await watching.wait(in: "/v1/sessions") { $0["id"] == .text(second) && $0["connected"] == 4 }
      let paths = crowd.map { "\($0.path)/messages" }
      let watched = [paths[1], "/v1/sessions/\(second)/messages"]
      let (text, binary) = (try await Talk.connected(watching), try await Talk.connected(watching, binary: true))
      var numbers: [JSON] = []
      for path in watched {
        numbers.append(try await Self.subscribe(text, path))
        _ = try await Self.subscribe(binary, path)
      }
      var own: [(talk: Talk, number: JSON)] = []
      for (side, path) in zip(crowd, paths) {
        let talk = try await Talk.connected(side.client, binary: true)
        own.append((talk, try await Self.subscribe(talk, path)))
      }
      let before = try #require(await gateway.running.answer { $0.channels.binaryForms.madeCount })
      let bodies = [Self.bytes(40), Array("text".utf8), Self.bytes(100_000)]
      for body in bodies { _ = try await crowd[0].client.ask("POST", paths[0], body) }
      for (talk, number) in own {
        for body in bodies { #expect(try await talk.put(of: [number]).body == (body == bodies[1] ? nil : body)) }
      }
      var told: [JSON: [JSON]] = [:]
      for _ in 0..<(bodies.count * watched.count) {
        let change = try await text.next()
        guard case .text(let json) = change else { throw Line.Broken(what: "\(change)") }
        told[json["n"] ?? .null, default: []].append(json)
      }
      // Each of them has its changes in order.
      var same: [JSON: [JSON]] = [:]
      for _ in 0..<(bodies.count * watched.count) {
        let (change, body) = try await binary.put(of: numbers)
        #expect((body == nil) == (change["put"]?["encoding"] == nil))
        same[change["n"] ?? .null, default: []].append(change)
      }
      #expect(told == same && told.count == watched.count && told.values.allSatisfy { $0.count == bodies.count })
      let after = try #require(await gateway.running.answer { $0.channels.binaryForms.madeCount })
      // The sender's has a delivery status, and the others' are one.
      #expect(after - before == 4, "\(after - before)")
    }
  }

  @Test func `a request may have its body behind it, and a malformed one is answered and spoils nothing`() async throws
  {
    try await withGateway { gateway in
      let meeting = try await TwoClients.near(at: gateway)
      let (anna, bert) = (meeting.anna, meeting.bert)
      let talk = try await Talk.connected(anna.client, binary: true)
      let path = JSON.text("\(anna.path)/messages")
      func ask(_ frame: JSON, _ body: [UInt8]) async throws -> JSON {
        try await talk.say(frame.bytes + [UInt8(ascii: "\n")] + body)
        return try await talk.answer(to: frame["id"])
      }
      let body = Self.bytes(70_000)
      let request: JSON = ["method": "POST", "path": path, "headers": ["Content-Type": "image/png"]]
      let sent = try await ask(["id": 1, "request": request], body)["ok"]
      #expect(sent?["size"] == .number(body.count) && sent?["contentType"] == "image/png", "\(sent?.line ?? "")")
      let came = try await bert.client.wait(in: "\(bert.path)/messages", "contentType", "image/png")
      #expect(try await bert.client.get("\(bert.path)/messages/\(came["id"]?.text ?? "")/body").body == body)
      let peer = Array(#"{"displayName": "Carl"}"#.utf8)
      let made = try await ask(["id": 2, "request": ["method": "POST", "path": "/v1/peers"]], peer)
      #expect(made["ok"]?["displayName"] == "Carl", "\(made.line)")
      let put: JSON = ["method": "PUT", "path": .text("\(anna.path)/messages/mine")]
      #expect(try await ask(["id": 3, "request": put], [])["ok"]?["size"] == 0)

      let twice: JSON = ["method": "POST", "path": path, "body": "text"]
      #expect(try await ask(["id": 4, "request": twice], body)["problem"]?["field"] == "request.body")
      let channel = try await ask(["id": 5, "subscribe": ["channel": path]], [])
      #expect(channel["problem"]?["status"] == 400, "\(channel.line)")
      // A text may have 2 MiB as well, and a message 1 MiB.
      let long = try await ask(["id": 6, "request": request], [UInt8](repeating: 0xff, count: 1_500_000))
      #expect(long["problem"]?["status"] != nil, "\(long.line)")
      for malformed in [[], [0xff, 0xfe], Array("{}".utf8), Array("{\n".utf8), [0x22, 0xff, 0x22, 0x0a, 1]] {
        try await talk.say(malformed)
        let answer = try await talk.answer(to: .null)
        #expect(answer["problem"]?["status"] == 400, "\(answer.line)")
      }
      #expect(try await talk.ask(["id": 7, "request": ["method": "GET", "path": "/v1/peers"]])["ok"] != nil)
      try await talk.say([UInt8](repeating: 0xff, count: 2 << 20 + 1))
      #expect(try await talk.closing() == 1009)

      let other = try await Talk.connected(anna.client)
      try await other.say(JSON.object([.init("id", 1), .init("request", request)]).bytes + [0x0a, 1])
      #expect(try await other.closing() == 4400)
    }
  }

  @Test func `a form is the item without its body, whatever its sender calls itself`() throws {
    for name in ["Anna", #","body":""#, #"","body":"AA==","encoding":"base64"#, "a,b,\\"] {
      for body in Self.bodies {
        let text = MessageText(
          from: "anna", name: name, to: ["a,b"], mode: .reliable, bytes: body, contentType: #"x/y;body=",""#)
        let item = text.written(as: "1", at: Timestamp(milliseconds: 0))
        let form = BinaryForm(item)
        #expect((form == nil) == (String(validating: body, as: UTF8.self) != nil))
        guard let form else { continue }
        #expect(form.body == body)
        let rest = try JSON(parsing: item).members?.filter { $0.name != "body" && $0.name != "encoding" }
        #expect(try JSON(parsing: form.json) == .object(rest ?? []))
      }
    }
  }
}
