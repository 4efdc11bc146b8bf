internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("A peer whose client is not there is away", .timeLimit(.minutes(3)), .serialized)
struct AwayTests {
  /// The lists in which Bert sees Anna: the peers that he has found, and the members of his session.
  private static func paths(_ bert: TwoClients.SessionClient) async throws -> [String] {
    let browsers = try await bert.client.get("/v1/browsers").json["items"]?.list ?? []
    return browsers.compactMap { $0["found"]?.text } + ["\(bert.path)/members"]
  }

  private static func sees(_ anna: TwoClients.SessionClient, away: Bool, by bert: TwoClients.SessionClient) async throws
    -> [String]
  {
    var since: [String] = []
    for path in try await paths(bert) {
      let item = try await bert.client.wait(in: path) {
        $0["peer"] == .text(anna.peer) && ($0["awaySince"] != nil) == away
      }
      if let text = item["awaySince"]?.text { since.append(text) }
    }
    return since
  }

  @Test("P-HAB-4 A silent client is away to the other gateway, found and as a member, and here again at once")
  func silent() async throws {
    try await TwoClients.hold([:]) {
      $0.awayTime = .seconds(1)
    } _: { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let since = try await Self.sees(anna, away: true, by: bert)
      #expect(since.count == 2 && since.allSatisfy { $0.hasSuffix(".000Z") }, "\(since)")
      let sent = try await bert.client.ask("POST", "\(bert.path)/messages", Array("for later".utf8))
      #expect(sent.status == 201)
      #expect(try await bert.client.get("/v1/events?event=away").json["items"]?.list?.isEmpty == false)
      // It waits for her, and with her question she is here, for as long as that lasts.
      let question = try await anna.client.follow("\(anna.path)/messages")
      _ = try await anna.client.wait(in: "\(anna.path)/messages", "body", "for later")
      #expect(try await Self.sees(anna, away: false, by: bert) == [])
      #expect(try await anna.client.get("/v1/peers/\(anna.peer)").json["awaySince"] == nil)
      #expect(try await bert.client.get("/v1/events?event=here").json["items"]?.list?.isEmpty == false)
      withExtendedLifetime(question) {}
    }
  }

  @Test("P-HAB-4 A WebSocket, an event stream, or a request under way is being there, for as long as it lasts")
  func following() async throws {
    try await TwoClients.hold([:]) {
      $0.awayTime = .seconds(1)
    } _: { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let members = "\(bert.path)/members"
      func staysHere() async throws {
        _ = try await Self.sees(anna, away: false, by: bert)
        let position = try #require(try await bert.client.get(members).json["position"]?.text)
        #expect(try await bert.client.get("\(members)?since=\(position)&wait=3").json["changes"] == [])
      }
      let talk = try await Talk.connected(anna.client)
      try await staysHere()
      talk.hangUp()
      _ = try await Self.sees(anna, away: true, by: bert)
      let events = try await anna.client.follow("\(anna.path)/messages")
      try await staysHere()
      withExtendedLifetime(events) {}
    }
  }

  @Test("P-HAB-4 After a restart a stored peer is away until its client is back, and the gateway's own never is")
  func restart() async throws {
    try await TwoClients.hold { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      #expect(try await Self.sees(anna, away: false, by: bert) == [])
      let gateway = try await anna.gateway.restarted()
      do {
        #expect(try await Self.sees(anna, away: true, by: bert).count == 2)
        let operators = try await gateway.client("operator")
        let peers = try await operators.get("/v1/peers").json["items"]?.list ?? []
        #expect(peers.filter { $0["isGateway"] == true }.compactMap { $0["awaySince"] } == [])
        _ = try await anna.client.get("/v1/peers")
        #expect(try await Self.sees(anna, away: false, by: bert) == [])
      } catch {
        await gateway.close()
        throw error
      }
      await gateway.close()
    }
  }
}
