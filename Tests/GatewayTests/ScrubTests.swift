internal import Foundation
internal import Notation
internal import Store
internal import Testing

@testable internal import Gateway

@Suite("Damage is found before anybody needs what is damaged", .timeLimit(.minutes(3)))
struct ScrubTests {
  private let hello = Array("Hello\n".utf8)

  private func always(_ options: inout GatewayOptions) { options.scrubTime = .seconds(1) }

  private func send(_ name: String, _ content: [UInt8]? = nil, in meeting: TwoClients) async throws -> JSON {
    let (bert, anna) = (meeting.bert, meeting.anna)
    let made = try await bert.client.make("\(bert.path)/resources", ["name": .text(name), "to": .text(anna.peer)])
    #expect(try await bert.client.ask("PUT", made.json["content"]?.text ?? "", content ?? hello).status == 200)
    return try await anna.client.wait(in: "\(anna.path)/resources") { $0["name"] == .text(name) && $0["sha256"] != nil }
  }

  /// Asked until it says so.
  private func metrics(of client: HTTPClient, say line: String) async throws {
    while !(try await client.get("/metrics").text.contains("\n\(line)\n")) {}
  }

  private func restart(_ meeting: inout TwoClients, _ meanwhile: () throws -> Void) async throws {
    let anna = meeting.anna
    let gateway = try await anna.gateway.restarted(meanwhile)
    meeting.anna = TwoClients.SessionClient(
      gateway: gateway, client: anna.client, peer: anna.peer, session: anna.session)
  }

