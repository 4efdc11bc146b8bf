internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("What a client's resources take on the disk has a limit", .timeLimit(.minutes(2)), .serialized)
struct DiskUseTests {
  private static let bytesMax = 100_000

  private func hold(_ wishes: JSON, _ test: (TwoClients) async throws -> Void) async throws {
    try await TwoClients.hold(wishes, { $0.limits.resourceBytesPerClient = Self.bytesMax }, test)
  }

  private func taken(_ side: TwoClients.SessionClient) async throws -> JSON? {
    try await side.client.get("/v1/gateway").json["client"]?["resourceBytes"]
  }

  private func expectNoRoom(_ answer: Answer, _ where: SourceLocation = #_sourceLocation) {
    #expect(
      answer.status == 507 && answer.json["rule"] == "resourceBytesPerClient"
        && answer.json["limit"] == .number(Self.bytesMax), "\(answer.text)", sourceLocation: `where`)
  }

  @Test("Announced sizes count, unknown sizes count as bytes arrive, and deletion frees space")
  func uploads() async throws {
    try await hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.bert, meeting.anna)
      let resources = "\(anna.path)/resources"
      func offer(_ name: String, _ size: Int? = nil) -> JSON {
        .object(
          [.init("name", .text(name)), .init("to", .text(bert.peer))]
            + (size.map { [.init("size", .number($0))] } ?? []))
      }
      #expect(try await anna.client.get("/v1/gateway").json["limits"]?["resourceBytesPerClient"] == 100_000)
      let announced = try await anna.client.make(resources, offer("announced", 60_000))
      #expect(try await taken(anna) == 60_000)
      expectNoRoom(try await anna.client.post(resources, offer("too much", 40_001)))
      let open = try await anna.client.make(resources, offer("open")).json["content"]?.text ?? ""
      expectNoRoom(try await anna.client.ask("PUT", open, [UInt8](repeating: 1, count: 40_001)))
      func append(_ count: Int, at offset: Int) async throws -> Answer {
        try await anna.client.ask(
          "PATCH", open, [UInt8](repeating: 1, count: count), headers: ["Upload-Offset": String(offset)])
      }
      #expect(try await append(30_000, at: 0).status == 204)
      #expect(try await taken(anna) == 90_000)
      expectNoRoom(try await append(10_001, at: 30_000))
      // A body whose length nobody says is cut off where there is no room for more of it.
      let head = anna.client.head("PUT", open, nil, nil, ["Transfer-Encoding": "chunked"])
      let chunk = Array("c351\r\n".utf8) + [UInt8](repeating: 1, count: 0xc351) + Array("\r\n0\r\n\r\n".utf8)
      expectNoRoom(
        try await onThread { [client = anna.client] in
          let line = try client.line()
          try line.write(Array(head.utf8) + chunk)
          return try line.readAnswer(to: "PUT")
        })
      // Other clients are not charged for it.
      #expect(try await taken(bert) == 0)
      #expect(try await anna.client.delete("\(resources)/\(announced.id)").status == 204)
      #expect(try await anna.client.ask("PUT", open, [UInt8](repeating: 2, count: 100_000)).status == 200)
      _ = try await anna.client.wait(in: resources, "state", "complete")
      #expect(try await taken(anna) == 0)
      #expect(try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")["size"] == 100_000)
      #expect(try await taken(bert) == 100_000)
    }
  }

  @Test("Content of others is accepted as far as there is space, and counts after a restart, too")
  func received() async throws {
    var meeting = try await TwoClients.begin(["resources": "ask"]) { $0.limits.resourceBytesPerClient = Self.bytesMax }
    let bert = meeting.bert
    func send(_ name: String, _ count: Int) async throws {
      let made = try await bert.client.make(
        "\(bert.path)/resources", ["name": .text(name), "to": .text(meeting.anna.peer), "size": .number(count)])
      let bytes = [UInt8](repeating: 3, count: count)
      #expect(try await bert.client.ask("PUT", made.json["content"]?.text ?? "", bytes).status == 200)
    }
    func answer(_ name: String) async throws -> Answer {
      let anna = meeting.anna
      let came = try await anna.client.wait(in: "\(anna.path)/resources?state=offered", "name", .text(name))
      return try await anna.client.patch("\(anna.path)/resources/\(came.id)", ["state": "accepted"])
    }
    try await send("first", 70_000)
    #expect(try await taken(meeting.anna) == 0)
    #expect(try await answer("first").status == 200)
    _ = try await meeting.anna.client.wait(in: "\(meeting.anna.path)/resources", "state", "complete")
    meeting.anna = TwoClients.SessionClient(
      gateway: try await meeting.anna.gateway.restarted(), client: meeting.anna.client, peer: meeting.anna.peer,
      session: meeting.anna.session)
    #expect(try await taken(meeting.anna) == 70_000)
    _ = try await bert.client.wait(in: "\(bert.path)/members", "state", "connected")
    try await send("second", 40_000)
    expectNoRoom(try await answer("second"))
    let path = "\(meeting.anna.path)/resources"
    let first = try await meeting.anna.client.wait(in: path, "name", "first")
    #expect(try await meeting.anna.client.delete("\(path)/\(first.id)").status == 204)
    #expect(try await answer("second").status == 200)
    await meeting.end()
  }

  @Test("A file that is accepted automatically is refused without space, and both sides are notified")
  func turnedAway() async throws {
    try await hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let strangers = try await bert.client.make(
        "\(bert.path)/resources", ["name": "small", "to": .text(anna.peer), "size": 90_000])
      #expect(
        try await bert.client.ask("PUT", strangers.json["content"]?.text ?? "", [UInt8](repeating: 4, count: 90_000))
          .status == 200)
      _ = try await anna.client.wait(in: "\(anna.path)/resources", "state", "complete")
      let made = try await bert.client.make("\(bert.path)/resources", ["name": "large", "to": .text(anna.peer)])
      #expect(
        try await bert.client.ask("PUT", made.json["content"]?.text ?? "", [UInt8](repeating: 4, count: 20_000)).status
          == 200)
      let came = try await anna.client.wait(in: "\(anna.path)/resources") {
        $0["name"] == "large" && $0["state"] == "failed"
      }
      #expect(came["problem"]?["rule"] == "resourceBytesPerClient", "\(came.line)")
      _ = try await bert.client.wait(in: "\(bert.path)/resources") {
        $0["name"] == "large" && $0["state"] == "declined"
      }
    }
  }
}

extension JSON {
  fileprivate var id: String { self["id"]?.text ?? "" }
}
