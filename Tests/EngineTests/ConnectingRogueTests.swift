import Testing
import Wire

@testable import Engine

/// A peer that nobody waits for gets nothing, and a liar loses its link.
@Suite struct ConnectingRogueTests {
  let network = TestNetwork()

  /// A test peer that waits for an endpoint of a peer on a host, by its connection data.
  private func waiting(for peer: PeerID, at host: HostID, _ endpoint: EndpointID) throws -> TestPeer {
    let testPeer = try network.silentPeer("v")
    let data = ConnectionData(peer: peer, host: host, endpoint: endpoint, addresses: []).bytes
    _ = try testPeer.engine.connect(testPeer.endpoint, to: peer, with: data, timeout: .seconds(60), at: network.now)
    network.run()
    network.clear()
    return testPeer
  }

  private func rogue(_ name: String, to host: TestNetwork.Host) -> Rogue {
    let rogue = Rogue(name, to: host, on: network)
    rogue.attach()
    return rogue
  }

  private func call(_ testPeer: TestPeer, by rogue: Rogue, id: UInt64 = 1, entry: Entry? = nil, carrier: Carrier? = nil)
    -> Connect
  {
    Connect(
      id: id, to: testPeer.peer, target: testPeer.endpoint, entry: entry ?? rogue.entry(),
      carrier: carrier ?? rogue.carrier,
      standing: Standing(size: 1, peersMax: 256, needs: .requiresEncryption), millisecondsLeft: 30_000)
  }

  private func expectNothing(of rogue: Rogue, at testPeer: TestPeer) {
    #expect(!rogue.isClosed)
    #expect(rogue.last(Answer.self) == nil)
    #expect(testPeer.take() == [])
    #expect(testPeer.engine.incoming.isEmpty)
    #expect(testPeer.engine.hosts[rogue.host]?.asking.isEmpty == true)
  }

  /// The identity of an honest host under the rogue's key: the test peer then waits for it.
  private func known(_ name: String) -> (peer: PeerID, host: HostID, endpoint: EndpointID) {
    let (peer, host) = (network.crypto.key(named: "peer " + name), network.crypto.key(named: "host " + name))
    return (
      PeerID(digest: network.crypto.hash(PeerID.preimage(of: peer))),
      HostID(digest: network.crypto.hash(HostID.preimage(of: host))),
      EndpointID(PeerID(digest: network.crypto.hash(Array("end \(name)".utf8))).raw)
    )
  }

  @Test("P-CUS-1 An expected peer that proves its identity is admitted")
  func awaited() throws {
    let friend = known("r")
    let testPeer = try waiting(for: friend.peer, at: friend.host, friend.endpoint)
    let rogue = rogue("r", to: testPeer.host)
    let asked = try #require(rogue.last(Connect.self))
    #expect(asked.target == rogue.endpoint)
    rogue.say(call(testPeer, by: rogue))
    // The lower peer's counts.
    if case .accepted = rogue.last(Answer.self)?.outcome {
      rogue.say(Confirm(id: 1, reason: .none, rank: 1))
    } else {
      #expect(rogue.last(Answer.self)?.outcome == .declined(.duplicate))
      let acceptance = Acceptance(
        group: GroupID(rogue.endpoint.raw), entry: rogue.entry(), carrier: rogue.carrier,
        standing: Standing(size: 1, peersMax: 256, needs: .requiresEncryption))
      rogue.say(Answer(id: asked.id, outcome: .accepted(acceptance)))
    }
    #expect(testPeer.take() == ["invitation ended: none", "V: R connecting"])
  }

