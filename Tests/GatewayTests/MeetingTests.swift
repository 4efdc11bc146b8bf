internal import Foundation
internal import Nearby
internal import Notation
internal import Testing

@testable internal import Gateway

/// Two clients at two gateways, each with a peer, in one session.
struct TwoClients {
  struct SessionClient: Sendable {
    let gateway: TestGateway
    let client: HTTPClient
    let peer: String
    var session = ""

    var path: String { "/v1/sessions/\(session)" }
  }

  var anna: SessionClient
  var bert: SessionClient

  private static func side(_ gateway: TestGateway, _ name: String, _ role: String) async throws -> SessionClient {
    let client = try await gateway.client(role)
    return SessionClient(
      gateway: gateway, client: client, peer: try await client.make("/v1/peers", ["displayName": .text(name)]).id)
  }

  /// Anna advertises; Bert, whose gateway knows hers, finds and invites her.
  static func begin(
    _ wishes: JSON = [:], as role: String = "member", _ change: (inout GatewayOptions) -> Void = { _ in }
  ) async throws -> TwoClients {
    let here = try await TestGateway.open("Here", change)
    let there = try await TestGateway.open("There", nextTo: here, change)
    var meeting = TwoClients(anna: try await side(here, "Anna", role), bert: try await side(there, "Bert", role))
    let (anna, bert) = (meeting.anna.client, meeting.bert.client)
    meeting.anna.session = try await anna.make("/v1/sessions", wishes).id
    meeting.bert.session = try await bert.make("/v1/sessions").id
    _ = try await anna.make("/v1/advertisers", ["serviceType": "chat", "discoveryInfo": ["mood": "sunny"]])
    let browser = try await bert.make("/v1/browsers", ["serviceType": "chat"])
    let found = try await bert.wait(in: browser.json["found"]?.text ?? "", "displayName", "Anna")
    #expect(found["discoveryInfo"] == ["mood": "sunny"] && found["id"] == .text(meeting.anna.peer))
    let invitation = try await bert.make(
      "/v1/invitations",
      [
        "session": .text(meeting.bert.session), "to": found["peer"] ?? .null, "serviceType": "chat", "context": "/w==",
        "encoding": "base64",
      ])
    let came = try await anna.wait(in: "/v1/invitations", "direction", "incoming")
    #expect(came["from"] == .text(meeting.bert.peer) && came["context"] == "/w==" && came["encoding"] == "base64")
    let path = "/v1/invitations/\(came["id"]?.text ?? "")"
    let accepted = try await anna.patch(path, ["state": "accepted", "session": .text(meeting.anna.session)])
    #expect(accepted.json["state"] == "accepted", "\(accepted.text)")
    _ = try await bert.wait(in: "/v1/invitations?direction=outgoing") {
      $0["id"] == .text(invitation.id) && $0["state"] == "accepted"
    }
    for side in [meeting.anna, meeting.bert] {
      _ = try await side.client.wait(in: "\(side.path)/members", "state", "connected")
    }
    return meeting
  }

  func end() async {
    await anna.gateway.close()
    await bert.gateway.close()
  }

  static func hold(
    _ wishes: JSON = [:], as role: String = "member", _ change: (inout GatewayOptions) -> Void = { _ in },
    _ test: (TwoClients) async throws -> Void
  ) async throws {
    let meeting = try await begin(wishes, as: role, change)
    do {
      try await test(meeting)
    } catch {
      await meeting.end()
      throw error
    }
    await meeting.end()
  }
}