  private func change(_ path: String, at offset: Int, to bytes: [UInt8]) throws {
    let file = try FileHandle(forUpdating: URL(filePath: path))
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: Data(bytes))
    try file.close()
  }

  @Test("a changed byte of a received file is told within a pass, the file is kept aside, and the others go on")
  func file() async throws {
    var meeting = try await TwoClients.begin(["resources": "accept"], as: "member", always)
    let (client, path, folder) = (meeting.anna.client, meeting.anna.path, meeting.anna.gateway.folder)
    // With the same content the other would be the same file.
    let spoilt = try await send("hello", in: meeting)
    let other = try await send("other", Array("Other\n".utf8), in: meeting)
    let content = spoilt["content"]?.text ?? ""
    #expect(try await client.get(content).body == hello)
    try change("\(folder)/received/\(meeting.anna.session)/hello", at: 1, to: [0x61])

    let damaged = try await client.wait(in: "\(path)/resources", "state", "damaged")
    #expect(damaged["id"] == spoilt["id"] && damaged["problem"]?["rule"] == "damaged", "\(damaged.line)")
    let event = try await client.wait(in: "/v1/events", "event", "resourceDamaged")
    #expect(event["name"] == "hello" && content == "\(event["about"]?.text ?? "")/content")
    let said = try #require(await meeting.anna.gateway.running.log.first { $0.event == "damaged" })
    #expect(said.level == .error)
    #expect(said.fields.first { $0.name == "file" }?.value == .text("\(folder)/received/\(meeting.anna.session)/hello"))
    #expect(try await client.get("/metrics").text.contains("\nvicinity_scrub_damage_total{kind=\"file\"} 1\n"))
    func aside() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: "\(folder)/quarantine") }
    #expect(try aside().count == 1 && aside().first?.hasSuffix("-hello") == true)

    #expect(try await client.get(other["content"]?.text ?? "").text == "Other\n")
    let again = try await send("again", in: meeting)
    #expect(again["state"] == "complete")
    try await restart(&meeting) {}
    for _ in 1...2 {
      let answer = try await client.get(content)
      #expect(answer.status == 500 && answer.json["rule"] == "damaged", "\(answer.text)")
    }
    // Deletion leaves no damaged file behind.
    #expect(try await client.ask("DELETE", "\(path)/resources/\(spoilt["id"]?.text ?? "")").status == 204)
    while try !aside().isEmpty { _ = try await client.get("/healthz") }
    await meeting.end()
  }

  @Test("a file that waits to go out and is damaged meanwhile does not go out, and both sides hear that")
  func waiting() async throws {
    try await TwoClients.hold([:], as: "member", always) { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let made = try await bert.client.make("\(bert.path)/resources", ["name": "late", "to": .text(anna.peer)])
      let digest = ["Repr-Digest": "sha-256=:ZqBFtFIQLFnYQOwJfVnZRn4To/NPZJTlOf/TLBuzXxg=:"]
      #expect(
        try await bert.client.ask("PUT", made.json["content"]?.text ?? "", hello, headers: digest).status == 200)
      _ = try await anna.client.wait(in: "\(anna.path)/resources", "state", "offered")
      let folder = "\(bert.gateway.folder)/sending"
      let file = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
      try change("\(folder)/\(file)", at: 1, to: [0x61])
      let damaged = try await bert.client.wait(in: "\(bert.path)/resources", "state", "damaged")
      #expect(damaged["name"] == "late" && damaged["problem"]?["rule"] == "damaged", "\(damaged.line)")
      let offer = try await anna.client.wait(in: "\(anna.path)/resources") { $0["state"] != "offered" }
      #expect(["cancelled", "failed"].contains(offer["state"]), "\(offer.line)")
    }
  }

  @Test("a changed byte of a message and a broken page of the database are told, with what to do")
  func rows() async throws {
    var meeting = try await TwoClients.begin([:], as: "member", always)
    let (anna, store) = (meeting.anna, "\(meeting.anna.gateway.folder)/\(Gateway.storeName)")
    let long = String(repeating: "long ", count: 10_000)
    for text in ["before", "a word", "after", long] {
      let answer = try await anna.client.ask("POST", "\(anna.path)/messages", Array(text.utf8), type: "text/plain")
      try #require(answer.status == 201, "\(answer.text)")
      // Its row is not written again from then on: the log has no newer copy of what is damaged in the file.
      while try await anna.client.get(answer["Location"] ?? "").json["delivery"]?["delivered"] != 1 {}
    }
    func offset(of text: String) throws -> Int {
      try #require(try Data(contentsOf: URL(filePath: store)).range(of: Data(text.utf8))).lowerBound
    }
    try await restart(&meeting) { try change(store, at: offset(of: "a word"), to: [0x41]) }
    let client = anna.client
    let event = try await client.wait(in: "/v1/events", "event", "messageDamaged")
    #expect(event["about"] == .text("\(anna.path)/messages"))
    #expect(try await client.get("/metrics").text.contains("\nvicinity_scrub_damage_total{kind=\"message\"} 1\n"))
    #expect(try await client.get("/readyz").status == 200)
    func finding() async throws -> JSON? {
      try await meeting.anna.gateway.client("operator").get("/v1/gateway/diagnostics").json["findings"]?.list?
        .first { $0["check"] == "storage" }
    }
    #expect(try await finding()?["state"] == "bad")

    // The overflow pages of the long one that link to another one, wherever they lie, and whichever rows have it.
    let bytes = try [UInt8](Data(contentsOf: URL(filePath: store)))
    let pages = stride(from: 0, to: bytes.count, by: 4_096).filter { page in
      bytes[page..<page + 4] != [0, 0, 0, 0]
        && bytes[page + 4..<page + 64].firstRange(of: Array("long long".utf8)) != nil
    }
    try #require(pages.count > 8)
    for page in pages { try change(store, at: page, to: [0xFF, 0xFF, 0xFF, 0xFF]) }
    while try await client.get("/readyz").status == 200 {}
    let answer = try await client.get("/readyz")
    #expect(answer.status == 503 && answer.text.contains("restore a backup"), "\(answer.text)")
    #expect(try await client.get("/metrics").text.contains("\nvicinity_scrub_damage_total{kind=\"database\"} 1\n"))
    #expect(try await finding()?["text"]?.text?.contains("database") == true)
    let later = try await client.ask("POST", "\(anna.path)/messages", Array("later".utf8), type: "text/plain")
    #expect(later.status == 201)
    await meeting.end()
  }

  @Test("it goes on where it was when the gateway was stopped, and rests when it has done its pass")
  func resumption() async throws {
    var meeting = try await TwoClients.begin(["resources": "accept"])
    let (client, folder) = (meeting.anna.client, meeting.anna.gateway.folder)
    let came = try await send("hello", in: meeting)
    func said(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(ScrubProgress.name)")) }
    let file = "\(folder)/received/\(meeting.anna.session)/hello"
    try await restart(&meeting) {
      try change(file, at: 1, to: [0x61])
      // It is behind all files.
      try said(#"{"began":\#(ScrubProgress.now - 60),"part":"files","session":"zz","resource":"zz"}"#)
    }
    try await metrics(of: client, say: "vicinity_scrub_passes_total 1")
    #expect(try await client.get("/metrics").text.contains("\nvicinity_scrub_damage_total{kind=\"file\"} 0\n"))
    try await restart(&meeting) {
      let progress = try #require(ScrubProgress(in: folder))
      #expect(progress.part == .done)
      // The day is over.
      try said(#"{"began":\#(ScrubProgress.now - 90_000),"part":"done"}"#)
    }
    let damaged = try await client.wait(in: "\(meeting.anna.path)/resources", "state", "damaged")
    #expect(damaged["id"] == came["id"])
    await meeting.end()
  }

  @Test("a stop waits for the pass under way, so that the closed database needs no log")
  func stop() async throws {
    var meeting = try await TwoClients.begin([:], as: "member")
    let (client, path, folder) = (meeting.anna.client, meeting.anna.path, meeting.anna.gateway.folder)
    let long = Array(String(repeating: "long ", count: 100_000).utf8)
    for _ in 1...4 {
      #expect(try await client.ask("POST", "\(path)/messages", long, type: "text/plain").status == 201)
    }
    for _ in 1...5 {
      try await restart(&meeting) {
        // Its pass takes a day, and rests with the database open.
        let progress = #"{"began":\#(ScrubProgress.now - 60),"part":"rows"}"#
        try Data(progress.utf8).write(to: URL(filePath: "\(folder)/\(ScrubProgress.name)"))
      }
      while try await client.get("/metrics").text.contains("\nvicinity_scrub_read_bytes_total 0\n") {}
      #expect(try await client.ask("POST", "\(path)/messages", hello, type: "text/plain").status == 201)
      try await restart(&meeting) {
        let log = try FileManager.default.attributesOfItem(atPath: "\(folder)/\(Gateway.storeName)-wal")
        #expect(log[.size] as? Int == 0)
      }
    }
    await meeting.end()
  }

  @Test("where it is outlives a restart, and what says that and is damaged itself counts for nothing")
  func progress() throws {
    let folder = FileManager.default.temporaryDirectory.path + "/scrub-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    #expect(ScrubProgress(in: folder) == nil)
    var progress = ScrubProgress(began: 1_000)
    let parts: [ScrubProgress.Part] = [
      .files(after: nil), .files(after: .init(session: "a", resource: "b")), .rows(after: nil),
      .rows(after: .init(session: 3, ordinal: 70)), .done,
    ]
    for part in parts {
      progress.part = part
      progress.save(in: folder)
      #expect(ScrubProgress(in: folder) == progress)
    }
    for text in [
      "", "{", "[]", #"{"began":-1,"part":"done"}"#, #"{"began":1,"part":"x"}"#, #"{"began":9e18,"part":"done"}"#,
    ] {
      try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(ScrubProgress.name)"))
      #expect(ScrubProgress(in: folder) == nil, "\(text)")
    }
    #expect(progress.secondsLeft(of: 100, at: 1_030) == 70)
    #expect(progress.secondsLeft(of: 100, at: 5_000) == 0)
    #expect(progress.secondsLeft(of: 100, at: 10) == 100)
  }
}
