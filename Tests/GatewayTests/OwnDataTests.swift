internal import Foundation
internal import Nearby
internal import Notation
internal import Store
internal import Testing

@testable internal import Gateway

@Suite("What a gateway keeps of a client is for itself to have, and to delete", .timeLimit(.minutes(3)), .serialized)
struct OwnDataTests {
  private func export(_ client: HTTPClient) async throws -> [JSON] {
    let answer = try await client.get("/v1/clients/self/export")
    #expect(answer.status == 200 && answer["Content-Type"] == "application/x-ndjson", "\(answer.text)")
    #expect(answer["Content-Disposition"]?.hasPrefix("attachment; filename*=UTF-8''") == true)
    return try Self.lines(answer.text)
  }

  /// Each as the contract has it.
  private static func lines(_ text: String) throws -> [JSON] {
    let lines = try text.split(separator: "\n").map { try JSON(parsing: String($0)) }
    #expect(lines.first?["kind"] == "export")
    #expect(lines.last?["kind"] == "end" && lines.last?["item"]?["lines"]?.integer == Int64(lines.count))
    for line in lines {
      let kind = line["kind"]?.text ?? ""
      if ["export", "end"].contains(kind) { continue }
      let schema = try #require(Document.shared.item(ofExport: kind), "\(kind)")
      for fault in Document.shared.faults(of: line["item"] ?? .null, schema) {
        Issue.record("\(fault): \(line.line)")
      }
    }
    return lines
  }

  private func items(_ kind: JSON, of session: String? = nil, in lines: [JSON]) -> [JSON] {
    lines.filter { $0["kind"] == kind && (session == nil || $0["session"] == .text(session ?? "")) }
      .compactMap { $0["item"] }
  }

  private func send(
    _ body: [UInt8], named name: String, in side: TwoClients.SessionClient, to other: TwoClients.SessionClient
  ) async throws {
    let offer: JSON = ["name": .text(name), "to": .text(other.peer), "size": .number(body.count)]
    let id = try await side.client.make("\(side.path)/resources", offer).id
    #expect(try await side.client.ask("PUT", "\(side.path)/resources/\(id)/content", body).status == 200)
    let resources = "\(other.path)/resources"
    let came = try await other.client.wait(in: resources, "name", .text(name))
    if came["state"] == "offered" {
      _ = try await other.client.patch("\(resources)/\(came["id"]?.text ?? "")", ["state": "accepted"])
    }
    _ = try await other.client.wait(in: resources) { $0["name"] == .text(name) && $0["state"] == "complete" }
  }

  /// More than its channel has in memory, as after years.
  private func age(_ session: String, at gateway: TestGateway, _ count: Int, of sender: String) async throws {
    let sessionStore = try #require(await gateway.running.sessionStore)
    try await sessionStore.writer.perform { database in
      let number = try #require(try database.sessions().first { $0.id == session }?.number)
      for ordinal in 1...UInt64(count) {
        let json: JSON = [
          "id": .text("m\(ordinal)"), "from": .text(sender), "displayName": "Anna", "mode": "reliable",
          "at": "2025-01-01T00:00:00.000Z", "size": 3, "contentType": "text/plain", "body": .text("old \(ordinal)"),
        ]
        let message = StoredMessage(
          ordinal: ordinal, changed: ordinal, count: Int(ordinal), total: Int(ordinal) * 200, at: 1_735_689_600_000,
          name: nil, sender: sender, mode: "reliable", json: json.bytes)
        try database.add(message, to: number)
      }
    }
  }

