internal import Foundation
internal import Nearby
internal import Notation
internal import Store
internal import Testing

@testable internal import Gateway

@Suite("What lasts of a gateway", .timeLimit(.minutes(3)), .serialized)
struct LastingTests {
  private func post(_ text: String, _ side: TwoClients.SessionClient) async throws -> Answer {
    let answer = try await side.client.ask("POST", "\(side.path)/messages", Array(text.utf8), type: "text/plain")
    try #require(answer.status == 201, "\(answer.text)")
    return answer
  }

  private func bodies(_ json: JSON?) -> [String] { (json?.list ?? []).compactMap { $0["body"]?.text } }

  @Test(
    "P-MSG-3 a session, its history and its positions are there after a restart, and so is the one at the other end")
  func restart() async throws {
    var meeting = try await TwoClients.begin()
    let (anna, path) = (meeting.anna, meeting.bert.path)
    for number in 1...3 { _ = try await post("before \(number)", anna) }
    let bert = meeting.bert.client
    _ = try await bert.wait(in: "\(path)/messages", "body", "before 3")
    let before = try await bert.get("\(path)/messages")
    #expect(bodies(before.json["items"]) == ["before 1", "before 2", "before 3"])
    let position = try #require(before.json["position"]?.text)
    let session = try await bert.get(path)
    #expect(session.json["history"]?["keep"] == "durable")

    meeting.bert = TwoClients.SessionClient(
      gateway: try await meeting.bert.gateway.restarted { _ = try await post("meanwhile", anna) }, client: bert,
      peer: meeting.bert.peer, session: meeting.bert.session)
    let again = try await bert.get(path)
    #expect(again.status == 200 && again.json["createdAt"] == session.json["createdAt"])
    _ = try await bert.wait(in: "\(path)/messages", "body", "meanwhile")
    let news = try await bert.get("\(path)/messages?since=\(position)")
    #expect(news.json["recovered"] == true, "\(news.text)")
    #expect(bodies(.list((news.json["changes"]?.list ?? []).compactMap { $0["put"] })) == ["meanwhile"])
    let after = try await bert.get("\(path)/messages")
    #expect(bodies(after.json["items"]) == ["before 1", "before 2", "before 3", "meanwhile"])
    #expect(after.ids.prefix(3) == before.ids[...], "they have the same names")

    _ = try await bert.wait(in: "\(path)/members", "state", "connected")
    _ = try await post("back", meeting.bert)
    _ = try await anna.client.wait(in: "\(anna.path)/messages", "body", "back")
    await meeting.end()
  }

  @Test(
    "where its keys are gone, the log says that its sessions wait for them, and they are there once it has them again")
  func otherKeys() async throws {
    var meeting = try await TwoClients.begin()
    let (keys, aside) = ("\(meeting.bert.gateway.folder)/keys", "\(meeting.bert.gateway.folder)/aside")
    _ = try await post("before", meeting.anna)
    let (path, files) = (meeting.bert.path, FileManager.default)
    _ = try await meeting.bert.client.wait(in: "\(path)/messages", "body", "before")

    func restart(_ meanwhile: () throws -> Void) async throws -> Answer {
      meeting.bert = TwoClients.SessionClient(
        gateway: try await meeting.bert.gateway.restarted(meanwhile), client: meeting.bert.client,
        peer: meeting.bert.peer,
        session: meeting.bert.session)
      return try await meeting.bert.client.get("\(path)/messages")
    }
    #expect(try await restart { try files.moveItem(atPath: keys, toPath: aside) }.status == 404)
    let said = try #require(await meeting.bert.gateway.running.log.first { $0.event == "otherKeys" })
    #expect(said.level == .warning && said.fields.first?.value == .number(1))

    let again = try await restart {
      try files.removeItem(atPath: keys)
      try files.moveItem(atPath: aside, toPath: keys)
    }
    #expect(bodies(again.json["items"]) == ["before"], "\(again.text)")
    await meeting.end()
  }

