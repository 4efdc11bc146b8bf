internal import Notation
internal import Testing

@testable internal import Gateway

/// Peers of many clients of one gateway in one session.
struct CrowdTests {
  private static let size = 12

  static func crowd(
    at gateway: TestGateway, of size: Int = size
  ) async throws -> [(client: HTTPClient, path: String)] {
    var crowd: [(client: HTTPClient, path: String)] = []
    for number in 0..<size {
      let client = try await gateway.client()
      let peer = try await client.make("/v1/peers", ["displayName": .text("Peer \(number)")]).id
      let session = try await client.make(
        "/v1/sessions", ["peer": .text(peer), "adhoc": "crowd", "history": ["keep": "memory"]]
      ).id
      crowd.append((client, "/v1/sessions/\(session)"))
    }
    for (client, path) in crowd {
      let id = JSON.text(String(path.split(separator: "/").last ?? ""))
      _ = try await client.wait(in: "/v1/sessions") { $0["id"] == id && $0["connected"] == .number(size - 1) }
    }
    return crowd
  }

  @Test func `the JSON of a member is written once for each of its states, and all who see it share its bytes`()
    async throws
  {
    try await withGateway { gateway in
      _ = try await Self.crowd(at: gateway)
      let found = try #require(
        await gateway.running.answer { core in
          (
            core.memberCache.madeCount,
            core.sessions.values.flatMap { session in
              session.members.all.compactMap { $0.member == nil ? nil : $0.bytes }
            }.map { $0.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) } }
          )
        })
      // Each member is connecting, then connected, and some get their inviter in between; not once for each pair.
      #expect(found.0 <= 6 * Self.size, "\(found.0)")
      #expect(found.1.count == Self.size * (Self.size - 1))
      #expect(Set(found.1).count <= 2 * Self.size)
    }
  }

  @Test func `a session is published once for all that join it at once`() async throws {
    try await withGateway { gateway in
      let crowd = try await Self.crowd(at: gateway)
      let before = try #require(await gateway.running.answer { $0.sessionList.offset })
      let client = try await gateway.client()
      let peer = try await client.make("/v1/peers", ["displayName": "Late"]).id
      let session = try await client.make("/v1/sessions", ["peer": .text(peer), "adhoc": "crowd"]).id
      for (client, path) in crowd {
        let id = JSON.text(String(path.split(separator: "/").last ?? ""))
        _ = try await client.wait(in: "/v1/sessions") { $0["id"] == id && $0["connected"] == .number(Self.size) }
      }
      _ = try await client.wait(in: "/v1/sessions") {
        $0["id"] == .text(session) && $0["connected"] == .number(Self.size)
      }
      let after = try #require(await gateway.running.answer { $0.sessionList.offset })
      // Each present member costs one, and the newcomer a few; not one a pair.
      #expect(after - before <= UInt64(Self.size + 4), "\(after - before)")
    }
  }

  @Test func `a message to peers of the same gateway is answered as delivered, and is one change`() async throws {
    try await withGateway { gateway in
      let (client, path) = try await Self.crowd(at: gateway, of: 3)[0]
      let talk = try await Talk.connected(client)
      let subscription: JSON = ["channel": .text("\(path)/messages")]
      let number = try await talk.ask(["id": 1, "subscribe": subscription])["ok"]?["number"]
      for body in ["one", "two"] {
        let sent = try await client.ask("POST", "\(path)/messages", Array(body.utf8)).json
        #expect(sent["delivery"]?["delivered"] == 2 && sent["delivery"]?["pending"] == 0, "\(sent.line)")
        #expect(try await talk.change(of: number)["put"] == sent)
      }
    }
  }

  @Test func `a message to all is one text, whose bytes all who receive it share`() async throws {
    try await withGateway { gateway in
      let crowd = try await Self.crowd(at: gateway)
      let sent = try await crowd[0].client.ask("POST", "\(crowd[0].path)/messages", Array("hello all".utf8))
      #expect(sent.status == 201)
      var ids: Set<String> = []
      for (client, path) in crowd.dropFirst() {
        ids.insert(try await client.wait(in: "\(path)/messages", "body", "hello all")["id"]?.text ?? "")
      }
      let id = try #require(ids.first)
      let found = try #require(
        await gateway.running.answer { core in
          core.sessions.values.compactMap { $0.messages[id] }.map { item in
            item.bytes.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
          }
        })
      #expect(ids.count == 1)
      #expect(found.count == Self.size - 1 && Set(found).count == 1)
    }
  }

  @Test func `a newcomer's list has one change for each of many members of another gateway`() async throws {
    let (here, there) = try await Self.twoCrowds()
    // So that a busy machine shows nobody before it is connected.
    _ = await there.running.answer { $0.sessionEvents.awaitedTime = 600_000_000_000 }
    let client = try await there.client()
    let peer = try await client.make("/v1/peers", ["displayName": "Late"]).id
    let session = try await client.make("/v1/sessions", ["peer": .text(peer), "adhoc": "crowd"]).id
    _ = try await client.wait(in: "/v1/sessions") { $0["id"] == .text(session) && $0["connected"] == .number(21) }
    let position = try await client.position(of: "/v1/sessions/\(session)/members")
    let changes = try #require(position.split(separator: ".").last.flatMap { Int($0) })
    #expect(changes <= 24, "\(changes)")
    for gateway in [here, there] { await gateway.close() }
  }

  @Test func `many members that are not connected soon are listed as they are`() async throws {
    let (here, there) = try await Self.twoCrowds()
    _ = await there.running.answer { $0.sessionEvents.awaitedTime = 0 }
    let client = try await there.client()
    let peer = try await client.make("/v1/peers", ["displayName": "Late"]).id
    let session = try await client.make("/v1/sessions", ["peer": .text(peer), "adhoc": "crowd"]).id
    _ = try await client.wait(in: "/v1/sessions") { $0["id"] == .text(session) && $0["connected"] == .number(21) }
    let position = try await client.position(of: "/v1/sessions/\(session)/members")
    let changes = try #require(position.split(separator: ".").last.flatMap { Int($0) })
    #expect(changes >= 40, "\(changes)")
    for gateway in [here, there] { await gateway.close() }
  }

  /// Twenty peers of one gateway, and one of another, in one session.
  private static func twoCrowds() async throws -> (here: TestGateway, there: TestGateway) {
    let here = try await TestGateway.open("Here")
    let there = try await TestGateway.open("There", nextTo: here)
    _ = try await crowd(at: here, of: 20)
    let client = try await there.client()
    let peer = try await client.make("/v1/peers", ["displayName": "First"]).id
    let session = try await client.make("/v1/sessions", ["peer": .text(peer), "adhoc": "crowd"]).id
    _ = try await client.wait(in: "/v1/sessions") { $0["id"] == .text(session) && $0["connected"] == .number(20) }
    return (here, there)
  }

  @Test func `whoever is admitted by the rule of several sessions has one entry in the audit`() async throws {
    try await withGateway { gateway in
      _ = try await Self.crowd(at: gateway)
      let entries =
        try await gateway.client("operator").get("/v1/audit?by=rule&deed=accepted").json["items"]?.list ?? []
      #expect(entries.count == Self.size)
      #expect(Set(entries.compactMap { $0["peer"]?.text }).count == Self.size)
    }
  }

  @Test func `a change of more than sixteen members and sessions is one event, which all their clients see`()
    async throws
  {
    try await withGateway { gateway in
      let crowd = try await Self.crowd(at: gateway, of: 20)
      let before = try #require(await gateway.running.answer { $0.events.list.offset })
      let client = try await gateway.client()
      let peer = try await client.make("/v1/peers", ["displayName": "Late"]).id
      let session = try await client.make("/v1/sessions", ["peer": .text(peer), "adhoc": "crowd"]).id
      for (client, path) in crowd {
        _ = try await client.wait(in: "\(path)/members") { $0["displayName"] == "Late" && $0["state"] == "connected" }
      }
      let event = try await crowd[0].client.wait(in: "/v1/events?event=connected") {
        $0["displayName"] == "Late" && $0["sessions"] != nil
      }
      #expect(event["about"]?.text?.hasSuffix("/members/\(session)") == true)
      #expect(try await crowd[9].client.get("/v1/events").json["items"]?.list?.contains(event) == true)
      #expect(try await gateway.client().get("/v1/events").json["items"]?.list?.contains(event) == false)
      let after = try #require(await gateway.running.answer { $0.events.list.offset })
      // Its peer, its session, and a few for both states of all pairs: not one for each of them.
      #expect(after - before <= 24, "\(after - before)")
    }
  }
}
