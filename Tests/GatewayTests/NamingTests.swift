internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("A client's peers have names and IDs", .timeLimit(.minutes(3)), .serialized)
struct NamingTests {
  @Test("P-ID-1 A client's peer is found by the name that it was given; one that cannot be is refused with its limit")
  func names() async throws {
    let here = try await TestGateway.open("Here")
    let there = try await TestGateway.open("There", nextTo: here)
    let (anna, bert) = (try await here.client(), try await there.client())
    let names = ["a", String(repeating: "n", count: 63), String(repeating: "ž", count: 31), "Zoë 👩‍👩‍👧 and Ольга"]
    for name in names {
      let peer = try await anna.make("/v1/peers", ["displayName": .text(name)])
      #expect(peer.json["displayName"] == .text(name))
      _ = try await anna.make("/v1/advertisers", ["peer": .text(peer.id), "serviceType": "chat"])
    }
    for (name, why) in [
      ("", "empty"), (String(repeating: "n", count: 64), "63"), (String(repeating: "ž", count: 32), "63"),
      ("a\u{7}b", "control"), ("\u{200b}", "see"),
    ] {
      let answer = try await anna.post("/v1/peers", ["displayName": .text(name)])
      let detail = answer.json["detail"]?.text ?? ""
      #expect(
        answer.status == 400 && answer.problem == "invalidParameter" && answer.json["field"] == "displayName",
        "\(answer.text)")
      #expect(detail.contains(why), "\(name.count) characters: \(detail)")
    }
    _ = try await bert.make("/v1/peers", ["displayName": "Bert"])
    let found = try await bert.make("/v1/browsers", ["serviceType": "chat"]).json["found"]?.text ?? ""
    for name in names { _ = try await bert.wait(in: found, "displayName", .text(name)) }
    await there.close()
    await here.close()
  }

  @Test("P-ID-2 P-ID-3 Peers of one name are two, and the ID that one gateway writes is whom another one invites")
  func identifiers() async throws {
    let here = try await TestGateway.open("Here")
    let there = try await TestGateway.open("There", nextTo: here)
    let bert = try await TwoClients.SessionClient.taken(at: there, by: "Bert")
    let (one, other) = (
      try await TwoClients.SessionClient.taken(at: here, by: "Anna"),
      try await TwoClients.SessionClient.taken(at: here, by: "Anna")
    )
    #expect(one.peer != other.peer)
    let wanted: JSON = ["serviceType": "chat"]
    for side in [one, other] { _ = try await side.client.make("/v1/advertisers", wanted) }
    let found = try await bert.client.make("/v1/browsers", wanted).json["found"]?.text ?? ""
    for side in [one, other] {
      #expect(try await bert.client.wait(in: found, "id", .text(side.peer))["displayName"] == "Anna")
    }
    // The invitation names the peer by the ID from her own gateway, and not from a browser.
    let invitation: JSON = ["session": .text(bert.session), "to": .text(other.peer), "serviceType": "chat"]
    _ = try await bert.client.make("/v1/invitations", invitation)
    let came = try await other.client.wait(in: "/v1/invitations", "direction", "incoming")
    #expect(came["from"] == .text(bert.peer))
    let accepted: JSON = ["state": "accepted", "session": .text(other.session)]
    _ = try await other.client.patch("/v1/invitations/\(came["id"]?.text ?? "")", accepted)
    _ = try await bert.sees(other, "connected")
    #expect(try await one.client.get("/v1/invitations").ids == [])
    #expect(try await one.client.get("\(one.path)/members").ids == [])
    await there.close()
    await here.close()
  }

  @Test("P-ID-4 A peer that was away with its gateway is the same in the same place, and not there twice")
  func returning() async throws {
    var meeting = try await TwoClients.begin()
    let (anna, bert) = (meeting.anna, meeting.bert)
    let found = try #require(try await bert.client.get("/v1/browsers").json["items"]?.list?.first?["found"]?.text)
    let member = try await bert.sees(anna, "connected")
    meeting.anna = TwoClients.SessionClient(
      gateway: try await anna.gateway.restarted(), client: anna.client, peer: anna.peer, session: anna.session)
    let advertiser = try #require(try await anna.client.get("/v1/advertisers").ids.first)
    _ = try await anna.client.patch("/v1/advertisers/\(advertiser)", ["discoveryInfo": ["mood": "back"]])
    let again = try await bert.client.wait(in: found, "discoveryInfo", ["mood": "back"])
    #expect(again["id"] == .text(anna.peer) && again["displayName"] == "Anna")
    #expect(try await bert.client.get(found).ids == [anna.peer])
    #expect(try await anna.client.get("/v1/peers").json["items"]?.list?.count { $0["isGateway"] == false } == 1)
    let sent = try await anna.client.ask("POST", "\(anna.path)/messages?to=\(bert.peer)", Array("back".utf8))
    if sent.status == 409 {
      _ = try await anna.sees(bert, "connected")
      _ = try await anna.client.ask("POST", "\(anna.path)/messages", Array("back".utf8))
    }
    #expect(try await bert.client.wait(in: "\(bert.path)/messages", "body", "back")["from"] == .text(anna.peer))
    let members = try await bert.client.get("\(bert.path)/members")
    #expect(members.ids == [member["id"]?.text], "\(members.text)")
    #expect(members.json["items"]?.list?.first?["state"] == "connected")
    await meeting.end()
  }

  @Test("P-ID-5 Nobody becomes a peer by its ID: not at its own gateway, and not at another")
  func claims() async throws {
    try await TwoClients.hold { meeting in
      let anna = meeting.anna
      let (near, far) = (try await anna.gateway.client(), meeting.bert.client)
      for other in [near, far] {
        let claim: JSON = ["displayName": "Anna", "id": .text(anna.peer)]
        #expect(try await other.post("/v1/peers", claim).json["field"] == "id")
        #expect(try await other.make("/v1/peers", ["displayName": "Anna"]).id != anna.peer)
        for (path, body) in [
          ("/v1/sessions", [:]), ("/v1/advertisers", ["serviceType": "chat"]),
          ("/v1/browsers", ["serviceType": "chat"]),
        ] as [(String, JSON)] {
          let body = JSON.object((body.members ?? []) + [.init("peer", .text(anna.peer))])
          #expect(try await other.post(path, body).status == 404, "\(path)")
        }
        #expect(try await other.delete("/v1/peers/\(anna.peer)").status >= 204)
        #expect(try await other.ask("POST", "\(anna.path)/messages", [1]).status == 404)
      }
      // She is there as before, and is the only one whom Bert sees by that ID.
      #expect(try await anna.client.get("/v1/peers/\(anna.peer)").status == 200)
      let found = try await far.get("/v1/browsers").json["items"]?.list?.first?["found"]?.text ?? ""
      #expect(try await far.get(found).ids == [anna.peer])
    }
  }
}
