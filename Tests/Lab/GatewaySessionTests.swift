import FoundationEssentials
import Testing

@testable import lab_rig

extension LabTests {
  /// How clients of two gateways and a program on a third host invite each other, and what they say in their sessions.
  @Suite @Laboratory
  struct GatewaySessionTests {
    @Test
    func
      `P-ADV-4 P-BRO-3 P-SES-1 P-HAB-2 Invitations between gateways and a program carry who asks and why, and end declined or in time`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let type = "gate-invite"
        let (anna, bert) = (try await rig.hosts[0].gate().peer("Anna"), try await rig.hosts[1].gate().peer("Bert"))
        let native = try await rig.hosts[2].visit("advertise", type, name: "Cleo")
        try await anna.advertise(type)
        for (peer, other) in [(anna, native.peer), (bert, anna.peer)] {
          let found = try await peer.browse(type)
          try await peer.gate.wait(in: found, "\(other) is found") { $0["id"] == .text(other) }
        }

        // The gateway invites the program.
        let word = "from the workshop – \u{202E}ü"
        let asked = try await anna.invite(native.peer, type, ["context": .text(word)])
        let shown = try await native.program.event("invitation")
        #expect([shown["peer"], shown["name"], shown["context"]] == [anna.peer, "Anna", word])
        try native.program.say("decline")
        #expect(try await native.program.event("invitationEnded")["reason"] == "declined")
        #expect(try await anna.end(of: asked)["state"] == "declined")

        // The program invites a gateway's peer.
        let guest = try await rig.hosts[2].visit(
          "invite", type, anna.peer, "--keys", "ephemeral", "--context", word, name: "Dan")
        let came = try await anna.invitation(from: guest.peer)
        #expect(came["displayName"] == "Dan" && came["context"] == .text(word), "\(came)")
        try await anna.answer(came, "declined")
        #expect(try await guest.program.event("invitationEnded")["reason"] == "declined")
        #expect(try await guest.program.ended() == .exited(4))

        // A gateway invites another's peer.
        let bytes: JSON = .text(Data((0...255).map { UInt8($0) }).base64EncodedString())
        let sent = try await bert.invite(anna.peer, type, ["context": bytes, "encoding": "base64"])
        let binary = try await anna.invitation(from: bert.peer)
        #expect(binary["displayName"] == "Bert" && binary["context"] == bytes && binary["encoding"] == "base64")
        try await anna.answer(binary, "declined")
        #expect(try await bert.end(of: sent)["state"] == "declined")

        // Nobody answers.
        let unanswered = [
          (anna, try await anna.invite(native.peer, type, ["timeout": 2])),
          (bert, try await bert.invite(anna.peer, type, ["timeout": 2])),
        ]
        let left = try await anna.invitation(from: bert.peer)
        for (peer, invitation) in unanswered {
          let end = try await peer.end(of: invitation)
          #expect(end["state"] == "timedOut" && end["problem"]?["type"] == "/problems/timedOut", "\(end)")
        }
        #expect(try await native.program.event("invitationEnded")["reason"] == "timedOut")
        let id = try #require(left["id"]?.text)
        #expect(try await anna.end(of: id)["state"] == "timedOut")
        for timeout in [0, -5] as [JSON] {
          let long = try await bert.invite(anna.peer, type, ["timeout": timeout])
          let item = try await bert.gate.asks("GET", "/v1/invitations/\(long)")
          #expect(abs(try Self.seconds(of: item) - 30) < 0.1, "\(item)")
          try await bert.gate.asks("PATCH", "/v1/invitations/\(long)", ["state": "cancelled"])
        }
        for peer in [anna, bert] { #expect(try await peer.connected() == []) }
        for visitor in [native, guest] { #expect(visitor.told("connected").isEmpty) }
      }
    }

    private static func seconds(of invitation: JSON) throws -> Double {
      func time(_ name: String) throws -> Date {
        let text = try #require(invitation[name]?.text)
        return try Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
      }
      return try time("expiresAt").timeIntervalSince(time("createdAt"))
    }

    @Test
    func
      `P-ADV-3 P-SES-1 P-SES-2 P-SES-3 P-SES-4 P-MSG-1 P-MSG-2 P-MSG-3 P-MSG-4 P-MSG-5 Clients of two gateways and a program talk in one session`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let type = "gate-talk"
        let anna = try await rig.hosts[0].gate().peer("Anna")
        let members = try anna.gate.follows("\(anna.session)/members")
        let socket = try await anna.gate.openSocket()
        try await socket.subscribe("\(anna.session)/members")
        let accept: [String: JSON] = ["invitations": "accept", "session": .text(anna.sessionID)]
        let advertiser = try await anna.advertise(type, accept)
        let bert = try await rig.hosts[1].gate().peer("Bert")
        try await bert.join(anna, type)
        let puppet = try await rig.hosts[2].puppet()
        try await puppet.invites(anna, type)

