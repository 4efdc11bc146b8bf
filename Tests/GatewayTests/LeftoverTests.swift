internal import Foundation
internal import Notation
internal import Store
internal import Testing

@testable internal import Gateway

/// Leftovers of a power cut, made by hand: the moment between a commit and its effects is too short to hit.
@Suite("Files that are of no use after a restart", .timeLimit(.minutes(3)), .serialized)
struct LeftoverTests {
  private let content = [UInt8](repeating: 7, count: 100_000)

  private func send(
    _ meeting: TwoClients, named name: String = "a.bin", _ fields: [String: String] = [:]
  ) async throws -> String {
    let (anna, bert) = (meeting.anna, meeting.bert)
    let body: JSON = ["name": .text(name), "to": .text(anna.peer), "size": .number(content.count)]
    let id = try await bert.client.make("\(bert.path)/resources", body).id
    let put = try await bert.client.ask("PUT", "\(bert.path)/resources/\(id)/content", content, headers: fields)
    try #require(put.status == 200, "\(put.text)")
    return id
  }

  private func sending(_ gateway: TestGateway) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(gateway.folder)/sending")
  }

  private func database(of gateway: TestGateway) throws -> Database {
    try Database("\(gateway.folder)/\(Gateway.storeName)", schema: .gateway)
  }

  @Test("what was sent whole goes, though its file was still there when the power was cut")
  func sent() async throws {
    var meeting = try await TwoClients.begin(["resources": "accept"])
    let bert = meeting.bert
    let id = try await send(meeting)
    _ = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
    let gateway = try await bert.gateway.restarted {
      #expect(try sending(bert.gateway).isEmpty)
      let database = try database(of: bert.gateway)
      var row = try #require(try database.resources().first)
      row.path = "sending/again"
      try database.keep(row)
      try Data(content).write(to: URL(filePath: "\(bert.gateway.folder)/sending/again"))
    }
    meeting.bert = TwoClients.SessionClient(
      gateway: gateway, client: bert.client, peer: bert.peer, session: bert.session)
    #expect(try await bert.client.get("\(bert.path)/resources/\(id)").json["state"] == "complete")
    #expect(try sending(gateway).isEmpty)
    await meeting.end()
  }

  @Test("what was deleted on its way goes, though it was still on its way when the power was cut")
  func deleted() async throws {
    var meeting = try await TwoClients.begin()
    let (anna, bert) = (meeting.anna, meeting.bert)
    let id = try await send(meeting)
    _ = try await anna.client.wait(in: "\(anna.path)/resources", "state", "offered")
    let gateway = try await bert.gateway.restarted {
      #expect(try sending(bert.gateway).count == 1)
      try database(of: bert.gateway).removeResource(id)
    }
    meeting.bert = TwoClients.SessionClient(
      gateway: gateway, client: bert.client, peer: bert.peer, session: bert.session)
    #expect(try await bert.client.get("\(bert.path)/resources").ids.isEmpty)
    #expect(try sending(gateway).isEmpty)
    let end = try await anna.client.wait(in: "\(anna.path)/resources") { $0["state"] != "offered" }
    #expect(["cancelled", "failed"].contains(end["state"]), "\(end)")
    await meeting.end()
  }

  /// `head -c 100000 /dev/zero | tr '\0' '\7' | openssl dgst -sha256 -binary | base64`
  private static let digest = "LEsQEWm/MozUqILmQKi1frOs92UYs9EFhpkFz2KeeRw="

  @Test(
    "what goes out already is not offered anew, though the power was cut before the resource knew of it",
    arguments: [nil, digest])
  func offered(digest: String?) async throws {
    var meeting = try await TwoClients.begin()
    let (anna, bert) = (meeting.anna, meeting.bert)
    let fields = digest.map { ["Repr-Digest": "sha-256=:\($0):"] } ?? [:]
    let id = try await send(meeting, fields)
    _ = try await anna.client.wait(in: "\(anna.path)/resources", "state", "offered")
    let gateway = try await bert.gateway.restarted {
      let database = try database(of: bert.gateway)
      var row = try #require(try database.resources().first)
      row.transfer = nil
      try database.keep(row)
    }
    meeting.bert = TwoClients.SessionClient(
      gateway: gateway, client: bert.client, peer: bert.peer, session: bert.session)
    _ = try await bert.client.wait(in: "\(bert.path)/members", "state", "connected")
    let offered = try #require(try await anna.client.get("\(anna.path)/resources").ids.first)
    let answer = try await anna.client.patch("\(anna.path)/resources/\(offered)", ["state": "accepted"])
    #expect(answer.status == 200, "\(answer.text)")
    _ = try await bert.client.wait(in: "\(bert.path)/resources", "state", "complete")
    // It would have come before the next one.
    let next = try await send(meeting, named: "b.bin")
    _ = try await anna.client.wait(in: "\(anna.path)/resources") { $0["name"] == "b.bin" }
    #expect(try await anna.client.get("\(anna.path)/resources").ids.count == 2)
    #expect(try await bert.client.get("\(bert.path)/resources").ids == [id, next])
    await meeting.end()
  }

  @Test("what was declined takes no room where it came from")
  func declined() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      _ = try await send(meeting)
      let offered = try await anna.client.wait(in: "\(anna.path)/resources", "state", "offered")
      #expect(try sending(bert.gateway).count == 1)
      let answer = try await anna.client.patch(
        "\(anna.path)/resources/\(offered["id"]?.text ?? "")", ["state": "declined"])
      #expect(answer.status == 200, "\(answer.text)")
      _ = try await bert.client.wait(in: "\(bert.path)/resources", "state", "declined")
      #expect(try sending(bert.gateway).isEmpty)
    }
  }
}
