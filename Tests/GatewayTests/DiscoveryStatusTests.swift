internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("Clients of several gateways are in sessions", .timeLimit(.minutes(3)), .serialized)
struct DiscoveryStatusTests {
  @Test("P-SES-1 Each change of a member is told once and in order, by REST and by WebSocket")
  func states() async throws {
    try await ThreeClients.hold { circle in
      let (anna, bert) = (circle.anna, circle.bert)
      let (talk, number) = try await anna.follow("members")
      try await anna.connect(with: bert)
      #expect(try await bert.client.delete(bert.path).status == 204)
      _ = try await anna.sees(bert, "notConnected")
      var states: [JSON?] = []
      while states.last != "notConnected" { states.append(try await talk.change(of: number)["put"]?["state"]) }
      #expect(states == ["connecting", "connected", "notConnected"])
      let told = try await anna.sessionEvents(["connecting", "connected", "notConnected"])
      #expect(told.map { $0["event"] } == states)
      #expect(told.allSatisfy { $0["displayName"] == "Bert" })
    }
  }

  @Test("P-SES-2 P-SES-4 A peer that any member invites is connected with all, and all are notified at once of a leave")
  func members() async throws {
    try await ThreeClients.hold { circle in
      try await circle.gather()
      for side in circle.all {
        let answer = try await side.client.get("\(side.path)/members?state=connected")
        #expect(answer.ids.count == 2, "\(answer.text)")
      }
      let begun = ContinuousClock.now
      #expect(try await circle.cora.client.delete(circle.cora.path).status == 204)
      for side in [circle.anna, circle.bert] {
        #expect(try await side.sees(circle.cora, "notConnected")["reason"] == "left")
      }
      // A peer that is lost without leaving is given up only after more than that.
      #expect(ContinuousClock.now - begun < .seconds(5))
      _ = try await circle.anna.client.ask("POST", "\(circle.anna.path)/messages", Array("two".utf8))
      _ = try await circle.bert.client.wait(in: "\(circle.bert.path)/messages", "body", "two")
    }
  }

  @Test("P-SES-3 Those who are connected are those last told as connected, after each who comes and goes")
  func connected() async throws {
    try await ThreeClients.hold { circle in
      let anna = circle.anna
      let (talk, number) = try await anna.follow("members")
      var told: [String: JSON] = [:]
      func hear(_ peer: String, _ state: JSON) async throws {
        while told[peer] != state {
          guard let put = try await talk.change(of: number)["put"], let peer = put["peer"]?.text else { continue }
          told[peer] = put["state"]
        }
        let there = Set(told.filter { $0.value == "connected" }.map(\.key))
        let items = try await anna.client.get("\(anna.path)/members?state=connected").json["items"]?.list ?? []
        #expect(Set(items.compactMap { $0["peer"]?.text }) == there)
        #expect(try await anna.client.get(anna.path).json["connected"] == .number(there.count))
      }
      try await anna.connect(with: circle.bert)
      try await hear(circle.bert.peer, "connected")
      try await circle.cora.connect(with: anna)
      try await hear(circle.cora.peer, "connected")
      let member = try await anna.sees(circle.bert, "connected")["id"]?.text ?? ""
      #expect(try await anna.client.delete("\(anna.path)/members/\(member)").status == 204)
      try await hear(circle.bert.peer, "notConnected")
      #expect(try await circle.cora.client.delete(circle.cora.path).status == 204)
      try await hear(circle.cora.peer, "notConnected")
      #expect(told.count == 2)
    }
  }