  @Test("A client gets all that is kept of it, also what is older than memory, and nothing of anybody else's")
  func export() async throws {
    var meeting = try await TwoClients.begin(["resources": "accept"])
    let (anna, bert) = (meeting.anna, meeting.bert)
    let second = try await anna.client.make("/v1/peers", ["displayName": "Anna too"]).id
    let quiet = try await anna.client.make("/v1/sessions", ["peer": .text(second)]).id
    try await age(quiet, at: anna.gateway, 2_500, of: second)
    let stranger = try await anna.gateway.client()
    let theirs = try await stranger.make("/v1/peers", ["displayName": "Somebody else"])
    _ = try await stranger.make("/v1/sessions", ["peer": .text(theirs.id)])
    for text in ["hello", "secret of Bert's"] {
      _ = try await bert.client.ask("POST", "\(bert.path)/messages", Array(text.utf8), type: "text/plain")
    }
    _ = try await anna.client.wait(in: "\(anna.path)/messages", "body", "secret of Bert's")
    try await send(Array("a picture".utf8), named: "picture.png", in: bert, to: anna)
    // Data that only the disk has is known after a restart.
    meeting.anna = TwoClients.SessionClient(
      gateway: try await anna.gateway.restarted(), client: anna.client, peer: anna.peer, session: anna.session)

    let lines = try await export(anna.client)
    let own = try #require(items("client", in: lines).first)
    let alias = try await anna.client.get("/v1/clients/self")
    #expect(own == alias.json && own["role"] == "member" && own["createdAt"] != nil)
    #expect(items("peer", in: lines).compactMap { $0["id"]?.text } == [anna.peer, second])
    #expect(Set(items("session", in: lines).compactMap { $0["id"]?.text }) == [anna.session, quiet])
    let old = items("message", of: quiet, in: lines).compactMap { $0["body"]?.text }
    #expect(old == (1...2_500).map { "old \($0)" })
    #expect(
      items("message", of: anna.session, in: lines).compactMap { $0["body"]?.text } == ["hello", "secret of Bert's"])
    let file = try #require(items("resource", of: anna.session, in: lines).first)
    #expect(file["name"] == "picture.png" && file["from"] == .text(bert.peer))
    #expect(try await anna.client.get(file["content"]?.text ?? "").text == "a picture")
    #expect(items("event", in: lines).contains { $0["event"] == "peerAdded" })

