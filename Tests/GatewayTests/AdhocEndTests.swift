internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("Ad hoc mode ends at the time that its client has set, though nobody looks", .timeLimit(.minutes(2)))
struct AdhocEndTests {
  @Test("It ends after its seconds, and over a restart; a new service type without them has no end")
  func ends() async throws {
    let first = try await TestGateway.open()
    let anna = try await first.client("member")
    _ = try await anna.make("/v1/peers", ["displayName": "Anna"])
    let paths = [
      try await anna.make("/v1/sessions")["Location"] ?? "", try await anna.make("/v1/sessions")["Location"] ?? "",
    ]
    for (path, seconds) in zip(paths, [1, 60]) {
      let answer = try await anna.patch(path, ["adhoc": "chat", "adhocSeconds": .number(seconds)])
      #expect(answer.json["adhoc"] == "chat" && answer.json["adhocUntil"]?.text != nil, "\(answer.text)")
    }
    #expect(try await ended(paths[0], by: anna)["adhocUntil"] == nil)
    let lasting = try await anna.patch(paths[0], ["adhoc": "chat"])
    #expect(lasting.json["adhoc"] == "chat" && lasting.json["adhocUntil"] == nil)
    // While the gateway is away the time goes on.
    _ = try await anna.patch(paths[1], ["adhocSeconds": 1])
    let gateway = try await first.restarted()
    var again = gateway.stranger
    again.token = anna.token
    _ = try await ended(paths[1], by: again)
    #expect(try await again.get(paths[0]).json["adhoc"] == "chat")
    await gateway.close()
  }

  /// The session once it is not in ad hoc mode any more.
  private func ended(_ path: String, by client: HTTPClient) async throws -> JSON {
    try await client.wait(in: "/v1/sessions") { session in
      session["adhoc"] == nil && session["id"]?.text.map { path.hasSuffix($0) } == true
    }
  }

  @Test("An end is refused where there is no ad hoc mode, and nothing has changed")
  func refuses() async throws {
    try await withGateway { gateway in
      let anna = try await gateway.client("member")
      _ = try await anna.make("/v1/peers", ["displayName": "Anna"])
      let path = try await anna.make("/v1/sessions")["Location"] ?? ""
      for patch in [["adhocSeconds": 5, "locked": true], ["adhoc": "chat", "adhocSeconds": 0]] as [JSON] {
        let answer = try await anna.patch(path, patch)
        #expect(answer.status == 400 && answer.json["field"] == "adhocSeconds", "\(answer.text)")
      }
      let session = try await anna.get(path).json
      #expect(session["adhoc"] == nil && session["locked"] == false)
    }
  }
}
