internal import Foundation
internal import Nearby
internal import Notation
internal import Store
internal import Testing

@testable internal import Gateway

@Suite("Resources go from a client of one gateway to one of another", .timeLimit(.minutes(3)), .serialized)
struct TransferTests {
  /// A gateway writes no file meanwhile.
  private func holdingUp(_ gateway: TestGateway, _ body: () async throws -> Void) async throws {
    try await Standstill.hold(on: { [host = gateway.running.host] in try await host.onDisk($0) }, body)
  }

  private static let bytes = (0..<8_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }

  /// Bert's, as large as that, which Anna is asked about; where it is at each.
  private func offer(
    _ name: String, _ meeting: TwoClients, _ bytes: [UInt8] = bytes
  ) async throws -> (from: String, to: String) {
    let (anna, bert) = (meeting.anna, meeting.bert)
    let body: JSON = ["name": .text(name), "to": .text(anna.peer), "size": .number(bytes.count)]
    let made = try await bert.client.make("\(bert.path)/resources", body)
    #expect(try await bert.client.ask("PUT", made.json["content"]?.text ?? "", bytes).status == 200)
    let came = try await anna.client.wait(in: "\(anna.path)/resources") {
      $0["name"] == .text(name) && $0["state"] == "offered"
    }
    #expect(came["from"] == .text(bert.peer) && came["size"] == .number(bytes.count))
    return (made["Location"] ?? "", "\(anna.path)/resources/\(came["id"]?.text ?? "")")
  }

  private func ends(of name: JSON, in side: TwoClients.SessionClient) async throws -> [JSON] {
    try await side.sessionEvents(["resourceEnded"]).filter { $0["name"] == name }.compactMap { $0["state"] }
  }