@Suite("Clients of two gateways meet", .timeLimit(.minutes(3)), .serialized)
struct MeetingTests {
  @Test("Gateways with ephemeral keys have members, messages with their delivery status, and files like any other")
  func ephemeral() async throws {
    try await TwoClients.hold(["resources": "accept"], { $0.host.keys = .ephemeral }) { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      for (side, other) in [(anna, bert), (bert, anna)] {
        let body = "hello from \(side.peer)"
        let sent = try await side.client.ask("POST", "\(side.path)/messages", Array(body.utf8), type: "text/plain")
        #expect(sent.status == 201, "\(sent.text)")
        _ = try await other.client.wait(in: "\(other.path)/messages", "body", .text(body))
        _ = try await side.client.wait(in: "\(side.path)/messages") {
          $0["id"] == .text(sent.id) && $0["delivery"]?["delivered"] == 1
        }
      }
      let file = try await bert.client.make("\(bert.path)/resources", ["name": "notes.txt", "to": .text(anna.peer)])
      #expect(try await bert.client.ask("PUT", file.json["content"]?.text ?? "", [1, 2, 3]).status == 200)
      _ = try await anna.client.wait(in: "\(anna.path)/resources", "state", "complete")
      #expect(try await bert.client.get(bert.path).json["connected"] == 1)
      #expect(try await bert.client.delete(bert.path).status == 204)
      _ = try await anna.client.wait(in: "\(anna.path)/members", "state", "notConnected")
    }
  }