  @Test("what a peer advertises, looks for and was asked is there again after a restart, and what was deleted is not")
  func intents() async throws {
    var meeting = try await TwoClients.begin()
    let (anna, bert) = (meeting.anna, meeting.bert)
    let advertiser = try #require(try await anna.client.get("/v1/advertisers").json["items"]?.list?.first)
    let gone = try await anna.client.make("/v1/advertisers", ["serviceType": "gone"])
    let browser = try await anna.client.make("/v1/browsers", ["serviceType": "other"])
    let answered = try #require(try await anna.client.get("/v1/invitations").json["items"]?.list?.first)
    #expect(answered["state"] == "accepted" && answered["context"] == "/w==")
    let second = try await bert.client.make("/v1/sessions")
    func invite() async throws -> Answer {
      try await bert.client.make(
        "/v1/invitations",
        [
          "session": .text(second.id), "to": .text(anna.peer), "serviceType": "chat", "context": "again?",
          "timeout": 60,
        ])
    }
    _ = try await invite()
    let pending = try await anna.client.wait(in: "/v1/invitations", "state", "pending")
    #expect(try await anna.client.delete(gone["Location"] ?? "").status == 204)

    meeting.anna = TwoClients.SessionClient(
      gateway: try await anna.gateway.restarted(), client: anna.client, peer: anna.peer, session: anna.session)
    #expect(try await anna.client.get("/v1/advertisers").json["items"] == [advertiser])
    #expect(try await anna.client.get("/v1/browsers").json["items"] == [browser.json])
    let items = try await anna.client.get("/v1/invitations").json["items"]?.list ?? []
    // The peer that still waits for an answer may have sent the invitation again by now.
    let left = try #require(items.first { $0["id"] == pending["id"] })
    #expect(items.first == answered && left["context"] == "again?")
    #expect(left["state"] == "failed" && left["problem"]?["type"] == "/problems/unavailable")
    let late = try await anna.client.patch("/v1/invitations/\(pending["id"]?.text ?? "")", ["state": "accepted"])
    #expect(late.status == 409)

    // She is found and invited as before.
    _ = try await bert.client.wait(in: "\(bert.path)/members", "state", "connected")
    _ = try await invite()
    let asked = try await anna.client.wait(in: "/v1/invitations", "state", "pending")
    #expect(asked["from"] == .text(bert.peer) && asked["id"] != pending["id"])
    #expect(try await anna.client.delete("/v1/peers/\(anna.peer)").status == 204)
    meeting.anna = TwoClients.SessionClient(
      gateway: try await meeting.anna.gateway.restarted(), client: anna.client, peer: anna.peer, session: anna.session)
    for path in ["/v1/advertisers", "/v1/browsers", "/v1/invitations"] {
      #expect(try await anna.client.get(path).json["items"] == [])
    }
    await meeting.end()
  }

  @Test("invitations take so much room and no more: the oldest that have ended make it")
  func room() async throws {
    let bytes = 4 << 20
    let context = String(repeating: "x", count: Routes.contextBytesMax)
    try await withGateway { gateway in
      let anna = try await gateway.client()
      let nobody = try await anna.make("/v1/peers", ["displayName": "Nobody"])
      _ = try await anna.delete(nobody["Location"] ?? "")
      _ = try await anna.make("/v1/peers", ["displayName": "Anna"])
      let session = try await anna.make("/v1/sessions")
      func invite() async throws -> String {
        try await anna.make(
          "/v1/invitations",
          ["session": .text(session.id), "to": .text(nobody.id), "serviceType": "chat", "context": .text(context)]
        ).id
      }
      var made: [String] = []
      for _ in 0...bytes / context.utf8.count { made.append(try await invite()) }
      let kept = try await anna.get("/v1/invitations?limit=1000").ids
      #expect(kept.count > made.count / 2 && kept == made.suffix(kept.count) && kept.count < made.count)
    }
  }

