import Testing
import Wire

@testable import Engine

/// The effect of broken rules: the link is closed, and nothing else changes.
@Suite struct RogueTests {
  let network = TestNetwork()

  func victim() throws -> TestPeer {
    let peer = try network.testPeer("v")
    network.clear()
    return peer
  }

  @Test("P-HAB-2 A frame before hello closes the link")
  func beforeHello() throws {
    let rogue = Rogue("r", to: try victim().host, on: network)
    rogue.say(Ping(token: 1))
    #expect(rogue.last(Bye.self)?.reason == .protocolViolation)
    #expect(rogue.isClosed)
  }

  @Test("P-HAB-2 A host that says nothing is closed in time")
  func silent() throws {
    let rogue = Rogue("r", to: try victim().host, on: network)
    network.run(.seconds(6))
    #expect(rogue.isClosed)
  }

  @Test("P-HAB-2 Attach before hello, and attach again, close the link")
  func attachMisuse() throws {
    let peer = try victim()
    let first = Rogue("r1", to: peer.host, on: network)
    first.say(Attach(bond: Rogue.bond, expects: 0, received: 0, first: 1, next: 1))
    #expect(first.isClosed)
    let second = Rogue("r2", to: peer.host, on: network)
    second.attach()
    #expect(!second.isClosed)
    second.say(second.attachment)
    #expect(second.last(Bye.self)?.reason == .protocolViolation)
  }

  @Test(
    "P-HAB-2 Messages before anybody was accepted close the link",
    arguments: [FrameType.message, .typedMessage, .datagram, .typedDatagram])
  func messageBeforeAcceptance(type: FrameType) throws {
    let peer = try victim()
    let rogue = Rogue("r", to: peer.host, on: network)
    rogue.attach()
    rogue.say(bytes: [8, type.rawValue, 1, 1, 1, 0, 0, 65, 66])
    #expect(rogue.last(Bye.self)?.reason == .protocolViolation)
    #expect(peer.take() == [])
  }

  @Test("P-HAB-2 Records before anybody was accepted are counted, and not read", arguments: [0, 1, 3, 4])
  func beforeAcceptance(kind: Int) throws {
    let peer = try victim()
    let rogue = Rogue("r", to: peer.host, on: network)
    rogue.attach()
    switch kind {
    case 0: rogue.say(Leave(record: rogue.head(), index: 1, reason: .left, seen: 0))
    case 1: rogue.say(Verdict(record: rogue.head(), about: 1, by: .all, reason: .none, seen: 0))
    case 3: rogue.say(RosterDigest(strand: 1, count: 1, sum: 1))
    default:
      rogue.say(
        Gone(
          record: rogue.head(), endpoint: peer.endpoint,
          incarnation: EndpointIncarnation(host: Incarnation(1), count: 0)))
    }
    #expect(!rogue.isClosed)
    #expect(peer.take() == [])
  }

  @Test("P-HAB-2 A flood of small frames before acceptance is closed as busy")
  func flood() throws {
    let rogue = Rogue("r", to: try victim().host, on: network)
    rogue.attach()
    for token in 0..<300 where !rogue.isClosed { rogue.say(Ping(token: UInt64(token))) }
    #expect(rogue.last(Bye.self)?.reason == .busy)
  }

  @Test("P-HAB-2 An oversize frame, an unknown type and garbage close the link at once", arguments: 0..<4)
  func garbage(kind: Int) throws {
    let rogue = Rogue("r", to: try victim().host, on: network)
    rogue.attach()
    switch kind {
    case 0: rogue.say(bytes: [0xff, 0xff, 0x03, 0x20])
    case 1: rogue.say(bytes: [0x02, 0xee, 0x00])
    case 2: rogue.say(bytes: [0x00])
    default: rogue.say(bytes: [UInt8](repeating: 0xff, count: 2_000))
    }
    #expect(rogue.last(Bye.self)?.reason == .protocolViolation)
  }

