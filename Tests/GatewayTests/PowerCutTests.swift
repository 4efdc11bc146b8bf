internal import Foundation
internal import Nearby
internal import Notation
internal import PowerCut
internal import Testing

@testable internal import Gateway

/// Bert's gateway is recorded, and then begun anew on what cuts of its power have left.
@Suite("A gateway whose power was cut", .timeLimit(.minutes(3)), .serialized)
struct PowerCutTests {
  /// The answers that a client has had at a moment.
  private struct Promise {
    let moment: Int
    var body: String?
    var position: String?
  }

  @Test("P-MSG-3 every message that was answered with 201 or told as delivered is there, once, and positions go on")
  func messages() async throws {
    var meeting = try await TwoClients.begin()
    let (anna, folder) = (meeting.anna, meeting.bert.gateway.folder)
    var recording: Recording?
    let gateway = try await meeting.bert.gateway.restarted {
      recording = Recording(of: folder, from: try Self.database(in: folder))
    }
    let record = try #require(recording)
    defer { record.end() }
    meeting.bert = TwoClients.SessionClient(
      gateway: gateway, client: meeting.bert.client, peer: meeting.bert.peer, session: meeting.bert.session)
    let bert = meeting.bert
    for side in [anna, bert] { _ = try await side.client.wait(in: "\(side.path)/members", "state", "connected") }

    var promises: [Promise] = []
    for number in 1...12 {
      let side = number % 3 == 0 ? anna : bert
      let body = "\(side.peer == bert.peer ? "own" : "other") \(number)"
      let sent = try await side.client.ask("POST", "\(side.path)/messages", Array(body.utf8), type: "text/plain")
      try #require(sent.status == 201, "\(sent.text)")
      if side.peer == anna.peer {
        _ = try await anna.client.wait(in: "\(anna.path)/messages") {
          $0["id"] == .text(sent.id) && $0["delivery"]?["delivered"] == 1
        }
      }
      promises.append(Promise(moment: record.count, body: body))
      let list = try await bert.client.get("\(bert.path)/messages")
      let position = try #require(list.json["position"]?.text)
      promises.append(Promise(moment: record.count, position: position))
    }
    // A gateway stops in the end, too.
    _ = try await gateway.restarted {
      try FileManager.default.copyItem(atPath: folder, toPath: "\(folder)-rest")
      for name in try Self.database(in: folder).keys {
        try FileManager.default.removeItem(atPath: "\(folder)-rest/\(name)")
      }
    }.close()
    defer { try? FileManager.default.removeItem(atPath: "\(folder)-rest") }
    await meeting.anna.gateway.close()

    var chance = Chance(1)
    let first = promises.first?.moment ?? 0
    for seed in 0..<10 as Range<UInt64> {
      let moment = chance.number(in: first / 2..<record.count + 1)
      let left = "\(folder)-\(seed)"
      try FileManager.default.copyItem(atPath: "\(folder)-rest", toPath: left)
      Recording.put(record.cut(at: moment, seed: seed), into: left)
      let again = try await TestGateway.open("Bert") { options in
        options.host.keys = .folder("\(left)/keys")
        options.folder = left
      }
      let client = HTTPClient(port: again.port, token: bert.client.token)
      try await look(for: promises.filter { $0.moment <= moment }, "\(bert.path)/messages", client)
      await again.close()
    }
  }

  @Test("P-MSG-3 the same of peers of one gateway, whose messages are one row for all: each has its own list")
  func crowd() async throws {
    let box = try await TestGateway.open("Box")
    var viewers: [(client: HTTPClient, path: String)] = []
    for number in 0..<3 {
      let client = try await box.client()
      let peer = try await client.make("/v1/peers", ["displayName": .text("Peer \(number)")]).id
      let session = try await client.make("/v1/sessions", ["peer": .text(peer), "adhoc": "cut"]).id
      viewers.append((client, "/v1/sessions/\(session)"))
    }
    let folder = box.folder
    var recording: Recording?
    let gateway = try await box.restarted { recording = Recording(of: folder, from: try Self.database(in: folder)) }
    let record = try #require(recording)
    defer { record.end() }
    for viewer in viewers {
      _ = try await viewer.client.wait(in: "/v1/sessions") {
        $0["id"] == .text(String(viewer.path.dropFirst("/v1/sessions/".count))) && $0["connected"] == 2
      }
    }

    var promises: [[Promise]] = viewers.map { _ in [] }
    for number in 1...12 {
      let sender = viewers[number % 3]
      let body = "own \(number)"
      let sent = try await sender.client.ask("POST", "\(sender.path)/messages", Array(body.utf8), type: "text/plain")
      try #require(sent.status == 201 && sent.json["delivery"]?["delivered"] == 2, "\(sent.text)")
      for (index, viewer) in viewers.enumerated() {
        promises[index].append(Promise(moment: record.count, body: body))
        let list = try await viewer.client.get("\(viewer.path)/messages")
        promises[index].append(Promise(moment: record.count, position: try #require(list.json["position"]?.text)))
      }
    }
    _ = try await gateway.restarted {
      try FileManager.default.copyItem(atPath: folder, toPath: "\(folder)-rest")
      for name in try Self.database(in: folder).keys {
        try FileManager.default.removeItem(atPath: "\(folder)-rest/\(name)")
      }
    }.close()
    defer { try? FileManager.default.removeItem(atPath: "\(folder)-rest") }

    var chance = Chance(2)
    let first = promises[0].first?.moment ?? 0
    for seed in 0..<10 as Range<UInt64> {
      let moment = chance.number(in: first / 2..<record.count + 1)
      let left = "\(folder)-\(seed)"
      try FileManager.default.copyItem(atPath: "\(folder)-rest", toPath: left)
      Recording.put(record.cut(at: moment, seed: seed), into: left)
      let again = try await TestGateway.open("Box") { options in
        options.host.keys = .folder("\(left)/keys")
        options.folder = left
      }
      for (index, viewer) in viewers.enumerated() {
        let client = HTTPClient(port: again.port, token: viewer.client.token)
        try await look(for: promises[index].filter { $0.moment <= moment }, "\(viewer.path)/messages", client)
      }
      await again.close()
    }
  }

  private func look(for promises: [Promise], _ path: String, _ client: HTTPClient) async throws {
    let answer = try await client.get("\(path)?limit=100")
    let bodies = (answer.json["items"]?.list ?? []).compactMap { $0["body"]?.text }
    for promise in promises {
      if let body = promise.body { #expect(bodies.count { $0 == body } == 1, "\(body) in \(bodies)") }
    }
    #expect(Set(bodies).count == bodies.count, "\(bodies)")
    for kind in ["own", "other"] {
      let numbers = bodies.filter { $0.hasPrefix(kind) }.compactMap { Int($0.split(separator: " ")[1]) }
      #expect(numbers == numbers.sorted())
    }
    guard let position = promises.last(where: { $0.position != nil })?.position else { return }
    let news = try await client.get("\(path)?since=\(position)")
    #expect(news.json["recovered"] == true, "\(news.text)")
    let now = try #require(answer.json["position"]?.text)
    let (before, after) = (position.split(separator: "."), now.split(separator: "."))
    #expect(before.first == after.first, "the same epoch")
    #expect(try #require(Int(after.last ?? "")) >= #require(Int(before.last ?? "")))
  }

  private static func database(in folder: String) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasPrefix(Gateway.storeName) {
      if name.hasSuffix(".lock") || name.hasSuffix("-shm") { continue }
      files[name] = FileManager.default.contents(atPath: "\(folder)/\(name)").map { [UInt8]($0) }
    }
    return files
  }
}