  @Test("what became of a message is told though its sender was started again meanwhile")
  func deliveryStatus() async throws {
    var meeting = try await TwoClients.begin()
    let bert = meeting.bert
    let sent = try await post("hello", bert)
    meeting.bert = TwoClients.SessionClient(
      gateway: try await bert.gateway.restarted(), client: bert.client, peer: bert.peer, session: bert.session)
    let item = try await bert.client.wait(in: "\(bert.path)/messages") { $0["delivery"]?["delivered"] == 1 }
    #expect(item["id"] == .text(sent.id) && item["delivery"]?["pending"] == 0)
    await meeting.end()
  }

  @Test("a message with a name of its own is sent once, also over a restart")
  func name() async throws {
    var meeting = try await TwoClients.begin()
    let bert = meeting.bert
    func put() async throws -> Int {
      try await bert.client.ask("PUT", "\(bert.path)/messages/mine", Array("once".utf8), type: "text/plain").status
    }
    let statuses = try await [put(), put()]
    #expect(statuses == [201, 200])
    meeting.bert = TwoClients.SessionClient(
      gateway: try await bert.gateway.restarted(), client: bert.client, peer: bert.peer, session: bert.session)
    #expect(try await put() == 200)
    let reserved = try await bert.client.ask("PUT", "\(bert.path)/messages/m7", [1], type: "text/plain")
    #expect(reserved.status == 400 && reserved.json["rule"] == "reserved")
    _ = try await meeting.anna.client.wait(in: "\(meeting.anna.path)/messages", "body", "once")
    #expect(try await meeting.anna.client.get("\(meeting.anna.path)/messages").ids.count == 1)
    await meeting.end()
  }

  @Test("a client that was away over a restart is told what it missed on its WebSocket, without a gap")
  func socket() async throws {
    var meeting = try await TwoClients.begin()
    let (anna, bert) = (meeting.anna, meeting.bert)
    _ = try await post("seen", anna)
    _ = try await bert.client.wait(in: "\(bert.path)/messages", "body", "seen")
    let position = try #require(try await bert.client.get("\(bert.path)/messages").json["position"]?.text)
    for number in 1...5 { _ = try await post("own \(number)", bert) }
    // Each has changed since it came: their delivery status is known.
    for number in 1...5 {
      _ = try await bert.client.wait(in: "\(bert.path)/messages") {
        $0["body"] == .text("own \(number)") && $0["delivery"]?["delivered"] == 1
      }
    }
    meeting.bert = TwoClients.SessionClient(
      gateway: try await bert.gateway.restarted(), client: bert.client, peer: bert.peer, session: bert.session)
    let talk = try await Talk.connected(bert.client)
    let answer = try await talk.ask([
      "id": 1, "subscribe": ["channel": .text("\(bert.path)/messages"), "since": .text(position)],
    ])
    var offset = try #require(position.split(separator: ".").last.flatMap { Int64($0) })
    let end = try #require(try await bert.client.get("\(bert.path)/messages").json["position"]?.text)
    let missed = try #require(end.split(separator: ".").last.flatMap { Int64($0) }) - offset
    #expect(answer["ok"]?["recovered"] == true && answer["ok"]?["missed"] == .integer(missed), "\(answer.line)")
    var told: [String] = []
    while told.count < 5 {
      guard case .text(let change) = try await talk.next() else { break }
      let to = try #require(change["o"]?.integer)
      #expect(to == offset + (change["skip"]?.integer ?? 1), "no gap: \(change.line)")
      offset = to
      if let body = change["put"]?["body"]?.text { told.append(body) }
    }
    #expect(told == (1...5).map { "own \($0)" })
    await meeting.end()
  }

