internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("A resource's content is had in parts, and its upload asked about", .timeLimit(.minutes(2)))
struct DownloadTests {
  private static let bytes = (0..<1_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

  /// The paths of Bert's copy of the content that Anna sent, and of her upload.
  private func send(_ meeting: TwoClients) async throws -> (had: String, sent: String) {
    let (anna, bert) = (meeting.anna, meeting.bert)
    let made = try await anna.client.make("\(anna.path)/resources", ["name": "x.bin", "to": .text(bert.peer)])
    let sent = made.json["content"]?.text ?? ""
    #expect(try await anna.client.ask("PUT", sent, Self.bytes).status == 200)
    let came = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
    return (came["content"]?.text ?? "", sent)
  }

  private func withTwoClients(_ test: (TwoClients) async throws -> Void) async throws {
    try await withGateway { gateway in try await test(try await TwoClients.near(at: gateway, ["resources": "accept"])) }
  }

  @Test("If-Range gives the part of what one has, and the whole of anything else")
  func ifRange() async throws {
    try await withTwoClients { meeting in
      let (content, client) = (try await send(meeting).had, meeting.bert.client)
      let tag = try #require(try await client.get(content)["ETag"])
      func ask(_ condition: String) async throws -> Answer {
        try await client.get(content, ["Range": "bytes=100-199", "If-Range": condition])
      }
      let part = try await ask(tag)
      #expect(part.status == 206 && part.body == Array(Self.bytes[100..<200]) && part["ETag"] == tag)
      #expect(part["Content-Range"] == "bytes 100-199/1000" && part["Content-Length"] == "100")
      // A weak tag does not allow a range, and there is no Last-Modified.
      for condition in ["\"another\"", "W/\(tag)", "Wed, 21 Oct 2015 07:28:00 GMT", "\(tag), \"another\""] {
        let whole = try await ask(condition)
        #expect(whole.status == 200 && whole.body == Self.bytes && whole["Content-Range"] == nil, "\(condition)")
      }
    }
  }

  @Test("Several ranges, or invalid ones, get the whole; a range past the end gets the size")
  func ranges() async throws {
    try await withTwoClients { meeting in
      let (content, client) = (try await send(meeting).had, meeting.bert.client)
      for range in ["bytes=0-1,5-6", "bytes=9-1", "bytes=a-b", "bytes=1", "lines=0-1", "bytes=--1"] {
        let whole = try await client.get(content, ["Range": range])
        #expect(whole.status == 200 && whole.body == Self.bytes, "\(range): \(whole.status)")
      }
      let most = Int.max
      for range in ["bytes=1000-", "bytes=1000-1001", "bytes=\(most)-", "bytes=-0"] {
        let none = try await client.get(content, ["Range": range])
        #expect(none.status == 416 && none["Content-Range"] == "bytes */1000", "\(range): \(none.status)")
        #expect(none.problem == "rangeNotSatisfiable" && none.json["limit"] == 1_000)
      }
      for (range, from) in [("bytes=990-\(most)", 990), ("bytes=-10", 990), ("bytes=-\(most)", 0), ("bytes=0-0", 0)] {
        let part = try await client.get(content, ["Range": range])
        let end = range == "bytes=0-0" ? 1 : 1_000
        #expect(part.body == Array(Self.bytes[from..<end]), "\(range): \(part.status)")
        #expect(part.status == (end - from == 1_000 ? 200 : 206), "\(range)")
      }
      let head = try await client.ask("HEAD", content, headers: ["Range": "bytes=0-9"])
      #expect(head.status == 206 && head["Content-Length"] == "10" && head.body.isEmpty)
    }
  }

  @Test("A client that has lost the last response to an upload learns by HEAD that it is complete")
  func uploaded() async throws {
    try await withTwoClients { meeting in
      let anna = meeting.anna
      let made = try await anna.client.make(
        "\(anna.path)/resources", ["name": "cut", "to": .text(meeting.bert.peer), "size": 1_000])
      let cut = made.json["content"]?.text ?? ""
      let part = Array(Self.bytes[..<400])
      #expect(try await anna.client.ask("PATCH", cut, part, headers: ["Upload-Offset": "0"]).status == 204)
      let under = try await anna.client.ask("HEAD", cut)
      #expect(under.status == 204 && under["Upload-Offset"] == "400" && under["Upload-Complete"] == "?0")
      let sent = try await send(meeting).sent
      _ = try await anna.client.wait(in: "\(anna.path)/resources?state=complete") { _ in true }
      let whole = try await anna.client.ask("HEAD", sent)
      #expect(whole.status == 200 && whole["Upload-Offset"] == "1000" && whole["Upload-Complete"] == "?1")
      #expect(try await anna.client.get(sent).problem == "gone")
    }
  }

  @Test("Numbers that are too large are refused, or are as good as the largest, and the gateway goes on")
  func largeNumbers() async throws {
    try await withTwoClients { meeting in
      let anna = meeting.anna
      // c and a number, as cursors are.
      for number in ["9223372036854775807", "9223372036854775808", "18446744073709551615", "-1"] {
        let cursor = Base64.safeText(Array("c\(number)".utf8))
        for list in ["/v1/peers", "\(anna.path)/messages"] {
          let page = try await anna.client.get("\(list)?after=\(cursor)")
          #expect(page.status == 200 && page.ids.isEmpty || page.status == 400 && page.json["rule"] == "cursor")
        }
        let id = number.drop { $0 == "-" }
        #expect(try await anna.client.get("\(anna.path)/messages/m\(id)").status == 404)
      }
      let position = try await anna.client.get("\(anna.path)/messages").json["position"]?.text ?? ""
      let far = "\(position.prefix { $0 != "." }).18446744073709551615"
      #expect(try await anna.client.get("\(anna.path)/messages?since=\(far)").json["recovered"] == false)
      let made = try await anna.client.make("\(anna.path)/resources", ["name": "x", "to": .text(meeting.bert.peer)])
      let content = made.json["content"]?.text ?? ""
      let odd = try await anna.client.ask("PATCH", content, [1], headers: ["Upload-Offset": "18446744073709551615"])
      #expect(odd.status == 409 && odd["Upload-Offset"] == "0")
      let line = try await anna.client.begin("PUT", content, [1], of: .max)
      #expect(try await onThread { try line.readAnswer(to: "PUT") }.status == 413)
      #expect(try await anna.client.get(anna.path).status == 200)
    }
  }
}
