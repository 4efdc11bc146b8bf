import Testing
import Wire

@testable import Engine

/// Two programs have handed each other connection data; nobody advertises, and nobody browses.
@Suite struct ConnectingTests {
  let network = TestNetwork()

  private func pair() throws -> (TestPeer, TestPeer) { (try network.silentPeer("a"), try network.silentPeer("b")) }

  private func expectConnected(_ a: TestPeer, _ b: TestPeer) {
    #expect(a.take().sorted() == ["A: B connected", "A: B connecting", "invitation ended: none"])
    #expect(b.take().sorted() == ["B: A connected", "B: A connecting", "invitation ended: none"])
  }

  @Test(
    "P-CUS-1 Two peers that were given each other's data are connected, whoever begins and however late the other is",
    arguments: [-20_000, -30, -20, -10, 0, 10, 20, 30, 20_000])
  func eitherOrder(milliseconds: Int) throws {
    network.latency = .milliseconds(10)
    let (a, b) = try pair()
    let (first, second) = milliseconds < 0 ? (a, b) : (b, a)
    try first.connect(to: second)
    network.run(.milliseconds(abs(milliseconds)))
    #expect(a.take() + b.take() == [])
    try second.connect(to: first)
    network.run(.milliseconds(500))
    expectConnected(a, b)
    try a.say("hello")
    network.run(.seconds(1))
    #expect(b.take() == ["B < A: hello"])
    #expect(a.take() == [])
  }

  @Test("P-CUS-1 Two peers of which one can be reached are connected")
  func oneWay() throws {
    let (a, b) = try pair()
    b.engine.setAddresses([], at: network.now)
    try a.connect(to: b)
    network.run(.seconds(10))
    try b.connect(to: a)
    network.run(.milliseconds(500))
    expectConnected(a, b)
  }

  @Test("P-CUS-1 A peer that waits for minutes is connected, though the other side's host waits for nobody meanwhile")
  func longWait() throws {
    let (a, b) = try pair()
    try a.connect(to: b, timeout: .seconds(600))
    network.run(.seconds(300))
    a.engine.setAddresses([], at: network.now)
    try b.connect(to: a)
    network.run(.milliseconds(500))
    expectConnected(a, b)
  }

  @Test("P-CUS-1 An attempt that nobody answers ends in time: timed out, or unreachable where there is no way")
  func alone() throws {
    let (a, b) = try pair()
    try a.connect(to: b, timeout: .seconds(7))
    network.run(.milliseconds(6_999))
    #expect(a.take() == [])
    network.run(.milliseconds(1))
    #expect(a.take() == ["invitation ended: timedOut", "A: b notConnected timedOut"])
    // Its question is void.
    try b.connect(to: a, timeout: .seconds(5))
    network.run(.seconds(5))
    #expect(b.take() == ["invitation ended: timedOut", "B: a notConnected timedOut"])
    let c = try network.silentPeer("c")
    network.walls.insert(["a", "c"])
    try a.connect(to: c)
    network.run(.seconds(30))
    #expect(a.take() == ["invitation ended: unreachable", "A: c notConnected unreachable"])
    #expect(b.take() + c.take() == [])
  }

  @Test("P-CUS-1 A cancelled attempt ends at once, and whoever comes later waits in vain")
  func cancelled() throws {
    let (a, b) = try pair()
    let id = try a.connect(to: b)
    network.run(.seconds(1))
    a.engine.cancel(id, at: network.now)
    network.run()
    #expect(a.take() == ["invitation ended: cancelled", "A: b notConnected cancelled"])
    try b.connect(to: a, timeout: .seconds(3))
    network.run(.seconds(60))
    #expect(b.take() == ["invitation ended: timedOut", "B: a notConnected timedOut"])
    #expect(a.take() == [])
  }

  @Test("The record of an attempt expires, and a host that was forgotten and is known again stays")
  func forgottenHost() throws {
    let (a, b) = try pair()
    let c = try network.silentPeer("c")
    network.walls.insert(["a", "b"])
    let id = try a.connect(to: b)
    a.engine.cancel(id, at: network.now)
    network.run(.seconds(10))
    for other in [a, b] {
      try other.connect(to: c)
      try c.connect(to: other)
    }
    network.run(.seconds(60))
    #expect([a.connected, b.connected, c.connected] == ["C", "C", "A B"])
    network.heal(a.host, b.host)
    network.run(.seconds(10))
    network.expectAllConnected([a, b, c])
  }

