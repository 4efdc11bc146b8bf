internal import Foundation
internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("Clients of two gateways invite each other", .timeLimit(.minutes(3)), .serialized)
struct InvitingTests {
  private func invite(_ meeting: TwoClients, _ more: [JSON.Member] = []) async throws -> Answer {
    let (anna, bert) = (meeting.anna, meeting.bert)
    let session = try await bert.client.make("/v1/sessions").id
    let body: [JSON.Member] = [
      .init("session", .text(session)), .init("to", .text(anna.peer)), .init("serviceType", "chat"),
    ]
    return try await bert.client.make("/v1/invitations", .object(body + more))
  }

  /// The time between an invitation's beginning and its end, in seconds.
  private func seconds(_ invitation: JSON) throws -> Double {
    func time(_ name: String) throws -> Date {
      try Date(#require(invitation[name]?.text), strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
    return try time("expiresAt").timeIntervalSince(time("createdAt"))
  }

  @Test("P-ADV-4 P-SES-1 An invitation comes with its inviter and its context to the byte; declined, nobody connects")
  func declining() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let bytes = (0..<Routes.contextBytesMax).map { UInt8(truncatingIfNeeded: $0) }
      let context: [JSON.Member] = [.init("context", .text(Base64.text(bytes))), .init("encoding", "base64")]
      let made = try await invite(meeting, context)
      let much: JSON = .text(String(repeating: "x", count: bytes.count + 1))
      let refused = try await bert.client.post(
        "/v1/invitations",
        ["session": .text(bert.session), "to": .text(anna.peer), "serviceType": "chat", "context": much])
      #expect(refused.json["field"] == "context" && refused.json["limit"] == .number(bytes.count), "\(refused.text)")
      let came = try await anna.client.wait(in: "/v1/invitations", "state", "pending")
      #expect(came["from"] == .text(bert.peer) && came["displayName"] == "Bert" && came["encoding"] == "base64")
      #expect(came["context"]?.text.flatMap(Base64.bytes) == bytes)
      let path = "/v1/invitations/\(came["id"]?.text ?? "")"
      #expect(try await anna.client.patch(path, ["state": "declined"]).json["state"] == "declined")
      let ended = try await bert.client.wait(in: "/v1/invitations") {
        $0["id"] == .text(made.id) && $0["state"] != "pending"
      }
      #expect(ended["state"] == "declined", "\(ended.line)")
      let session = ended["session"]?.text ?? ""
      #expect(try await bert.client.get("/v1/sessions/\(session)/members?state=connected").ids == [])
      #expect(try await bert.client.get("/v1/sessions/\(session)/members?state=connecting").ids == [])
    }
  }

  @Test("P-ADV-4 P-BRO-3 An invitation that nobody answers ends on both sides at its timeout; zero and less mean 30 s")
  func timeouts() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      for timeout in [0, -7, nil] as [JSON?] {
        let made = try await invite(meeting, timeout.map { [.init("timeout", $0)] } ?? [])
        let came = try await anna.client.wait(in: "/v1/invitations", "state", "pending")
        #expect(try abs(seconds(made.json) - 30) < 0.1, "\(made.text)")
        // The rest of the timeout as the invitee sees it, on a machine that may be busy.
        let left = try seconds(came)
        #expect(left <= 30.1 && left > 15, "\(came.line)")
        _ = try await bert.client.patch(made["Location"] ?? "", ["state": "cancelled"])
        _ = try await anna.client.wait(in: "/v1/invitations") { $0["id"] == came["id"] && $0["state"] == "cancelled" }
      }
      let begun = ContinuousClock.now
      let made = try await invite(meeting, [.init("timeout", 2)])
      let came = try await anna.client.wait(in: "/v1/invitations", "state", "pending")
      let ended = try await bert.client.wait(in: "/v1/invitations") {
        $0["id"] == .text(made.id) && $0["state"] != "pending"
      }
      #expect(ContinuousClock.now - begun >= .seconds(2))
      #expect(ended["state"] == "timedOut" && ended["problem"]?["type"] == "/problems/timedOut", "\(ended.line)")
      let other = try await anna.client.wait(in: "/v1/invitations") {
        $0["id"] == came["id"] && $0["state"] != "pending"
      }
      #expect(other["state"] == "timedOut", "\(other.line)")
      let late = try await anna.client.patch("/v1/invitations/\(came["id"]?.text ?? "")", ["state": "accepted"])
      #expect(late.status == 409)
    }
  }
}
