internal import Foundation
internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("A content's digest", .timeLimit(.minutes(2)))
struct DigestTests {
  /// `printf 'Hello\n' | sha256sum`
  private let hexadecimal = "66a045b452102c59d840ec097d59d9467e13a3f34f6494e539ffd32c1bb35f18"
  private let header = "sha-256=:ZqBFtFIQLFnYQOwJfVnZRn4To/NPZJTlOf/TLBuzXxg=:"
  private let hello = Array("Hello\n".utf8)

  @Test("Received content is served with its digest, whole and in part")
  func download() async throws {
    try await TwoClients.hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.bert, meeting.anna)
      let made = try await anna.client.make("\(anna.path)/resources", ["name": "hello", "to": .text(bert.peer)])
      #expect(try await anna.client.ask("PUT", made.json["content"]?.text ?? "", hello).status == 200)
      let came = try await bert.client.wait(in: "\(bert.path)/resources", "sha256", .text(hexadecimal))
      #expect(came["state"] == "complete")
      let content = came["content"]?.text ?? ""
      let whole = try await bert.client.get(content)
      #expect(whole.body == hello && whole["Repr-Digest"] == header)
      let part = try await bert.client.get(content, ["Range": "bytes=1-2"])
      #expect(part.text == "el" && part["Repr-Digest"] == header)
      #expect(try await bert.client.get(content, ["If-None-Match": whole["ETag"] ?? ""])["Repr-Digest"] == header)
      #expect(try await bert.client.ask("HEAD", content)["Repr-Digest"] == header)
    }
  }

  @Test("A request for the digest of large content gets it with the first response")
  func wanted() async throws {
    try await TwoClients.hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.bert, meeting.anna)
      let bytes = [UInt8](repeating: 7, count: 9 << 20)
      let made = try await anna.client.make("\(anna.path)/resources", ["name": "large", "to": .text(bert.peer)])
      #expect(try await anna.client.ask("PUT", made.json["content"]?.text ?? "", bytes).status == 200)
      let came = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
      // It was hashed while it arrived.
      #expect(came["sha256"]?.text?.count == 64)
      let head = try await bert.client.ask(
        "HEAD", came["content"]?.text ?? "", headers: ["Want-Repr-Digest": "sha-512=5, sha-256=1"])
      // `head -c 9437184 /dev/zero | tr '\0' '\7' | openssl dgst -sha256 -binary | base64`
      #expect(head["Repr-Digest"] == "sha-256=:EIwsVh6+nVVX6hRoeZ6rt4MklN8LTz8bUeVqPyE+4hA=:")
      #expect(head["Content-Length"] == String(bytes.count))
    }
  }

  @Test("A part of an upload whose digest is another is dropped, and those before it stay")
  func part() async throws {
    try await TwoClients.hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.bert, meeting.anna)
      let made = try await anna.client.make(
        "\(anna.path)/resources", ["name": "hello", "to": .text(bert.peer), "size": 12])
      let content = made.json["content"]?.text ?? ""
      func patch(_ text: String, at offset: Int, isLast: Bool = false, _ digest: String) async throws -> Answer {
        try await anna.client.ask(
          "PATCH", content, Array(text.utf8),
          headers: [
            "Upload-Offset": String(offset), "Upload-Complete": isLast ? "?1" : "?0", "Content-Digest": digest,
          ])
      }
      #expect(try await patch("Hello\n", at: 0, header).status == 204)
      let wrong = try await patch("Hallo\n", at: 6, isLast: true, header)
      #expect(wrong.status == 409 && wrong.json["field"] == "Content-Digest" && wrong["Upload-Offset"] == "6")
      let item = try await anna.client.get(made["Location"] ?? "").json
      #expect(item["state"] == "uploading" && item["uploaded"] == 6, "\(item)")
      #expect(try await patch("Hello\n", at: 6, isLast: true, "sha-256=:short:").json["field"] == "Content-Digest")
      #expect(try await patch("Hello\n", at: 6, isLast: true, header).status == 200)
      let came = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
      #expect(try await bert.client.get(came["content"]?.text ?? "").text == "Hello\nHello\n")
    }
  }

  @Test("An upload that tells its digest is held to it, and can be done anew")
  func upload() async throws {
    try await TwoClients.hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.bert, meeting.anna)
      let made = try await anna.client.make("\(anna.path)/resources", ["name": "hello", "to": .text(bert.peer)])
      let content = made.json["content"]?.text ?? ""
      func put(_ text: String, _ digest: String) async throws -> Answer {
        try await anna.client.ask("PUT", content, Array(text.utf8), headers: ["Repr-Digest": digest])
      }
      #expect(try await put("Hello\n", "sha-256=:short:").json["rule"] == "digest")
      let wrong = try await put("Hallo\n", header)
      #expect(wrong.status == 409 && wrong.json["field"] == "Repr-Digest")
      #expect(try await anna.client.get("\(made["Location"] ?? "")").json["state"] == "uploading")
      #expect(try await put("Hello\n", "md5=:AAAA:, \(header)").status == 200)
      let came = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
      #expect(try await bert.client.get(came["content"]?.text ?? "").body == hello)
      #expect(
        try await anna.client.wait(in: "\(anna.path)/resources", "state", "complete")["sha256"] == .text(hexadecimal))
    }
  }

  @Test("An upload whose first part the disk has changed during a restart is refused at its end, and is taken anew")
  func damagedUpload() async throws {
    var meeting = try await TwoClients.begin(["resources": "accept"])
    let (anna, bert) = (meeting.anna, meeting.bert)
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    let (sending, client) = ("\(bert.gateway.folder)/sending", bert.client)
    func restart(_ meanwhile: () throws -> Void = {}) async throws {
      let gateway = try await meeting.bert.gateway.restarted(meanwhile)
      meeting.bert = TwoClients.SessionClient(gateway: gateway, client: client, peer: bert.peer, session: bert.session)
      _ = try await client.wait(in: "\(bert.path)/members", "state", "connected")
    }
    /// Uploads in three runs of the gateway, with a byte changed before the last one.
    func send(_ name: String, changing offset: UInt64?) async throws -> (answer: Answer, content: String) {
      let made = try await client.make("\(bert.path)/resources", ["name": .text(name), "to": .text(anna.peer)])
      let content = made.json["content"]?.text ?? ""
      func append(_ range: Range<Int>, isLast: Bool = false) async throws -> Answer {
        try await client.ask(
          "PATCH", content, Array(bytes[range]), type: "application/partial-upload",
          headers: ["Upload-Offset": "\(range.lowerBound)", "Upload-Complete": isLast ? "?1" : "?0"])
      }
      #expect(try await append(0..<70_000).status == 204)
      #expect(try await append(70_000..<100_001).status == 204)
      try await restart()
      #expect(try await append(100_001..<200_000).status == 204)
      try await restart {
        guard let offset else { return }
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: sending).first)
        let file = try FileHandle(forUpdating: URL(filePath: "\(sending)/\(name)"))
        try file.seek(toOffset: offset)
        try file.write(contentsOf: [bytes[Int(offset)] ^ 1])
        try file.close()
      }
      return (try await append(200_000..<300_000, isLast: true), content)
    }
    func arrives(_ name: String) async throws {
      let came = try await anna.client.wait(in: "\(anna.path)/resources") {
        $0["name"] == .text(name) && $0["state"] == "complete"
      }
      #expect(try await anna.client.get(came["content"]?.text ?? "").body == bytes)
    }

    #expect(try await send("sound", changing: nil).answer.status == 200)
    try await arrives("sound")
    for offset: UInt64 in [5, 100_000, 100_001, 199_999] {
      let (answer, content) = try await send("at \(offset)", changing: offset)
      #expect(answer.status == 409 && answer.json["rule"] == "damaged" && answer["Upload-Offset"] == "0")
      #expect(try await client.ask("HEAD", content)["Upload-Offset"] == "0")
      #expect(try await client.ask("PUT", content, bytes).status == 200)
      try await arrives("at \(offset)")
    }
    let event = try await client.wait(in: "/v1/events", "event", "resourceDamaged")
    #expect(event["name"] == "at 199999")
    #expect(try await client.get("/metrics").text.contains("\nvicinity_store_damaged_files_total 1\n"))
    await meeting.end()
  }

  @Test("The chain of an upload's chunks is the same in any pieces, and another for any other bytes")
  func chain() {
    let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    func digest(_ bytes: [UInt8], in pieceBytes: Int) -> ContentDigest {
      var chain = ChunkChain()
      for start in stride(from: 0, to: bytes.count, by: pieceBytes) {
        chain.add(Array(bytes[start..<min(start + pieceBytes, bytes.count)]))
      }
      return chain.digest
    }
    let whole = digest(bytes, in: bytes.count)
    for size in [1, 1_000, 16_383, 16_384, 16_385, 40_000] { #expect(digest(bytes, in: size) == whole, "\(size)") }
    for offset in [0, 16_383, 16_384, 99_999] {
      var other = bytes
      other[offset] ^= 1
      #expect(digest(other, in: 5_000) != whole)
    }
    #expect(digest(Array(bytes.dropLast()), in: 5_000) != whole)
  }

  @Test("A file that the disk has changed is served to nobody after a start, and its owner is notified")
  func damaged() async throws {
    var meeting = try await TwoClients.begin(["resources": "accept"])
    let bert = meeting.bert
    func send(_ name: String, _ text: String) async throws {
      let made = try await bert.client.make(
        "\(bert.path)/resources", ["name": .text(name), "to": .text(meeting.anna.peer)])
      #expect(try await bert.client.ask("PUT", made.json["content"]?.text ?? "", Array(text.utf8)).status == 200)
    }
    let (anna, client) = (meeting.anna, meeting.anna.client)
    func came(_ name: String) async throws -> JSON {
      try await client.wait(in: "\(anna.path)/resources") { $0["name"] == .text(name) && $0["sha256"] != nil }
    }
    try await send("hello", "Hello\n")
    // With the same content it would be the same file.
    try await send("other", "Other\n")
    let content = try await came("hello")["content"]?.text ?? ""
    #expect(try await client.get(content).body == hello)
    let other = try await came("other")["content"]?.text ?? ""

    let folder = "\(anna.gateway.folder)/received/\(anna.session)"
    let gateway = try await anna.gateway.restarted {
      let file = try #require(
        try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.contains("hello") })
      try Data("Hallo\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(file)"))
    }
    meeting.anna = TwoClients.SessionClient(gateway: gateway, client: client, peer: anna.peer, session: anna.session)
    for _ in 1...2 {
      let answer = try await client.get(content)
      #expect(answer.status == 500 && answer.json["rule"] == "damaged" && answer["ETag"] == nil, "\(answer.text)")
    }
    #expect(try await client.ask("HEAD", content).status == 500)
    #expect(try await client.get(content, ["Range": "bytes=0-0"]).status == 500)
    let sound = try await client.get(other)
    // `echo Other | openssl dgst -sha256 -binary | base64`
    #expect(sound.text == "Other\n" && sound["Repr-Digest"] == "sha-256=:KT1gqbaGi6Gj+soWXshMOmdqGRz6OgTNKHVREhTIh7w=:")
    let event = try await client.wait(in: "/v1/events", "event", "resourceDamaged")
    #expect(event["name"] == "hello" && content == "\(event["about"]?.text ?? "")/content")
    #expect(try await client.get("/metrics").text.contains("\nvicinity_store_damaged_files_total 1\n"))
    await meeting.end()
  }
}
