import Glibc
import Reactor
import Testing

/// Two processes, one engine each, real sockets between them.
@Suite(.serialized) struct FirstContactTests {
  @Test func `P-ADV-4 P-SES-1 An invitation with its context is accepted, and both sides connect once`() async throws {
    try await TestBed.play { scene in
      let (a, b) = (try await scene.player(), try await scene.player())
      a.say("sight \(b.peer) \(b.host) \(b.address)")
      a.say("invite \(b.peer) 10 68656c6c6f00ff")
      #expect(try await b.says("invited \(a.peer) ") == "68656c6c6f00ff")
      b.say("accept")
      _ = try await b.says("connected")
      _ = try await a.says("connected")
      // Later messages show that no other event came before them.
      a.send([1])
      _ = try await b.says("message")
      b.send([2])
      _ = try await a.says("message")
      let told = ["invitationEnded none", "connecting", "connected", "message reliable"]
      #expect(
        a.lines.dropFirst() == [
          "found \(b.peer)", told[0], "\(told[1]) \(b.peer)", "\(told[2]) \(b.peer)", "\(told[3]) 02",
        ])
      #expect(b.lines.dropFirst(2) == [told[0], "\(told[1]) \(a.peer)", "\(told[2]) \(a.peer)", "\(told[3]) 01"])
    }
  }

  @Test func `P-ADV-4 A declined invitation ends on both sides, and nobody connects`() async throws {
    try await TestBed.play { scene in
      let (a, b) = (try await scene.player(), try await scene.player())
      a.say("sight \(b.peer) \(b.host) \(b.address)")
      a.say("invite \(b.peer) 10 ")
      _ = try await b.says("invited")
      b.say("decline")
      #expect(try await a.says("invitationEnded ") == "declined")
      #expect(try await b.says("invitationEnded ") == "declined")
      #expect(!(a.lines + b.lines).contains { $0.hasPrefix("connect") })
    }
  }

  @Test func `P-MSG-2 P-MSG-3 Messages cross both ways byte for byte, in order and once`() async throws {
    try await TestBed.play { scene in
      let (a, b) = try await scene.pair()
      let large = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 5) }
      let messages = [[], [0], large, []] + (0..<2_000).map { Array("message \($0)".utf8) } + [[255]]
      for message in messages {
        a.send(message)
        b.send(message)
      }
      _ = try await a.says("message reliable ff", within: .seconds(30))
      _ = try await b.says("message reliable ff", within: .seconds(30))
      #expect(try a.messages() == messages)
      #expect(try b.messages() == messages)
      #expect(!(a.lines + b.lines).contains { $0.hasPrefix("refused") || $0.hasPrefix("suspended") })
    }
  }

  @Test func `P-MSG-4 Unreliable messages cross where the medium has no datagrams`() async throws {
    try await TestBed.play { scene in
      let (a, b) = try await scene.pair()
      for number in UInt8(0)..<20 {
        a.send([number], "unreliable")
        _ = try await b.says("message unreliable")
        b.send([number], "unreliable")
        _ = try await a.says("message unreliable")
      }
      #expect(try a.messages("unreliable") == (0..<20).map { [$0] })
      #expect(try b.messages("unreliable") == (0..<20).map { [$0] })
    }
  }

  @Test func `P-SES-4 A leave is told at once, after all that was sent before it`() async throws {
    try await TestBed.play { scene in
      let (a, b) = try await scene.pair()
      a.send([7])
      a.say("leave")
      #expect(try await b.says("message reliable ") == "07")
      #expect(try await b.says("notConnected ") == "\(a.peer) left")
      b.send([8])
      _ = try await b.says("refused")
    }
  }

  @Test func `P-SES-4 A process that stops in good order says goodbye`() async throws {
    try await TestBed.play { scene in
      let (a, b) = try await scene.pair()
      a.send([7])
      a.say("quit")
      _ = try await a.says("ended", within: .seconds(4))
      #expect(try await b.says("message reliable ") == "07")
      #expect(try await b.says("notConnected ") == "\(a.peer) left")
    }
  }

  @Test(arguments: [SIGKILL, SIGSTOP])
  func `P-SES-1 A process that dies or freezes is suspended, then not connected, within 6 s`(_ signal: CInt)
    async throws
  {
    try await TestBed.play { scene in
      let (a, b) = try await scene.pair()
      let start = Reactor.now
      b.signal(signal)
      #expect(try await a.says("suspended ") == b.peer)
      #expect(try await a.says("notConnected ") == "\(b.peer) lost")
      #expect(Reactor.now - start < 6_000_000_000)
      #expect(a.lines.suffix(2) == ["suspended \(b.peer)", "notConnected \(b.peer) lost"])
    }
  }

  @Test func `A process that was frozen for long comes back by itself`() async throws {
    try await TestBed.play { scene in
      let (a, b) = try await scene.pair()
      b.signal(SIGSTOP)
      _ = try await a.says("notConnected")
      b.signal(SIGCONT)
      _ = try await a.says("connected", within: .seconds(15))
      _ = try await b.says("connected", within: .seconds(5))
      b.send([9])
      #expect(try await a.says("message reliable ") == "09")
    }
  }

  @Test func `P-ID-5 A host with another key than the one that was seen is not taken for it`() async throws {
    try await TestBed.play { scene in
      let (a, b, c) = (try await scene.player(), try await scene.player(), try await scene.player())
      a.say("sight \(b.peer) \(b.host) \(c.address)")
      a.say("invite \(b.peer) 2 ")
      let reason = try await a.says("invitationEnded ")
      #expect(reason == "unreachable")
      #expect(!a.lines.contains { $0.hasPrefix("connect") })
      #expect(c.lines.count == 1)
    }
  }

  @Test func `P-HAB-2 Garbage and silence on the port leave the session alone`() async throws {
    try await TestBed.play { scene in
      let (a, b) = try await scene.pair()
      var strangers: [Plug] = []
      var hungUpOn = 0
      for number in 0..<100 {
        let stranger = try Plug(.connecting(to: b.address), on: scene.reactor) { if $0.isEmpty { hungUpOn += 1 } }
        if number.isMultiple(of: 2) {
          stranger.send((0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* $0 &+ number) })
        }
        strangers.append(stranger)
      }
      for number in UInt8(0)..<100 {
        a.send([number])
        b.send([number])
      }
      _ = try await a.says("message reliable 63")
      _ = try await b.says("message reliable 63")
      #expect(try a.messages() == (0..<100).map { [$0] })
      #expect(try b.messages() == (0..<100).map { [$0] })
      #expect(!(a.lines + b.lines).contains { $0.hasPrefix("suspended") })
      #expect(hungUpOn >= 50)
      for stranger in strangers { stranger.close() }
    }
  }

  @Test func `P-MSG-3 A connection that is cut in a burst is made again, and nothing is lost or doubled`() async throws
  {
    try await TestBed.play { scene in
      var cable: Cable?
      let (a, b) = try await scene.pair {
        cable = try $0.cable(to: $1)
        return cable
      }
      let burst = (0..<2_000).map { Array("message \($0) ".utf8) + [UInt8](repeating: 46, count: 1_000) }
      cable?.cut(after: 700_000)
      for message in burst {
        a.send(message)
        b.send(message)
      }
      a.send([255])
      b.send([255])
      _ = try await a.says("message reliable ff", within: .seconds(30))
      _ = try await b.says("message reliable ff", within: .seconds(30))
      #expect(cable?.cuts == 1)
      for (one, other) in [(a, b), (b, a)] {
        #expect(try one.messages() == burst + [[255]])
        let changes = one.lines.filter { !$0.hasPrefix("message") }
        #expect(changes.suffix(2) == ["suspended \(other.peer)", "resumed \(other.peer)"])
      }
    }
  }
}
