internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("A stream has a WebSocket of its own", .timeLimit(.minutes(3)), .serialized)
struct StreamSocketTests {
  /// A stream of Anna's, and where its two ends are.
  private func stream(_ meeting: TwoClients, _ name: String) async throws -> (from: String, to: String) {
    let (anna, bert) = (meeting.anna, meeting.bert)
    let made = try await anna.client.make("\(anna.path)/streams", ["name": .text(name), "to": .text(bert.peer)])
    let came = try await bert.client.wait(in: "\(bert.path)/streams", "name", .text(name))
    return (made["Location"] ?? "", "\(bert.path)/streams/\(came["id"]?.text ?? "")")
  }

  private func open(_ side: TwoClients.SessionClient, _ path: String) async throws -> Talk {
    try await Talk.open(
      side.client, at: "\(path)/socket", speaking: "vicinity.stream.v1",
      ["Authorization": "Bearer \(side.client.token ?? "")"])
  }

  private func wait(_ side: TwoClients.SessionClient, for path: String, _ state: JSON) async throws -> JSON {
    try await side.client.wait(in: "\(side.path)/streams") {
      path.hasSuffix("/\($0["id"]?.text ?? "?")") && $0["state"] == state
    }
  }

  @Test("P-STR-1 A browser reads the bytes that another one writes, and a close ends the stream")
  func bytes() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let path = try await stream(meeting, "voice")
      let writer = try await open(anna, path.from)
      let reader = try await Talk.open(bert.client, at: "\(path.to)/socket", speaking: "vicinity.stream.v1")
      try await reader.say(["token": .text(bert.client.token ?? "")])
      let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      for start in stride(from: 0, to: bytes.count, by: 50_000) {
        try await writer.say(Array(bytes[start..<start + 50_000]))
      }
      try await writer.goodbye(1000)
      var came: [UInt8] = []
      while case .binary(let piece) = try await reader.next() { came += piece }
      #expect(came == bytes)
      #expect(try await wait(anna, for: path.from, "closed")["bytes"] == 200_000)
      #expect(try await wait(bert, for: path.to, "closed")["bytes"] == 200_000)
    }
  }

  @Test("P-STR-1 A client that leaves in the middle cancels the stream, and its close code says so at the other end")
  func ends() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      for isWriter in [true, false] {
        let path = try await stream(meeting, isWriter ? "one" : "two")
        let (writer, reader) = (try await open(anna, path.from), try await open(bert, path.to))
        try await writer.say([1])
        #expect(try await reader.next() == .binary([1]))
        if isWriter { try await writer.goodbye(1001) } else { reader.hangUp() }
        #expect(try await (isWriter ? reader : writer).closing() == 4410)
        for (side, path) in [(anna, path.from), (bert, path.to)] {
          #expect(try await wait(side, for: path, "failed")["reason"] == "cancelled")
        }
      }
      let path = try await stream(meeting, "three")
      let (writer, reader) = (try await open(anna, path.from), try await open(bert, path.to))
      #expect(try await anna.client.delete(anna.path).status == 204)
      #expect(try await writer.closing() != 1000)
      #expect(try await reader.closing() == 4409)
    }
  }

  @Test("P-STR-2 A browser that does not read holds up its own stream, in little memory, and nobody else")
  func pressure() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let (slow, quick) = (try await stream(meeting, "slow"), try await stream(meeting, "quick"))
      let (reader, writer) = (try await open(bert, slow.to), try await open(anna, slow.from))
      let total = 16 << 20
      let piece = [UInt8](repeating: 7, count: 1 << 20)
      async let written: Void = {
        for _ in 0..<(total / piece.count) { try await writer.say(piece) }
        try await writer.goodbye(1000)
      }()
      // The first stream stays silent while another is used.
      let (other, another) = (try await open(anna, quick.from), try await open(bert, quick.to))
      for number in 0..<200 {
        try await other.say([UInt8(number)])
        #expect(try await another.next() == .binary([UInt8(number)]))
      }
      let isOpen = try await anna.client.get(slow.from).json["state"]
      #expect(isOpen == "open")
      var came = 0
      while case .binary(let piece) = try await reader.next() { came += piece.count }
      #expect(came == total)
      try await written
    }
  }

  @Test("P-STR-3 Many streams cross at once, each way, beside messages and a resource, and each keeps its order")
  func many() async throws {
    try await TwoClients.hold(["resources": "accept"]) { meeting in
      let turned = TwoClients(anna: meeting.bert, bert: meeting.anna)
      var ends: [(writer: Talk, reader: Talk)] = []
      for number in 0..<10 {
        let side = number % 2 == 0 ? meeting : turned
        let path = try await stream(side, "stream \(number)")
        ends.append((try await open(side.anna, path.from), try await open(side.bert, path.to)))
      }
      let (anna, bert) = (meeting.anna, meeting.bert)
      let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let made = try await bert.client.make("\(bert.path)/resources", ["name": "beside", "to": .text(anna.peer)])
      async let uploaded = bert.client.ask("PUT", made.json["content"]?.text ?? "", bytes)
      for round in 0..<20 as Range<UInt8> {
        for (number, end) in ends.enumerated() { try await end.writer.say([UInt8(number), round]) }
        _ = try await anna.client.ask("POST", "\(anna.path)/messages", Array("\(round)".utf8))
      }
      for (number, end) in ends.enumerated() {
        try await end.writer.goodbye(1000)
        var came: [UInt8] = []
        while case .binary(let piece) = try await end.reader.next() { came += piece }
        #expect(came == (0..<20).flatMap { [UInt8(number), $0] })
      }
      #expect(try await uploaded.status == 200)
      let resource = try await anna.client.wait(in: "\(anna.path)/resources", "state", "complete")
      #expect(try await anna.client.get(resource["content"]?.text ?? "").body == bytes)
      _ = try await bert.client.wait(in: "\(bert.path)/messages", "body", "19")
      let heard = try await bert.client.get("\(bert.path)/messages").json["items"]?.list ?? []
      #expect(heard.compactMap { $0["body"]?.text } == (0..<20).map { "\($0)" })
    }
  }

  @Test("A client without access to a stream is refused before the WebSocket is open, or by its close code")
  func refusals() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let path = try await stream(meeting, "voice")
      func refused(_ asker: HTTPClient, _ path: String, _ headers: [String: String] = [:]) async throws -> Int {
        var headers = headers
        if let token = asker.token { headers["Authorization"] = "Bearer \(token)" }
        return try await Talk.ask(asker, at: path, speaking: "vicinity.stream.v1", headers).1.status
      }
      let stranger = try await anna.gateway.client()
      #expect(try await refused(anna.client, "\(anna.path)/streams/none/socket") == 404)
      #expect(try await refused(stranger, "\(path.from)/socket") == 404)
      #expect(try await refused(try await anna.gateway.client("viewer"), "\(path.from)/socket") == 403)
      #expect(try await refused(anna.client, "\(path.from)/socket?colour=1") == 400)
      #expect(try await refused(anna.client, "\(path.from)/socket", ["Origin": "http://evil.example"]) == 403)
      #expect(try await anna.client.get("\(path.from)/socket").status == 426)
      let other = try await Talk.ask(anna.client, at: "\(path.from)/socket", speaking: "vicinity.v1").1
      #expect(other.status == 400)
      for (text, code) in [
        ("{\"token\":\"wrong\"}", 4401), ("{\"token\":\"\(stranger.token ?? "")\"}", 4404), ("hello", 4400),
        ("{\"name\":1}", 4400),
      ] as [(String, UInt16)] {
        let talk = try await Talk.open(anna.client, at: "\(path.from)/socket", speaking: "vicinity.stream.v1")
        try await talk.blurt(text)
        #expect(try await talk.closing() == code, "\(text)")
      }
      let reader = try await open(bert, path.to)
      #expect(try await refused(bert.client, "\(path.to)/socket") == 409)
      try await reader.say([1])
      #expect(try await reader.closing() == 4409)
      #expect(try await refused(bert.client, "\(path.to)/socket") == 410)
    }
  }

  @Test("A stream's WebSocket ends with its client's token")
  func revoking() async throws {
    try await TwoClients.hold { meeting in
      let path = try await stream(meeting, "voice")
      let writer = try await open(meeting.anna, path.from)
      let client = try await meeting.anna.client.get("/v1/gateway").json["client"]?["id"]?.text ?? ""
      #expect(try await meeting.anna.client.delete("/v1/clients/\(client)").status == 204)
      #expect(try await writer.closing() == 4403)
    }
  }
}