  @Test("P-SES-5 A peer is in two sessions with the same one and with another, each on its own")
  func several() async throws {
    try await ThreeClients.hold { circle in
      let (anna, bert, cora) = (circle.anna, circle.bert, circle.cora)
      var (hers, his) = (anna, bert)
      hers.session = try await anna.client.make("/v1/sessions").id
      his.session = try await bert.client.make("/v1/sessions").id
      try await anna.connect(with: bert)
      try await hers.connect(with: his)
      try await hers.connect(with: cora)
      _ = try await his.sees(cora, "connected")
      for (side, word) in [(anna, "one"), (hers, "two")] {
        #expect(try await side.client.ask("POST", "\(side.path)/messages", Array(word.utf8)).status == 201)
      }
      for (side, word) in [(bert, "one"), (his, "two"), (cora, "two")] as [(TwoClients.SessionClient, JSON)] {
        _ = try await side.client.wait(in: "\(side.path)/messages", "body", word)
        #expect(try await side.client.get("\(side.path)/messages").ids.count == 1)
      }
      #expect(try await bert.client.get("\(bert.path)/members").ids.count == 1)
      #expect(try await anna.client.delete(hers.path).status == 204)
      for side in [his, cora] { #expect(try await side.sees(anna, "notConnected")["reason"] == "left") }
      _ = try await anna.client.ask("POST", "\(anna.path)/messages", Array("still one".utf8))
      _ = try await bert.client.wait(in: "\(bert.path)/messages", "body", "still one")
      _ = try await bert.sees(anna, "connected")
    }
  }

  @Test("P-SES-7 A peer in ad hoc mode meets all others by itself, each pair once, however invitations cross")
  func adhoc() async throws {
    try await ThreeClients.hold { circle in
      var sides = circle.all
      for side in circle.all { sides.append(try await .taken(at: side.gateway, by: "Friend of \(side.session)")) }
      try await withThrowingTaskGroup(of: Answer.self) { group in
        for side in sides { group.addTask { try await side.client.patch(side.path, ["adhoc": "chat"]) } }
        for try await answer in group { #expect(answer.json["adhoc"] == "chat", "\(answer.text)") }
      }
      for side in sides {
        for other in sides where other.peer != side.peer { _ = try await side.sees(other, "connected") }
      }
      // An invitation to a connected peer is accepted at once; no connection is made or cut.
      let (anna, bert) = (circle.anna, circle.bert)
      let body: JSON = ["session": .text(bert.session), "to": .text(anna.peer), "serviceType": "chat"]
      let again = try await bert.client.make("/v1/invitations", body)
      let ended = try await bert.client.wait(in: "/v1/invitations") {
        $0["id"] == .text(again.id) && $0["state"] != "pending"
      }
      #expect(ended["state"] == "accepted", "\(ended.line)")
      #expect(try await anna.client.get("/v1/invitations").ids == [])
      for side in sides {
        #expect(try await side.sessionEvents(["connected"]).count == sides.count - 1)
        #expect(try await side.sessionEvents(["notConnected"]) == [])
        #expect(try await side.client.get("\(side.path)/members").ids.count == sides.count - 1)
      }
    }
  }

  @Test("P-SEC-1 None and required do not connect, and both clients are told why; every other pair does")
  func encryption() async throws {
    try await ThreeClients.hold { circle in
      let words = ["none", "optional", "required"]
      for (one, other) in words.flatMap({ one in words.map { (one, $0) } }) {
        var (anna, bert) = (circle.anna, circle.bert)
        anna.session = try await anna.client.make("/v1/sessions", ["encryption": .text(one)]).id
        bert.session = try await bert.client.make("/v1/sessions", ["encryption": .text(other)]).id
        let (hers, his) = (try await anna.call(bert), try await bert.call(anna))
        let fits = Set([one, other]) != ["none", "required"]
        for (side, call) in [(anna, hers), (bert, his)] {
          let ended = try await side.end(of: call)
          #expect(ended["state"] == (fits ? "connected" : "failed"), "\(one) and \(other): \(ended.line)")
          if fits { continue }
          let detail = ended["problem"]?["detail"]?.text ?? ""
          #expect(detail.contains("one side requires encryption and the other has none"), "\(ended.line)")
          #expect(try await side.client.get("\(side.path)/members?state=connected").ids == [])
        }
        for side in [anna, bert] { #expect(try await side.client.delete(side.path).status == 204) }
      }
    }
  }
}
