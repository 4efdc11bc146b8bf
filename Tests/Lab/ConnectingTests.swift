import Testing

@testable import lab_rig

extension LabTests {
  /// Hosts that look for nobody, whose programs have a way of their own to each other: the test carries what they say.
  @Suite @Laboratory
  struct ConnectingTests {
    @Test func `P-CUS-1 Two hosts without discovery connect by data that was carried from each to the other`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let (a, b) = try await (rig.hosts[0].puppet("at="), rig.hosts[1].puppet("at="))
        let data = [try await a.data("s"), try await b.data("s")]
        try a.program.say("connect s \(b.peer) \(data[1]) 10")
        try b.program.say("connect s \(a.peer) \(data[0]) 10")
        for (puppet, other) in [(a, b), (b, a)] {
          try await puppet.meets(other)
          try await puppet.expectDone("connect")
          try await puppet.does("send s reliable all by-hand")
        }
        for puppet in [a, b] { try await puppet.hears("by-hand") }
      }
    }

    @Test func `P-CUS-1 An attempt that is cancelled ends at once, and one that nobody answers at its timeout`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let (a, b) = try await (rig.hosts[0].puppet("at="), rig.hosts[1].puppet("at="))
        let data = [try await a.data("s"), try await b.data("s")]
        let start = ContinuousClock.now
        try a.program.say("connect s \(b.peer) \(data[1]) 20")
        try await a.does("giveup s")
        #expect(try await a.expectFailure("connect", within: .seconds(1))["reason"] == "cancelled")
        // An attempt from the other side after that times out, and so does one that nobody has ever answered.
        try b.program.say("connect s \(a.peer) \(data[0]) 2")
        try a.program.say("session t a")
        try a.program.say("connect t \(b.peer) \(data[1]) 3")
        #expect(try await b.expectFailure("connect", within: .seconds(4))["reason"] == "timedOut")
        #expect((.seconds(2)..<(.seconds(3))).contains(ContinuousClock.now - start))
        #expect(try await a.expectFailure("connect", within: .seconds(4))["reason"] == "timedOut")
        #expect((.seconds(3)..<(.seconds(4))).contains(ContinuousClock.now - start))
        for puppet in [a, b] { #expect(puppet.told("connected").isEmpty) }
      }
    }
  }
}

extension ScriptedPeer {
  /// The connection data of a session of it, in hexadecimal.
  func data(_ session: String) async throws -> String {
    try program.say("data \(session)")
    guard let data = try await program.event("data")["data"] else { throw LabError("there are no data in it") }
    return data
  }
}
