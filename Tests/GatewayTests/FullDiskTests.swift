internal import Notation
internal import Store
internal import Testing

@testable internal import Gateway

@Suite("A gateway whose disk is full", .timeLimit(.minutes(3)), .serialized)
struct FullDiskTests {
  /// Runs a test while the disk is full: the write that finds it full waits, and later ones fail at once.
  private func whileFull(_ side: TwoClients.SessionClient, _ test: () async throws -> Void) async throws {
    let store = try #require(await side.gateway.running.sessionStore).writer
    let operators = try await side.gateway.client("operator")
    try await store.perform { try $0.run("PRAGMA max_page_count = 1") }
    // More than what it has free within.
    let body = [UInt8](repeating: 120, count: 1_000_000)
    async let first = side.client.ask("POST", "\(side.path)/messages", body, type: "text/plain")
    _ = try await operators.wait(in: "/v1/events", "event", "notStored")
    try await test()
    try await store.perform { try $0.run("PRAGMA max_page_count = 1000000") }
    #expect(try await first.status == 201)
  }

  private func expectRefused(_ answer: Answer, _ where: SourceLocation = #_sourceLocation) {
    #expect(answer.status == 507 && answer.json["rule"] == "stored", "\(answer.text)", sourceLocation: `where`)
  }

  @Test("where nothing can be stored, a message is refused with 507, and is taken again later")
  func messages() async throws {
    try await TwoClients.hold { meeting in
      let anna = meeting.anna
      func post() async throws -> Answer {
        try await anna.client.ask("POST", "\(anna.path)/messages", [120], type: "text/plain")
      }
      try await whileFull(anna) { expectRefused(try await post()) }
      #expect(try await post().status == 201)
    }
  }

  @Test("where nothing can be stored, nothing is changed or answered, and what is deleted is gone for good with room")
  func changes() async throws {
    var meeting = try await TwoClients.begin()
    let (anna, bert) = (meeting.anna, meeting.bert)
    let advertiser = try #require(try await anna.client.get("/v1/advertisers").json["items"]?.list?.first)
    let gone = try await anna.client.make("/v1/advertisers", ["serviceType": "gone"])
    let file = try await bert.client.make("\(bert.path)/resources", ["name": "a", "to": .text(anna.peer)])
    #expect(try await bert.client.ask("PUT", file.json["content"]?.text ?? "", [1, 2, 3]).status == 200)
    let offered = try await anna.client.wait(in: "\(anna.path)/resources", "state", "offered")
    let second = try await bert.client.make("/v1/sessions")
    _ = try await bert.client.make(
      "/v1/invitations", ["session": .text(second.id), "to": .text(anna.peer), "serviceType": "chat", "timeout": 600])
    let pending = try await anna.client.wait(in: "/v1/invitations", "state", "pending")
    let paths = (
      advertiser: "/v1/advertisers/\(advertiser["id"]?.text ?? "")",
      file: "\(anna.path)/resources/\(offered["id"]?.text ?? "")",
      invitation: "/v1/invitations/\(pending["id"]?.text ?? "")"
    )

    try await whileFull(anna) {
      expectRefused(try await anna.client.patch(paths.advertiser, ["discoveryInfo": ["mood": "rainy"]]))
      #expect(try await anna.client.get(paths.advertiser).json == advertiser)
      for state: JSON in ["accepted", "declined"] {
        expectRefused(try await anna.client.patch(paths.file, ["state": state]))
        expectRefused(try await anna.client.patch(paths.invitation, ["state": state]))
      }
      #expect(try await anna.client.get(paths.file).json["state"] == "offered")
      #expect(try await anna.client.get(paths.invitation).json["state"] == "pending")
      #expect(try await anna.client.delete(gone["Location"] ?? "").status == 204)
    }
    #expect(try await anna.client.patch(paths.advertiser, ["discoveryInfo": ["mood": "rainy"]]).status == 200)
    #expect(try await anna.client.patch(paths.file, ["state": "declined"]).status == 200)
    #expect(try await anna.client.patch(paths.invitation, ["state": "declined"]).status == 200)
    meeting.anna = TwoClients.SessionClient(
      gateway: try await anna.gateway.restarted(), client: anna.client, peer: anna.peer, session: anna.session)
    let left = try await anna.client.get("/v1/advertisers")
    #expect(left.ids == [advertiser["id"]?.text ?? ""])
    #expect(left.json["items"]?.list?.first?["discoveryInfo"] == ["mood": "rainy"])
    await meeting.end()
  }

  private static let freeMin: UInt64 = 1 << 26

