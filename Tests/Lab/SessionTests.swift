import Glibc
import Testing

@testable import lab_rig

extension LabTests {
  @Suite @Laboratory
  struct SessionTests {
    @Test func `P-ADV-4 P-SES-1 An invitation comes with its context and its inviter, and is accepted`() async throws {
      try await Rig.lend(2) { rig in
        let host = try await rig.hosts[0].visit("advertise", "ses-accept")
        let guest = try await rig.hosts[1].visit("invite", "ses-accept", host.name, "--context", "from the workshop")
        let invitation = try await host.program.event("invitation")
        #expect(invitation["peer"] == guest.peer)
        #expect(invitation["name"] == guest.name)
        #expect(invitation["context"] == "from the workshop")
        #expect(guest.connected.isEmpty)
        try host.program.say("accept")
        try await guest.meets(host)
        try await host.meets(guest)
        for visitor in [host, guest] {
          #expect(visitor.told("connecting").count == 1)
          #expect(visitor.told("connected").count == 1)
          #expect(visitor.told("notConnected").isEmpty)
        }
      }
    }

    @Test func `P-ADV-4 P-SES-1 A declined invitation ends on both sides, and nobody connects`() async throws {
      try await Rig.lend(2) { rig in
        let host = try await rig.hosts[0].visit("advertise", "ses-decline")
        let guest = try await rig.hosts[1].visit("invite", "ses-decline", host.name)
        try await host.program.event("invitation")
        try host.program.say("decline")
        #expect(try await host.program.event("invitationEnded")["reason"] == "declined")
        #expect(try await guest.program.ended() == .exited(4))
        for visitor in [host, guest] { #expect(visitor.told("connected").isEmpty) }
      }
    }

    @Test func `P-ADV-4 P-BRO-3 An invitation that nobody answers ends on both sides at its timeout`() async throws {
      try await Rig.lend(2) { rig in
        let host = try await rig.hosts[0].visit("advertise", "ses-silent")
        let guest = try await rig.hosts[1].visit("invite", "ses-silent", host.name, "--timeout", "4")
        let asked = try await host.program.event("invitation").time
        let end = try await host.program.event("invitationEnded", within: .seconds(8))
        #expect(end["reason"] == "timedOut")
        #expect(end.time - asked < 4_500_000_000)
        #expect(try await guest.program.ended(within: .seconds(3)) == .exited(3))
      }
    }

    @Test
    func
      `P-SES-2 P-SES-4 A peer that one member invites is connected with all, and a leave is reported to all at once`()
      async throws
    {
      try await Rig.lend(4) { rig in
        let host = try await rig.hosts[0].visit("advertise", "ses-many", "--accept")
        var here = [host]
        for next in rig.hosts.dropFirst() {
          let guest = try await next.visit("invite", "ses-many", host.peer)
          for visitor in here {
            try await guest.meets(visitor)
            try await visitor.meets(guest)
          }
          here.append(guest)
        }
        for visitor in here { try visitor.say("from \(visitor.name)") }
        for visitor in here {
          for other in here where other.peer != visitor.peer { try await visitor.hears("from \(other.name)") }
        }
        let leaver = here.remove(at: 2)
        try leaver.program.say("leave")
        for visitor in here {
          let end = try await visitor.program.event("notConnected", within: .seconds(1)) { $0["peer"] == leaver.peer }
          #expect(end["reason"] == "left")
          #expect(visitor.connected == Set(here.map(\.peer)).subtracting([visitor.peer]))
        }
      }
    }

    @Test func `P-SES-6 A session that is full tells the next one so`() async throws {
      try await Rig.lend(3) { rig in
        let host = try await rig.hosts[0].visit("advertise", "ses-full", "--accept", "--peers-max", "2")
        let guest = try await rig.hosts[1].visit("invite", "ses-full", host.peer)
        try await guest.meets(host)
        let late = try await rig.hosts[2].visit("invite", "ses-full", host.peer)
        let end = try await late.program.event("invitationEnded", within: .seconds(10))
        #expect(end["reason"] == "full")
        #expect(try await late.program.ended() == .exited(4))
        #expect(host.connected == [guest.peer])
      }
    }

    @Test(arguments: [
      ("none", "required", false), ("required", "none", false), ("none", "optional", true), ("optional", "none", true),
      ("required", "optional", true), ("optional", "required", true), ("none", "none", true),
      ("required", "required", true),
    ])
    func `P-SEC-1 None and required do not connect, and hear why; every other pair does`(
      _ inviting: String, _ invited: String, _ fits: Bool
    ) async throws {
      try await Rig.lend(2) { rig in
        let type = "sec-\(inviting.prefix(4))-\(invited.prefix(4))"
        let host = try await rig.hosts[0].visit("advertise", type, "--accept", "--encryption", invited)
        let guest = try await rig.hosts[1].visit("invite", type, host.peer, "--encryption", inviting)
        if fits {
          try await guest.meets(host)
          try await host.meets(guest)
        } else {
          for visitor in [host, guest] {
            let end = try await visitor.program.event("invitationEnded", within: .seconds(10))
            #expect(end["reason"] == "encryption")
          }
          #expect(try await guest.program.ended() == .exited(4))
        }
      }
    }

    @Test func `P-SEC-5 Both sides compare one code, and it is confirmed where both say that it is the same`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let host = try await rig.hosts[0].visit("advertise", "sec-code", "--accept")
        let guest = try await rig.hosts[1].visit("invite", "sec-code", host.peer)
        try await guest.meets(host)
        try await host.meets(guest)
        try guest.program.say("compare \(host.name)")
        let codes = [try await guest.program.event("comparison"), try await host.program.event("comparison")]
        #expect(codes[0]["code"]?.isEmpty == false)
        #expect(codes[0]["code"] == codes[1]["code"])
        for visitor in [host, guest] { try visitor.program.say("accept") }
        for visitor in [host, guest] {
          #expect(try await visitor.program.event("comparisonEnded")["reason"] == "none")
        }
      }
    }

