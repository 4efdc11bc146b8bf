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
        let member = try await anna.client.wait(in: "\(anna.path)/members", "peer", .text(bert.peer))
        #expect(member["medium"] == "lan")
        #expect((link["address"]?.text?.hasPrefix("127.0.0.1:") == true) == seesAddress, "\(answer.text)")
        let roundTrip = try #require(number(link["roundTripMilliseconds"]))
        #expect(roundTrip > 0 && roundTrip < 1_000)
        #expect(number(link["loss"]).map { (0...1).contains($0) } == true)
        for name in ["bytesSent", "bytesReceived"] { #expect(number(link[name]).map { $0 > 0 } == true, "\(name)") }
      }
    }
  }

  private func number(_ json: JSON?) -> Double? {
    if case .real(let value)? = json { value } else { json?.integer.map(Double.init) }
  }

  @Test("How a found peer is reached is told to who browses: its host, the medium, and the round trip")
  func reach() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let host = try await bert.client.wait(in: "\(bert.path)/members", "peer", .text(anna.peer))["carriedBy"]
      let found = try await bert.client.get("/v1/browsers").json["items"]?.list?.first?["found"]?.text ?? ""
      let reach = try await bert.client.get("\(found)/\(anna.peer)/reach")
      #expect(
        reach.json["host"] == host && reach.json["medium"] == "lan" && reach.json["linked"] == true, "\(reach.text)")
      #expect(try #require(number(reach.json["roundTripMilliseconds"])) > 0)
      #expect(number(reach.json["loss"]).map { (0...1).contains($0) } == true)
      #expect(reach.json["bytesPerSecond"]?.integer != nil && reach.json["via"] == nil)
      // One that is not found, one of the same gateway, and none at all.
      for peer in [String(repeating: "a", count: 26), bert.peer, "nobody"] {
        #expect(try await bert.client.get("\(found)/\(peer)/reach").status == 404)
      }
      #expect(try await anna.client.get("\(found)/\(anna.peer)/reach").status == 404)
    }
  }

  @Test("Metrics of links are by medium: how many, their round trips, rates and loss")
  func metrics() async throws {
    try await TwoClients.hold { meeting in
      let text = try await meeting.anna.gateway.stranger.get("/metrics").text
      for line in ["vicinity_relayed_links 0", "vicinity_relayed_bytes_total 0"] {
        #expect(text.split(separator: "\n").contains { $0 == line })
      }
      let values = text.split(separator: "\n").filter { $0.hasPrefix("vicinity_medium_") }.map { line in
        let words = line.split(separator: " ")
        return (String(words[0]), Double(words[1]) ?? -1)
      }
      let known = Dictionary(uniqueKeysWithValues: values)
      #expect(known["vicinity_medium_links{medium=\"lan\",use=\"active\"}"] == 1, "\(text)")
      #expect(known["vicinity_medium_links{medium=\"lan\",use=\"standby\"}"] == 0)
      for statistic in ["median", "maximum"] {
        let name = "vicinity_medium_round_trip_seconds{medium=\"lan\",statistic=\"\(statistic)\"}"
        #expect(known[name].map { $0 > 0 && $0 < 1 } == true)
      }
      for statistic in ["median", "minimum"] {
        let name = "vicinity_medium_rate_bytes_per_second{medium=\"lan\",statistic=\"\(statistic)\"}"
        #expect(known[name].map { $0 > 0 } == true)
      }
      #expect(known["vicinity_medium_loss_ratio{medium=\"lan\"}"].map { (0...1).contains($0) } == true)
      #expect(values.count == 7)
    }
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
