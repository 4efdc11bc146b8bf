internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("Links to other hosts", .timeLimit(.minutes(1)))
struct LinkTests {
  @Test("A member's host has one link in use, with the measurements of the system; addresses are for operators")
  func list() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let host = try await anna.client.wait(in: "\(anna.path)/members", "peer", .text(bert.peer))["carriedBy"]
      let chief = try await anna.gateway.client("operator")
      for (client, seesAddress) in [(anna.client, false), (chief, true)] {
        let answer = try await client.get("/v1/links")
        let links = answer.json["items"]?.list?.filter { $0["standby"] == false } ?? []
        #expect(links.count == 1, "\(answer.text)")
        let link = try #require(links.first)
        #expect(link["host"] == host && link["medium"] == "lan")
        #expect((link["address"]?.text?.hasPrefix("127.0.0.1:") == true) == seesAddress, "\(answer.text)")
        let roundTrip = try #require(number(link["roundTripMilliseconds"]))
        #expect(roundTrip > 0 && roundTrip < 1_000)
        #expect(number(link["loss"]).map { (0...1).contains($0) } == true)
      }
    }
  }

  private func number(_ json: JSON?) -> Double? {
    if case .real(let value)? = json { value } else { json?.integer.map(Double.init) }
  }

  @Test("A gateway that is linked with nobody has no links")
  func none() async throws {
    try await withGateway { gateway in
      let viewer = try await gateway.client("viewer")
      #expect(try await viewer.get("/v1/links").json["items"] == .list([]))
      #expect(try await gateway.stranger.get("/v1/links").status == 401)
    }
  }
}
