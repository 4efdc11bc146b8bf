internal import Notation
internal import Testing

@testable internal import Gateway
@testable internal import Media
@testable internal import Nearby

@Suite("Bluetooth devices that want to be paired", .timeLimit(.minutes(1)))
struct BluetoothPairingTests {
  private static let list = "/v1/bluetooth-pairings"

  /// A device that waits for an answer; its answers come back to it.
  private func ask(_ gateway: TestGateway, name: String = "Phone of Anna", number: String? = "042117") async
    -> BluetoothPairing
  {
    let ends = Ends()
    let pairing = BluetoothPairing(.some(name: name, number: number)) { isAccepted in
      ends.pairing?.outcome.settle(isAccepted ? .accepted : .declined)
    }
    ends.pairing = pairing
    await gateway.running.run { $0.handle(pairing) }
    return pairing
  }

  /// It is set once, before anybody answers.
  private final class Ends: @unchecked Sendable { weak var pairing: BluetoothPairing? }

  @Test(
    "Operators see and hear it, with the number to compare, and others do not", arguments: ["accepted", "declined"])
  func answered(_ answer: String) async throws {
    try await withGateway { gateway in
      let (chief, member) = (try await gateway.client("operator"), try await gateway.client())
      let pairing = await ask(gateway)
      let item = try #require(try await chief.get(Self.list).json["items"]?.list?.first)
      #expect(item["device"] == "00:AA:01:00:00:42" && item["number"] == "042117" && item["state"] == "pending")
      #expect(item["displayName"] == "Phone of Anna")
      let path = "\(Self.list)/\(item["id"]?.text ?? "")"
      for status in [
        try await member.get(Self.list).status, try await member.get(path).status,
        try await member.patch(path, ["state": .text(answer)]).status,
      ] { #expect(status == 403) }
      let answered = try await chief.patch(path, ["state": .text(answer)])
      #expect(answered.status == 200 && answered.json["state"] == .text(answer), "\(answered.text)")
      #expect(await pairing.ended.rawValue == answer)
      #expect(try await chief.patch(path, ["state": "accepted"]).status == 409)
      #expect(try await chief.get("\(Self.list)?state=pending").ids == [])
      let audit = try await chief.get("/v1/audit").json["items"]?.list?.last
      #expect(audit?["deed"] == .text(answer) && audit?["about"] == .text(path))
      #expect(audit?["device"] == "00:AA:01:00:00:42")
      let events = try await chief.get("/v1/events?event=bluetoothPairingEnded").json["items"]?.list
      #expect(events?.count == 1 && events?.first?["state"] == .text(answer))
    }
  }

  @Test("An invalid answer changes nothing")
  func fields() async throws {
    try await withGateway { gateway in
      let chief = try await gateway.client("operator")
      _ = await ask(gateway)
      let path = "\(Self.list)/\(try await chief.get(Self.list).ids.first ?? "")"
      let wrong: [JSON] = [
        [:], ["state": "pending"], ["state": "timedOut"], ["state": 1], ["state": "accepted", "x": 1],
      ]
      for body in wrong {
        #expect(try await chief.patch(path, body).status == 400, "\(body.line)")
      }
      #expect(try await chief.patch("\(Self.list)/nobody", ["state": "accepted"]).status == 404)
      #expect(try await chief.get(path).json["state"] == "pending")
    }
  }

  @Test("It ends by itself where nobody answers, and a device without a name and number says neither")
  func timedOut() async throws {
    try await withGateway { gateway in
      let chief = try await gateway.client("operator")
      let pairing = await ask(gateway, name: "", number: nil)
      let item = try await chief.get(Self.list).json["items"]?.list?.first
      #expect(item?["number"] == nil && item?["displayName"] == nil)
      pairing.outcome.settle(.timedOut)
      let ended = try await chief.wait(in: Self.list, "state", "timedOut")
      #expect(ended["device"] == "00:AA:01:00:00:42")
    }
  }

  @Test("The list has a limit, and so have the open questions")
  func limits() async throws {
    try await withGateway { gateway in
      let chief = try await gateway.client("operator")
      var pairings: [BluetoothPairing] = []
      for _ in 0..<33 { pairings.append(await ask(gateway)) }
      #expect(await pairings[32].ended == .declined)
      #expect(try await chief.get("\(Self.list)?limit=200").ids.count == 32)
      for pairing in pairings { pairing.outcome.settle(.cancelled) }
      _ = try await chief.wait(in: "\(Self.list)?limit=200") { item in item["state"] == "cancelled" }
      for _ in 0..<120 {
        let pairing = await ask(gateway)
        pairing.outcome.settle(.cancelled)
        await gateway.running.waitForLoop()
      }
      #expect(try await chief.get("\(Self.list)?limit=200").ids.count <= 100)
    }
  }
}

extension BluetoothPairingQuestion {
  static func some(id: UInt64 = 1, name: String = "Phone of Anna", number: String? = "042117") -> Self {
    BluetoothPairingQuestion(id: id, device: "00:AA:01:00:00:42", name: name, number: number, timeLeft: .seconds(25))
  }
}
