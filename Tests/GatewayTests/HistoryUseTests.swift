internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("What a client's sessions may keep on the disk has a limit", .timeLimit(.minutes(2)), .serialized)
struct HistoryUseTests {
  private static let bytesMax = 40 << 20

  private func promised(to client: HTTPClient) async throws -> JSON? {
    try await client.get("/v1/gateway").json["client"]?["historyBytes"]
  }

  private func expectNoRoom(_ answer: Answer, _ where: SourceLocation = #_sourceLocation) {
    #expect(
      answer.status == 507 && answer.json["rule"] == "historyBytesPerClient" && answer.json["field"] == "history.bytes"
        && answer.json["limit"] == .number(Self.bytesMax), "\(answer.text)", sourceLocation: `where`)
  }

  @Test("A session has room for its history from the start or is not opened, and those that are open talk on")
  func opening() async throws {
    try await TwoClients.hold([:], { $0.limits.historyBytesPerClient = Self.bytesMax }) { meeting in
      let (bert, anna) = (meeting.bert, meeting.anna)
      let client = bert.client
      #expect(try await client.get("/v1/gateway").json["limits"]?["historyBytesPerClient"] == .number(Self.bytesMax))
      #expect(try await promised(to: client) == .number(16 << 20))
      let second = try await client.make("/v1/sessions")
      #expect(try await promised(to: client) == .number(32 << 20))
      expectNoRoom(try await client.post("/v1/sessions"))
      expectNoRoom(try await client.post("/v1/sessions", ["history": ["bytes": .number(8 << 20 | 1)]]))
      _ = try await client.make("/v1/sessions", ["history": ["bytes": .number(8 << 20)]])
      expectNoRoom(try await client.post("/v1/sessions", ["history": ["bytes": 1_024]]))
      #expect(try await promised(to: client) == .number(Self.bytesMax))

      // Sessions without durable history, and other clients, do not count against the limit.
      _ = try await client.make("/v1/sessions", ["history": ["keep": "memory"]])
      _ = try await client.make("/v1/sessions", ["history": ["keep": "none"]])
      let other = try await bert.gateway.client()
      let peer = try await other.make("/v1/peers", ["displayName": "Carla"])
      #expect(try await other.post("/v1/sessions", ["peer": peer.json["id"] ?? .null]).status == 201)
      #expect(try await promised(to: other) == .number(16 << 20))
      let sent = try await client.ask("POST", "\(bert.path)/messages", Array("hello".utf8), type: "text/plain")
      #expect(sent.status == 201, "\(sent.text)")
      _ = try await anna.client.wait(in: "\(anna.path)/messages", "body", "hello")

      #expect(try await client.delete(second["Location"] ?? "").status == 204)
      #expect(try await promised(to: client) == .number(24 << 20))
      #expect(try await client.post("/v1/sessions").status == 201)
    }
  }

  @Test("Reserved space counts after a restart, too")
  func restart() async throws {
    var meeting = try await TwoClients.begin { $0.limits.historyBytesPerClient = 20 << 20 }
    let bert = meeting.bert
    meeting.bert = TwoClients.SessionClient(
      gateway: try await bert.gateway.restarted(), client: bert.client, peer: bert.peer, session: bert.session)
    #expect(try await promised(to: bert.client) == .number(16 << 20))
    #expect(try await bert.client.post("/v1/sessions").status == 507)
    #expect(try await bert.client.delete(bert.path).status == 204)
    #expect(try await promised(to: bert.client) == 0)
    #expect(try await bert.client.post("/v1/sessions").status == 201)
    await meeting.end()
  }
}
