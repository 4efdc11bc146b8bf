internal import Foundation
internal import Notation
internal import Store
internal import Testing

@testable internal import Gateway

@Suite("What is asked at the same time", .timeLimit(.minutes(3)), .serialized)
struct RaceTests {
  /// The answers to concurrent requests.
  private func all(
    _ count: Int, _ ask: @escaping @Sendable (Int) async throws -> Answer
  ) async throws -> [Answer] {
    try await withThrowingTaskGroup(of: Answer.self) { group in
      for number in 0..<count { group.addTask { try await ask(number) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
  }

  private func count(_ status: Int, _ answers: [Answer]) -> Int { answers.count { $0.status == status } }

  @Test(
    "Peers that are made concurrently stay within a client's limit, and a failed one returns its place"
  )
  func peers() async throws {
    try await withGateway({ $0.limits.peersPerClient = 8 }) { gateway in
      let client = try await gateway.client()
      let answers = try await all(30) { number in
        try await client.post("/v1/peers", ["displayName": .text("Peer \(number)")])
      }
      #expect(count(201, answers) == 8 && count(429, answers) == 22)
      #expect(try await client.get("/v1/peers").ids.count == 9)
      let store = try #require(await gateway.running.sessionStore).writer
      #expect(try await store.perform { try $0.peers().count } == 8)
      // Nobody's place is lost by what was refused.
      let made = try #require(answers.first { $0.status == 201 })
      #expect(try await client.delete("/v1/peers/\(made.id)").status == 204)
      #expect(try await client.post("/v1/peers", ["displayName": "Once more"]).status == 201)
      #expect(await gateway.running.quotaReservationCount == 0)
    }
  }

  @Test("Sessions, advertisers and browsers that are made at the same time keep to their limits")
  func things() async throws {
    try await withGateway({ options in
      options.limits.sessionsPerPeer = 3
      options.limits.advertisersPerPeer = 3
      options.limits.browsersPerPeer = 3
    }) { gateway in
      let client = try await gateway.client()
      _ = try await client.make("/v1/peers", ["displayName": "Anna"])
      for (path, body) in [
        ("/v1/sessions", { @Sendable _ in [:] }),
        ("/v1/advertisers", { @Sendable in ["serviceType": .text("kind-\($0)")] }),
        ("/v1/browsers", { @Sendable in ["serviceType": .text("kind-\($0)")] }),
      ] as [(String, @Sendable (Int) -> JSON)] {
        let answers = try await all(12) { try await client.post(path, body($0)) }
        #expect(count(201, answers) == 3 && count(429, answers) == 9, "\(path): \(answers.map(\.status))")
        #expect(try await client.get(path).ids.count == 3, "\(path)")
      }
      #expect(await gateway.running.quotaReservationCount == 0)
    }
  }

  @Test("Uploads at the same time bring no more than a client's resources may take, with their lengths told or not")
  func bytes() async throws {
    let (size, bytesMax) = (1 << 20, 4 << 20)
    try await withGateway({ $0.limits.resourceBytesPerClient = bytesMax }) { gateway in
      let meeting = try await TwoClients.near(at: gateway, ["resources": "ask"])
      let (anna, bert) = (meeting.anna, meeting.bert)
      for isChunked in [false, true] {
        var contents: [String] = []
        for number in 0..<12 {
          let made = try await bert.client.make(
            "\(bert.path)/resources", ["name": .text("file \(number)"), "to": .text(anna.peer)])
          contents.append(made.json["content"]?.text ?? "")
        }
        let bytes = [UInt8](repeating: 7, count: size)
        let chunked = Array("\(String(size, radix: 16))\r\n".utf8) + bytes + Array("\r\n0\r\n\r\n".utf8)
        let answers = try await all(12) { [contents] number in
          // It is not the last of it, so that it stays here.
          let headers = ["Upload-Offset": "0", "Upload-Complete": "?0"]
          guard isChunked else { return try await bert.client.ask("PATCH", contents[number], bytes, headers: headers) }
          let head = bert.client.head(
            "PATCH", contents[number], nil, nil, headers.merging(["Transfer-Encoding": "chunked"]) { $1 })
          return try await onThread {
            let line = try bert.client.line()
            try line.write(Array(head.utf8) + chunked)
            return try line.readAnswer(to: "PATCH")
          }
        }
        let taken = try await bert.client.get("/v1/gateway").json["client"]?["resourceBytes"]?.integer ?? 0
        #expect(taken <= Int64(bytesMax), "\(taken) bytes")
        #expect(count(204, answers) <= bytesMax / size && count(507, answers) > 0, "\(answers.map(\.status))")
        var uploaded: Int64 = 0
        for item in try await bert.client.get("\(bert.path)/resources?limit=1000").json["items"]?.list ?? [] {
          uploaded += item["uploaded"]?.integer ?? 0
          let path = "\(bert.path)/resources/\(item["id"]?.text ?? "")"
          #expect(try await bert.client.delete(path).status == 204)
        }
        #expect(uploaded == taken, "what counts is what is there")
        #expect(try await bert.client.get("/v1/gateway").json["client"]?["resourceBytes"] == 0)
      }
    }
  }

  @Test("A resource that is deleted while it is uploaded stays deleted: its uploader is told, and nothing of it counts")
  func deleted() async throws {
    var meeting = try await TwoClients.begin(["resources": "ask"])
    let bert = meeting.bert
    func taken(_ client: HTTPClient) async throws -> JSON? {
      try await client.get("/v1/gateway").json["client"]?["resourceBytes"]
    }
    for leavesFirst in [false, true] {
      let made = try await bert.client.make(
        "\(bert.path)/resources", ["name": "plan", "to": .text(meeting.anna.peer), "size": 1_000_000])
      let (path, content) = (made["Location"] ?? "", made.json["content"]?.text ?? "")
      let line = try await bert.client.begin(
        "PATCH", content, [UInt8](repeating: 1, count: 65_536), of: 1_000_000,
        ["Upload-Offset": "0", "Upload-Complete": "?0"])
      while try await bert.client.ask("HEAD", content)["Upload-Offset"] != "65536" {}
      if leavesFirst { line.hangUp() }
      #expect(try await bert.client.delete(path).status == 204)
      if !leavesFirst {
        let answer = try await onThread {
          try line.write([UInt8](repeating: 1, count: 1_000_000 - 65_536))
          return try line.readAnswer(to: "PATCH")
        }
        #expect(answer.status == 410, "\(answer.status) \(answer.text)")
        line.hangUp()
      }
      #expect(try await bert.client.get(path).status == 404)
      #expect(try await bert.client.get("\(bert.path)/resources").ids == [])
      #expect(try await taken(bert.client) == 0)
    }
    meeting.bert = TwoClients.SessionClient(
      gateway: try await bert.gateway.restarted(), client: bert.client, peer: bert.peer, session: bert.session)
    #expect(try await bert.client.get("\(bert.path)/resources").ids == [])
    #expect(try await taken(bert.client) == 0)
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(bert.gateway.folder)/sending") == [])
    await meeting.end()
  }

  @Test("One of several changes with the same entity tag is made, and the others are refused")
  func changes() async throws {
    try await withGateway { gateway in
      let client = try await gateway.client()
      _ = try await client.make("/v1/peers", ["displayName": "Anna"])
      let session = try await client.make("/v1/sessions")
      let advertiser = try await client.make("/v1/advertisers", ["serviceType": "chat", "discoveryInfo": ["n": "a"]])
      for (path, other, body) in [
        (session["Location"] ?? "", ["locked": false], { @Sendable _ in ["locked": true] }),
        (
          advertiser["Location"] ?? "", ["discoveryInfo": ["n": "other"]],
          { @Sendable in ["discoveryInfo": ["n": .text(String($0))]] }
        ),
      ] as [(String, JSON, @Sendable (Int) -> JSON)] {
        for _ in 0..<4 {
          let before = try #require(try await client.get(path)["ETag"])
          let answers = try await all(10) { try await client.patch(path, body($0), ["If-Match": before]) }
          #expect(count(200, answers) == 1 && count(412, answers) == 9, "\(answers.map(\.status))")
          #expect(try await client.patch(path, other).status == 200)
        }
      }
      // Requests without a condition are carried out one after another.
      let path = advertiser["Location"] ?? ""
      let answers = try await all(10) { try await client.patch(path, ["discoveryInfo": ["n": .text("x\($0)")]]) }
      #expect(count(200, answers) == 10)
    }
  }

  @Test("A weak tag is none that If-Match means, and one that If-None-Match does")
  func weakTags() async throws {
    try await withGateway { gateway in
      let client = try await gateway.client()
      let peer = try await client.make("/v1/peers", ["displayName": "Anna"])
      let path = "/v1/peers/\(peer.id)"
      let tag = try #require(peer["ETag"])
      #expect(try await client.delete(path, ["If-Match": "W/\(tag)"]).status == 412)
      #expect(try await client.delete(path, ["If-Match": "\"other\", W/\(tag)"]).status == 412)
      #expect(try await client.get(path, ["If-None-Match": "W/\(tag)"]).status == 304)
      #expect(try await client.delete(path, ["If-Match": "W/\"other\", \(tag)"]).status == 204)
    }
  }

  @Test(
    "An advertiser that is deleted while it is changed, and a session whose peer is deleted while it opens, are gone for good"
  )
  func deletedWhileChanged() async throws {
    let gateway = try await TestGateway.open()
    let client = try await gateway.client()
    let peer = try await client.make("/v1/peers", ["displayName": "Anna"]).id
    let advertiser = try await client.make("/v1/advertisers", ["serviceType": "chat"])
    let path = advertiser["Location"] ?? ""
    var answers: [Answer] = []
    async let opened = client.post("/v1/sessions")
    async let changed = client.patch(path, ["discoveryInfo": ["n": "1"]])
    async let deleted = client.delete(path)
    async let removed = client.delete("/v1/peers/\(peer)")
    answers = try await [opened, changed, deleted, removed]
    #expect(
      [201, 403, 404, 410, 400].contains(answers[0].status) && answers[2].status == 204 && answers[3].status == 204)
    for list in ["/v1/sessions", "/v1/advertisers"] { #expect(try await client.get(list).ids == [], "\(list)") }
    let later = try await gateway.restarted()
    for list in ["/v1/sessions", "/v1/advertisers"] { #expect(try await client.get(list).ids == [], "\(list)") }
    await later.close()
  }

  /// Anna begins a comparison and deletes it before its code comes: her gateway reads no socket until it is released.
  private func deleteStartingComparison(_ sabotage: GatewaySabotage) async throws -> TwoClients {
    let meeting = try await TwoClients.begin { $0.sabotage = sabotage }
    let (anna, bert) = (meeting.anna, meeting.bert)
    let stepped = try await SteppedGateway.block(anna.gateway, meeting)
    defer { stepped.release() }
    try await onThread {
      let made = try stepped.ask(anna.client, "POST", "\(anna.path)/comparisons", ["member": .text(bert.peer)])
      #expect(made.status == 201 && made.json["state"] == "starting", "\(made.text)")
      stepped.onLoop { core in
        #expect(core.sessions[anna.session]?.comparisonModels.values.first?.state == .starting)
      }
      #expect(try stepped.ask(anna.client, "DELETE", made["Location"] ?? "").status == 204)
    }
    return meeting
  }

  @Test("A comparison that is deleted before its code comes stays deleted, and the other side is told")
  func comparison() async throws {
    let meeting = try await deleteStartingComparison([])
    let (anna, bert) = (meeting.anna, meeting.bert)
    _ = try await bert.client.wait(in: "\(bert.path)/comparisons", "state", "mismatched")
    #expect(try await anna.client.get("\(anna.path)/comparisons").ids == [])
    // Another one begins as ever.
    _ = try await anna.client.make("\(anna.path)/comparisons", ["member": .text(bert.peer)])
    _ = try await anna.client.wait(in: "\(anna.path)/comparisons", "state", "pending")
    await meeting.end()
  }

  @Test("A comparison whose link is lost before its code comes has failed, and another one may begin")
  func comparisonFails() async throws {
    let meeting = try await TwoClients.begin()
    let (anna, bert) = (meeting.anna, meeting.bert)
    let stepped = try await SteppedGateway.block(anna.gateway, meeting)
    do {
      defer { stepped.release() }
      try await onThread {
        let made = try stepped.ask(anna.client, "POST", "\(anna.path)/comparisons", ["member": .text(bert.peer)])
        #expect(made.status == 201 && made.json["state"] == "starting", "\(made.text)")
      }
      await bert.gateway.close()
    }
    let failed = try await anna.client.wait(in: "\(anna.path)/comparisons", "state", "failed")
    #expect(failed["reason"] != nil && failed["code"] == nil)
    #expect(try await anna.client.delete("\(anna.path)/comparisons/\(failed["id"]?.text ?? "")").status == 204)
    await anna.gateway.close()
  }

  // MARK: With a rule switched off

  @Test("Without a look at what still lives a comparison that is deleted before its code comes is there again")
  func comparisonComesBack() async throws {
    let meeting = try await deleteStartingComparison(.raisesTheDeleted)
    _ = try await meeting.anna.client.wait(in: "\(meeting.anna.path)/comparisons", "state", "pending")
    await meeting.end()
  }

  @Test("Without reservations more peers are made than a client may have")
  func peersWithoutReservations() async throws {
    try await withGateway({
      $0.limits.peersPerClient = 8
      $0.sabotage = .reservesNothing
    }) { gateway in
      let client = try await gateway.client()
      let answers = try await all(30) { number in
        try await client.post("/v1/peers", ["displayName": .text("Peer \(number)")])
      }
      #expect(count(201, answers) > 8)
    }
  }

  @Test("Without turns several changes of one state are made")
  func changesWithoutTurns() async throws {
    try await withGateway({ $0.sabotage = .changesAtOnce }) { gateway in
      let client = try await gateway.client()
      _ = try await client.make("/v1/peers", ["displayName": "Anna"])
      let path = try await client.make("/v1/sessions")["Location"] ?? ""
      let tag = try #require(try await client.get(path)["ETag"])
      // A change of a session waits for the store before its tag moves.
      let answers = try await all(10) { _ in try await client.patch(path, ["locked": true], ["If-Match": tag]) }
      #expect(count(200, answers) > 1, "\(answers.map(\.status))")
    }
  }

  @Test("Without a look at what still lives a resource that is deleted during its upload comes back")
  func deletedComesBack() async throws {
    let meeting = try await TwoClients.begin(["resources": "ask"], { $0.sabotage = .raisesTheDeleted })
    let bert = meeting.bert
    let made = try await bert.client.make(
      "\(bert.path)/resources", ["name": "plan", "to": .text(meeting.anna.peer), "size": 1_000_000])
    let (path, content) = (made["Location"] ?? "", made.json["content"]?.text ?? "")
    let line = try await bert.client.begin(
      "PATCH", content, [UInt8](repeating: 1, count: 65_536), of: 1_000_000,
      ["Upload-Offset": "0", "Upload-Complete": "?0"])
    while try await bert.client.ask("HEAD", content)["Upload-Offset"] != "65536" {}
    #expect(try await bert.client.delete(path).status == 204)
    line.hangUp()
    while try await bert.client.get("\(bert.path)/resources").ids.isEmpty {}
    await meeting.end()
  }
}
