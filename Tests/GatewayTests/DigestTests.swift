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

  @Test("What has come is told with its digest, whole and in part")
  func download() async throws {
    try await Meeting.hold(["resources": "accept"]) { meeting in
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

  @Test("Who wants the digest of what is large gets it with the first answer")
  func wanted() async throws {
    try await Meeting.hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.bert, meeting.anna)
      let bytes = [UInt8](repeating: 7, count: 9 << 20)
      let made = try await anna.client.make("\(anna.path)/resources", ["name": "large", "to": .text(bert.peer)])
      #expect(try await anna.client.ask("PUT", made.json["content"]?.text ?? "", bytes).status == 200)
      let came = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
      let head = try await bert.client.ask(
        "HEAD", came["content"]?.text ?? "", headers: ["Want-Repr-Digest": "sha-512=5, sha-256=1"])
      // `head -c 9437184 /dev/zero | tr '\0' '\7' | openssl dgst -sha256 -binary | base64`
      #expect(head["Repr-Digest"] == "sha-256=:EIwsVh6+nVVX6hRoeZ6rt4MklN8LTz8bUeVqPyE+4hA=:")
      #expect(head["Content-Length"] == String(bytes.count))
    }
  }

  @Test("An upload that tells its digest is held to it, and can be done anew")
  func upload() async throws {
    try await Meeting.hold(["resources": "accept"]) { meeting in
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

  @Test("What the disk has made something else of is told to nobody after a start, and who looks after it learns of it")
  func damaged() async throws {
    var meeting = try await Meeting.begin(["resources": "accept"])
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
    try await send("other", "Hello\n")
    let content = try await came("hello")["content"]?.text ?? ""
    #expect(try await client.get(content).body == hello)
    let other = try await came("other")["content"]?.text ?? ""

    let folder = "\(anna.place.folder)/received/\(anna.session)"
    let place = try await anna.place.restarted {
      let file = try #require(
        try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.contains("hello") })
      try Data("Hallo\n".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(file)"))
    }
    meeting.anna = Meeting.Seat(place: place, client: client, peer: anna.peer, session: anna.session)
    for _ in 1...2 {
      let answer = try await client.get(content)
      #expect(answer.status == 500 && answer.json["rule"] == "damaged" && answer["ETag"] == nil, "\(answer.text)")
    }
    #expect(try await client.ask("HEAD", content).status == 500)
    #expect(try await client.get(content, ["Range": "bytes=0-0"]).status == 500)
    let sound = try await client.get(other)
    #expect(sound.body == hello && sound["Repr-Digest"] == header)
    let event = try await client.wait(in: "/v1/events", "event", "resourceDamaged")
    #expect(event["name"] == "hello" && content == "\(event["about"]?.text ?? "")/content")
    #expect(try await client.get("/metrics").text.contains("\nvicinity_store_damaged_files_total 1\n"))
    await meeting.end()
  }
}
