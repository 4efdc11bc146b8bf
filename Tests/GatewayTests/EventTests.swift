internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("What happens is among the events", .timeLimit(.minutes(3)), .serialized)
struct EventTests {
  @Test("A member whose link is cut is reported as suspended, by the list of events and by the WebSocket")
  func suspended() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let talk = try await Talk.connected(anna.client)
      let number = try await talk.ask(["id": 1, "subscribe": ["channel": "/v1/events"]])["ok"]?["number"]
      let back = try await bert.gateway.restarted {
        let event = try await anna.client.wait(in: "/v1/events?event=suspended") { $0["suspended"] == true }
        let member = try #require(event["about"]?.text)
        #expect(event["displayName"] == "Bert" && member.hasPrefix("\(anna.path)/members/"))
        var told = try await talk.change(of: number)
        while told["put"]?["event"] != "suspended" { told = try await talk.change(of: number) }
        #expect(told["put"] == event)
      }
      await back.close()
    }
  }

  @Test("A resource under way says how many seconds are left, and one that is over does not")
  func timeLeft() {
    let other = ResourceModel.Remote(member: "m", peer: "p", name: "Bert")
    let resource = ResourceModel(
      "x", other, isIncoming: true, type: "text/plain", ResourceContent(size: 10), .transferring, at: Timestamp.now)
    #expect(resource.json(at: "/x")["timeLeft"] == nil)
    resource.timeLeft = .milliseconds(9_900)
    #expect(resource.json(at: "/x")["timeLeft"] == 9)
    resource.state = .complete
    #expect(resource.json(at: "/x")["timeLeft"] == nil)
  }
}
