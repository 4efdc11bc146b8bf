internal import Foundation
internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("A store that has lost what was acknowledged says so", .timeLimit(.minutes(3)))
struct LostCommitTests {
  private func post(_ text: String, _ side: TwoClients.SessionClient) async throws {
    let answer = try await side.client.ask("POST", "\(side.path)/messages", Array(text.utf8), type: "text/plain")
    try #require(answer.status == 201, "\(answer.text)")
  }

  @Test(
    "its channels begin anew, the log and /readyz say what is missing, and files it does not know are kept for days")
  func older() async throws {
    var meeting = try await TwoClients.begin()
    let files = FileManager.default
    let folder = meeting.anna.gateway.folder
    let (store, aside) = ("\(folder)/\(Gateway.storeName)", "\(folder)/aside.db")
    func restart(_ meanwhile: () throws -> Void) async throws {
      let anna = meeting.anna
      meeting.anna = TwoClients.SessionClient(
        gateway: try await anna.gateway.restarted(meanwhile), client: anna.client, peer: anna.peer,
        session: anna.session)
      _ = try await anna.client.wait(in: "\(anna.path)/members", "state", "connected")
    }
    for number in 1...3 { try await post("before \(number)", meeting.anna) }
    try await restart { try files.copyItem(atPath: store, toPath: aside) }
    #expect(try await meeting.anna.client.get("/readyz").status == 200)
    for number in 1...2 { try await post("lost \(number)", meeting.anna) }
    let (client, path) = (meeting.anna.client, meeting.anna.path)
    let before = try #require(try await client.get("\(path)/messages").json["position"]?.text)

    // A crash may lose the log: the file has only what was checkpointed.
    try await restart {
      for end in ["", "-wal", "-shm"] { try? files.removeItem(atPath: store + end) }
      try files.moveItem(atPath: aside, toPath: store)
      try Data("all there is of it".utf8).write(to: URL(filePath: "\(folder)/received/unknown"))
    }
    let readiness = try await client.get("/readyz")
    #expect(readiness.status == 503 && readiness.text.contains("commits are missing"), "\(readiness.text)")
    let said = try #require(await meeting.anna.gateway.running.log.first { $0.event == "lost" })
    #expect(said.level == .error)
    for number in 1...3 { try await post("new \(number)", meeting.anna) }
    let news = try await client.get("\(path)/messages?since=\(before)").json
    #expect(news["recovered"] == false, "\(news)")
    #expect(
      (news["items"]?.list ?? []).compactMap { $0["body"]?.text }
        == ["before 1", "before 2", "before 3", "new 1", "new 2", "new 3"])
    #expect(!files.fileExists(atPath: "\(folder)/received/unknown"))
    let kept = try files.contentsOfDirectory(atPath: "\(folder)/quarantine")
    #expect(kept.count == 1 && kept.first?.hasSuffix("-unknown") == true)

    try await restart {}
    #expect(try await client.get("/readyz").status == 200)
    await meeting.end()
  }

  @Test("what lies in the quarantine goes after a week, and not before")
  func expiry() throws {
    let files = FileManager.default
    let folder = files.temporaryDirectory.path + "/quarantine-\(UInt32.random(in: 0 ... .max))"
    try files.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? files.removeItem(atPath: folder) }
    let quarantine = Quarantine(in: folder)
    for _ in 0..<2 {
      try Data().write(to: URL(filePath: "\(folder)/same"))
      #expect(quarantine.add("\(folder)/same") != nil)
    }
    let now = Int(Date().timeIntervalSince1970)
    func count() throws -> Int { try files.contentsOfDirectory(atPath: quarantine.path).count }
    quarantine.removeExpired(at: now + Quarantine.secondsMax - 60)
    #expect(try count() == 2)
    quarantine.removeExpired(at: now + Quarantine.secondsMax + 60)
    #expect(try count() == 0)
  }
}
