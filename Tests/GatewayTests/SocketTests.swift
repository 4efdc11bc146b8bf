internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("The WebSocket speaks as its document says", .timeLimit(.minutes(2)))
struct SocketTests {
  private func side(_ gateway: TestGateway) async throws -> HTTPClient {
    let client = try await gateway.client()
    _ = try await client.make("/v1/peers", ["displayName": "Anna"])
    return client
  }

  @Test("A client that connects gets its identity and the limits, and nobody else gets further")
  func connecting() async throws {
    try await withGateway { gateway in
      let anna = try await side(gateway)
      let talk = try await Talk.open(anna)
      let ok = try await talk.ask(["id": "a", "connect": ["token": .text(anna.token ?? "")]])["ok"]
      #expect(ok?["role"] == "member" && ok?["limits"]?["subscriptions"] == 256)
      #expect(
        try await talk.ask(["id": 2, "connect": ["token": .text(anna.token ?? "")]])["problem"]?["status"] == 409)
      for (frame, code) in [
        ("{\"id\":1,\"connect\":{\"token\":\"wrong\"}}", 4401),
        ("{\"id\":1,\"subscribe\":{\"channel\":\"/v1/peers\"}}", 4401),
        ("hello", 4400), ("{\"id\":1,\"connect\":{\"password\":\"x\"}}", 4400),
      ] as [(String, UInt16)] {
        let talk = try await Talk.open(anna)
        try await talk.blurt(frame)
        #expect(try await talk.closing() == code, "\(frame)")
      }
      let binary = try await Talk.connected(anna)
      try await binary.blurt("x", opcode: 2)
      #expect(try await binary.closing() == 4400)
    }
  }

  @Test("A silent client is disconnected")
  func silence() async throws {
    try await withGateway({ $0.authenticationTimeout = .seconds(1) }) { gateway in
      let talk = try await Talk.open(gateway.stranger)
      #expect(try await talk.closing() == 4408)
    }
  }

  @Test("A channel gives what is there, then each change; who comes back is given what was missed")
  func subscribing() async throws {
    try await withGateway { gateway in
      let (anna, bert) = (try await side(gateway), try await side(gateway))
      let first = try await Talk.connected(anna)
      let one = try await anna.make("/v1/browsers", ["serviceType": "chat"])
      let ok = try await first.ask(["id": 1, "subscribe": ["channel": "/v1/browsers"]])["ok"]
      #expect(ok?["recovered"] == false && ok?["items"] == [one.json])
      #expect(try await first.ask(["id": 2, "subscribe": ["channel": "/v1/browsers"]])["problem"]?["status"] == 409)
      let number = ok?["number"]
      _ = try await bert.make("/v1/browsers", ["serviceType": "chat"])
      let two = try await anna.make("/v1/browsers", ["serviceType": "game"])
      #expect(try await first.change(of: number)["skip"] == 1)
      let put = try await first.change(of: number)
      #expect(put["put"] == two.json && put["o"] == 3)
      first.hangUp()
      _ = try await anna.delete(one["Location"] ?? "")
      let epoch = ok?["position"]?.text?.prefix { $0 != "." } ?? ""
      let second = try await Talk.connected(anna)
      let back = try await second.ask([
        "id": 1, "subscribe": ["channel": "/v1/browsers", "since": .text("\(epoch).1")],
      ])["ok"]
      #expect(back?["recovered"] == true && back?["missed"] == 3 && back?["number"] == number)
      #expect(try await second.change(of: number)["skip"] == 1)
      #expect(try await second.change(of: number)["put"] == two.json)
      #expect(try await second.change(of: number)["del"] == .text(one.id))
      #expect(
        try await second.ask(["id": 2, "unsubscribe": ["channel": "/v1/browsers"]])["ok"]?["channel"] == "/v1/browsers")
      #expect(try await second.ask(["id": 3, "unsubscribe": ["channel": "/v1/browsers"]])["problem"]?["status"] == 404)
      let anew = try await second.ask(["id": 4, "subscribe": ["channel": "/v1/browsers", "since": "other.1"]])["ok"]
      #expect(anew?["recovered"] == false && anew?["items"] == [two.json])
    }
  }

  @Test func `changes for others are told by number with the next one of one's own, or once they are many`()
    async throws
  {
    try await withGateway { gateway in
      let (anna, bert) = (try await side(gateway), try await side(gateway))
      let talk = try await Talk.connected(anna)
      let number = try await talk.ask(["id": 1, "subscribe": ["channel": "/v1/browsers"]])["ok"]?["number"]
      for _ in 0..<130 {
        let browser = try await bert.make("/v1/browsers", ["serviceType": "chat"])
        _ = try await bert.delete(browser["Location"] ?? "")
      }
      let own = try await anna.make("/v1/browsers", ["serviceType": "game"])
      for (offset, count) in [(256, 256), (260, 4)] {
        let frame = try await talk.change(of: number)
        #expect(frame["skip"] == .number(count) && frame["o"] == .number(offset), "\(frame.line)")
      }
      #expect(try await talk.change(of: number)["put"] == own.json)
    }
  }

  @Test("Every REST request works on the WebSocket, and is refused in the same words")
  func requests() async throws {
    try await withGateway { gateway in
      let anna = try await side(gateway)
      let talk = try await Talk.connected(anna)
      func ask(_ request: JSON) async throws -> JSON { try await talk.ask(["id": 7, "request": request]) }
      let made = try await ask(["method": "POST", "path": "/v1/sessions", "body": ["maxPeers": 4]])
      let path = made["location"]?.text ?? ""
      #expect(made["ok"]?["maxPeers"] == 4 && path.hasPrefix("/v1/sessions/"))
      #expect(try await ask(["method": "GET", "path": "/v1/sessions?limit=1"])["ok"]?["items"]?.list?.count == 1)
      #expect(try await ask(["method": "GET", "path": "/v1/sessions?colour=1"])["problem"]?["field"] == "colour")
      #expect(try await ask(["method": "POST", "path": "/v1/sessions", "body": ["a": 1]])["problem"]?["field"] == "a")
      #expect(try await ask(["method": "PUT", "path": "/v1/sessions"])["problem"]?["status"] == 404)
      #expect(try await ask(["method": "GET", "path": "v1"])["problem"]?["field"] == "request.path")
      let sent = try await ask(["method": "POST", "path": .text("\(path)/messages"), "body": "hello"])
      #expect(sent["problem"]?["type"] == "/problems/notConnected")
      let key: JSON = ["Idempotency-Key": "k"]
      let one = try await ask(["method": "POST", "path": "/v1/peers", "body": ["displayName": "B"], "headers": key])
      let two = try await ask(["method": "POST", "path": "/v1/peers", "body": ["displayName": "B"], "headers": key])
      #expect(one["ok"]?["id"] != nil && one == two)
      let old: JSON = ["If-Match": "\"else.1\""]
      #expect(
        try await ask(["method": "PATCH", "path": .text(path), "body": ["locked": true], "headers": old])["problem"]?[
          "status"]
          == 412)
      #expect(try await ask(["method": "DELETE", "path": .text(path)])["ok"]?["status"] == 204)
      #expect(
        try await talk.ask(["id": 8, "subscribe": ["channel": "/v1/nothing"]])["problem"]?["field"]
          == "subscribe.channel")
    }
  }

  @Test("Several frames may stand in one message, and what is wrong in one spoils no other")
  func lines() async throws {
    try await withGateway { gateway in
      let talk = try await Talk.connected(try await side(gateway))
      try await talk.blurt(
        "{\"id\":1,\"request\":{\"method\":\"GET\",\"path\":\"/v1/peers\"}}\nnonsense\n{\"id\":2}\n{\"id\":3,\"dance\":{}}\n"
      )
      #expect(try await talk.answer(to: 1)["ok"]?["items"] != nil)
      #expect(try await talk.answer(to: nil as JSON? ?? .null)["problem"]?["type"] == "/problems/badRequest")
      #expect(try await talk.answer(to: 2)["problem"]?["status"] == 400)
      #expect(try await talk.answer(to: 3)["problem"]?["field"] == "dance")
    }
  }

  @Test("A gateway that stops says so, with a code that means to come back")
  func stopping() async throws {
    let gateway = try await TestGateway.open()
    let talk = try await Talk.connected(try await gateway.client())
    async let code = talk.closing()
    await gateway.close()
    #expect(try await code == 1012)
  }
}