        // Bert's client and the program have not invited each other.
        try await bert.meets(puppet.peer)
        try await puppet.program.event("connected") { $0["peer"] == bert.peer }
        for (peer, others) in [(anna, [bert.peer, puppet.peer]), (bert, [anna.peer, puppet.peer])] {
          #expect(try await peer.connected() == others.sorted())
          #expect(try await peer.gate.asks("GET", peer.session)["connected"] == 2)
        }

        // Messages go to some, to all, and to nobody.
        try await anna.send("for-bert", "?to=\(bert.peer)")
        try await anna.send("for-puppet", "?to=\(puppet.peer)")
        try await puppet.does("send s reliable \(anna.peer) for-anna")
        let nobody = try await anna.gate.refusal(
          "POST", "\(anna.session)/messages?to=", nil, "-H", "Content-Type: text/plain", "--data-raw", "lost")
        #expect(nobody["type"] == "/problems/invalidParameter" && nobody["field"] == "to", "\(nobody)")
        #expect(try await puppet.fails("send s reliable nobody lost")["code"] == "invalidParameter")
        try await anna.hears("for-anna")

        // Fifty at once, while the cable of one is cut for a moment.
        try await bert.gate.host.cable.cut()
        let numbers = (0..<50).map { "number-\($0)" }
        for number in numbers {
          let request: JSON = ["method": "POST", "path": .text("\(anna.session)/messages"), "body": .text(number)]
          try socket.say(["id": .text(number), "request": request])
        }
        await Laboratory.pass(.seconds(1))
        try await bert.gate.host.cable.mend()
        for number in numbers {
          let answer = try await socket.answer(to: .text(number))
          #expect(answer["ok"]?["id"] != nil, "\(answer)")
        }
        try await anna.gate.wait(in: "\(anna.session)/messages", "the delivery of the last", within: .seconds(20)) {
          $0["body"] == "number-49" && $0["delivery"]?["delivered"] == 2
        }
        #expect(try await bert.messages(from: anna.peer) == ["for-bert"] + numbers)
        #expect(puppet.messages == ["for-puppet"] + numbers)

        // Files arrive byte for byte, in both directions.
        let sum = try await anna.gate.host.file("picture.bin", bytes: 300_000)
        try await anna.gate.asks(
          "POST", "\(anna.session)/messages", nil, "-H", "Content-Type: image/png", "--data-binary",
          "@\(LabHost.home)/picture.bin")
        let picture = try await bert.gate.wait(in: "\(bert.session)/messages", "the picture") { $0["size"] == 300_000 }
        let body = "\(bert.session)/messages/\(try #require(picture["id"]?.text))/body"
        try await bert.gate.asks("GET", body, nil, "-o", "\(LabHost.home)/come.bin")
        #expect(try await bert.gate.host.sum("come.bin") == sum)
        try await puppet.does("send s reliable all from-the-program")
        for peer in [anna, bert] { try await peer.hears("from-the-program") }

        // Unreliable messages may be lost: they are sent more than once, and reach those that listen by then.
        let heard = try [anna, bert].map { try $0.gate.follows("\($0.session)/datagrams") }
        for one in heard { _ = try await one.program.line("that it is followed") { $0.hasPrefix("data: ") } }
        for _ in 0..<3 {
          let fast = try await anna.send("fast-a", "?mode=unreliable")
          #expect(fast["delivery"] == nil, "\(fast)")
          try await puppet.does("send s unreliable all fast-p")
        }
        try await heard[1].tells("fast-a") { $0["body"] == "fast-a" && $0["mode"] == "unreliable" }
        #expect(try await puppet.hears("fast-a")["mode"] == "unreliable")
        for one in heard { try await one.tells("fast-p") { $0["body"] == "fast-p" && $0["mode"] == "unreliable" } }

        // A peer that is no longer advertised stays connected.
        try await anna.gate.asks("DELETE", advertiser)
        try await puppet.program.event("lost") { $0["peer"] == anna.peer }
        try await anna.send("still-here")
        try await bert.hears("still-here")
        try await puppet.hears("still-here")

