internal import Foundation
internal import Notation
internal import Store
internal import Testing

@testable internal import Gateway

@Suite("A resource for several members is uploaded once", .timeLimit(.minutes(3)), .serialized)
struct SharedContentTests {
  private static let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
  private static let halfBytes = 150_000

  /// Dora, at a gateway of her own, and three others at another one, in one session.
  private struct Circle {
    var dora: TwoClients.SessionClient
    var others: [TwoClients.SessionClient]

    var resources: String { "\(dora.path)/resources" }
    var sending: [String] {
      get throws { try FileManager.default.contentsOfDirectory(atPath: "\(dora.gateway.folder)/sending") }
    }

    static func hold(
      _ wishes: JSON = ["resources": "accept"], _ change: (inout GatewayOptions) -> Void = { _ in },
      _ test: (inout Circle) async throws -> Void
    ) async throws {
      let here = try await TestGateway.open("Here")
      let there = try await TestGateway.open("There", nextTo: here, change)
      var circle = Circle(dora: try await .taken(at: there, by: "Dora"), others: [])
      for name in ["Anna", "Bert", "Cora"] {
        let other = try await TwoClients.SessionClient.taken(at: here, by: name, wishes)
        try await circle.dora.invite(other)
        circle.others.append(other)
      }
      let result: Result<Void, any Error>
      do { result = .success(try await test(&circle)) } catch { result = .failure(error) }
      await circle.dora.gateway.close()
      await circle.others[0].gateway.close()
      try result.get()
    }

    func offer(_ to: JSON?, size: Int = SharedContentTests.bytes.count) async throws -> Answer {
      let members: [JSON.Member] = [.init("name", "plan"), .init("size", .number(size))]
      return try await dora.client.make(resources, .object(members + (to.map { [.init("to", $0)] } ?? [])))
    }

    var peers: JSON { .list(others.map { .text($0.peer) }) }

    func state(_ id: String) async throws -> JSON { try await dora.client.get("\(resources)/\(id)").json }

    func append(_ part: ArraySlice<UInt8>, to id: String, isLast: Bool) async throws -> Answer {
      let headers = ["Upload-Offset": String(part.startIndex), "Upload-Complete": isLast ? "?1" : "?0"]
      return try await dora.client.ask("PATCH", "\(resources)/\(id)/content", Array(part), headers: headers)
    }

    func expectArrival(at receivers: [TwoClients.SessionClient]) async throws {
      for other in receivers {
        let came = try await other.client.wait(in: "\(other.path)/resources", "state", "complete")
        let content = try await other.client.get(came["content"]?.text ?? "")
        #expect(content.body == SharedContentTests.bytes)
        #expect(try await other.client.get("\(other.path)/resources").ids.count == 1)
      }
    }

    mutating func restart(_ meanwhile: () async throws -> Void = {}) async throws {
      dora = TwoClients.SessionClient(
        gateway: try await dora.gateway.restarted(meanwhile), client: dora.client, peer: dora.peer,
        session: dora.session)
    }

    func expectNothingLeft(of ids: [String]) async throws {
      for id in ids {
        _ = try await dora.client.wait(in: resources) { $0["id"] == .text(id) && $0["state"] == "complete" }
      }
      #expect(try sending == [])
      #expect(try await dora.client.get("/v1/gateway").json["client"]?["resourceBytes"] == 0)
    }
  }

  private func ids(_ made: Answer) -> [String] {
    (made.json["resources"]?.list ?? []).compactMap { $0["id"]?.text }
  }

