internal import DBus
internal import FakeRadio
internal import Notation
internal import TestKit
internal import Testing

@testable internal import Gateway
@testable internal import Nearby

@Suite("Wi-Fi radios of the gateway's machine", .timeLimit(.minutes(1)))
struct RadioTests {
  private let network = "/v1/radios/no-such-radio/network"

  private func put(_ body: JSON, by client: HTTPClient) async throws -> Answer {
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

  @Test("A group is told with the devices in it, a code, and the address of this gateway there; then it is ended")
  func group() async throws {
    try await withRadio { machine, fake, gateway in
      // The gateway listens there.
      try machine.add("lo")
      await fake.change { $0.groupInterface = "lo" }
      let (chief, path) = (try await gateway.client("operator"), "/v1/radios/\(machine.radio)")
      let made = try await start(["kind": "group"], at: path, by: chief)
      #expect(made.status == 201)
      let radio = try await chief.get(path).json
      let network = try #require(radio["network"])
      #expect(radio["state"] == "network" && network == made.json)
      #expect(network["members"] == 1 && network["stations"] == [["hardwareAddress": "02:00:00:00:01:00"]])
      #expect(network["url"] == .text("http://127.0.0.1:\(gateway.port)"))
      #expect(network["code"]?.text?.hasPrefix("WIFI:T:WPA;S:DIRECT-AB-vicinity;P:") == true)
      let again = try await start(["kind": "mesh"], at: path, by: chief)
      #expect(again.status == 409 && again.json["rule"] == "radioTaken")
      #expect(try await chief.delete("\(path)/network").status == 204)
      #expect(try await chief.get(path).json["network"] == nil)
    }
  }

  @Test("A radio in use is a conflict that can be forced, and who may not ask is told so, by a rule of its own each")
  func rules() async throws {
    try await withRadio { machine, fake, gateway in
      let (chief, path) = (try await gateway.client("operator"), "/v1/radios/\(machine.radio)")
      await fake.change { $0.state = "completed" }
      let refused = try await start(["kind": "mesh"], at: path, by: chief)
      #expect(refused.status == 409 && refused.json["rule"] == "radioConnected")
      await fake.change { $0.refusal = BusError(BusError.accessDeniedName, "no") }
      let list = try await chief.get("/v1/radios").json
      #expect(list["problem"]?["rule"] == "netdev" && list["problem"]?["status"] == 403)
      #expect(list["items"]?.list?.first?["kinds"] == .null)
      #expect(try await start(["kind": "group"], at: path, by: chief).json["rule"] == "netdev")
      await fake.change { $0.refusal = nil }
      #expect(try await start(["kind": "mesh", "force": true], at: path, by: chief).status == 201)
    }
  }

  @Test("A network that a killed gateway has left is ended, and one of somebody else is not")
  func abandoned() async throws {
    try await withRadio { machine, fake, gateway in
      await fake.leave(group: "DIRECT-XY-television")
      await gateway.running.run { $0.start { core in await core.endAbandonedNetworks() } }
      let (chief, path) = (try await gateway.client("operator"), "/v1/radios/\(machine.radio)")
      #expect(try await chief.get(path).json["network"]?["isAbandoned"] == false)
      await fake.leave(group: "DIRECT-XY-vicinity")
      #expect(try await chief.get(path).json["network"]?["isAbandoned"] == true)
      await gateway.running.run { $0.start { core in await core.endAbandonedNetworks() } }
      while try await chief.get(path).json["network"] != nil {}
      #expect(await !fake.hasGroup)
    }
  }

  /// A gateway of a machine with one radio.
  private func withRadio(_ body: (RadioMachine, FakeSupplicant, TestGateway) async throws -> Void) async throws {
    let machine = try RadioMachine()
    try await FakeSupplicant.with(machine) { fake in
      try await withGateway({ $0.host.listen = ["127.0.0.1"] }) { gateway in
        try await gateway.use(machine)
        try await body(machine, fake, gateway)
      }
    }
  }

  private func start(_ body: JSON, at path: String, by client: HTTPClient) async throws -> Answer {
    try await client.ask("PUT", "\(path)/network", body.bytes, type: "application/json")
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

extension TestGateway {
  /// Gives the gateway this machine's radios, in place of those of the real one.
  func use(_ machine: RadioMachine) async throws {
    let control = try RadioControl(busPath: machine.bus.path, system: SystemRadios(machine.path), givesAddresses: false)
    await running.run { $0.radios = control }
  }
}