  @Test("P-CUS-1 A stranger that names an endpoint gets no answer, whether that waits for somebody or not")
  func stranger() throws {
    let friend = known("friend")
    let testPeer = try waiting(for: friend.peer, at: friend.host, friend.endpoint)
    let idle = try network.testPeer("I", of: testPeer.peer, on: testPeer.host)
    let rogue = rogue("r", to: testPeer.host)
    rogue.say(call(testPeer, by: rogue))
    rogue.say(call(idle, by: rogue, id: 2))
    var nobody = call(testPeer, by: rogue, id: 3)
    nobody.target = rogue.endpoint
    rogue.say(nobody)
    nobody = call(testPeer, by: rogue, id: 4)
    nobody.to = rogue.peer
    rogue.say(nobody)
    // Even under the friend's endpoint.
    var entry = rogue.entry()
    entry.endpoint = friend.endpoint
    rogue.say(call(testPeer, by: rogue, id: 5, entry: entry))
    expectNothing(of: rogue, at: testPeer)
    network.run(.seconds(90))
    #expect(
      testPeer.take() == ["invitation ended: unreachable", "V: \(network.name(friend.peer)) notConnected unreachable"])
  }

  @Test("P-CUS-1 The right peer by an endpoint that was not named is not taken in")
  func otherEndpoint() throws {
    let friend = known("r")
    let testPeer = try waiting(for: friend.peer, at: friend.host, EndpointID(ID128(high: 4, low: 4)))
    let rogue = rogue("r", to: testPeer.host)
    rogue.say(call(testPeer, by: rogue))
    expectNothing(of: rogue, at: testPeer)
  }

  @Test("P-CUS-1 A peer's statement on its own link admits nobody on another one: it is for its host")
  func replayed() throws {
    let friend = known("f")
    let testPeer = try waiting(for: friend.peer, at: friend.host, friend.endpoint)
    let honest = Rogue("f", to: testPeer.host, on: network)
    let said = call(testPeer, by: honest)
    // The statement is replayed unchanged, and then with the host changed so that it fits its link.
    let first = rogue("r1", to: testPeer.host)
    first.say(said)
    #expect(first.ending == .protocolViolation)
    let second = rogue("r2", to: testPeer.host)
    var changed = said
    changed.entry.host = second.host
    second.say(changed)
    #expect(second.ending == .protocolViolation)
    #expect(testPeer.take() == [])
    #expect(testPeer.engine.members(of: testPeer.endpoint).isEmpty)
  }

  @Test("P-CUS-1 A carrier statement that the awaited peer did not sign closes the link")
  func forged() throws {
    let friend = known("f")
    let testPeer = try waiting(for: friend.peer, at: friend.host, friend.endpoint)
    let rogue = rogue("r", to: testPeer.host)
    let key = network.crypto.key(named: "peer f")
    rogue.say(call(testPeer, by: rogue, entry: rogue.entry(peer: key), carrier: rogue.carrier(of: key)))
    #expect(rogue.ending == .protocolViolation)
    #expect(testPeer.take() == [])
  }

  @Test("P-CUS-1 A peer whose data name another host after a change is refused there", arguments: [false, true])
  func misled(byAnotherEndpoint: Bool) throws {
    // Somebody has put its own host into the data of the friend, and answers as itself, or with the friend's name.
    let friend = known("f")
    let testPeer = try waiting(for: friend.peer, at: known("r").host, friend.endpoint)
    let rogue = rogue("r", to: testPeer.host)
    let asked = try #require(rogue.last(Connect.self))
    var entry = rogue.entry(peer: byAnotherEndpoint ? nil : network.crypto.key(named: "peer f"))
    entry.endpoint = friend.endpoint
    rogue.say(
      Answer(
        id: asked.id,
        outcome: .accepted(
          Acceptance(
            group: GroupID(rogue.endpoint.raw), entry: entry,
            carrier: byAnotherEndpoint ? rogue.carrier : rogue.carrier(of: network.crypto.key(named: "peer f")),
            standing: Standing(size: 1, peersMax: 256, needs: .requiresEncryption)))))
    #expect(rogue.ending == .protocolViolation)
    #expect(testPeer.take() == [])
    #expect(testPeer.engine.members(of: testPeer.endpoint).isEmpty)
  }

  @Test("P-CUS-1 The awaited peer cannot answer with another endpoint than was asked")
  func answeredByAnother() throws {
    let friend = known("r")
    let testPeer = try waiting(for: friend.peer, at: friend.host, EndpointID(ID128(high: 4, low: 4)))
    let rogue = rogue("r", to: testPeer.host)
    let asked = try #require(rogue.last(Connect.self))
    rogue.say(
      Answer(
        id: asked.id,
        outcome: .accepted(
          Acceptance(
            group: GroupID(rogue.endpoint.raw), entry: rogue.entry(), carrier: rogue.carrier,
            standing: Standing(size: 1, peersMax: 256, needs: .requiresEncryption)))))
    #expect(rogue.ending == .protocolViolation)
    #expect(testPeer.take() == [])
  }

  @Test("P-CUS-1 A request before a wait, or after its end, opens nothing")
  func outOfTime() throws {
    let friend = known("r")
    let testPeer = try network.silentPeer("v")
    let rogue = rogue("r", to: testPeer.host)
    rogue.say(call(testPeer, by: rogue))
    expectNothing(of: rogue, at: testPeer)
    let data = ConnectionData(peer: friend.peer, host: friend.host, endpoint: friend.endpoint, addresses: []).bytes
    let id = try testPeer.engine.connect(
      testPeer.endpoint, to: friend.peer, with: data, timeout: .zero, at: network.now)
    network.run()
    #expect(rogue.last(Answer.self) == nil)
    testPeer.engine.cancel(id, at: network.now)
    network.run()
    #expect(rogue.last(Cancel.self)?.reason == .cancelled)
    #expect(testPeer.take() == ["invitation ended: cancelled", "V: r notConnected cancelled"])
    rogue.say(call(testPeer, by: rogue), call(testPeer, by: rogue, id: 2))
    expectNothing(of: rogue, at: testPeer)
  }

  @Test("A confirmation that is said again changes nothing, and one of what ended takes the member back")
  func confirmedTwice() throws {
    let testPeer = try network.testPeer("v")
    let rogue = rogue("r", to: testPeer.host)
    rogue.say(rogue.invitation(testPeer))
    try testPeer.accept()
    network.run()
    let answers = rogue.frames.count { $0.type == .answer }
    rogue.say(Confirm(id: 1, reason: .none, rank: 1), Confirm(id: 1, reason: .none, rank: 1))
    #expect(rogue.frames.count { $0.type == .answer } == answers)
    rogue.say(Confirm(id: 7, reason: .none, rank: 1))
    #expect(rogue.last(Answer.self) == Answer(id: 7, outcome: .declined(.timedOut)))
  }

  @Test("A taking back of something else than an own invitation does nothing")
  func cancelOfAnother() throws {
    let peers = try network.gather("a", "b")
    let rogue = rogue("r", to: peers[0].host)
    for id in UInt64(0)..<50 { rogue.say(Cancel(id: id, reason: .cancelled)) }
    #expect(!rogue.isClosed)
    #expect(peers[0].connected == "B")
  }
}