        // A peer that leaves is reported at once, sooner than one that is lost.
        try await puppet.does("leave s")
        for peer in [anna, bert] { try await peer.sees(puppet.peer, leaveAs: "left", within: .seconds(3)) }
        let gone = try await anna.gate.refusal(
          "POST", "\(anna.session)/messages?to=\(bert.peer)&to=\(puppet.peer)", nil, "-H", "Content-Type: text/plain",
          "--data-raw", "for-neither")
        #expect(gone["type"] == "/problems/notConnected" && gone["field"] == "to", "\(gone)")
        #expect(gone["detail"]?.text?.contains(puppet.peer) == true, "\(gone)")
        #expect(try await anna.connected() == [bert.peer])
        try await anna.send("last")
        try await bert.hears("last")
        #expect(try await bert.messages(from: anna.peer).contains("for-neither") == false)
        try await bert.gate.asks("DELETE", bert.session)
        try await members.tells("that \(bert.peer) has left", within: .seconds(3)) {
          $0["peer"] == .text(bert.peer) && $0["state"] == "notConnected" && $0["reason"] == "left"
        }
        #expect(try await anna.connected() == [])
        try await socket.ask(["id": "last", "request": ["method": "GET", "path": .text(anna.session)]])

        // Each state once and in order, by both ways.
        for peer in [bert.peer, puppet.peer] {
          for (way, items) in [("events", members.items), ("WebSocket", socket.puts)] {
            let states = items.filter { $0["peer"] == .text(peer) }.compactMap { $0["state"]?.text }
            let changes = zip([nil] + states.map(Optional.some), states).filter { $0 != $1 }.map(\.1)
            #expect(changes == ["connecting", "connected", "notConnected"], "\(way): \(states)")
          }
        }
      }
    }

    @Test
    func
      `P-SES-5 P-SES-6 P-SES-7 P-HAB-2 Gateways and a program meet by themselves, and have other sessions besides, one of them full`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let type = "gate-adhoc"
        let (anna, bert) = (try await rig.hosts[0].gate().peer("Anna"), try await rig.hosts[1].gate().peer("Bert"))
        let native = try await rig.hosts[2].visit("adhoc", type)
        for peer in [anna, bert] { try await peer.gate.asks("PATCH", peer.session, ["adhoc": .text(type)]) }
        for (peer, other) in [(anna, bert), (bert, anna)] {
          for another in [other.peer, native.peer] { try await peer.meets(another) }
          try await native.program.event("connected", within: .seconds(10)) { $0["peer"] == peer.peer }
        }

        // Noise at the port of a gateway harms nobody.
        let place = "/dev/tcp/\(anna.gate.host.cable.address)/7777"
        let noise = try rig.hosts[2].start(
          "bash", "-c", "for n in {1..50}; do head -c 20000 /dev/urandom 2>&- >\(place); done; echo done")
        _ = try await noise.line("that it is done", within: .seconds(20)) { $0 == "done" }

        // A second session of Anna's has room for one other.
        let second = try await anna.openSession(["maxPeers": 2])
        let accept: [String: JSON] = ["invitations": "accept", "session": .text(second.sessionID)]
        try await anna.advertise("gate-second", accept)
        let puppet = try await rig.hosts[2].puppet()
        try await puppet.invites(second, "gate-second")
        let late = try await rig.hosts[2].visit("invite", "gate-second", anna.peer, "--keys", "ephemeral")
        #expect(try await late.program.event("invitationEnded", within: .seconds(10))["reason"] == "full")
        #expect(try await late.program.ended() == .exited(4))
        let third = try await bert.openSession()
        let found = try await third.browse("gate-second")
        try await third.gate.wait(in: found, "\(anna.peer) is found") { $0["id"] == .text(anna.peer) }
        let refused = try await third.end(of: try await third.invite(anna.peer, "gate-second"))
        #expect(refused["state"] == "failed", "\(refused)")
        #expect(refused["problem"]?["detail"]?.text?.contains("the session is full") == true, "\(refused)")
        #expect(try await second.connected() == [puppet.peer])

        // Each session is on its own.
        try await anna.send("in the first")
        try await second.send("in-the-second")
        try await bert.hears("in the first")
        try await native.hears("in the first")
        try await puppet.hears("in-the-second")
        try await puppet.does("send s reliable all back")
        try await second.hears("back")
        try await anna.gate.asks("DELETE", second.session)
        try await puppet.program.event("notConnected") { $0["peer"] == anna.peer && $0["reason"] == "left" }
        try await anna.send("still in the first")
        try await bert.hears("still in the first")
        try await native.hears("still in the first")
        #expect(native.messages == ["in the first", "still in the first"])
        #expect(puppet.messages == ["in-the-second"])
        #expect(try await anna.messages(from: puppet.peer) == [])

        // Each pair was connected once, in whichever direction the invitations went.
        for peer in [anna, bert] {
          #expect(try await peer.subjects(of: "connected").count == 2)
          #expect(try await peer.subjects(of: "notConnected") == [])
          #expect(try await peer.gate.asks("GET", "\(peer.session)/members")["items"]?.list?.count == 2)
        }
        #expect(native.told("connected").count == 2 && native.told("notConnected").isEmpty)
      }
    }
  }
}
