internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("Programs that have a way of their own connect by data", .timeLimit(.minutes(3)), .serialized)
struct ConnectingTests {
  private struct Side {
    let client: HTTPClient
    let peer: String
    let path: String
    let data: JSON

    static func open(_ gateway: TestGateway, _ name: String) async throws -> Side {
      let client = try await gateway.client()
      let peer = try await client.make("/v1/peers", ["displayName": .text(name)]).id
      let path = try await client.make("/v1/sessions")["Location"] ?? ""
      let data = try await client.get("\(path)/connection-data").json
      #expect(data["peer"] == .text(peer) && data["encoding"] == "base64")
      return Side(client: client, peer: peer, path: path, data: data)
    }

    /// Connects with the other side's connection data, unchanged.
    func connect(with other: Side, _ more: [JSON.Member] = []) async throws -> Answer {
      try await client.post("\(path)/connections", .object((other.data.members ?? []) + more))
    }

    func wait(_ answer: Answer, _ state: JSON) async throws -> JSON {
      try await client.wait(in: "\(path)/connections") { $0["id"] == .text(answer.id) && $0["state"] == state }
    }
  }

  private func atPlaces(_ test: (Side, Side) async throws -> Void) async throws {
    try await withGateway { here in
      // Neither looks for the other.
      try await withGateway { there in
        try await test(try await Side.open(here, "Anna"), try await Side.open(there, "Bert"))
      }
    }
  }

  @Test("P-CUS-1 Clients of two gateways connect by what each was given of the other's")
  func connecting() async throws {
    try await atPlaces { anna, bert in
      let one = try await anna.connect(with: bert, [.init("timeout", 60)])
      #expect(one.status == 201 && one.json["state"] == "pending")
      let two = try await bert.connect(with: anna, [.init("timeout", 60)])
      _ = try await anna.wait(one, "connected")
      _ = try await bert.wait(two, "connected")
      #expect(try await anna.client.wait(in: "\(anna.path)/members", "state", "connected")["peer"] == .text(bert.peer))
      #expect(try await anna.client.delete(one["Location"] ?? "").status == 204)
      #expect(try await anna.client.get(one["Location"] ?? "").status == 404)
      #expect(try await anna.client.get("\(anna.path)/members?state=connected").ids.count == 1)
    }
  }

  @Test("P-CUS-1 A connection that is cancelled, or that nobody answers, ends")
  func ends() async throws {
    try await atPlaces { anna, bert in
      let late = try await anna.connect(with: bert, [.init("timeout", .real(0.2))])
      #expect(try await anna.wait(late, "timedOut")["problem"]?["type"] == "/problems/timedOut")
      let taken = try await anna.connect(with: bert)
      #expect(try await anna.client.delete(taken["Location"] ?? "").status == 204)
      #expect(try await anna.client.get("\(anna.path)/connections").ids == [late.id])
    }
  }

  @Test("P-CUS-1 Connection data that are not that peer's are refused with the fault")
  func refusals() async throws {
    try await atPlaces { anna, bert in
      for (peer, data, field) in [
        ("nobody", bert.data["data"], "peer"), (anna.peer, bert.data["data"], "data"), (bert.peer, "AQID", "data"),
        (bert.peer, "?", "data"), (bert.peer, nil, "data"),
      ] as [(String, JSON?, JSON)] {
        let answer = try await anna.client.post(
          "\(anna.path)/connections", ["peer": .text(peer), "data": data ?? .null])
        #expect(answer.status == 400 && answer.json["field"] == field, "\(answer.text)")
      }
      #expect(try await bert.client.get("\(anna.path)/connection-data").status == 404)
    }
  }
}
