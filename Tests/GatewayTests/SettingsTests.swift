internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("An admin changes settings while the gateway runs", .timeLimit(.minutes(2)))
struct SettingsTests {
  @Test("A setting holds at once and over a restart, stands in the audit, and goes back to its option by null")
  func changing() async throws {
    let first = try await TestGateway.open()
    let boss = try await first.client("admin")
    let before = try await boss.get("/v1/gateway").json
    let patch: JSON = ["name": "Kitchen", "logLevel": "debug", "limits": ["peersPerClient": 1]]
    let changed = try await boss.patch("/v1/gateway", patch)
    #expect(changed.status == 200 && changed.json["name"] == "Kitchen" && changed.json["settings"]?["changed"] == patch)
    let entry = try await boss.get("/v1/audit").json["items"]?.list?.last
    #expect(entry?["deed"] == "changed" && entry?["settings"] == ["name", "logLevel", "peersPerClient"])
    let gateway = try await first.restarted()
    var again = gateway.stranger
    again.token = boss.token
    #expect(try await gateway.stranger.get("/v1/gateway").json["name"] == "Kitchen")
    #expect(try await again.get("/v1/gateway").json["settings"]?["logLevel"] == "debug")
    #expect(try await again.post("/v1/peers", ["displayName": "Anna"]).status == 201)
    #expect(try await again.post("/v1/peers", ["displayName": "Ben"]).json["rule"] == "peers")
    let reset = try await again.patch(
      "/v1/gateway", ["name": .null, "logLevel": .null, "limits": ["peersPerClient": .null]])
    #expect(reset.json["name"] == before["name"] && reset.json["limits"] == before["limits"])
    #expect(reset.json["settings"]?["changed"] == [:])
    await gateway.close()
  }

  @Test("Unknown and invalid settings, and those of no admin, are refused and change nothing")
  func refusing() async throws {
    try await withGateway { gateway in
      let boss = try await gateway.client("admin")
      for (patch, field) in [
        (["name": " "], "name"), (["logLevel": "loud"], "logLevel"),
        (["limits": ["peersPerClient": 0]], "limits.peersPerClient"),
        (["limits": ["connections": 5]], "limits.connections"), (["port": 1], "port"),
      ] as [(JSON, String)] {
        let refused = try await boss.patch("/v1/gateway", patch)
        #expect(refused.status == 400 && refused.json["field"]?.text == field, "\(refused.text)")
      }
      #expect(try await gateway.client("operator").patch("/v1/gateway", ["name": "Mine"]).status == 403)
      #expect(try await boss.get("/v1/gateway").json["settings"]?["changed"] == [:])
    }
  }
}
