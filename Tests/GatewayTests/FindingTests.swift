internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("Clients of two gateways are found by each other", .timeLimit(.minutes(3)), .serialized)
struct FindingTests {
  /// A client with a peer.
  private struct Person {
    let client: HTTPClient
    let peer: String

    init(_ gateway: TestGateway, _ name: String) async throws {
      client = try await gateway.client()
      peer = try await client.make("/v1/peers", ["displayName": .text(name)]).id
    }

    /// The path of the peers that a new browser finds.
    func browse(_ type: JSON = "chat") async throws -> String {
      try await client.make("/v1/browsers", ["serviceType": type]).json["found"]?.text ?? ""
    }

    /// The number of events of one kind for each peer of a list.
    func told(_ word: String, in found: String) async throws -> [String: Int] {
      let items = try await client.get("/v1/events?event=\(word)&limit=1000").json["items"]?.list ?? []
      let peers = items.compactMap { $0["about"]?.text }.filter { $0.hasPrefix("\(found)/") }
      return Dictionary(grouping: peers.map { String($0.dropFirst(found.count + 1)) }) { $0 }.mapValues(\.count)
    }
  }

  private func atPlaces(_ test: (TestGateway, TestGateway) async throws -> Void) async throws {
    let here = try await TestGateway.open("Here")
    let there = try await TestGateway.open("There", nextTo: here)
    do {
      try await test(here, there)
    } catch {
      await there.close()
      await here.close()
      throw error
    }
    await there.close()
    await here.close()
  }

  @Test("P-BRO-1 Found once by its type and lost once: others here and elsewhere, and not oneself")
  func finding() async throws {
    try await atPlaces { here, there in
      let anna = try await Person(here, "Anna")
      let (bert, cora) = (try await Person(there, "Bert"), try await Person(there, "Cora"))
      let found = try await bert.browse()
      let (talk, channel) = (try await Talk.connected(bert.client), JSON.text(found))
      let number = try await talk.ask(["id": 1, "subscribe": ["channel": channel]])["ok"]?["number"]
      var advertisers: [String] = []
      for person in [bert, anna, cora] {
        for type in ["chat-2", "cha", "chat"] as [JSON] {
          let info: JSON = ["type": type]
          let made = try await person.client.make("/v1/advertisers", ["serviceType": type, "discoveryInfo": info])
          if type == "chat" { advertisers.append(made["Location"] ?? "") }
        }
      }
      for person in [anna, cora] {
        #expect(try await bert.client.wait(in: found, "id", .text(person.peer))["discoveryInfo"] == ["type": "chat"])
      }
      for (person, advertiser) in zip([bert, anna, cora], advertisers) {
        #expect(try await person.client.delete(advertiser).status == 204)
      }
      var heard: [String] = []
      while heard.count < 4 {
        let change = try await talk.change(of: number)
        if let peer = change["put"]?["id"]?.text { heard.append("+\(peer)") }
        if let peer = change["del"]?.text { heard.append("-\(peer)") }
      }
      #expect(Set(heard) == ["+\(anna.peer)", "-\(anna.peer)", "+\(cora.peer)", "-\(cora.peer)"])
      #expect(try await bert.client.get(found).ids == [])
      for word in ["found", "lost"] {
        #expect(try await bert.told(word, in: found) == [anna.peer: 1, cora.peer: 1], "\(word)")
      }
    }
  }

  @Test("P-BRO-2 Info that changes is told as a change of who was found, who is lost and found by it nowhere")
  func changing() async throws {
    try await atPlaces { here, there in
      let (anna, bert) = (try await Person(here, "Anna"), try await Person(there, "Bert"))
      let body: JSON = ["serviceType": "chat", "discoveryInfo": ["step": "0"]]
      let advertiser = try await anna.client.make("/v1/advertisers", body)["Location"] ?? ""
      let found = try await bert.browse()
      _ = try await bert.client.wait(in: found, "discoveryInfo", ["step": "0"])
      let (talk, channel) = (try await Talk.connected(bert.client), JSON.text(found))
      let number = try await talk.ask(["id": 1, "subscribe": ["channel": channel]])["ok"]?["number"]
      for step in 1...3 {
        let info: JSON = ["step": .text("\(step)")]
        #expect(try await anna.client.patch(advertiser, ["discoveryInfo": info]).json["discoveryInfo"] == info)
        let change = try await talk.change(of: number)
        #expect(change["put"]?["id"] == .text(anna.peer) && change["put"]?["discoveryInfo"] == info, "\(change.line)")
      }
      #expect(try await bert.told("found", in: found) == [anna.peer: 1])
      #expect(try await bert.told("updated", in: found) == [anna.peer: 3])
      #expect(try await bert.told("lost", in: found) == [:])
    }
  }

