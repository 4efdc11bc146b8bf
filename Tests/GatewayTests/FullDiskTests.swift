internal import Notation
internal import Store
internal import Testing

@testable internal import Gateway

@Suite("A gateway whose disk is full", .timeLimit(.minutes(3)), .serialized)
struct FullDiskTests {
  /// The one that finds the disk full waits; the others hear of it at once.
  private func whileFull(_ seat: Meeting.Seat, _ test: () async throws -> Void) async throws {
    let store = try #require(await seat.place.gateway.archive).writer
    let operators = try await seat.place.client("operator")
    try await store.perform { try $0.run("PRAGMA max_page_count = 1") }
    // More than what it has free within.
    let body = [UInt8](repeating: 120, count: 1_000_000)
    async let first = seat.client.ask("POST", "\(seat.path)/messages", body, type: "text/plain")
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
    try await Meeting.hold { meeting in
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
    var meeting = try await Meeting.begin()
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
    meeting.anna = Meeting.Seat(
      place: try await anna.place.restarted(), client: anna.client, peer: anna.peer, session: anna.session)
    let left = try await anna.client.get("/v1/advertisers")
    #expect(left.ids == [advertiser["id"]?.text ?? ""])
    #expect(left.json["items"]?.list?.first?["discoveryInfo"] == ["mood": "rainy"])
    await meeting.end()
  }
}
