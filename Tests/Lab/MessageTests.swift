import Testing

@testable import lab_rig

extension LabTests {
  /// The recipients of messages, and the faults that messages survive.
  @Suite @Laboratory
  struct MessageTests {
    @Test func `P-MSG-1 P-MSG-5 A message goes to some, to nobody else, and to none where one of them has left`()
      async throws
    {
      try await Rig.lend(4) { rig in
        let party = try await rig.puppets("msg-some")
        let (a, b, c, d) = (party[0], party[1], party[2], party[3])
        try await a.does("send s reliable \(b.peer),\(c.peer) for-two")
        for listener in [b, c] { try await listener.hears("for-two") }
        try await a.does("send s reliable \(d.peer) for-one")
        try await d.hears("for-one")
        #expect(d.messages == ["for-one"])

        let nobody = try await a.fails("send s reliable nobody lost")
        #expect(nobody["code"] == "invalidParameter")
        #expect(nobody["text"]?.contains("nobody") == true)

        let endpoint = try #require(a.told("connected").first { $0["peer"] == d.peer }?["endpoint"])
        try await d.does("leave s")
        try await a.program.event("notConnected") { $0["peer"] == d.peer && $0["reason"] == "left" }
        let gone = try await a.fails("send s reliable \(b.peer),\(d.peer),\(c.peer) lost")
        #expect(gone["code"] == "notConnected")
        #expect(gone["text"]?.contains(d.host.name) == true)
        #expect(gone["endpoints"] == endpoint)

        // It returns at once, whether what is sent arrives at once or not.
        try await a.host.cable.cut()
        try await a.does("send s reliable all last", within: .seconds(1))
        try await a.host.cable.mend()
        for listener in [b, c] {
          try await listener.hears("last", within: .seconds(10))
          #expect(listener.messages == ["for-two", "last"])
        }
        #expect(d.messages == ["for-one"])
      }
    }

    @Test func `P-MSG-4 On a slow cable unreliable messages pass a file and a reliable queue of seconds`() async throws
    {
      try await Rig.lend(2) { rig in
        let party = try await rig.puppets("msg-fast")
        let (a, b) = (party[0], party[1])
        try await a.host.run("sh", "-c", "head -c 20000000 /dev/urandom >\(LabHost.home)/long.bin")
        try await b.host.cable.set(Faults(bytesPerSecondMax: 500_000))
        try a.program.say("offer s \(b.peer) \(LabHost.home)/long.bin")
        try await b.program.event("resource")
        try b.program.say("keep long.bin")
        try a.program.say("burst s reliable all 30 50000")
        try await b.hears("burst-0")
        let start = ContinuousClock.now
        for number in 0..<20 {
          try a.program.say("send s unreliable all fast-\(number)")
          await Laboratory.pass(.milliseconds(20))
        }
        try a.program.say("send s reliable all behind")
        try await b.hears("behind", within: .seconds(20))
        let queue = ContinuousClock.now - start
        let fast = b.told("message").filter { $0["text"]?.hasPrefix("fast-") == true }
        let (sent, heard) = try (#require(a.told("done").last?.time), fast.map(\.time).max() ?? .max)
        print("\(fast.count) of 20 unreliable messages passed a reliable queue of \(queue)")
        #expect(fast.allSatisfy { $0["mode"] == "unreliable" })
        #expect(fast.count >= 15)
        // The last of them was there long before what waited then.
        #expect(queue > .seconds(1))
        #expect(Duration.nanoseconds(Int64(heard) - Int64(sent)) < queue / 4)
      }
    }

    @Test func `P-SES-5 One peer in two sessions with two hosts: each hears its own, and leaving one leaves the other`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let (a, b, c) = try await (rig.hosts[0].puppet(), rig.hosts[1].puppet(), rig.hosts[2].puppet())
        try a.program.say("session t a")
        for (session, other) in [("s", b), ("t", c)] {
          try other.program.say("advertise x a ses-two s")
          try await a.invites(other, "ses-two", on: session)
        }
        for (session, other) in [("s", b), ("t", c)] {
          try await a.does("send \(session) reliable all on-\(session)")
          try await other.hears("on-\(session)")
          try await other.does("send s reliable all back-\(session)")
          #expect(try await a.hears("back-\(session)")["on"] == session)
        }
        try await a.does("leave s")
        try await b.program.event("notConnected") { $0["peer"] == a.peer && $0["reason"] == "left" }
        try await a.does("send t reliable all after")
        try await c.hears("after")
        #expect(b.messages == ["on-s"])
        #expect(c.messages == ["on-t", "after"])
        for other in [b, c] { #expect(Set(other.told("connected").map { $0["peer"] }) == [a.peer]) }
        #expect(c.told("notConnected").isEmpty)
      }
    }
  }
}
