import FoundationEssentials
import Testing

@testable import lab_rig

extension LabTests {
  /// Trust between clients of gateways, connections by exchanged data, and the names of errors.
  @Suite @Laboratory
  struct GatewayTrustTests {
    @Test
    func `P-SEC-1 Encryption that is none at one side and required at the other keeps gateways and programs apart`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let why = "one side requires encryption and the other has none"
        let (a, b) = (try await rig.hosts[0].gate(), try await rig.hosts[1].gate())
        let open = try await a.peer("Open", ["encryption": "none"])
        let (strict, fitting) = (
          try await b.peer("Strict", ["encryption": "required"]),
          try await b.peer("Fitting", ["encryption": "optional"])
        )
        try await open.advertise("gate-open", ["invitations": "accept", "session": .text(open.sessionID)])
        let accept: [String: JSON] = ["invitations": "accept", "session": .text(strict.sessionID)]
        try await strict.advertise("gate-strict", accept)

        // Two gateways, and the program with a gateway, in both directions.
        for peer in [strict, fitting] {
          let found = try await peer.browse("gate-open")
          try await b.wait(in: found, "\(open.peer) is found") { $0["id"] == .text(open.peer) }
        }
        let refused = try await strict.end(of: try await strict.invite(open.peer, "gate-open"))
        #expect(refused["state"] == "failed", "\(refused)")
        #expect(refused["problem"]?["detail"]?.text?.contains(why) == true, "\(refused)")
        for (peer, type, word) in [(open, "gate-open", "required"), (strict, "gate-strict", "none")] {
          let guest = try await rig.hosts[2].visit(
            "invite", type, peer.peer, "--encryption", word, "--keys", "ephemeral")
          let end = try await guest.program.event("invitationEnded", within: .seconds(10))
          #expect(end["reason"] == "encryption", "\(type)")
          #expect(try await guest.program.ended() == .exited(4))
        }
        let native = try await rig.hosts[2].visit("advertise", "gate-native", "--accept", "--encryption", "none")
        let found = try await strict.browse("gate-native")
        try await b.wait(in: found, "\(native.peer) is found") { $0["id"] == .text(native.peer) }
        let kept = try await strict.end(of: try await strict.invite(native.peer, "gate-native"))
        #expect(kept["problem"]?["detail"]?.text?.contains(why) == true, "\(kept)")
        #expect(try await native.program.event("invitationEnded", within: .seconds(10))["reason"] == "encryption")
        for peer in [open, strict] { #expect(try await peer.connected() == []) }

        try await fitting.invite(open.peer, "gate-open")
        try await fitting.meets(open.peer)
        try await open.meets(fitting.peer)
      }
    }

    @Test
    func
      `P-SEC-2 P-SEC-3 P-SEC-4 An identity of a gateway's client is judged and decided on at another and by a program`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let type = "gate-trust"
        let (a, b) = (try await rig.hosts[0].gate(), try await rig.hosts[1].gate())
        try await a.host.run("sh", "-ec", SecurityTests.makingIdentity)
        let file = try await a.host.run("base64", "-w0", "\(LabHost.home)/ann.p12")
        let refused = try await a.refusal("POST", "/v1/identities", ["data": .text(file), "password": "guess"])
        #expect(refused["type"] == "/problems/invalidParameter" && refused["field"] == "data", "\(refused)")
        let identity = try await a.asks("POST", "/v1/identities", ["data": .text(file), "password": "workshop"])
        let subjects: [JSON] = ["CN = Ann of the workshop", "CN = Lower"]
        #expect(identity["certificates"]?.list?.map { $0["subject"] } == subjects)

        let asking = try await b.peer("Asking", ["trust": "ask"])
        try await asking.advertise(type, ["invitations": "accept", "session": .text(asking.sessionID)])
        let native = try await rig.hosts[2].visit("advertise", type, "--accept", "--trust", "ask", name: "Native")
        let shown: [String: JSON] = ["identity": identity["id"] ?? .nothing]
        let ann = try await a.peer("Ann", shown)
        let found = try await ann.browse(type)
        for peer in [asking.peer, native.peer] {
          try await a.wait(in: found, "\(peer) is found") { $0["id"] == .text(peer) }
        }