    @Test func `P-MSG-2 P-MSG-3 Messages of many sizes cross both ways byte for byte, in order and once`() async throws
    {
      try await Rig.lend(2) { rig in
        let party = try await rig.party("msg-sizes")
        let texts = [1, 2, 1_000, 16_384, 65_536, 100_000].map { String(repeating: "ä", count: $0 / 2) + "\($0)" }
        for round in 0..<3 {
          for text in texts {
            for visitor in party { try visitor.say(text + " \(round)") }
            // Its input has room for one of them at a time.
            for visitor in party { try await visitor.hears(text + " \(round)") }
          }
        }
        let all = (0..<3).flatMap { round in texts.map { $0 + " \(round)" } }
        for visitor in party { #expect(visitor.messages == all) }
      }
    }

    @Test func `P-MSG-3 Undelivered messages are reported`() async throws {
      try await Rig.lend(2) { rig in
        let party = try await rig.party("msg-status")
        try await party[1].host.kill()
        try party[0].say("into the void")
        let status = try await party[0].program.event("undelivered", within: .seconds(10))
        #expect(["unknown", "undelivered"].contains(status["deliveryStatus"]))
      }
    }

    @Test func `P-STR-1 P-STR-3 Streams cross both ways beside messages, in order, and the end of one is told`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let party = try await rig.party("str-both")
        for visitor in party { try visitor.program.say("stream notes") }
        for visitor in party {
          #expect(try await visitor.program.event("stream") { $0["direction"] == "in" }["stream"] == "notes")
        }
        let lines = (0..<200).map { "line \($0)" }
        for line in lines { for visitor in party { try visitor.program.say(line) } }
        for visitor in party { try visitor.program.say("/end") }
        for visitor in party {
          let end = try await visitor.program.event("streamEnded", within: .seconds(10)) { $0["direction"] == "in" }
          #expect(end["reason"] == "none")
          let text = visitor.told("streamBytes").filter { $0["direction"] == "in" }.compactMap { $0["text"] }.joined()
          #expect(text == lines.joined(separator: "\n") + "\n")
          try visitor.say("after")
        }
        for visitor in party { try await visitor.hears("after") }
      }
    }
  }
}