    let text = lines.map(\.line).joined()
    let seeds = try await #require(await meeting.anna.gateway.running.sessionStore).writer.perform { try $0.peers() }
      .map(
        \.seed)
    for secret in [anna.client.token ?? "", theirs.id, "Somebody else"] + seeds.map({ Base64.text($0) }) {
      #expect(!text.contains(secret))
    }
    let fromStranger = try await export(stranger)
    #expect(items("peer", in: fromStranger).map { $0["id"] } == [theirs.json["id"]])
    #expect(items("message", in: fromStranger).isEmpty)
    await meeting.end()
  }

  @Test("An export is for the client itself, whatever the role of who asks")
  func roles() async throws {
    try await withGateway { gateway in
      let (boss, viewer) = (try await gateway.client("admin"), try await gateway.client("viewer"))
      let id = try await viewer.get("/v1/clients/self").id
      #expect(try await boss.get("/v1/clients/\(id)").id == id)
      #expect(try await viewer.get("/v1/clients/\(try await boss.get("/v1/clients/self").id)").status == 404)
      let refused = try await boss.get("/v1/clients/\(id)/export")
      #expect(refused.status == 403 && refused.json["rule"] == "own")
      #expect(try await gateway.stranger.get("/v1/clients/self/export").status == 401)
      #expect(try await viewer.get("/v1/clients/self/export", ["Accept": "text/html"]).status == 406)
      #expect(try await viewer.ask("HEAD", "/v1/clients/\(id)/export").status == 200)
      let kinds = try await export(viewer).compactMap { $0["kind"]?.text }
      #expect(kinds == ["export", "client", "end"], "the gateway's own is not a viewer's own")
      #expect(items("peer", in: try await export(boss)).isEmpty)
    }
  }

  @Test("An export ends though messages come, is one at a time, and is cut where its client is deleted meanwhile")
  func meanwhile() async throws {
    try await withGateway { gateway in
      let client = try await gateway.client()
      let peer = try await client.make("/v1/peers", ["displayName": "Anna"]).id
      let session = try await client.make("/v1/sessions").id
      let history = try #require(
        await gateway.running.sessionStore?.histories.values.first?.session.number)
      let body = String(repeating: "x", count: 20_000)
      let writer = try #require(await gateway.running.sessionStore).writer
      func add(_ ordinals: ClosedRange<UInt64>) async throws {
        try await writer.perform { database in
          for ordinal in ordinals {
            let json: JSON = ["id": .text("m\(ordinal)"), "body": .text(body)]
            try database.add(
              StoredMessage(
                ordinal: ordinal, changed: ordinal, count: Int(ordinal), total: 1, at: 0, name: nil, sender: peer,
                mode: "reliable", json: json.bytes), to: history)
          }
        }
      }
      try await add(1...700)
      // The channel is as far as these.
      let channel = "/v1/sessions/\(session)/messages"
      await gateway.running.run { core in
        guard let history = core.sessionStore.histories.values.first,
          let collection = core.channels.collection(at: channel)
        else {
          return
        }
        collection.begin(with: [], at: 700, historySource: history)
      }
      // Some 14 MB: more than lies between the two.
      let line = try client.line()
      let head = client.head("GET", "/v1/clients/self/export", nil, nil, [:])
      let first = try await onThread {
        try line.write(head)
        #expect(try line.readHead().status == 200)
        return try line.readChunk() ?? []
      }
      let second = try await client.get("/v1/clients/self/export")
      #expect(second.status == 429 && second.json["rule"] == "exports", "\(second.text)")
      try await add(701...800)
      let rest = try await onThread {
        var all = first
        while let chunk = try line.readChunk() { all += chunk }
        return all
      }
      let lines = String(decoding: rest, as: UTF8.self).split(separator: "\n")
      #expect(lines.count { $0.hasPrefix("{\"kind\":\"message\"") } == 700)
      #expect(lines.last?.hasPrefix("{\"kind\":\"end\"") == true)

      let cut = try client.line()
      _ = try await onThread {
        try cut.write(head)
        #expect(try cut.readHead().status == 200)
        return try cut.readChunk()
      }
      #expect(try await client.delete("/v1/clients/self").status == 204)
      let last = try await onThread { try cut.readToEnd() }
      #expect(!String(decoding: last, as: UTF8.self).contains("\"kind\":\"end\""))
    }
  }

  // MARK: Deleting

  /// All that a folder holds, as bytes.
  private func bytes(in folder: String) -> Data {
    let paths = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
    return paths.reduce(into: Data()) { $0 += FileManager.default.contents(atPath: "\(folder)/\($1)") ?? Data() }
  }

  private func files(_ gateway: TestGateway) -> [String] {
    ["sending", "received"].flatMap { part in
      FileManager.default.enumerator(atPath: "\(gateway.folder)/\(part)")?.compactMap { $0 as? String } ?? []
    }
  }

  @Test("A client that deletes itself leaves no row, file or byte, others see it leave, and a restart restores nothing")
  func deletion() async throws {
    var meeting = try await TwoClients.begin(["resources": "accept"])
    let (anna, bert) = (meeting.anna, meeting.bert)
    let marks = ["words that only Anna has", "a file that only Anna has"]
    for number in 1...50 {
      let text = "\(marks[0]) \(number) " + String(repeating: "y", count: number * 100)
      _ = try await anna.client.ask("POST", "\(anna.path)/messages", Array(text.utf8), type: "text/plain")
    }
    try await send(Array(marks[1].utf8), named: "mine.txt", in: bert, to: anna)
    let half: JSON = ["name": "half.txt", "to": .text(bert.peer), "size": 100_000]
    let id = try await anna.client.make("\(anna.path)/resources", half).id
    let patch = try await anna.client.ask(
      "PATCH", "\(anna.path)/resources/\(id)/content", Array(marks[1].utf8), type: "application/partial-upload",
      headers: ["Upload-Offset": "0", "Upload-Complete": "?0"])
    #expect(patch.status == 204 && files(anna.gateway).count >= 3)
    let other = try await anna.gateway.client()
    let kept = try await other.make("/v1/peers", ["displayName": "Stays"]).id
    let talk = try await Talk.connected(anna.client)

    #expect(try await anna.client.delete("/v1/clients/self").status == 204)
    #expect(try await talk.closing() == 4403)
    #expect(files(anna.gateway).isEmpty)
    #expect(try await anna.client.delete("/v1/clients/self").status == 401)
    let gone = try await bert.client.wait(in: "\(bert.path)/members", "state", "notConnected")
    #expect(gone["peer"] == .text(anna.peer))
    let writer = try #require(await anna.gateway.running.sessionStore).writer
    let rows = try await writer.perform { database in
      (
        try database.first("SELECT (SELECT count(*) FROM message) + (SELECT count(*) FROM resource)") { $0.integer(0) },
        try database.first("SELECT count(*) FROM session") { $0.integer(0) }, try database.peers().map(\.id),
        try database.clients().count
      )
    }
    #expect(rows.0 == 0 && rows.1 == 0 && rows.2 == [kept] && rows.3 == 1)
    for mark in marks + [anna.session] {
      #expect(bytes(in: anna.gateway.folder).range(of: Data(mark.utf8)) == nil, "\(mark)")
    }
    #expect(
      try await bert.client.get("\(bert.path)/messages?limit=1").ids.count == 1, "what others were sent is theirs")

    meeting.anna = TwoClients.SessionClient(
      gateway: try await anna.gateway.restarted(), client: anna.client, peer: anna.peer, session: anna.session)
    #expect(try await anna.client.get("/v1/clients/self").status == 401)
    #expect(try await other.get("/v1/peers").ids.contains(kept))
    await meeting.anna.gateway.running.run { core in
      #expect(core.sessions.isEmpty && core.clients.clients.count == 1 && core.peers.count == 2)
    }
    await meeting.end()
  }

  @Test("The remains of a deletion that a kill interrupted are removed at the next start")
  func killed() async throws {
    var meeting = try await TwoClients.begin(["resources": "accept"])
    let (anna, bert) = (meeting.anna, meeting.bert)
    _ = try await anna.client.ask("POST", "\(anna.path)/messages", Array("hello".utf8), type: "text/plain")
    try await send(Array("a picture".utf8), named: "picture.png", in: bert, to: anna)
    try await send(Array("another".utf8), named: "another.png", in: anna, to: bert)
    let id = try await anna.client.get("/v1/clients/self").id
    // The transaction is stored, and none of its effects has been carried out.
    let stays = bert.gateway.folder
    let here = try await anna.gateway.restarted {
      let store = try Writer("\(anna.gateway.folder)/\(Gateway.storeName)", schema: .gateway)
      try await store.perform { try $0.removeClient(id) }
      await store.close()
      #expect(!files(anna.gateway).isEmpty)
      try Data("lost".utf8).write(to: URL(fileURLWithPath: "\(anna.gateway.folder)/sending/lost"))
    }
    meeting.anna = TwoClients.SessionClient(gateway: here, client: anna.client, peer: anna.peer, session: anna.session)
    #expect(files(here).isEmpty)
    let writer = try #require(await here.running.sessionStore).writer
    while try await writer.perform({ try $0.removeEndedSessions() }) {}
    let rows = try await writer.perform { database in
      try database.first(
        """
        SELECT (SELECT count(*) FROM message) + (SELECT count(*) FROM resource) + (SELECT count(*) FROM session)
        + (SELECT count(*) FROM peer) + (SELECT count(*) FROM client)
        """
      ) { $0.integer(0) }
    }
    #expect(rows == 0)
    _ = try await bert.client.wait(in: "\(bert.path)/members", "state", "notConnected")
    // Nobody else's files are touched by a restart.
    meeting.bert = TwoClients.SessionClient(
      gateway: try await bert.gateway.restarted(), client: bert.client, peer: bert.peer, session: bert.session)
    let received = try FileManager.default.contentsOfDirectory(atPath: "\(stays)/received/\(bert.session)")
    #expect(received == ["another.png"])
    await meeting.end()
  }

  @Test(
    "A client of a gateway without stored keys is deleted as well, and a peer's files go though a kill came before")
  func untaken() async throws {
    try await withGateway({ $0.host.keys = .ephemeral }) { gateway in
      let client = try await gateway.client()
      _ = try await client.make("/v1/peers", ["displayName": "Anna"])
      _ = try await client.make("/v1/sessions")
      #expect(try await client.delete("/v1/clients/self").status == 204)
      #expect(try await client.get("/v1/peers").status == 401)
    }
    var meeting = try await TwoClients.begin(["resources": "accept"])
    let (anna, bert) = (meeting.anna, meeting.bert)
    try await send(Array("a picture".utf8), named: "picture.png", in: bert, to: anna)
    let here = try await anna.gateway.restarted {
      let store = try Writer("\(anna.gateway.folder)/\(Gateway.storeName)", schema: .gateway)
      try await store.perform { try $0.removePeer(anna.peer) }
      await store.close()
      #expect(!files(anna.gateway).isEmpty)
    }
    meeting.anna = TwoClients.SessionClient(gateway: here, client: anna.client, peer: anna.peer, session: anna.session)
    // Writes from the start are committed before later ones.
    _ = try await anna.client.make("/v1/peers", ["displayName": "Another"])
    await here.running.run { core in await core.sessionStore.write(PendingWrite { _ in }, core.host) }
    #expect(files(here).isEmpty)
    await meeting.end()
  }

  @Test("A page's browser forgets its cookie, and an operator deletes others the same way")
  func others() async throws {
    try await withGateway { gateway in
      let boss = try await gateway.client("operator")
      let paired = try await gateway.pair("member", [.init("cookie", true)])
      let cookie = try #require(paired["Set-Cookie"]?.split(separator: ";").first)
      let page = HTTPClient(
        port: gateway.port, headers: ["Cookie": String(cookie), "X-Vicinity-CSRF": paired.json["csrf"]?.text ?? ""])
      let member = try await gateway.client()
      let peer = try await member.make("/v1/peers", ["displayName": "Anna"]).id
      let gone = try await page.delete("/v1/clients/self")
      #expect(gone.status == 204 && gone["Set-Cookie"]?.contains("Max-Age=0") == true)
      #expect(try await boss.delete("/v1/clients/\(try await member.get("/v1/clients/self").id)").status == 204)
      let peers = try await #require(await gateway.running.sessionStore).writer.perform { try $0.peers().map(\.id) }
      #expect(!peers.contains(peer))
    }
  }
}