        // The connection is declined without the anchor, and accepted with it.
        for isTrusted in [false, true] {
          if isTrusted {
            let root = try await a.host.run("cat", "\(LabHost.home)/root.pem")
            try await b.asks("POST", "/v1/anchors", ["pem": .text(root + "\n")])
          }
          let session = try await ann.openSession(shown)
          let invitation = try await session.invite(asking.peer, type)
          let decision = try await b.wait(in: "\(asking.session)/certificates", "a decision on \(ann.peer)") {
            $0["peer"] == .text(ann.peer)
          }
          #expect(
            decision["chain"] == identity["certificates"] && decision["trusted"] == .truth(isTrusted), "\(decision)")
          #expect(try await asking.connected() == [])
          let path = "\(asking.session)/certificates/\(try #require(decision["id"]?.text))"
          try await b.asks("PATCH", path, ["decision": isTrusted ? "trust" : "reject"])
          if isTrusted {
            try await session.meets(asking.peer)
            try await asking.meets(ann.peer)
          } else {
            let end = try await session.end(of: invitation)
            #expect(end["problem"]?["detail"]?.text?.contains("the other side is not trusted") == true, "\(end)")
          }
        }

        // The program asks its user.
        for isYes in [false, true] {
          let session = try await ann.openSession(shown)
          let invitation = try await session.invite(native.peer, type)
          let decision = try await native.program.event("decision", within: .seconds(10))
          #expect(decision["peer"] == ann.peer && decision.object["certificates"] == .list(subjects), "\(decision)")
          try native.program.say(isYes ? "accept" : "decline")
          if isYes {
            try await session.meets(native.peer)
            try await native.program.event("connected") { $0["peer"] == ann.peer }
          } else {
            #expect(try await session.end(of: invitation)["state"] == "failed")
          }
        }
      }
    }

    @Test
    func
      `P-SEC-5 Clients of two gateways and a program compare codes, and are unverified until these are said to match`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let party = try await Gate.party(rig, "gate-code")
        let (anna, bert) = (party[0], party[1])
        let native = try await rig.hosts[2].visit("invite", "gate-code", anna.peer, name: "Native")
        try await native.program.event("connected") { $0["peer"] == anna.peer }
        for other in [bert.peer, native.peer] { #expect(try await anna.meets(other)["verified"] == false) }

        let list = "\(anna.session)/comparisons"
        @Laboratory
        func compare(_ other: String) async throws -> (path: String, code: String) {
          let path = try await anna.gate.makes(list, ["member": .text(other)])
          let item = try await anna.gate.wait(in: list, "a code") { $0["peer"] == .text(other) && $0["code"] != nil }
          return (path, try #require(item["code"]?.text))
        }
        let across = try await compare(bert.peer)
        let his = try await bert.gate.wait(in: "\(bert.session)/comparisons", "the code") { $0["code"] != nil }
        #expect(his["code"] == .text(across.code) && his["peer"] == .text(anna.peer), "\(his)")
        let there = try await compare(native.peer)
        let told = try await native.program.event("comparison")
        #expect(told["code"] == there.code && told["peer"] == anna.peer)
        #expect(there.code != across.code)

        // One match, and one that is none for one side.
        try await anna.gate.asks("PATCH", there.path, ["matches": true])
        try native.program.say("accept")
        #expect(try await native.program.event("comparisonEnded")["reason"] == "none")
        try await anna.gate.wait(in: list, "a match") { $0["peer"] == .text(native.peer) && $0["state"] == "matched" }
        try await bert.gate.asks(
          "PATCH", "\(bert.session)/comparisons/\(try #require(his["id"]?.text))", ["matches": false])
        for peer in [anna, bert] {
          try await peer.gate.wait(in: "\(peer.session)/comparisons", "a mismatch") { $0["state"] == "mismatched" }
        }
        for (other, isVerified) in [(native.peer, true), (bert.peer, false)] {
          try await anna.gate.wait(in: "\(anna.session)/members", "\(other): verified is \(isVerified)") {
            $0["peer"] == .text(other) && $0["verified"] == .truth(isVerified)
          }
        }
        let known = try await anna.gate.asks("GET", "/v1/trusted-peers")["items"]?.list ?? []
        #expect(known.map { $0["id"] } == [.text(native.peer)], "\(known)")
      }
    }

    @Test
    func
      `P-CUS-1 P-ERR-1 Without discovery gateways and a program connect by data that were carried, and errors have one name everywhere`()
      async throws
    {
      try await Rig.lend(3) { rig in
        for host in rig.hosts { try await host.stopAvahi() }
        let (anna, bert) = (try await rig.hosts[0].gate().peer("Anna"), try await rig.hosts[1].gate().peer("Bert"))
        let puppet = try await rig.hosts[2].puppet("at=")
        let socket = try await anna.gate.openSocket()

        // An attempt that nobody answers, and one that is given up.
        let data = try await bert.connectionData()
        let late = try await anna.connect(to: data, timeout: 1)
        let end = try await anna.end(ofConnection: late)
        #expect(end["state"] == "timedOut" && end["problem"]?["type"] == "/problems/timedOut", "\(end)")
        let hex = try await bert.hexadecimalData()
        #expect(try await puppet.fails("connect s \(bert.peer) \(hex) 1")["code"] == "timedOut")
        try await anna.gate.asks("DELETE", try await anna.connect(to: data, timeout: 20))
        try puppet.program.say("connect s \(bert.peer) \(hex) 20")
        try await puppet.does("giveup s")
        #expect(try await puppet.expectFailure("connect")["code"] == "cancelled")
        #expect(try await bert.connected() == [])

        // Both sides of each pair.
        let calls = [
          (anna, try await anna.connect(to: data, timeout: 20)),
          (bert, try await bert.connect(to: try await anna.connectionData(), timeout: 20)),
        ]
        for (peer, path) in calls { #expect(try await peer.end(ofConnection: path)["state"] == "connected") }
        try await anna.meets(bert.peer)
        try puppet.program.say("connect s \(anna.peer) \(try await anna.hexadecimalData()) 20")
        try await anna.connect(to: try await puppet.connectionData(), timeout: 20)
        try await puppet.expectDone("connect", within: .seconds(10))
        // A group that was joined in this way connects all with all.
        for peer in [anna, bert] {
          try await peer.meets(puppet.peer)
          try await puppet.program.event("connected") { $0["peer"] == peer.peer }
        }
        try await anna.send("by-hand")
        try await bert.hears("by-hand")
        try await puppet.hears("by-hand")

        // The same is called the same, by REST, by WebSocket and in the program.
        try await bert.gate.asks("DELETE", bert.session)
        try await anna.sees(bert.peer, leaveAs: "left")
        try await puppet.program.event("notConnected") { $0["peer"] == bert.peer }
        for (to, code, command) in [
          (bert.peer, "notConnected", "send s reliable \(bert.peer) lost"),
          ("", "invalidParameter", "send s reliable nobody lost"),
        ] {
          let path = "\(anna.session)/messages?to=\(to)"
          let problem = try await anna.gate.refusal(
            "POST", path, nil, "-H", "Content-Type: text/plain", "--data-raw", "lost")
          let answer = try await socket.request(.text(code), "POST", path, "lost")
          #expect(problem["type"] == .text("/problems/\(code)") && answer["problem"] == problem, "\(problem) \(answer)")
          #expect(try await puppet.fails(command)["code"] == code)
        }
        let damaged = try await anna.gate.refusal(
          "POST", "\(anna.session)/connections", ["peer": .text(bert.peer), "data": "AQID"])
        #expect(damaged["type"] == "/problems/invalidParameter" && damaged["field"] == "data", "\(damaged)")
        #expect(try await puppet.fails("connect s \(bert.peer) 010203 1")["code"] == "invalidParameter")
      }
    }
  }
}