  @Test("whoever was away for very much is told all of it, piece by piece, in every way there is to ask")
  func much() async throws {
    let count = 5_000
    var meeting = try await TwoClients.begin([
      "history": ["keep": "durable", "count": 100_000, "bytes": .number(1 << 30)]
    ])
    let (anna, channel) = (meeting.anna, "\(meeting.anna.path)/messages")
    let position = try #require(try await anna.client.get(channel).json["position"]?.text)
    let parts = position.split(separator: ".").map(String.init)
    let (epoch, start) = (parts[0], try #require(Int(parts[1])))
    let gateway = try await anna.gateway.restarted {
      let database = try Database("\(anna.gateway.folder)/\(Gateway.storeName)", schema: .gateway)
      let session = try #require(try database.sessions().first).number
      try database.run("BEGIN")
      var total = 0
      for number in 1...count {
        let json = JSON.object([
          .init("id", .text("m\(start + number)")), .init("from", .text(anna.peer)), .init("displayName", "Anna"),
          .init("mode", "reliable"), .init("at", "2026-01-01T12:00:00.000Z"), .init("size", 300),
          .init("contentType", "text/plain"), .init("body", .text("\(number) " + String(repeating: "x", count: 300))),
        ]).bytes
        total += json.count
        let ordinal = UInt64(start + number)
        try database.keep(
          StoredMessage(
            ordinal: ordinal, changed: ordinal, count: number, total: total, at: Timestamp.now.milliseconds, name: nil,
            sender: anna.peer, mode: "reliable", json: json), of: session)
      }
      try database.run("COMMIT")
    }
    meeting.anna = TwoClients.SessionClient(
      gateway: gateway, client: anna.client, peer: anna.peer, session: anna.session)
    func number(_ message: JSON?) -> Int? { message?["body"]?.text?.split(separator: " ").first.flatMap { Int($0) } }

    let talk = try await Talk.connected(anna.client)
    let answer = try await talk.ask(["id": 1, "subscribe": ["channel": .text(channel), "since": .text(position)]])
    #expect(answer["ok"]?["recovered"] == true && answer["ok"]?["missed"] == .number(count), "\(answer.line)")
    for number in 1...count {
      guard case .text(let change) = try await talk.next() else { break }
      try #require(change["o"] == .number(start + number) && change["put"]?["id"] == .text("m\(start + number)"))
    }

    let events = try await anna.client.follow("\(channel)?since=\(position)")
    #expect(try await events.next()?.name == "recovered")
    for expected in 1...count {
      let event = try #require(try await events.next())
      try #require(event.name == "put" && number(event.data) == expected && event.id == "\(epoch).\(start + expected)")
    }

    var (told, since, answers) = ([Int](), position, 0)
    while told.count < count {
      let news = try await anna.client.get("\(channel)?since=\(since)").json
      try #require(news["recovered"] == true && news["position"] != .text(since))
      told += (news["changes"]?.list ?? []).compactMap { number($0["put"]) }
      since = news["position"]?.text ?? ""
      answers += 1
    }
    #expect(told == Array(1...count) && answers > 1)

    // All subscribers get the same changes from there on.
    _ = try await anna.client.wait(in: "\(anna.path)/members", "state", "connected")
    _ = try await post("live", meeting.bert)
    let put = try await talk.change(of: answer["ok"]?["number"])
    #expect(put["o"] == .number(start + count + 1) && put["put"]?["body"] == "live")
    #expect(try await events.next()?.data["body"] == "live")
    await meeting.end()
  }

  @Test("a message that the disk has made something else of is told as that, and the others around it")
  func damage() async throws {
    var meeting = try await TwoClients.begin()
    let anna = meeting.anna
    for number in 1...5 { _ = try await post("text \(number)", anna) }
    let gateway = try await anna.gateway.restarted {
      let database = try Database("\(anna.gateway.folder)/\(Gateway.storeName)", schema: .gateway)
      try database.run("UPDATE message SET json = ? WHERE instr(CAST(json AS TEXT), ?) > 0", Array("{}".utf8), "text 3")
    }
    meeting.anna = TwoClients.SessionClient(
      gateway: gateway, client: anna.client, peer: anna.peer, session: anna.session)
    let items = try await anna.client.get("\(anna.path)/messages").json["items"]
    #expect(bodies(items) == ["text 1", "text 2", "", "text 4", "text 5"])
    let ruin = items?.list?[2]
    #expect(ruin?["damaged"] == true && ruin?["from"] == .text(anna.peer) && ruin?["id"] != nil)
    let page = try await anna.client.get("\(anna.path)/messages?limit=3").json
    #expect(page["items"]?.list?.count == 3 && page["next"] != nil)
    #expect(try await anna.client.get("/metrics").text.contains("vicinity_store_damaged_messages_total"))
    #expect(try await !anna.client.get("/metrics").text.contains("vicinity_store_damaged_messages_total 0\n"))
    await meeting.end()
  }

  @Test("no more of a history is kept than was asked for, and what is older than memory is paged from the store")
  func retention() async throws {
    try await TwoClients.hold(["history": ["keep": "durable", "count": 40]]) { meeting in
      let anna = meeting.anna
      for number in 1...60 { _ = try await post("text \(number)", anna) }
      let items = try await anna.client.get("\(anna.path)/messages?limit=100").json["items"]
      let texts = bodies(items)
      #expect((40...43).contains(texts.count) && texts.last == "text 60", "\(texts)")
      #expect(try await anna.client.get("\(anna.path)/messages/m1").status == 404)
    }
  }

  @Test("whoever has missed what is not kept any more is told how much that was, and what there is")
  func missed() async throws {
    var meeting = try await TwoClients.begin(["history": ["keep": "durable", "count": 40]])
    let (anna, channel) = (meeting.anna, "\(meeting.anna.path)/messages")
    let position = try #require(try await anna.client.get(channel).json["position"]?.text)
    for number in 1...60 { _ = try await post("text \(number)", anna) }
    meeting.anna = TwoClients.SessionClient(
      gateway: try await anna.gateway.restarted(), client: anna.client, peer: anna.peer, session: anna.session)
    // The excess is pruned in a later turn of the loop.
    var oldest: String?
    while oldest == nil {
      let news = try await anna.client.get("\(channel)?since=\(position)").json
      try #require(news["recovered"] == false, "\(news.line)")
      #expect(try #require(news["missed"]?.integer) >= 60 && news["items"]?.list?.last?["body"] == "text 60")
      if try await anna.client.get("\(channel)?limit=1").ids.first == news["oldest"]?.text {
        oldest = news["oldest"]?.text
      }
    }
    #expect(oldest != "m1")
    let talk = try await Talk.connected(anna.client)
    let ok = try await talk.ask(["id": 1, "subscribe": ["channel": .text(channel), "since": .text(position)]])["ok"]
    #expect(
      ok?["recovered"] == false && ok?["oldest"] == .text(oldest ?? "") && ok?["missed"] != nil, "\(ok?.line ?? "")")
    let snapshot = try await anna.client.follow("\(channel)?since=\(position)").next()
    #expect(snapshot?.name == "snapshot" && snapshot?.data["oldest"] == .text(oldest ?? ""))
    await meeting.end()
  }