  @Test("P-RES-2 Both sides see how far a resource is, and whoever cancels it, that it was cancelled")
  func cancelling() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      for isSender in [true, false] {
        let name = isSender ? "by its sender" : "by its receiver"
        let path = try await offer(name, meeting)
        try await holdingUp(anna.gateway) {
          #expect(try await anna.client.patch(path.to, ["state": "accepted"]).status == 200)
          // It cannot be whole before it is written.
          _ = try await bert.client.wait(in: "\(bert.path)/resources") {
            $0["name"] == .text(name) && $0["state"] == "transferring"
          }
          let (canceller, own) = isSender ? (bert, path.from) : (anna, path.to)
          #expect(try await canceller.client.delete(own).status == 204)
          #expect(try await canceller.client.get(own).status == 404)
        }
        let (other, target) = isSender ? (anna, path.to) : (bert, path.from)
        let told = try await other.client.wait(in: "\(other.path)/resources") {
          target.hasSuffix($0["id"]?.text ?? "?") && $0["state"] != "transferring"
        }
        #expect(told["state"] == "cancelled" && told["problem"]?["type"] == "/problems/cancelled", "\(told.line)")
        for side in [anna, bert] { #expect(try await ends(of: .text(name), in: side) == ["cancelled"]) }
        #expect(try await anna.client.get("\(path.to)/content").status >= 404)
      }
    }
  }

  @Test("P-RES-2 Both sides are told how far a resource is while it goes")
  func progress() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let bytes = [UInt8](repeating: 7, count: 96 << 20)
      let path = try await offer("whole", meeting, bytes)
      var followed: [(Talk, JSON)] = []
      for side in [anna, bert] { followed.append(try await side.follow("resources")) }
      #expect(try await anna.client.patch(path.to, ["state": "accepted"]).status == 200)
      for (talk, number) in followed {
        var steps: [Int64] = []
        var last: JSON?
        while last?["state"] != "complete" {
          guard let put = try await talk.change(of: number)["put"] else { continue }
          last = put
          steps.append(put["bytes"]?.integer ?? -1)
        }
        #expect(last?["size"] == .number(bytes.count) && steps == steps.sorted(), "\(steps)")
        #expect(steps.last == Int64(bytes.count), "\(steps)")
        #expect(steps.contains { 0 < $0 && $0 < Int64(bytes.count) }, "\(steps)")
      }
    }
  }

  @Test("An upload for a member that is away is sent when that is back, and fails if that has left")
  func away() async throws {
    var meeting = try await TwoClients.begin(["resources": "accept"])
    let (anna, bert) = (meeting.anna, meeting.bert)
    func offer() async throws -> Answer {
      try await bert.client.make("\(bert.path)/resources", ["name": "plan", "to": .text(anna.peer)])
    }
    func upload(_ made: Answer) async throws {
      _ = try await bert.client.wait(in: "\(bert.path)/members", "state", "notConnected")
      #expect(try await bert.client.ask("PUT", made.json["content"]?.text ?? "", [1, 2, 3]).status == 200)
    }
    let first = try await offer()
    let gateway = try await anna.gateway.restarted {
      try await upload(first)
      #expect(try await bert.client.get(first["Location"] ?? "").json["state"] == "transferring")
    }
    meeting.anna = TwoClients.SessionClient(
      gateway: gateway, client: anna.client, peer: anna.peer, session: anna.session)
    _ = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")

    let second = try await offer()
    #expect(try await anna.client.delete(anna.path).status == 204)
    try await upload(second)
    let failed = try await bert.client.wait(in: "\(bert.path)/resources", "state", "failed")
    #expect(failed["problem"]?["type"] == "/problems/notConnected")
    meeting.bert = TwoClients.SessionClient(
      gateway: try await bert.gateway.restarted(), client: bert.client, peer: bert.peer, session: bert.session)
    #expect(try await bert.client.get(second["Location"] ?? "").json["problem"] == failed["problem"])
    await meeting.end()
  }

  @Test(
    "An upload waits for its member, whatever kept that from being reached",
    arguments: [Reason.lost, .slow, .unreachable, .timedOut])
  func unreached(_ reason: Reason) async throws {
    try await TwoClients.hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let made = try await bert.client.make("\(bert.path)/resources", ["name": "plan", "to": .text(anna.peer)])
      await bert.gateway.running.run { core in
        guard let session = core.sessions[bert.session] else { return }
        for known in session.knownMembers {
          core.show(MemberModel.View(known.member, .notConnected(reason)), in: session)
        }
      }
      #expect(try await bert.client.ask("PUT", made.json["content"]?.text ?? "", [1, 2, 3]).status == 200)
      #expect(try await bert.client.get(made["Location"] ?? "").json["state"] == "transferring")
      await bert.gateway.running.run { core in
        guard let session = core.sessions[bert.session] else { return }
        for known in session.knownMembers {
          core.show(MemberModel.View(known.member, .connected), in: session)
          core.offerWaiting(to: known.member, in: session)
        }
      }
      _ = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
    }
  }

  @Test("An accepted resource arrives, though a power cut has removed its empty file")
  func nameless() async throws {
    var meeting = try await TwoClients.begin()
    let (anna, bert) = (meeting.anna, meeting.bert)
    let path = try await offer("plan", meeting)
    // Nothing is read, so that nothing comes.
    try await holdingUp(bert.gateway) {
      #expect(try await anna.client.patch(path.to, ["state": "accepted"]).status == 200)
      let hidden = try await anna.gateway.nextComing()
      let gateway = try await anna.gateway.restarted { try FileManager.default.removeItem(atPath: hidden) }
      meeting.anna = TwoClients.SessionClient(
        gateway: gateway, client: anna.client, peer: anna.peer, session: anna.session)
    }
    _ = try await anna.client.wait(in: "\(anna.path)/resources", "state", "complete")
    #expect(try await anna.client.get("\(path.to)/content").body == Self.bytes)
    await meeting.end()
  }

  @Test("Sent content is kept at the sender until its arrival is known there for good")
  func arriving() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let path = try await offer("plan", meeting)
      let store = try #require(await bert.gateway.running.sessionStore).writer
      let operators = try await bert.gateway.client("operator")
      try await store.perform {
        try $0.run("CREATE TRIGGER refusal BEFORE DELETE ON transfer BEGIN SELECT RAISE(ABORT, 'no end'); END")
      }
      #expect(try await anna.client.patch(path.to, ["state": "accepted"]).status == 200)
      _ = try await operators.wait(in: "/v1/events", "event", "notStored")
      #expect(try await bert.client.get(path.from).json["state"] == "transferring")
      #expect(try FileManager.default.contentsOfDirectory(atPath: "\(bert.gateway.folder)/sending").count == 1)
      try await store.perform { try $0.run("DROP TRIGGER refusal") }
      _ = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
      #expect(try await anna.client.get("\(path.to)/content").body == Self.bytes)
    }
  }

  @Test("P-RES-3 P-RES-4 Whole and the same it is told as complete, once to each, and is kept until it is deleted")
  func completing() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let path = try await offer("plan", meeting)
      try await holdingUp(anna.gateway) {
        #expect(try await anna.client.patch(path.to, ["state": "accepted"]).status == 200)
        // The sender does not see the transfer as complete before the file is stored.
        let position = try #require(try await bert.client.get("\(bert.path)/resources").json["position"]?.text)
        let news = try await bert.client.get("\(bert.path)/resources?since=\(position)&wait=1")
        #expect(news.json["changes"]?.list?.contains { $0["put"]?["state"] == "complete" } == false, "\(news.text)")
        #expect(try await bert.client.get(path.from).json["state"] == "transferring")
      }
      let came = try await anna.client.wait(in: "\(anna.path)/resources") {
        $0["state"] == "complete" && $0["sha256"] != nil
      }
      _ = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
      for side in [anna, bert] { #expect(try await ends(of: "plan", in: side) == ["complete"]) }
      #expect(try await anna.sessionEvents(["resourceOffered"]).count == 1)
      for _ in 0..<2 { #expect(try await anna.client.get("\(path.to)/content").body == Self.bytes) }
      let digest = try await anna.client.ask("HEAD", "\(path.to)/content", headers: ["Want-Repr-Digest": "sha-256=10"])
      #expect(digest["Repr-Digest"]?.isEmpty == false && came["sha256"]?.text?.count == 64)
      let folder = "\(anna.gateway.folder)/received/\(anna.session)"
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
      #expect(try await anna.client.delete(path.to).status == 204)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
      #expect(try FileManager.default.contentsOfDirectory(atPath: "\(bert.gateway.folder)/sending") == [])
    }
  }
}