  @Test("P-ADV-1 Only a legal service type is advertised, looked for or met by; what breaks a rule is told")
  func types() async throws {
    try await atPlaces { here, there in
      let (anna, bert) = (try await Person(here, "Anna"), try await Person(there, "Bert"))
      for type in ["a", "1a", "a-1", "fifteen-letters"] as [JSON] {
        _ = try await anna.client.make("/v1/advertisers", ["serviceType": type])
        #expect(try await bert.client.wait(in: bert.browse(type), "displayName", "Anna")["id"] == .text(anna.peer))
      }
      for type in ["", "sixteen-letters-", "sixteen-letters0", "Chat", "-a", "a-", "a--b", "1", "a_b", "ä"] as [JSON] {
        for (path, field) in [
          ("/v1/advertisers", "serviceType"), ("/v1/browsers", "serviceType"), ("/v1/sessions", "adhoc"),
        ] as [(String, String)] {
          let answer = try await anna.client.post(path, .object([.init(field, type)]))
          #expect(
            answer.status == 400 && answer.problem == "invalidParameter" && answer.json["field"] == .text(field)
              && answer.json["detail"]?.text?.isEmpty == false, "\(path) \(type.line): \(answer.text)")
        }
      }
      #expect(try await anna.client.get("/v1/sessions").ids == [])
    }
  }

  @Test("P-ADV-2 P-HAB-3 Info of any legal size is found as it is, and much of anything is advised on and works")
  func info() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna.client, meeting.bert.client)
      let long = String(repeating: "n", count: 60)
      let peer = try await anna.make("/v1/peers", ["displayName": .text(long)]).id
      let whole = String(repeating: "v", count: 252)
      let info: JSON = ["ab": .text(whole), "b": "", "c": "größer = besser", "d": .text(whole)]
      let body: JSON = ["peer": .text(peer), "serviceType": "large", "discoveryInfo": info]
      _ = try await anna.make("/v1/advertisers", body)
      let found = try await bert.make("/v1/browsers", ["serviceType": "large"]).json["found"]?.text ?? ""
      let there = try await bert.wait(in: found, "id", .text(peer))
      #expect(there["discoveryInfo"] == info && there["displayName"] == .text(long), "\(there.line)")
      for (key, value) in [("ab", "\(whole)v"), ("a=b", "c"), ("ä", "c"), ("", "c")] {
        let wrong: JSON = .object([.init(key, .text(value))])
        let answer = try await anna.post(
          "/v1/advertisers", ["peer": .text(peer), "serviceType": "large", "discoveryInfo": wrong])
        #expect(
          answer.status == 400 && answer.problem == "invalidParameter" && answer.json["field"] == "discoveryInfo",
          "\(key): \(answer.text)")
      }
      let sent = [UInt8](repeating: 1, count: 1_025)
      let datagrams = "\(meeting.bert.path)/datagrams"
      let before = try await bert.position(of: datagrams)
      for _ in 0..<2 {
        let path = "\(meeting.anna.path)/messages?mode=unreliable"
        #expect(try await anna.ask("POST", path, sent).status == 202)
      }
      #expect(try await bert.wait(in: datagrams, since: before) { $0["mode"] == "unreliable" }["size"] == 1_025)
      _ = try await anna.wait(in: "/v1/events?event=advice") { $0["text"]?.text?.hasPrefix("An unreliable") == true }
      let advice = try await anna.get("/v1/events?event=advice").json["items"]?.list ?? []
      let texts = advice.compactMap { $0["text"]?.text }
      for beginning in ["The name has 60 bytes", "The discovery info has", "An unreliable message has 1025 bytes"] {
        #expect(texts.count { $0.hasPrefix(beginning) } == 1, "\(texts)")
      }
      #expect(texts.count == 3)
      // Each names the peer that it is about, and only clients that see that peer get it.
      #expect(advice.allSatisfy { $0["about"]?.text?.hasPrefix("/v1/peers/") == true }, "\(advice.map(\.line))")
      #expect(advice.last?["about"] == .text("/v1/peers/\(meeting.anna.peer)"))
      #expect(try await bert.get("/v1/events?event=advice").ids == [])
    }
  }

  @Test(
    "P-ADV-3 A peer that stops advertising is lost, stays in its session, and is found again by the next advertiser")
  func stopping() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let found = try await bert.client.get("/v1/browsers").json["items"]?.list?.first?["found"]?.text ?? ""
      let events = try await bert.client.follow(found)
      #expect(try await events.next()?.data["items"]?.list?.count == 1)
      let advertiser = try await anna.client.get("/v1/advertisers").ids.first ?? ""
      #expect(try await anna.client.delete("/v1/advertisers/\(advertiser)").status == 204)
      let lost = try await events.next()
      #expect(lost?.name == "del" && lost?.data == ["id": .text(anna.peer)])
      for (side, other) in [(anna, bert), (bert, anna)] {
        #expect(try await side.client.ask("POST", "\(side.path)/messages", Array("still".utf8)).status == 201)
        _ = try await other.client.wait(in: "\(other.path)/messages") {
          $0["body"] == "still" && $0["from"] == .text(side.peer)
        }
        #expect(try await side.sessionEvents(["notConnected"]) == [])
      }
      _ = try await anna.client.make("/v1/advertisers", ["serviceType": "chat"])
      #expect(try await events.next()?.data["id"] == .text(anna.peer))
    }
  }
}
