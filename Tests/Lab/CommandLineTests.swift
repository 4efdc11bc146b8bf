import Glibc
import Testing

@testable import lab_rig

extension LabTests {
  /// The command line on several hosts, as people start it: with Avahi, and with nothing else said.
  @Suite @Laboratory
  struct CommandLineTests {
    @Test
    func `P-APP-5 P-NET-1 Who starts the same on one network meets, talks and parts, with no word about addresses`()
      async throws
    {
      try await Rig.lend(3) { rig in
        var programs: [Program] = []
        for (host, name) in zip(rig.hosts, ["Ada", "Bob", "Eve"]) {
          programs.append(try host.startBuilt("vicinity", ["adhoc", "--json", "--name", name]))
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

    @Test func `P-ADV-4 P-ADV-6 Who is invited is asked, told who and why: a no keeps out, a yes lets in`() async throws
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