  @Test("One upload to any of them reaches all, is one file and counts once, and goes when the last has it")
  func once() async throws {
    try await Circle.hold([:]) {
      $0.limits.resourceBytesPerClient = Self.bytes.count
    } _: { circle in
      let made = try await circle.offer(nil)
      let ids = ids(made)
      let all = made.json["resources"]?.list ?? []
      #expect(ids.count == 3 && made.id == ids.first && made["Location"] == "\(circle.resources)/\(ids[0])")
      #expect(Set(all.map { $0["group"] }).count == 1 && all[0]["group"]?.text != nil)
      #expect(Set(all.compactMap { $0["to"]?.text }) == Set(circle.others.map(\.peer)))
      #expect(try await circle.append(Self.bytes[..<Self.halfBytes], to: ids[2], isLast: false).status == 204)
      for id in ids { #expect(try await circle.state(id)["uploaded"] == .number(Self.halfBytes)) }
      #expect(try await circle.append(Self.bytes[Self.halfBytes...], to: ids[1], isLast: true).status == 200)
      for (number, other) in circle.others.enumerated() {
        let came = try await other.client.wait(in: "\(other.path)/resources", "state", "offered")
        #expect(try circle.sending.count == 1)
        let counted = try await circle.dora.client.get("/v1/gateway").json["client"]?["resourceBytes"]
        #expect(counted == .number(Self.bytes.count))
        let answer: JSON = number == 1 ? "declined" : "accepted"
        let path = "\(other.path)/resources/\(came["id"]?.text ?? "")"
        #expect(try await other.client.patch(path, ["state": answer]).status == 200)
        _ = try await circle.dora.client.wait(in: circle.resources) {
          $0["to"] == .text(other.peer) && $0["state"] == (number == 1 ? "declined" : "complete")
        }
      }
      try await circle.expectArrival(at: [circle.others[0], circle.others[2]])
      try await circle.expectNothingLeft(of: [])
    }
  }

  @Test("A file for several peers of a gateway is stored once there, until the last of them deletes it")
  func keptOnce() async throws {
    try await Circle.hold { circle in
      let made = try await circle.offer(nil)
      #expect(try await circle.append(Self.bytes[...], to: made.id, isLast: true).status == 200)
      try await circle.expectArrival(at: circle.others)
      let paths = circle.others.map { "\($0.gateway.folder)/received/\($0.session)/plan" }
      func files() throws -> Set<Int?> {
        let existing = paths.filter { FileManager.default.fileExists(atPath: $0) }
        return Set(
          try existing.map { try FileManager.default.attributesOfItem(atPath: $0)[.systemFileNumber] as? Int })
      }
      #expect(try files().count == 1)
      for other in circle.others {
        try await circle.expectArrival(at: [other])
        let came = try await other.client.get("\(other.path)/resources").ids
        #expect(try await other.client.delete("\(other.path)/resources/\(came[0])").status == 204)
      }
      #expect(try files() == [])
    }
  }

  @Test(
    "A recipient that is removed in the middle of the upload gets nothing, and the others get it, by the same request")
  func cancelling() async throws {
    try await Circle.hold { circle in
      let ids = ids(try await circle.offer(circle.peers))
      let client = circle.dora.client
      let path = "\(circle.resources)/\(ids[0])"
      let line = try await client.begin(
        "PUT", "\(path)/content", Array(Self.bytes[..<Self.halfBytes]), of: Self.bytes.count)
      while await circle.dora.gateway.running.answer({ $0.uploads.isEmpty }) != false { await Task.yield() }
      #expect(try await client.delete(path).status == 204)
      #expect(try await client.get("/v1/gateway").json["client"]?["resourceBytes"] == .number(Self.bytes.count))
      let answer = try await onThread {
        try line.write(Array(Self.bytes[Self.halfBytes...]))
        return try line.readAnswer(to: "PUT")
      }
      #expect(answer.status == 200, "\(answer.text)")
      try await circle.expectArrival(at: Array(circle.others[1...]))
      try await circle.expectNothingLeft(of: Array(ids[1...]))
      let first = circle.others[0]
      #expect(try await first.client.get("\(first.path)/resources").ids == [])
    }
  }

  @Test("If all recipients are removed, the upload ends, and nothing is left")
  func cancellingAll() async throws {
    try await Circle.hold { circle in
      let ids = ids(try await circle.offer(circle.peers))
      let client = circle.dora.client
      let line = try await client.begin(
        "PUT", "\(circle.resources)/\(ids[0])/content", Array(Self.bytes[..<Self.halfBytes]), of: Self.bytes.count)
      while await circle.dora.gateway.running.answer({ $0.uploads.isEmpty }) != false { await Task.yield() }
      for id in ids { #expect(try await client.delete("\(circle.resources)/\(id)").status == 204) }
      let answer = try await onThread {
        try line.write(Array(Self.bytes[Self.halfBytes...]))
        return try line.readAnswer(to: "PUT")
      }
      #expect(answer.status == 410, "\(answer.text)")
      try await circle.expectNothingLeft(of: [])
    }
  }

  @Test("The upload is resumed after a restart, at any of them")
  func resuming() async throws {
    try await Circle.hold { circle in
      let ids = ids(try await circle.offer(circle.peers))
      #expect(try await circle.append(Self.bytes[..<Self.halfBytes], to: ids[0], isLast: false).status == 204)
      try await circle.restart()
      for other in circle.others { _ = try await circle.dora.sees(other, "connected") }
      #expect(try circle.sending.count == 1)
      for id in ids { #expect(try await circle.state(id)["uploaded"] == .number(Self.halfBytes)) }
      let counted = try await circle.dora.client.get("/v1/gateway").json["client"]?["resourceBytes"]
      #expect(counted == .number(Self.bytes.count))
      #expect(try await circle.dora.client.delete("\(circle.resources)/\(ids[0])").status == 204)
      #expect(try await circle.append(Self.bytes[Self.halfBytes...], to: ids[2], isLast: true).status == 200)
      try await circle.expectArrival(at: Array(circle.others[1...]))
      try await circle.expectNothingLeft(of: Array(ids[1...]))
    }
  }

  /// A power cut may come before a resource has stored the number of its transfer.
  @Test(
    "Each gets it once after a power cut, whichever of the transfers were stored",
    arguments: [[0], [1, 2], [0, 1, 2]])
  func powerCut(_ lost: [Int]) async throws {
    try await Circle.hold([:]) { circle in
      let ids = ids(try await circle.offer(circle.peers))
      #expect(try await circle.append(Self.bytes[...], to: ids[0], isLast: true).status == 200)
      for other in circle.others { _ = try await other.client.wait(in: "\(other.path)/resources", "state", "offered") }
      let store = try #require(await circle.dora.gateway.running.sessionStore).writer
      for number in lost {
        try await store.perform { try $0.run("UPDATE resource SET transfer = NULL WHERE id = ?", ids[number]) }
      }
      try await circle.restart()
      for other in circle.others {
        let came = try await other.client.wait(in: "\(other.path)/resources") { $0["from"] != nil }
        let path = "\(other.path)/resources/\(came["id"]?.text ?? "")"
        #expect(try await other.client.patch(path, ["state": "accepted"]).status == 200)
      }
      try await circle.expectArrival(at: circle.others)
      try await circle.expectNothingLeft(of: ids)
    }
  }

  @Test("A recipient that is away when the upload ends gets it when back, also after a restart of both")
  func away() async throws {
    try await Circle.hold { circle in
      let ids = ids(try await circle.offer(circle.peers))
      let there = circle.others[0].gateway
      var here: TestGateway?
      here = try await there.restarted {
        for other in circle.others { _ = try await circle.dora.sees(other, "notConnected") }
        #expect(try await circle.append(Self.bytes[...], to: ids[0], isLast: true).status == 200)
        for id in ids { #expect(try await circle.state(id)["state"] == "transferring") }
        try await circle.restart()
        #expect(try circle.sending.count == 1)
      }
      let gateway = try #require(here)
      circle.others = circle.others.map {
        TwoClients.SessionClient(gateway: gateway, client: $0.client, peer: $0.peer, session: $0.session)
      }
      try await circle.expectArrival(at: circle.others)
      try await circle.expectNothingLeft(of: ids)
    }
  }

  @Test("A list of recipients that cannot be is refused with its reason, and nothing is offered")
  func refused() async throws {
    try await withGateway {
      $0.limits.resourcesPerSession = 2
    } _: { gateway in
      let meeting = try await TwoClients.near(at: gateway)
      let (anna, bert) = (meeting.anna, meeting.bert)
      let resources = "\(anna.path)/resources"
      func refusal(_ to: JSON) async throws -> Answer {
        try await anna.client.post(resources, ["name": "plan", "to": to])
      }
      let peer = JSON.text(bert.peer)
      for (to, rule) in [
        ([], "required"), ([peer, peer], "unique"), ([peer, peer, peer], "count"),
        ([peer, "stranger"], "connected"),
      ] as [(JSON, JSON)] {
        let answer = try await refusal(to)
        #expect(answer.status >= 400 && answer.json["field"] == "to" && answer.json["rule"] == rule, "\(answer.text)")
      }
      #expect(try await refusal([peer, 1]).json["field"] == "to")
      #expect(try await refusal(1).json["field"] == "to")
      #expect(try await anna.client.get(resources).ids == [])
      let one = try await anna.client.make(resources, ["name": "plan", "to": [peer]])
      #expect(one.json["resources"]?.list?.count == 1)
      let lonely = try await TwoClients.SessionClient.taken(at: gateway, by: "Dora")
      let answer = try await lonely.client.post("\(lonely.path)/resources", ["name": "plan"])
      #expect(answer.json["rule"] == "connected", "\(answer.text)")
    }
  }
}