extension ClientPeer {
  fileprivate func connectionData() async throws -> JSON { try await gate.asks("GET", "\(session)/connection-data") }

  fileprivate func hexadecimalData() async throws -> String {
    guard let text = try await connectionData()["data"]?.text, let bytes = Data(base64Encoded: text) else {
      throw LabError("there are no data of \(peer)")
    }
    return bytes.map { String(Int($0) + 0x100, radix: 16).dropFirst() }.joined()
  }

  /// Gives the path of the attempt.
  @discardableResult
  fileprivate func connect(to data: JSON, timeout: JSON) async throws -> String {
    guard let other = data["peer"], let bytes = data["data"] else { throw LabError("\(data) are no data") }
    return try await gate.makes("\(session)/connections", ["peer": other, "data": bytes, "timeout": timeout])
  }

  fileprivate func end(ofConnection path: String) async throws -> JSON {
    try await gate.wait(in: "\(session)/connections", "the end of \(path)", within: .seconds(20)) {
      path.hasSuffix("/\($0["id"]?.text ?? "?")") && $0["state"] != "pending"
    }
  }
}

extension ScriptedPeer {
  /// The connection data in the form that a gateway takes.
  fileprivate func connectionData() async throws -> JSON {
    let text = try await data("s")
    let digits = text.compactMap(\.hexDigitValue)
    let bytes = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    return ["peer": .text(peer), "data": .text(Data(bytes).base64EncodedString())]
  }
}
