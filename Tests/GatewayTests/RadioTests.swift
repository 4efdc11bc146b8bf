internal import Notation
internal import Testing

@testable internal import Gateway
@testable internal import Nearby

@Suite("Wi-Fi radios of the gateway's machine", .timeLimit(.minutes(1)))
struct RadioTests {
  private let network = "/v1/radios/no-such-radio/network"

  private func put(_ body: JSON, by client: HTTPClient) async throws -> HTTPClient.Answer {
    try await client.ask("PUT", network, body.bytes, type: "application/json")
  }

  @Test("Operators see the radios; others do not, and nobody makes a network on one that is not there")
  func radios() async throws {
    try await withGateway { gateway in
      let (chief, member) = (try await gateway.client("operator"), try await gateway.client())
      let list = try await chief.get("/v1/radios")
      #expect(list.status == 200 && list.json["items"]?.list != nil)
      #expect(try await member.get("/v1/radios").status == 403)
      #expect(try await put(["kind": "group"], by: member).status == 403)
      #expect(try await chief.get("/v1/radios/no-such-radio").status == 404)
      #expect(try await put(["kind": "mesh"], by: chief).status == 404)
      #expect(try await chief.delete(network).status == 404)
    }
  }

  @Test("A network that cannot be is refused by the field that is wrong")
  func fields() async throws {
    try await withGateway { gateway in
      let chief = try await gateway.client("operator")
      for (body, field) in [
        ([:], "kind"), (["kind": "star"], "kind"), (["kind": "mesh", "name": ""], "name"),
        (["kind": "mesh", "password": "short"], "password"), (["kind": "mesh", "frequency": 1], "frequency"),
        (["kind": "group", "name": "mine"], "name"), (["kind": "group", "password": "long enough"], "password"),
        (["kind": "group", "force": "yes"], "force"), (["kind": "group", "channel": 1], "channel"),
      ] as [(JSON, String)] {
        let answer = try await put(body, by: chief)
        #expect(answer.status == 400 && answer.json["field"] == .text(field), "\(body.line): \(answer.text)")
      }
    }
  }

  @Test("Each obstacle has a status that says who can help")
  func problems() {
    let statuses = Dictionary(
      uniqueKeysWithValues: RadioError.Code.allCases.map { ($0, Problem(RadioError($0, "Why.", cure: "How.")).status) })
    #expect(
      statuses == [
        .missing: 404, .blocked: 409, .unavailable: 503, .forbidden: 403, .unsupported: 422, .inUse: 409, .invalid: 400,
        .failed: 503,
      ])
    #expect(Problem(RadioError(.forbidden, "Why.", cure: "How.")).detail == "Why. How.")
  }
}
