internal import Foundation
internal import Nearby
internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("A backup of a gateway", .timeLimit(.minutes(3)), .serialized)
struct BackupTests {
  /// Tests the backup of a running gateway, in a folder that is deleted afterwards.
  private func backedUp(_ gateway: TestGateway, _ test: (_ copy: String, GatewayBackup) async throws -> Void)
    async throws
  {
    let copy = gateway.folder + "-copy"
    defer { try? FileManager.default.removeItem(atPath: copy) }
    try await test(copy, try await GatewayBackup.run(of: gateway.folder, keys: gateway.folder + "/keys", to: copy))
  }

  /// A gateway that continues from a copy.
  private func open(_ copy: String, at port: UInt16 = 0, nextTo other: TestGateway? = nil) async throws -> TestGateway {
    try await TestGateway.open("Copy", nextTo: other) { options in
      options.host.keys = .folder(copy)
      options.host.port = port
      options.folder = copy + "/gateway"
    }
  }

  @Test("of one that runs is a gateway with the same history, whose positions are new")
  func history() async throws {
    try await TwoClients.hold { meeting in
      let anna = meeting.anna
      for number in 1...3 {
        let body = Array("text \(number)".utf8)
        #expect(try await anna.client.ask("POST", "\(anna.path)/messages", body, type: "text/plain").status == 201)
      }
      let before = try await anna.client.get("\(anna.path)/messages")
      try await backedUp(anna.gateway) { copy, backup in
        #expect(backup.sessions == 1)
        await #expect(throws: PairingFailure.self, "it takes no folder that is there") {
          try await GatewayBackup.run(of: anna.gateway.folder, keys: anna.gateway.folder + "/keys", to: copy)
        }
        let other = try await open(copy)
        let client = HTTPClient(port: other.port, token: anna.client.token)
        let after = try await client.get("\(anna.path)/messages")
        func bodies(_ answer: Answer) -> [JSON?]? { answer.json["items"]?.list?.map { $0["body"] } }
        #expect(after.ids == before.ids && bodies(after) == bodies(before))
        let position = try #require(before.json["position"]?.text)
        #expect(try await client.get("\(anna.path)/messages?since=\(position)").json["recovered"] == false)
        await other.close()
      }
    }
  }

  /// Offered by one to the other, whole at its gateway.
  private func offer(_ bytes: [UInt8], from side: TwoClients.SessionClient, to other: TwoClients.SessionClient)
    async throws -> String
  {
    let made = try await side.client.make("\(side.path)/resources", ["name": "plan", "to": .text(other.peer)])
    #expect(try await side.client.ask("PUT", made.json["content"]?.text ?? "", bytes).status == 200)
    return try await offered(by: side.peer, to: other)
  }

  private func offered(by peer: String, to side: TwoClients.SessionClient) async throws -> String {
    let came = try await side.client.wait(in: "\(side.path)/resources") {
      $0["from"] == .text(peer) && $0["state"] == "offered"
    }
    return "\(side.path)/resources/\(came["id"]?.text ?? "")"
  }

  @Test("in the middle of a transfer goes on without the file that is sent, which it offers anew from its own")
  func sending() async throws {
    var meeting = try await TwoClients.begin()
    let (anna, bert) = (meeting.anna, meeting.bert)
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let first = try await offer(bytes, from: bert, to: anna)
    try await backedUp(bert.gateway) { copy, backup in
      #expect(backup.files == 1)
      let gateway = try await bert.gateway.restarted {
        let other = try await open(copy, at: bert.gateway.port, nextTo: anna.gateway)
        _ = try await anna.client.wait(in: "\(anna.path)/resources", "state", "failed")
        let again = try await offered(by: bert.peer, to: anna)
        #expect(again != first)
        #expect(try await anna.client.patch(again, ["state": "accepted"]).status == 200)
        _ = try await anna.client.wait(in: "\(anna.path)/resources", "state", "complete")
        #expect(try await anna.client.get("\(again)/content").body == bytes)
        _ = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
        await other.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(bert.gateway.folder)/sending").count == 1)
      }
      meeting.bert = TwoClients.SessionClient(
        gateway: gateway, client: bert.client, peer: bert.peer, session: bert.session)
    }
    await meeting.end()
  }

  @Test("in the middle of a transfer leaves the file alone that comes, and tells that it has failed")
  func receiving() async throws {
    var meeting = try await TwoClients.begin()
    let (anna, bert) = (meeting.anna, meeting.bert)
    let resource = try await offer([UInt8](repeating: 1, count: 300_000), from: bert, to: anna)
    func hidden() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: "\(anna.gateway.folder)/received/\(anna.session)")
    }
    // Nothing is read, so that nothing comes.
    try await Standstill.hold(on: { [host = bert.gateway.running.host] in try await host.onDisk($0) }) {
      #expect(try await anna.client.patch(resource, ["state": "accepted"]).status == 200)
      _ = try await anna.gateway.nextComing()
      try await backedUp(anna.gateway) { copy, _ in
        let gateway = try await anna.gateway.restarted {
          let before = try hidden()
          let other = try await open(copy, at: anna.gateway.port)
          _ = try await anna.client.wait(in: "\(anna.path)/resources", "state", "failed")
          await other.close()
          #expect(try hidden() == before)
        }
        meeting.anna = TwoClients.SessionClient(
          gateway: gateway, client: anna.client, peer: anna.peer, session: anna.session)
      }
    }
    await meeting.end()
  }
}