  private func expectLittle(_ answer: Answer, _ where: SourceLocation = #_sourceLocation) {
    #expect(
      answer.status == 507 && answer.json["rule"] == "diskFreeBytes" && answer.json["limit"] == .number(Self.freeMin),
      "\(answer.text)", sourceLocation: `where`)
  }

  private func leave(_ free: UInt64?, at gateway: TestGateway) async {
    await gateway.running.run { core in
      #expect(core.disk.free.freeMin == Self.freeMin)
      core.disk.free.look = { free }
    }
  }

  @Test("where little is free, what would stay is refused at once, and what is deleted or live is not")
  func little() async throws {
    let meeting = try await TwoClients.begin(["history": ["keep": "durable"], "resources": "accept"])
    let (anna, bert) = (meeting.anna, meeting.bert)
    let offer: JSON = ["name": "a", "to": .text(bert.peer), "size": 5]
    let file = try await anna.client.make("\(anna.path)/resources", offer)
    let content = file.json["content"]?.text ?? ""
    func patch(_ bytes: [UInt8], at offset: Int, isLast: Bool) async throws -> Answer {
      try await anna.client.ask(
        "PATCH", content, bytes, type: "application/partial-upload",
        headers: ["Upload-Offset": "\(offset)", "Upload-Complete": isLast ? "?1" : "?0"])
    }
    let gone = try await anna.client.make("/v1/advertisers", ["serviceType": "gone"])
    #expect(try await patch([1, 2, 3], at: 0, isLast: false).status == 204)

    await leave(Self.freeMin - 1, at: anna.gateway)
    expectLittle(try await anna.client.ask("POST", "\(anna.path)/messages", [120], type: "text/plain"))
    expectLittle(try await anna.client.post("\(anna.path)/resources", offer))
    expectLittle(try await anna.client.post("/v1/sessions", [:]))
    expectLittle(try await patch([4, 5], at: 3, isLast: true))
    #expect(try await anna.client.get("/readyz").status == 503)
    #expect(try await anna.client.delete(gone["Location"] ?? "").status == 204)
    let ofBert = try await bert.client.ask("POST", "\(bert.path)/messages", [121], type: "text/plain")
    #expect(ofBert.status == 201)
    let heard = try await anna.client.wait(in: "\(anna.path)/messages", "from", .text(bert.peer))
    #expect(heard["body"] == "y")

    await leave(Self.freeMin + 4, at: anna.gateway)
    expectLittle(try await anna.client.post("\(anna.path)/resources", offer))
    #expect(try await anna.client.get("/readyz").status == 200)
    #expect(try await patch([4, 5], at: 3, isLast: true).status == 200)
    #expect(try await anna.client.ask("POST", "\(anna.path)/messages", [120], type: "text/plain").status == 201)
    await leave(nil, at: anna.gateway)
    #expect(try await anna.client.post("\(anna.path)/resources", offer).status == 201)
    await meeting.end()
  }

  @Test("uploads that fit each, and not together, do not pass together", arguments: [false, true])
  func together(isAnnounced: Bool) async throws {
    try await withGateway { gateway in
      let meeting = try await TwoClients.near(at: gateway, ["resources": "ask"])
      let (anna, bert) = (meeting.anna, meeting.bert)
      await leave(Self.freeMin + 150_000, at: gateway)
      let bytes = [UInt8](repeating: 7, count: 100_000)
      var contents: [String] = []
      for name in ["first", "second"] {
        let size: [JSON.Member] = isAnnounced ? [.init("size", .number(bytes.count))] : []
        let made = try await bert.client.make(
          "\(bert.path)/resources", .object([.init("name", .text(name)), .init("to", .text(anna.peer))] + size))
        contents.append(made.json["content"]?.text ?? "")
      }
      let line = try await bert.client.begin("PUT", contents[0], Array(bytes.prefix(65_536)), of: bytes.count)
      while try await bert.client.ask("HEAD", contents[0])["Upload-Offset"] != "65536" {}
      // Written bytes are not free any more.
      await leave(Self.freeMin + 150_000 - 65_536, at: gateway)
      expectLittle(try await bert.client.ask("PUT", contents[1], bytes))
      let first = try await onThread {
        try line.write(Array(bytes.dropFirst(65_536)))
        return try line.readAnswer(to: "PUT")
      }
      #expect(first.status == 200, "\(first.text)")
      await leave(Self.freeMin + 50_000, at: gateway)
      expectLittle(try await bert.client.ask("PUT", contents[1], bytes))
      await leave(Self.freeMin + 100_000, at: gateway)
      #expect(try await bert.client.ask("PUT", contents[1], bytes).status == 200)
      #expect(await gateway.running.diskReserved == 0)
    }
  }

  @Test("where little is free, what is offered is not accepted, but declined, and an invitation is cancelled")
  func answers() async throws {
    let meeting = try await TwoClients.begin()
    let (anna, bert) = (meeting.anna, meeting.bert)
    let file = try await bert.client.make("\(bert.path)/resources", ["name": "a", "to": .text(anna.peer)])
    #expect(try await bert.client.ask("PUT", file.json["content"]?.text ?? "", [1, 2, 3]).status == 200)
    let offered = try await anna.client.wait(in: "\(anna.path)/resources", "state", "offered")
    let second = try await bert.client.make("/v1/sessions")
    let invitation: JSON = [
      "session": .text(second.id), "to": .text(anna.peer), "serviceType": "chat", "timeout": 600,
    ]
    let cancelled = try await bert.client.make("/v1/invitations", invitation)
    _ = try await anna.client.wait(in: "/v1/invitations", "state", "pending")

    await leave(Self.freeMin - 1, at: bert.gateway)
    #expect(try await bert.client.patch(cancelled["Location"] ?? "", ["state": "cancelled"]).status == 200)
    _ = try await anna.client.wait(in: "/v1/invitations", "state", "cancelled")
    await leave(nil, at: bert.gateway)
    _ = try await bert.client.make("/v1/invitations", invitation)
    let pending = try await anna.client.wait(in: "/v1/invitations", "state", "pending")

    await leave(Self.freeMin - 1, at: anna.gateway)
    for path in ["\(anna.path)/resources/\(offered["id"]?.text ?? "")", "/v1/invitations/\(pending["id"]?.text ?? "")"]
    {
      expectLittle(try await anna.client.patch(path, ["state": "accepted"]))
      let declined = try await anna.client.patch(path, ["state": "declined"])
      #expect(declined.status == 200 && declined.json["state"] == "declined", "\(declined.text)")
    }
    await meeting.end()
  }

  @Test("where little is free, a client goes with all that was its own")
  func leaving() async throws {
    let meeting = try await TwoClients.begin()
    let anna = meeting.anna
    await leave(0, at: anna.gateway)
    #expect(try await anna.client.delete("/v1/clients/self").status == 204)
    #expect(try await anna.client.get("/v1/sessions").status == 401)
    await meeting.end()
  }
}