  @Test("P-HAB-2 A datagram of a stranger does nothing at all")
  func datagram() throws {
    let peer = try victim()
    let rogue = Rogue("r", to: peer.host, on: network)
    rogue.attach()
    for size in 0..<40 {
      let bytes = [UInt8](repeating: UInt8(size), count: size)
      peer.engine.receivedDatagram(bytes.span.bytes, on: rogue.link, at: network.now)
    }
    network.run()
    #expect(!rogue.isClosed)
    #expect(peer.take() == [])
  }

  @Test("P-ID-5 An invitation in the name of another's peer is refused, and its link closed")
  func stolenPeer() throws {
    let peer = try victim()
    let key = network.crypto.key(named: "peer of somebody else")
    let rogue = Rogue("r", to: peer.host, on: network)
    rogue.attach()
    rogue.say(rogue.invitation(peer, entry: rogue.entry(peer: key), carrier: rogue.carrier(of: key)))
    #expect(rogue.isClosed)
    let second = Rogue("r2", to: peer.host, on: network)
    second.attach()
    second.say(second.invitation(peer, entry: second.entry(peer: key)))
    #expect(second.isClosed)
    #expect(peer.take() == [])
  }

  @Test("P-ID-5 A carrier statement of another host or an older incarnation is refused")
  func replayedCarrier() throws {
    let peer = try victim()
    let rogue = Rogue("r", to: peer.host, on: network)
    let other = Rogue("other", to: peer.host, on: network)
    rogue.attach()
    rogue.say(rogue.invitation(peer, entry: rogue.entry(peer: other.peerKey), carrier: other.carrier))
    #expect(rogue.isClosed)
    let old = Rogue("old", to: peer.host, on: network)
    old.greet(incarnation: 2)
    old.say(old.attachment, old.invitation(peer, carrier: old.carrier(of: old.peerKey, incarnation: 1)))
    #expect(old.isClosed)
    #expect(peer.take() == [])
  }

  @Test("A host that keeps the rules is let in, and an invitation again is answered already")
  func honest() throws {
    let peer = try victim()
    let rogue = Rogue("r", to: peer.host, on: network)
    try rogue.enter(with: peer)
    #expect(peer.take() == ["v invited by r: ", "invitation ended: none", "V: R connecting", "V: R connected"])
    rogue.say(rogue.invitation(peer, id: 2))
    #expect(rogue.last(Answer.self)?.outcome == .declined(.already))
    #expect(peer.connected == "R")
    #expect(peer.take() == [])
  }

  @Test("P-SEC-3 A security identity that its key did not sign closes the link, and nobody is asked")
  func forgedIdentity() throws {
    var session = SessionSettings()
    session.trust = .ask(timeout: .seconds(10))
    let peer = try network.testPeer("v", session)
    network.clear()
    let rogue = Rogue("r", to: peer.host, on: network)
    try rogue.enter(with: peer, showsIdentity: true)
    let index = try #require(rogue.last(Join.self)?.index)
    rogue.say(IdentityFrame(from: 1, to: index, chain: [[1]], signature: [1, 2, 3]))
    #expect(rogue.last(Bye.self)?.reason == .protocolViolation)
    #expect(!peer.take().contains { $0.contains("decide") })
  }

  @Test("P-SEC-5 A nonce that was not committed to closes the link, and no code is shown")
  func forgedNonce() throws {
    let peer = try victim()
    let rogue = Rogue("r", to: peer.host, on: network)
    try rogue.enter(with: peer)
    network.clear()
    rogue.say(CompareCommit(id: 5, from: rogue.peer, to: peer.peer, commitment: network.crypto.hash([1])))
    rogue.say(CompareReveal(id: 5, nonce: network.crypto.hash([2])))
    #expect(rogue.isClosed)
    #expect(!peer.take().contains { $0.contains("compare ") })
  }

  @Test("An introduction that its introducer did not sign closes the link, and names nobody")
  func forgedIntroduction() throws {
    let peer = try victim()
    let rogue = Rogue("r", to: peer.host, on: network)
    let friend = Rogue("friend", to: peer.host, on: network)
    try rogue.enter(with: peer)
    network.clear()
    rogue.say(
      Introduce(
        record: rogue.head(), spread: true, introduction: introduction(of: friend, by: rogue, key: friend.peerKey)))
    #expect(rogue.isClosed)
    #expect(!peer.take().contains { $0.contains("FRIEND") })
  }