  @Test("files that were sent, received and half uploaded are there again after a restart, and the rest of one goes on")
  func files() async throws {
    var meeting = try await TwoClients.begin(["resources": "accept"])
    let (anna, bert) = (meeting.anna, meeting.bert)
    let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    func offer(_ name: String) async throws -> String {
      let body: JSON = ["name": .text(name), "to": .text(anna.peer), "size": .number(content.count)]
      return try await bert.client.make("\(bert.path)/resources", body).id
    }
    let (whole, half) = (try await offer("whole.bin"), try await offer("half.bin"))
    let put = try await bert.client.ask("PUT", "\(bert.path)/resources/\(whole)/content", content)
    #expect(put.status == 200)
    let came = try await anna.client.wait(in: "\(anna.path)/resources") {
      $0["state"] == "complete" && $0["sha256"] != nil
    }
    _ = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
    func patch(_ range: Range<Int>, complete: String) async throws -> Answer {
      try await bert.client.ask(
        "PATCH", "\(bert.path)/resources/\(half)/content", Array(content[range]), type: "application/partial-upload",
        headers: ["Upload-Offset": String(range.lowerBound), "Upload-Complete": complete])
    }
    #expect(try await patch(0..<100_000, complete: "?0").status == 204)

    let gateway = try await bert.gateway.restarted {
      // The file is as a power cut leaves it if it had grown and was not synced.
      let folder = "\(bert.gateway.folder)/sending"
      let name = try #require(
        try FileManager.default.contentsOfDirectory(atPath: folder).first {
          FileManager.default.contents(atPath: "\(folder)/\($0)")?.count == 100_000
        })
      let file = try #require(FileHandle(forWritingAtPath: "\(folder)/\(name)"))
      try file.seekToEnd()
      try file.write(contentsOf: [UInt8](repeating: 0, count: 250_000))
      try file.close()
    }
    meeting.bert = TwoClients.SessionClient(
      gateway: gateway, client: bert.client, peer: bert.peer, session: bert.session)
    meeting.anna = TwoClients.SessionClient(
      gateway: try await anna.gateway.restarted(), client: anna.client, peer: anna.peer, session: anna.session)
    let again = try await bert.client.get("\(bert.path)/resources")
    #expect(again.ids == [whole, half] && again.json["items"]?.list?.first?["state"] == "complete", "\(again.text)")
    #expect(try await bert.client.ask("HEAD", "\(bert.path)/resources/\(half)/content")["Upload-Offset"] == "100000")
    let kept = "\(anna.path)/resources/\(came["id"]?.text ?? "")"
    #expect(try await anna.client.get("\(kept)/content").body == content)
    #expect(try await anna.client.get(kept).json["sha256"] == came["sha256"])
    for side in [meeting.anna, meeting.bert] {
      _ = try await side.client.wait(in: "\(side.path)/members", "state", "connected")
    }
    #expect(try await patch(100_000..<content.count, complete: "?1").status == 200)
    let rest = try await anna.client.wait(in: "\(anna.path)/resources") {
      $0["name"] == "half.bin" && $0["state"] == "complete"
    }
    #expect(try await anna.client.get("\(anna.path)/resources/\(rest["id"]?.text ?? "")/content").body == content)
    await meeting.end()
  }

  @Test("what is older than was asked for goes, also where nothing new comes")
  func age() async throws {
    try await TwoClients.hold(["history": ["keep": "durable", "age": 3_600]]) { meeting in
      let anna = meeting.anna
      _ = try await post("old", anna)
      _ = try await post("newer", anna)
      for body in ["old", "newer"] as [JSON] {
        _ = try await anna.client.wait(in: "\(anna.path)/messages") {
          $0["body"] == body && $0["delivery"]?["pending"] == 0
        }
      }
      let list = try await anna.client.get("\(anna.path)/messages")
      let epoch = try #require(list.json["position"]?.text?.split(separator: ".").first)
      let since = "\(anna.path)/messages?since=\(epoch).0"
      #expect(try await anna.client.get(since).json["recovered"] == true)
      let unchanged = ["If-None-Match": list["ETag"] ?? ""]
      #expect(try await anna.client.get("\(anna.path)/messages", unchanged).status == 304)
      await anna.gateway.running.run { core in _ = core.sessionStore.prune(at: Timestamp.now + .seconds(3_700)) }
      while try await anna.client.get("\(anna.path)/messages", unchanged).status == 304 {}
      #expect(bodies(try await anna.client.get("\(anna.path)/messages").json["items"]) == [])
      let late = try await anna.client.get(since)
      #expect(late.json["recovered"] == false && !late.text.contains("newer"), "\(late.text)")
      // Pending deletions are committed with the next message.
      _ = try await post("new", anna)
      #expect(bodies(try await anna.client.get("\(anna.path)/messages").json["items"]) == ["new"])
    }
  }

  @Test("the history of a peer that lives with its WebSocket cannot last")
  func connectionPeer() async throws {
    try await withGateway { gateway in
      let client = try await gateway.client()
      let talk = try await Talk.connected(client)
      let peer = try await client.make("/v1/peers", ["displayName": "Eve", "lifetime": "connection"])
      let answer = try await client.post("/v1/sessions", ["peer": .text(peer.id), "history": ["keep": "durable"]])
      #expect(answer.status == 422 && answer.json["field"] == "history.keep", "\(answer.text)")
      let session = try await client.make("/v1/sessions", ["peer": .text(peer.id)])
      #expect(session.json["history"]?["keep"] == "memory")
      _ = talk
    }
  }
}