  @Test("Messages go both ways, kept as they were sent, and one of one's own id is sent once")
  func messages() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let sent = try await anna.client.ask(
        "POST", "\(anna.path)/messages?to=\(bert.peer)&mode=reliable", Array("grüße".utf8), type: "text/markdown")
      #expect(
        sent.status == 201 && sent.json["contentType"] == "text/markdown" && sent.json["to"] == [.text(bert.peer)])
      let delivered: JSON = [
        "pending": 0, "delivered": 1, "undelivered": 0, "unknown": 0,
        "recipients": .list([sent.recipient("delivered", of: bert.peer, "Bert")]),
      ]
      #expect(sent.json["delivery"]?["recipients"] == [sent.recipient("pending", of: bert.peer, "Bert")])
      #expect(try await anna.client.wait(in: "\(anna.path)/messages", "delivery", delivered)["id"] == .text(sent.id))
      let came = try await bert.client.wait(in: "\(bert.path)/messages", "body", "grüße")
      #expect(came["from"] == .text(anna.peer) && came["displayName"] == "Anna" && came["size"] == 7)
      let bytes = try await bert.client.ask("POST", "\(bert.path)/messages?mode=unreliable", [0xff, 0x00])
      #expect(bytes.status == 202 && bytes.json["delivery"] == nil)
      _ = try await bert.client.ask("POST", "\(bert.path)/messages", [0xff])
      #expect(
        try await anna.client.wait(in: "\(anna.path)/messages?from=\(bert.peer)", "body", "/w==")["encoding"]
          == "base64")
      for status in [201, 200, 200] {
        let put = try await anna.client.ask("PUT", "\(anna.path)/messages/my%2Fid", Array("once".utf8))
        #expect(put.status == status && put.id == "my/id")
      }
      #expect(try await anna.client.get("\(anna.path)/messages/my%2Fid").json["body"] == "once")
      _ = try await anna.client.ask("POST", "\(anna.path)/messages", Array("last".utf8))
      _ = try await bert.client.wait(in: "\(bert.path)/messages", "body", "last")
      let bodies = try await bert.client.get("\(bert.path)/messages?from=\(anna.peer)").json["items"]?.list ?? []
      #expect(bodies.compactMap { $0["body"]?.text } == ["grüße", "once", "last"])
      for (path, field) in [("?to=nobody", "to"), ("?mode=loud", "mode"), ("?mode=reliable&mode=reliable", "mode")] {
        #expect(try await anna.client.ask("POST", "\(anna.path)/messages\(path)", [1]).json["field"] == .text(field))
      }
      let large = [UInt8](repeating: 7, count: Core.messageBytesMax + 1)
      #expect(try await anna.client.ask("POST", "\(anna.path)/messages", large).status == 413)
      #expect(
        try await anna.client.ask("PUT", "\(anna.path)/messages/\(String(repeating: "i", count: 65))", [1]).status
          == 400)
    }
  }

  @Test("P-MSG-3 The delivery status of a message is reported for each recipient")
  func deliveryStatuses() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let talk = try await Talk.connected(anna.client)
      let channel = "\(anna.path)/messages"
      let number = try await talk.ask(["id": 1, "subscribe": ["channel": .text(channel)]])["ok"]?["number"]
      #expect(try await anna.client.ask("POST", channel, [1]).json["delivery"]?["pending"] == 1)
      #expect(try await talk.change(of: number)["put"]?["delivery"]?["pending"] == 1)
      #expect(try await talk.change(of: number)["put"]?["delivery"]?["delivered"] == 1)
      // Some messages come too late for a member that leaves meanwhile: the sender gets a report of each.
      async let left = bert.client.delete(bert.path)
      var sent: [String] = []
      while sent.count < 1_000 {
        let answer = try await anna.client.ask("POST", channel, [2])
        if answer.status == 409 { break }
        sent.append(answer.id)
      }
      #expect(try await left.status == 204)
      for id in sent {
        let told = try await anna.client.wait(in: "\(channel)?limit=1000") {
          $0["id"] == .text(id) && $0["delivery"]?["pending"] == 0
        }
        #expect(told["delivery"]?["recipients"]?.list?.first?["state"] != "pending")
      }
    }
  }

  @Test("A stream that one curl writes is read by another, live")
  func streams() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let stream = try await anna.client.make("\(anna.path)/streams", ["name": "voice", "to": .text(bert.peer)])
      let came = try await bert.client.wait(in: "\(bert.path)/streams", "name", "voice")
      let path = "\(bert.path)/streams/\(came["id"]?.text ?? "")"
      #expect(came["direction"] == "incoming" && came["state"] == "open")
      #expect(try await bert.client.ask("HEAD", "\(path)/bytes").status == 200)
      let reader = try Curl(["-N", bert.client.url("\(path)/bytes")], as: bert.client)
      let writer = try Curl(["-T", "-", anna.client.url("\(stream["Location"] ?? "")/bytes")], as: anna.client)
      writer.say("first\n")
      #expect(try await reader.hear(6) == "first\n")
      #expect(try await bert.client.get("\(path)/bytes").problem == "conflict")
      #expect(try await bert.client.ask("PUT", "\(path)/bytes", [1]).problem == "conflict")
      writer.say("second\n")
      #expect(try await reader.hear(7) == "second\n")
      writer.finish()
      #expect(try await reader.hear(1) == "")
      let done = try await anna.client.wait(in: "\(anna.path)/streams", "state", "closed")
      #expect(done["bytes"] == 13)
      #expect(try await bert.client.wait(in: "\(bert.path)/streams", "state", "closed")["bytes"] == 13)
      #expect(try await anna.client.ask("PUT", "\(stream["Location"] ?? "")/bytes", [1]).problem == "gone")
      #expect(try await anna.client.delete(stream["Location"] ?? "").status == 204)
      #expect(try await anna.client.get(stream["Location"] ?? "").status == 404)
    }
  }

  @Test("A silent writer of a stream is notified of its end")
  func silence() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let stream = try await anna.client.make("\(anna.path)/streams", ["name": "voice", "to": .text(bert.peer)])
      let came = try await bert.client.wait(in: "\(bert.path)/streams", "name", "voice")
      let writer = try await anna.client.begin("PUT", "\(stream["Location"] ?? "")/bytes", [1], of: 1_000)
      #expect(try await bert.client.delete("\(bert.path)/streams/\(came["id"]?.text ?? "")").status == 204)
      let ended = try await anna.client.wait(in: "\(anna.path)/streams", "state", "failed")
      #expect(ended["reason"] == "cancelled", "\(ended.line)")
      let answer = try await onThread {
        try writer.write([UInt8](repeating: 2, count: 999))
        return try writer.readAnswer(to: "PUT")
      }
      #expect(answer.status == 410 && answer.problem == "gone", "\(answer.text)")
    }
  }

  @Test("P-STR-1 A stream that its member gives up before anybody writes is told as failed")
  func unwritten() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      _ = try await anna.client.make("\(anna.path)/streams", ["name": "voice", "to": .text(bert.peer)])
      let came = try await bert.client.wait(in: "\(bert.path)/streams", "name", "voice")
      #expect(try await bert.client.delete("\(bert.path)/streams/\(came["id"]?.text ?? "")").status == 204)
      let ended = try await anna.client.wait(in: "\(anna.path)/streams", "state", "failed")
      #expect(ended["reason"] == "cancelled" && ended["bytes"] == 0, "\(ended.line)")
    }
  }

  @Test("A resource that is uploaded in parts arrives whole, and is given out in parts")
  func resources() async throws {
    try await TwoClients.hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.bert, meeting.anna)
      let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let made = try await anna.client.make(
        "\(anna.path)/resources",
        ["name": "data ü.bin", "to": .text(bert.peer), "contentType": "image/png", "size": 100_000])
      let content = made.json["content"]?.text ?? ""
      #expect(made.json["state"] == "uploading" && made.json["uploaded"] == 0)
      func append(_ part: ArraySlice<UInt8>, at offset: Int, _ more: [String: String] = [:]) async throws -> Answer {
        try await anna.client.ask(
          "PATCH", content, Array(part), headers: ["Upload-Offset": String(offset)].merging(more) { $1 })
      }
      #expect(try await anna.client.ask("PATCH", content, [1]).json["field"] == "Upload-Offset")
      for offset in ["+0", "-0", "0x0", " ", "0, 0", ""] {
        let refused = try await anna.client.ask("PATCH", content, [1], headers: ["Upload-Offset": offset])
        #expect(refused.status == 400 && refused.json["field"] == "Upload-Offset", "\(offset)")
      }
      for complete in ["?2", "1", "true", "?1?", "?1, ?1", ""] {
        let refused = try await append([1], at: 0, ["Upload-Complete": complete])
        #expect(refused.status == 400 && refused.json["field"] == "Upload-Complete", "\(complete)")
      }
      let first = try await append(bytes[..<40_000], at: 0)
      #expect(first.status == 204 && first["Upload-Offset"] == "40000" && first["Upload-Complete"] == "?0")
      let wrong = try await append(bytes[30_000...], at: 30_000)
      #expect(wrong.status == 409 && wrong["Upload-Offset"] == "40000")
      #expect(try await anna.client.ask("HEAD", content)["Upload-Offset"] == "40000")
      #expect(try await append([1], at: 40_000, ["Upload-Complete": "?1"]).json["field"] == "size")
      #expect(try await append(bytes[40_000...], at: 40_001).status == 413)
      // An upload that is refused from the start discards nothing.
      #expect(try await anna.client.ask("PUT", content, bytes + [0]).status == 413)
      #expect(try await anna.client.ask("HEAD", content)["Upload-Offset"] == "40001")
      #expect(try await anna.client.ask("PUT", content, Array(bytes[..<40_000])).json["field"] == "size")
      let last = try await append(bytes[40_000...], at: 40_000, ["Upload-Complete": "?1"])
      #expect(last.status == 200 && last["Upload-Complete"] == "?1")
      let came = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
      #expect(came["name"] == "data ü.bin" && came["size"] == 100_000 && came["contentType"] == "image/png")
      let download = came["content"]?.text ?? ""
      let whole = try await bert.client.get(download)
      #expect(whole.body == bytes && whole["Content-Type"] == "image/png" && whole["Accept-Ranges"] == "bytes")
      #expect(whole["Content-Disposition"] == "inline; filename*=UTF-8''data%20%C3%BC.bin")
      for (range, part) in [("0-9", bytes[..<10]), ("99990-", bytes[99_990...]), ("-5", bytes[99_995...])] {
        let answer = try await bert.client.get(download, ["Range": "bytes=\(range)"])
        #expect(answer.status == 206 && answer.body == Array(part), "\(range)")
      }
      #expect(try await bert.client.get(download, ["Range": "bytes=100000-"])["Content-Range"] == "bytes */100000")
      #expect(try await bert.client.get(download, ["Range": "bytes=0-1", "If-Range": "\"other\""]).status == 200)
      #expect(try await bert.client.get(download, ["If-None-Match": whole["ETag"] ?? ""]).status == 304)
      _ = try await anna.client.wait(in: "\(anna.path)/resources", "state", "complete")
      #expect(try await anna.client.get(content).problem == "gone")
      #expect(try await bert.client.delete("\(bert.path)/resources/\(came["id"]?.text ?? "")").status == 204)
      #expect(try await bert.client.get(download).status == 404)
    }
  }

  @Test("An upload that breaks off leaves what came of it, and goes on from there")
  func cutUpload() async throws {
    try await TwoClients.hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.bert, meeting.anna)
      let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let made = try await anna.client.make(
        "\(anna.path)/resources", ["name": "cut", "to": .text(bert.peer), "size": .number(bytes.count)])
      let content = made.json["content"]?.text ?? ""
      let line = try await anna.client.begin("PUT", content, Array(bytes[..<40_000]), of: bytes.count)
      // The client leaves between two writes, once all that it sent is stored.
      while try await anna.client.ask("HEAD", content)["Upload-Offset"] != "40000" {}
      line.hangUp()
      let rest = try await anna.client.wait(in: "\(anna.path)/resources") { $0["uploaded"] == 40_000 }
      #expect(rest["state"] == "uploading")
      let last = try await anna.client.ask(
        "PATCH", content, Array(bytes[40_000...]), headers: ["Upload-Offset": "40000", "Upload-Complete": "?1"])
      #expect(last.status == 200)
      let came = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
      #expect(try await bert.client.get(came["content"]?.text ?? "").body == bytes)
    }
  }

  @Test("An upload that was aborted can begin anew at once, though the disk has not answered for the first one")
  func busyDisk() async throws {
    try await TwoClients.hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.bert, meeting.anna)
      let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let made = try await anna.client.make(
        "\(anna.path)/resources", ["name": "anew", "to": .text(bert.peer), "size": .number(bytes.count)])
      let content = made.json["content"]?.text ?? ""
      func areUploads(_ count: Int) async throws {
        while try await !anna.gateway.stranger.get("/metrics").text.contains("\nvicinity_uploads \(count)\n") {}
      }
      let part = try await anna.client.ask("PATCH", content, Array(bytes[..<40_000]), headers: ["Upload-Offset": "0"])
      #expect(part.status == 204)
      let disk = Standstill()
      async let held: Void = anna.gateway.running.host.onDisk { disk.stand() }
      await disk.begun()
      let line = try await anna.client.begin(
        "PATCH", content, Array(bytes[40_000..<50_000]), of: 60_000, ["Upload-Offset": "40000"])
      try await areUploads(1)
      line.hangUp()
      try await areUploads(0)
      async let anew = anna.client.ask("PUT", content, bytes)
      try await areUploads(1)
      disk.end()
      try await held
      #expect(try await anew.status == 200)
      let came = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
      #expect(try await bert.client.get(came["content"]?.text ?? "").body == bytes)
    }
  }

  @Test("A resource in a session that asks waits to be accepted, and may be declined")
  func decisions() async throws {
    try await TwoClients.hold(["resources": "ask"]) { meeting in
      let (anna, bert) = (meeting.bert, meeting.anna)
      for (word, state) in [("accepted", "complete"), ("declined", "declined")] as [(String, JSON)] {
        let made = try await anna.client.make(
          "\(anna.path)/resources", ["name": .text(word), "to": .text(bert.peer)])
        #expect(try await anna.client.ask("PUT", made.json["content"]?.text ?? "", [1, 2, 3]).status == 200)
        let came = try await bert.client.wait(in: "\(bert.path)/resources?state=offered", "name", .text(word))
        let path = "\(bert.path)/resources/\(came["id"]?.text ?? "")"
        #expect(try await bert.client.get("\(path)/content").problem == "conflict")
        #expect(try await bert.client.patch(path, [:]).json["field"] == "state")
        #expect(try await bert.client.patch(path, ["state": .text(word)]).status == 200)
        _ = try await bert.client.wait(in: "\(bert.path)/resources") {
          $0["name"] == .text(word) && $0["state"] == state
        }
        _ = try await anna.client.wait(in: "\(anna.path)/resources") {
          $0["name"] == .text(word) && $0["state"] == state
        }
        #expect(try await bert.client.patch(path, ["state": "accepted"]).status == 409)
      }
    }
  }

  @Test("An invitation can be declined and taken back, and what does not fit is refused")
  func invitations() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let session = try await bert.client.make("/v1/sessions").id
      let body: JSON = ["session": .text(session), "to": .text(anna.peer), "serviceType": "chat"]
      for (word, answerer) in [("declined", anna), ("cancelled", bert)] {
        let made = try await bert.client.make("/v1/invitations", body)
        let came = try await anna.client.wait(in: "/v1/invitations?direction=incoming&state=pending") { _ in true }
        let own = answerer.peer == anna.peer ? "/v1/invitations/\(came["id"]?.text ?? "")" : made["Location"] ?? ""
        let other = answerer.peer == anna.peer ? made["Location"] ?? "" : "/v1/invitations/\(came["id"]?.text ?? "")"
        let loser = answerer.peer == anna.peer ? bert : anna
        #expect(try await loser.client.patch(other, ["state": .text(word)]).status == 409)
        #expect(try await answerer.client.patch(own, ["state": .text(word)]).json["state"] == .text(word))
        #expect(try await answerer.client.patch(own, ["state": .text(word)]).status == 409)
        _ = try await bert.client.wait(in: "/v1/invitations") {
          $0["id"] == .text(made.id) && $0["state"] == .text(word)
        }
        _ = try await anna.client.wait(in: "/v1/invitations") { $0["id"] == came["id"] && $0["state"] == .text(word) }
        #expect(try await bert.client.get(other == made["Location"] ? own : other).status == 404)
        #expect(try await bert.client.delete(made["Location"] ?? "").status == 204)
      }
      let wrong: JSON = ["session": .text(session), "to": "nobody", "serviceType": "chat"]
      #expect(try await bert.client.post("/v1/invitations", wrong).json["field"] == "to")
    }
  }

  @Test("A member that is removed is told so, and a session that is left is left by its peer alone")
  func leaving() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let member = try await anna.client.wait(in: "\(anna.path)/members", "peer", .text(bert.peer))
      let path = "\(anna.path)/members/\(member["id"]?.text ?? "")"
      #expect(try await anna.client.get(path).json == member)
      #expect(try await anna.client.delete("\(path)?ban=perhaps").json["field"] == "ban")
      #expect(try await anna.client.delete("\(path)?ban=true").status == 204)
      #expect(try await bert.client.wait(in: "\(bert.path)/members", "state", "notConnected")["reason"] == "removed")
      _ = try await anna.client.wait(in: "\(anna.path)/members", "state", "notConnected")
      let sent = try await anna.client.ask("POST", "\(anna.path)/messages", [1])
      #expect(sent.status == 409 && sent.problem == "notConnected")
      #expect(try await anna.client.delete(anna.path).status == 204)
      #expect(try await anna.client.get("\(anna.path)/members").status == 404)
      #expect(try await bert.client.get(bert.path).status == 200)
      let events = try await bert.client.get("/v1/events?event=connected").json["items"]?.list ?? []
      #expect(events.count == 1 && events[0]["displayName"] == "Anna")
    }
  }
}

extension Answer {
  /// The delivery report for a message's only recipient, whose endpoint is taken from the answer.
  fileprivate func recipient(_ state: JSON, of peer: String, _ name: JSON) -> JSON {
    let member = json["delivery"]?["recipients"]?.list?.first?["member"] ?? .null
    return ["member": member, "peer": .text(peer), "displayName": name, "state": state]
  }
}

extension HTTPClient {
  func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}

/// A `curl` that runs.
final class Curl: Sendable {
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  init(_ arguments: [String], as asker: HTTPClient) throws {
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["curl", "-sS", "--fail", "--max-time", "30", "-H", "Authorization: Bearer \(asker.token ?? "")"] + arguments
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  func say(_ text: String) { input.fileHandleForWriting.write(Data(text.utf8)) }
  func finish() { try? input.fileHandleForWriting.close() }

  /// The next bytes as text: this number, or those up to the end.
  func hear(_ count: Int) async throws -> String {
    try await onThread { [output] in
      String(decoding: try output.fileHandleForReading.read(upToCount: count) ?? Data(), as: UTF8.self)
    }
  }
}