  @Test("An introduction by a host's endpoint that is no member names nobody")
  func strangersIntroduction() throws {
    let peer = try victim()
    let rogue = Rogue("r", to: peer.host, on: network)
    let friend = Rogue("friend", to: peer.host, on: network)
    let stranger = Rogue("stranger", to: peer.host, on: network)
    try rogue.enter(with: peer)
    network.clear()
    rogue.say(
      Introduce(
        record: rogue.head(), spread: true, introduction: introduction(of: friend, by: stranger, key: stranger.peerKey))
    )
    #expect(peer.take() == [])
  }

  @Test("An introduction is replayed in vain for an endpoint that left")
  func replayedIntroduction() throws {
    let peer = try victim()
    let rogue = Rogue("r", to: peer.host, on: network)
    let friend = Rogue("friend", to: peer.host, on: network)
    try rogue.enter(with: peer)
    let introduction = introduction(of: friend, by: rogue, key: rogue.peerKey)
    rogue.say(Introduce(record: rogue.head(), spread: false, introduction: introduction))
    friend.attach()
    let join = friend.join(peer)
    friend.say(
      join,
      Verdict(
        record: friend.head(), about: try #require(rogue.last(Join.self)?.index), by: .all, reason: .none, seen: 1))
    #expect(peer.connected == "FRIEND R")
    friend.say(Leave(record: friend.head(), index: 1, reason: .left, seen: 1))
    #expect(peer.connected == "R")
    network.clear()
    rogue.say(Introduce(record: rogue.head(), spread: false, introduction: introduction))
    friend.say(friend.join(peer, tickets: [introduction]))
    #expect(peer.take() == [])
    #expect(peer.connected == "R")
  }

  @Test("A join without an introduction is answered as not introduced, and changes nothing")
  func uninvited() throws {
    let peer = try victim()
    let rogue = Rogue("r", to: peer.host, on: network)
    rogue.attach()
    rogue.say(rogue.join(peer))
    #expect(rogue.last(Verdict.self)?.reason == .notIntroduced)
    #expect(peer.take() == [])
  }

  @Test("One key on two hosts: the newer incarnation is right, and the other is told of the conflict")
  func conflict() throws {
    let a = try network.testPeer("a")
    let key = network.crypto.key(named: "host shared")
    let old = try network.silentPeer("b", on: try network.host("old", incarnation: 1, key: key))
    try old.advertise()
    network.run()
    try network.connect(a, old)
    network.expectAllConnected([a, old])
    let new = try network.silentPeer("c", on: try network.host("new", incarnation: 2, key: key))
    try new.browse()
    network.run()
    network.clear()
    try network.connect(new, a)
    network.run(.seconds(20))
    #expect(a.connected == "C")
    #expect(old.take().contains("conflict"))
    #expect(!new.take().contains("conflict"))
  }

  @Test("One key on two hosts: the older is told, though it asks for nothing, once the newer is met")
  func silentConflict() throws {
    let a = try network.testPeer("a")
    let key = network.crypto.key(named: "host shared")
    let old = try network.testPeer("b", on: try network.host("old", incarnation: 1, key: key))
    try a.invite(old)
    network.run(.seconds(1))
    try old.decline()
    network.run(.seconds(1))
    let new = try network.silentPeer("c", on: try network.host("new", incarnation: 2, key: key))
    try new.browse()
    network.run()
    network.clear()
    try network.connect(new, a)
    #expect([a.connected, new.connected] == ["C", "A"])
    #expect(old.take() == ["conflict"])
    #expect(!new.take().contains("conflict"))
  }

  private func introduction(of friend: Rogue, by introducer: Rogue, key: PublicKey) -> Introduction {
    let group = GroupID(introducer.endpoint.raw)
    let incarnation = EndpointIncarnation(host: Incarnation(1), count: 0)
    let signed = Introduction.signedBytes(
      group: group, introducer: introducer.endpoint, introducerIncarnation: incarnation, entries: [friend.entry()])
    return Introduction(
      group: group, introducer: introducer.endpoint, introducerIncarnation: incarnation, entries: [friend.entry()],
      signature: network.crypto.sign(signed, with: key))
  }
}
