import Testing
import Wire

@testable import Engine

@Suite struct InvitationTests {
  let network = TestNetwork()

  func pair() throws -> (TestPeer, TestPeer) {
    let a = try network.testPeer("a")
    let b = try network.testPeer("b")
    network.clear()
    return (a, b)
  }

  @Test("P-ADV-4 An invitation carries its inviter and its context exactly as given, and is accepted")
  func accepted() throws {
    let (a, b) = try pair()
    let context = [UInt8]((0...255).map { $0 })
    _ = try a.engine.invite(b.peer, as: network.type, to: a.endpoint, context: context, timeout: .zero, at: network.now)
    network.run()
    let invitation = try #require(
      b.host.outputs.lazy.compactMap { output -> (PeerID, PeerID, [UInt8])? in
        guard case .invitation(_, let from, _, let to, _, let context, _) = output else { return nil }
        return (from, to, context)
      }.first)
    #expect(invitation == (a.peer, b.peer, context))
    b.host.lines = []
    try b.accept()
    network.run()
    #expect(a.take() == ["invitation ended: none", "A: B connecting", "A: B connected"])
    #expect(b.take() == ["invitation ended: none", "B: A connecting", "B: A connected"])
    try a.say("hello", receipt: true)
    network.run(.milliseconds(100))
    #expect(b.take() == ["B < A: hello"])
    #expect(a.take() == ["delivered to B"])
  }

  @Test("P-ADV-4 P-SES-1 A declined invitation ends as declined on both sides, and its inviter's session is told once")
  func declined() throws {
    let (a, b) = try pair()
    try a.invite(b)
    network.run()
    try b.decline()
    network.run(.seconds(60))
    #expect(a.take() == ["invitation ended: declined", "A: b notConnected declined"])
    #expect(b.take() == ["b invited by a: ", "invitation ended: declined"])
    #expect(throws: EngineError.self) { try b.accept() }
  }

  @Test("P-ADV-4 An invitation that nobody answers ends at the inviter's timeout on both sides")
  func unanswered() throws {
    let (a, b) = try pair()
    try a.invite(b, timeout: .seconds(7))
    network.run(.milliseconds(6_999))
    #expect(a.take() == [])
    #expect(b.take() == ["b invited by a: "])
    network.run(.milliseconds(2))
    #expect(a.take() == ["invitation ended: timedOut", "A: b notConnected timedOut"])
    #expect(b.take() == ["invitation ended: timedOut"])
    #expect(throws: EngineError.self) { try b.accept() }
  }

  @Test("P-BRO-3 A timeout of zero or less means 30 seconds", arguments: [0, -1, -1_000])
  func defaultTimeout(seconds: Int) throws {
    let (a, b) = try pair()
    try a.invite(b, timeout: .seconds(seconds))
    network.run(.milliseconds(29_999))
    #expect(a.take() == [])
    network.run(.milliseconds(2))
    #expect(a.take() == ["invitation ended: timedOut", "A: b notConnected timedOut"])
  }

  @Test("P-BRO-3 A timeout of any length is taken, and a context over its limit is refused with the limit")
  func longTimeout() throws {
    let (a, b) = try pair()
    try a.invite(b, timeout: .seconds(Int64.max))
    network.run(.seconds(60))
    #expect(a.take() == [])
    let error = #expect(throws: EngineError.self) {
      try a.invite(b, String(repeating: "x", count: Limits.contextBytesMax + 1))
    }
    #expect(error?.code == .invalidParameter)
    #expect(error?.description.contains("\(Limits.contextBytesMax)") == true)
  }

  @Test("P-SES-1 An invitation to a host that cannot be reached ends as unreachable inside its timeout")
  func unreachable() throws {
    let (a, b) = try pair()
    network.walls.insert(["a", "b"])
    try a.invite(b, timeout: .seconds(5))
    network.run(.seconds(5))
    #expect(a.take() == ["invitation ended: unreachable", "A: b notConnected unreachable"])
    #expect(b.take() == [])
  }

  @Test("An invitation is taken back, and the other side is told at once")
  func cancelled() throws {
    let (a, b) = try pair()
    let id = try a.invite(b)
    network.run()
    a.engine.cancel(id, at: network.now)
    network.run()
    #expect(a.take() == ["invitation ended: cancelled", "A: b notConnected cancelled"])
    #expect(b.take() == ["b invited by a: ", "invitation ended: cancelled"])
  }

  @Test("An inviter that leaves takes its invitations with it")
  func inviterLeaves() throws {
    let (a, b) = try pair()
    try a.invite(b)
    network.run()
    a.leave()
    network.run()
    #expect(a.take() == ["invitation ended: left", "A: b notConnected left"])
    #expect(b.take() == ["b invited by a: ", "invitation ended: left"])
  }

  @Test("An answer that crosses the cancellation joins nobody")
  func acceptCrossesCancel() throws {
    let (a, b) = try pair()
    let id = try a.invite(b)
    network.run()
    a.engine.cancel(id, at: network.now)
    try b.accept()
    network.run(.seconds(60))
    #expect(a.take() == ["invitation ended: cancelled", "A: b notConnected cancelled"])
    #expect(b.take() == ["b invited by a: ", "invitation ended: cancelled"])
  }

  @Test("Invitations that cross become one, and both inviters are told that it joined", arguments: [false, true])
  func crossing(areLinked: Bool) throws {
    let (a, b) = try pair()
    if areLinked {
      try a.invite(b)
      network.run()
      try b.decline()
      network.run()
      network.clear()
    }
    try a.invite(b)
    try b.invite(a)
    network.run(.seconds(60))
    #expect(a.take().sorted() == ["A: B connected", "A: B connecting", "invitation ended: none"])
    #expect(b.take().filter { $0.hasPrefix("B") } == ["B: A connecting", "B: A connected"])
  }

  @Test("An invitation to a peer whose own one waits here answers that")
  func invitingIsAccepting() throws {
    let (a, b) = try pair()
    try a.invite(b)
    network.run()
    try b.invite(a)
    network.run()
    #expect(a.take() == ["invitation ended: none", "A: B connecting", "A: B connected"])
    #expect(b.take().suffix(2) == ["B: A connecting", "B: A connected"])
  }

  @Test("An answer by an own invitation waits no longer than its timeout, and the other side is notified")
  func invitingIsNotWaiting() throws {
    let (a, b) = try pair()
    try a.invite(b)
    network.run(.seconds(1))
    network.walls.insert(["a", "b"])
    network.cut(a.host, b.host)
    try b.invite(a, timeout: .seconds(5))
    network.run(.milliseconds(4_999))
    #expect(b.take() == ["b invited by a: "])
    network.run(.milliseconds(2))
    #expect(
      b.take() == ["invitation ended: timedOut", "invitation ended: timedOut", "B: a notConnected timedOut"])
    network.heal(a.host, b.host)
    network.run(.seconds(10))
    #expect(a.take().filter { $0.contains("invit") } == ["invitation ended: timedOut"])
    network.run(.seconds(60))
    #expect([a.connected, b.connected] == ["", ""])
    #expect((a.take() + b.take()).allSatisfy { $0.contains(" found ") || $0.contains(" lost ") })
  }

  @Test(
    "A question answered while its inviter was out of reach is not repeated, and the inviter gets the answer",
    arguments: [false, true])
  func answeredOutOfReach(byInvitation: Bool) throws {
    let (a, b) = try pair()
    if !byInvitation { b.stopBrowsing() }
    try a.invite(b, timeout: .seconds(60))
    network.run(.seconds(1))
    network.walls.insert(["a", "b"])
    network.cut(a.host, b.host)
    if byInvitation {
      let own = try b.invite(a, timeout: .seconds(10))
      b.engine.cancel(own, at: network.now)
    } else {
      try b.decline()
    }
    network.run(.seconds(30))
    network.heal(a.host, b.host)
    network.run(.seconds(20))
    let reason = byInvitation ? "cancelled" : "declined"
    let end = "invitation ended: \(reason)"
    #expect(a.take().filter { $0.contains("invit") } == [end])
    let ends = byInvitation ? [end, end] : [end]
    #expect(b.take().filter { $0.contains("invit") } == ["b invited by a: "] + ends)
  }

  @Test("A peer whose answer came too late is invited again, and joins")
  func answerTooLate() throws {
    let (a, b) = try pair()
    try a.invite(b)
    network.run(.seconds(1))
    network.walls.insert(["a", "b"])
    try b.invite(a, timeout: .seconds(1))
    network.run(.milliseconds(1_500))
    network.heal(a.host, b.host)
    network.run(.seconds(1))
    #expect(a.take() == ["invitation ended: none", "A: B connecting", "A: B notConnected timedOut"])
    try network.connect(b, a)
    network.expectAllConnected([a, b])
  }

  @Test("P-SES-7 An invitation to a peer that is already connected ends as already and changes nothing")
  func already() throws {
    let peers = try network.gather("a", "b")
    try peers[1].invite(peers[0])
    try peers[0].invite(peers[1])
    network.run(.seconds(60))
    #expect(peers[0].take() == ["invitation ended: already"])
    #expect(peers[1].take() == ["invitation ended: already"])
    network.expectAllConnected(peers)
  }

  @Test(
    "An invitation goes out with the greeting and is answered with it: two strangers are connected in two round trips")
  func atOnce() throws {
    let (a, b) = try pair()
    network.latency = .milliseconds(10)
    try a.invite(b)
    network.run(.milliseconds(10))
    #expect(b.take() == ["b invited by a: "])
    try b.accept()
    network.run(.milliseconds(30))
    #expect(a.take() == ["invitation ended: none", "A: B connecting", "A: B connected"])
    network.run(.milliseconds(10))
    #expect(b.take() == ["invitation ended: none", "B: A connecting", "B: A connected"])
  }

  @Test("An invitation that went out with the greeting is taken back as any other, and said once")
  func takenBackAtOnce() throws {
    let (a, b) = try pair()
    network.latency = .milliseconds(10)
    var said = 0
    network.filter = { type, _, _ in
      if type == .invite { said += 1 }
      return true
    }
    let id = try a.invite(b)
    network.run(.milliseconds(5))
    a.engine.cancel(id, at: network.now)
    network.run(.milliseconds(10))
    #expect(a.take() == ["invitation ended: cancelled", "A: b notConnected cancelled"])
    #expect(b.take() == ["b invited by a: ", "invitation ended: cancelled"])
    try a.invite(b)
    network.run(.seconds(2))
    #expect(said == 2)
  }

  @Test("An invitation survives the loss of its link, before and after it is accepted")
  func linkLost() throws {
    let (a, b) = try pair()
    network.latency = .milliseconds(10)
    try a.invite(b)
    network.run(.milliseconds(35))
    network.cut(a.host, b.host)
    network.run(.seconds(2))
    #expect(b.take() == ["b invited by a: "])
    try b.accept()
    network.run(.milliseconds(5))
    network.cut(a.host, b.host)
    network.run(.seconds(2))
    #expect(a.take() == ["invitation ended: none", "A: B connecting", "A: B connected"])
    #expect(b.take() == ["invitation ended: none", "B: A connecting", "B: A connected"])
  }

  @Test("A peer that is not nearby cannot be invited, nor oneself, and the error says what to do")
  func nobody() throws {
    let a = try network.testPeer("a")
    let b = try network.silentPeer("b")
    let error = #expect(throws: EngineError.self) { try a.invite(b) }
    #expect(error?.code == .unavailable)
    #expect(error?.description.contains("browse") == true)
    #expect(throws: EngineError.self) { try a.invite(a) }
  }

  @Test("A host that comes up anew is answered anew, though it counts its invitations from the start")
  func countsFromTheStart() throws {
    let a = try network.testPeer("a")
    let b = try network.testPeer("b")
    let before = try b.invite(a)
    network.run()
    try a.accept()
    network.run(.seconds(1))
    network.kill(b.host)
    let again = try network.testPeer("b", on: try network.host("b", incarnation: 2))
    network.clear()
    #expect(try again.invite(a) == before)
    network.run(.seconds(1))
    #expect(a.take().contains("a invited by b: "))
    try a.accept()
    network.run(.seconds(1))
    network.expectAllConnected([a, again])
  }
}