  @Test("P-CUS-1 An attempt that has become the answer to the other side's can be cancelled, and ends for both")
  func cancelledAnswer() throws {
    network.latency = .milliseconds(50)
    let (a, b) = try pair()
    let id = try a.connect(to: b)
    network.run(.seconds(1))
    let other = try b.connect(to: a)
    // The network runs until one of the two has answered, and the answer is still under way.
    while a.engine.promised.isEmpty, b.engine.promised.isEmpty { network.run(.milliseconds(1)) }
    let (answering, asking) = b.engine.promised.isEmpty ? (a, b) : (b, a)
    answering.engine.cancel(answering === a ? id : other, at: network.now)
    network.run()
    #expect(answering.take() == ["invitation ended: cancelled", "A: b notConnected cancelled"])
    network.run(.seconds(60))
    // The acceptance arrives first.
    let (me, it) = (asking.name.uppercased(), answering.name.uppercased())
    #expect(
      asking.take() == ["invitation ended: none", "\(me): \(it) connecting", "\(me): \(it) notConnected cancelled"])
    #expect(answering.take() == [])
    #expect([a.connected, b.connected] == ["", ""])
    try a.connect(to: b)
    try b.connect(to: a)
    network.run(.seconds(1))
    expectConnected(a, b)
  }

  @Test("P-CUS-1 Data that are another's, its own, damaged or nonsense are refused with what is wrong")
  func badData() throws {
    let (a, b) = try pair()
    let c = try network.silentPeer("c")
    func refusal(_ peer: PeerID, _ data: [UInt8]) -> String {
      let error = #expect(throws: EngineError.self) {
        _ = try a.engine.connect(a.endpoint, to: peer, with: data, timeout: .zero, at: network.now)
      }
      #expect(error?.code == .invalidParameter)
      return error?.description ?? ""
    }
    let (own, theirs) = (try a.data(), try b.data())
    #expect(refusal(b.peer, try c.data()).contains("are of peer \(c.peer), not of \(b.peer)"))
    #expect(refusal(b.peer, own).contains("own"))
    #expect(refusal(a.peer, own).contains("itself"))
    #expect(refusal(a.peer, theirs).contains("itself"))
    #expect(refusal(b.peer, []).contains("cut short"))
    #expect(refusal(b.peer, Array(theirs.dropLast())).contains("cut short"))
    #expect(refusal(b.peer, theirs + [0]).contains("1 bytes follow"))
    #expect(refusal(b.peer, [9] + theirs.dropFirst()).contains("version 9"))
    #expect(refusal(b.peer, theirs.prefix(49) + [9]).contains("over its maximum"))
    a.engine.block(b.peer, from: a.endpoint, true, at: network.now)
    #expect(refusal(b.peer, theirs).contains("blocked"))
    #expect(a.engine.hosts.isEmpty)
  }

  @Test("P-CUS-1 Data used on endpoints that are in groups join the groups, and each member is connected with each")
  func groups() throws {
    let peers = try network.gather("a", "b") + network.gather("c", "d")
    for testPeer in peers {
      testPeer.stopAdvertising()
      testPeer.stopBrowsing()
    }
    network.clear()
    try peers[1].connect(to: peers[2])
    try peers[2].connect(to: peers[1])
    network.run(.seconds(2))
    network.expectAllConnected(peers)
  }

  @Test("P-CUS-1 Two peers with two sessions each are connected session by session, as their data name them")
  func sessions() throws {
    let (a, b) = try pair()
    let (c, d) = (try network.testPeer("C", of: a.peer, on: a.host), try network.testPeer("D", of: b.peer, on: b.host))
    try a.connect(to: b)
    try c.connect(to: d)
    try d.connect(to: c)
    try b.connect(to: a)
    network.run(.seconds(1))
    #expect([a, b, c, d].map(\.connected) == ["B", "A", "D", "C"])
  }

  @Test("P-CUS-1 Peers of one host are connected by their data too")
  func oneHost() throws {
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b", on: a.host)
    try a.connect(to: b)
    try b.connect(to: a)
    network.run(.seconds(1))
    #expect([a.connected, b.connected] == ["B", "A"])
    #expect(a.take().filter { $0 == "invitation ended: none" }.count == 2)
  }

  @Test("P-CUS-1 Peers that the sessions' rules keep apart stay apart, and both get the reason")
  func rules() throws {
    var (none, required) = (SessionSettings(), SessionSettings())
    (none.encryption, required.encryption) = (.none, .required)
    let a = try network.silentPeer("a", required)
    let b = try network.silentPeer("b", none)
    try a.connect(to: b)
    try b.connect(to: a)
    network.run(.seconds(1))
    #expect(a.take() == ["invitation ended: encryption", "A: b notConnected encryption"])
    #expect(b.take() == ["invitation ended: encryption", "B: a notConnected encryption"])
  }

  @Test("P-CUS-1 A peer that met the other by another way stops waiting")
  func metOtherwise() throws {
    let peers = try network.gather("a", "c")
    let (a, c) = (peers[0], peers[1])
    let b = try network.testPeer("b")
    try a.connect(to: b)
    network.run(.seconds(1))
    try network.connect(c, b)
    network.run(.seconds(1))
    #expect(a.take().filter { $0.contains("invit") } == ["invitation ended: already"])
    b.host.lines = []
    try b.connect(to: a)
    #expect(b.take() == [])
    network.run()
    #expect(b.take() == ["invitation ended: already"])
  }

  @Test("P-CUS-1 A link that is lost while the two wait is made again, and what was asked is asked again")
  func cut() throws {
    network.latency = .milliseconds(10)
    let (a, b) = try pair()
    try a.connect(to: b)
    network.run(.milliseconds(100))
    try b.connect(to: a)
    network.run(.milliseconds(15))
    network.cut(a.host, b.host)
    network.run(.seconds(3))
    #expect([a.connected, b.connected] == ["B", "A"])
    for testPeer in [a, b] { #expect(testPeer.take().filter { $0.contains("invit") } == ["invitation ended: none"]) }
  }
}

extension TestPeer {
  func data() throws -> [UInt8] { try engine.connectionData(of: endpoint, at: network.now) }

  @discardableResult
  func connect(to other: TestPeer, timeout: Duration = .zero) throws -> InvitationID {
    try engine.connect(endpoint, to: other.peer, with: try other.data(), timeout: timeout, at: network.now)
  }
}
