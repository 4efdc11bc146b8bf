import Glibc
import Testing

@testable import lab_rig

extension LabTests {
  /// The command line on several hosts, as people start it: with Avahi, and with nothing else said.
  @Suite @Laboratory
  struct CommandLineTests {
    @Test
    func `P-APP-5 P-NET-1 Peers that start the same on one network meet, talk and part, with no word about addresses`()
      async throws
    {
      try await Rig.lend(3) { rig in
        var programs: [Program] = []
        for (host, name) in zip(rig.hosts, ["Ada", "Bob", "Eve"]) {
          programs.append(try host.startVicinity(["adhoc", "--json", "--name", name]))
        }
        for program in programs {
          for _ in 1..<programs.count { try await program.event("connected", within: .seconds(10)) }
        }
        try programs[0].say("say hello")
        for program in programs[1...] { try await program.event("message") { $0["text"] == "hello" } }
        try programs[1].say("quit")
        for program in [programs[0], programs[2]] {
          try await program.event("notConnected", within: .seconds(1)) { $0["name"] == "Bob" && $0["reason"] == "left" }
        }
        #expect(try await programs[1].ended() == .exited(0))
        try await rig.hosts[2].kill()
        try await programs[0].event("notConnected", within: .seconds(10)) { $0["name"] == "Eve" }
      }
    }

    @Test func `Ctrl-C in the middle of a session ends it with 130, and the other hears a goodbye at once`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let party = try await rig.party("cli-interrupt")
        let (a, b) = (party[0], party[1])
        try await a.program.signal(SIGINT)
        let end = try await b.program.event("notConnected", within: .seconds(1)) { $0["peer"] == a.peer }
        #expect(end["reason"] == "left")
        #expect(try await a.program.ended() == .exited(130))
      }
    }

    @Test
    func `P-BRO-6 A session is put together from a list: states, invite, filter, fewest and most, done and cancel`()
      async throws
    {
      try await Rig.lend(4) { rig in
        let shown = ["--info", "level=3"]
        let ada = try await rig.hosts[1].visit("advertise", "cli-list", shown, name: "Ada")
        let ben = try await rig.hosts[2].visit("advertise", "cli-list", shown, name: "Ben")
        let dan = try await rig.hosts[3].visit("advertise", "cli-list", name: "Dan")
        let eve = try await rig.hosts[0].visit(
          "gather", "cli-list", ["--only", "level=3", "--peers-max", "3", "--context", "level 3?"], name: "Eve")
        // The first list in which a peer has this state.
        @Laboratory
        func listed(_ name: String, as state: String) async throws -> Event {
          for _ in 0..<50 {
            try eve.program.say("nearby")
            let list = try await eve.program.event("nearby")
            guard case .list(let peers)? = list.object["list"] else { throw LabError("there is no list") }
            for case .object(let peer) in peers where peer["name"] == .text(name) && peer["state"] == .text(state) {
              return list
            }
            await Laboratory.pass(.milliseconds(100))
          }
          throw LabError("the list never said that \(name) is \(state)")
        }
        for other in [ada, ben] { try await eve.finds(other) }
        let first = try await listed("Ada", as: "nearby")
        #expect(first["peersIn"] == "1" && first["peersMin"] == "2" && first["peersMax"] == "3")
        #expect(first["enough"] == "false")
        // Dan is nearby and does not say what the filter asks for.
        try eve.program.say("invite Dan")
        try await eve.program.event("error", within: .seconds(10)) {
          $0["text"]?.contains("Nobody called 'Dan'") == true
        }
        try eve.program.say("done")
        try await eve.program.event("error") { $0["text"]?.contains("Only 1 of 2 to 3 peers") == true }

        try eve.program.say("invite Ben")
        let asked = try await ben.program.event("invitation") { $0["peer"] == eve.peer }
        #expect(asked["context"] == "level 3?")
        _ = try await listed("Ben", as: "invited")
        try ben.program.say("decline")
        _ = try await listed("Ben", as: "declined")

        try eve.program.say("invite Ada")
        try await ada.program.event("invitation") { $0["peer"] == eve.peer }
        try ada.program.say("accept")
        try await eve.meets(ada)
        let enough = try await eve.program.event("enough")
        #expect(enough["enough"] == "true" && enough["peersIn"] == "2")
        _ = try await listed("Ada", as: "connected")

        // A no is not for ever; with who is asked the session is full.
        try eve.program.say("invite Ben")
        try await ben.program.event("invitation") { $0["peer"] == eve.peer }
        try ben.program.say("accept")
        try await eve.meets(ben)
        try await ada.meets(ben)
        try await dan.leave()
        let late = try await rig.hosts[3].visit("advertise", "cli-list", shown, name: "Dan")
        try await eve.finds(late)
        try eve.program.say("invite Dan")
        try await eve.program.event("error") { $0["text"]?.contains("There is no place for Dan") == true }

        // When one leaves there is a place again, and when the other does, there are too few.
        try await ben.leave()
        try await ada.leave()
        #expect(try await eve.program.event("enough") { $0["enough"] == "false" }["peersIn"] == "1")
        try eve.program.say("invite Dan")
        try await late.program.event("invitation") { $0["peer"] == eve.peer }
        try late.program.say("accept")
        try await eve.meets(late)
        try eve.program.say("done")
        try await eve.program.event("gathered")
        try eve.say("to all who are in")
        try await late.hears("to all who are in")
        try await eve.leave()

        let giver = try await rig.hosts[0].visit("gather", "cli-list", name: "Fay")
        try await giver.finds(late)
        try giver.program.say("invite Dan")
        try await late.program.event("invitation") { $0["peer"] == giver.peer }
        try giver.program.say("cancel")
        #expect(try await giver.program.ended() == .exited(1))
        try await late.program.event("invitationEnded") { $0["peer"] == giver.peer && $0["reason"] != "none" }
      }
    }

    @Test
    func `P-ADV-4 P-ADV-6 An invited peer is asked, with the inviter and its reason: a no keeps out, a yes lets in`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let host = try await rig.hosts[0].visit("advertise", "cli-asked")
        for isYes in [false, true] {
          let guest = try await rig.hosts[1].visit("invite", "cli-asked", host.peer, "--context", "from the workshop")
          let asked = try await host.program.event("invitation") { $0["peer"] == guest.peer }
          #expect(asked["name"] == guest.name && asked["context"] == "from the workshop")
          #expect(host.connected.isEmpty && guest.connected.isEmpty)
          try host.program.say(isYes ? "accept" : "decline")
          if isYes {
            try await host.meets(guest)
            try await guest.meets(host)
          } else {
            try await guest.program.event("invitationEnded") { $0["reason"] == "declined" }
            #expect(try await guest.program.ended() == .exited(4))
          }
        }
        #expect(host.told("connected").count == 1)
      }
    }
  }
}
