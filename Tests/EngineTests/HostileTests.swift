import Testing
import Wire

@testable import Engine

/// A hostile host, against the rules and within them: it costs the others nothing but its link.
@Suite struct HostileTests {
  let network = TestNetwork()

  // MARK: Numbers and texts

  @Test("Positions beyond all numbers begin the bond anew", arguments: [UInt64.max, UInt64.max - 1])
  func positions(number: UInt64) throws {
    let rogue = Rogue("r", to: try network.host("a"), on: network)
    rogue.greet()
    let theirs = try #require(rogue.last(Hello.self)).bond
    rogue.say(Attach(bond: 7, expects: theirs, received: number, first: number, next: number))
    #expect(!rogue.isClosed)
    #expect(rogue.frames.filter { $0.type == .hello }.count == 2)
  }

  @Test("A violation is told in few bytes, however many a character of its text has")
  func longCharacters() throws {
    let rogue = Rogue("r", to: try network.host("a"), on: network)
    rogue.attach()
    var body = ArraySink()
    network.type.encode(into: &body)
    rogue.peer.encode(into: &body)
    try DisplayName("r").encode(into: &body)
    body.put(count: 1, max: 1)
    body.put(text: "e" + String(repeating: "\u{301}", count: 120), max: 255)
    body.put(text: "", max: 0)
    var frame = ArraySink()
    frame.put(count: body.bytes.count + 1, max: 1_000)
    frame.put(u8: FrameType.advertised.rawValue)
    rogue.say(bytes: frame.bytes + body.bytes)
    #expect(rogue.ending == .protocolViolation)
    #expect(rogue.last(Bye.self) != nil)
  }

  @Test("The highest rank is the last there is")
  func rank() throws {
    let a = try network.testPeer("a")
    let rogue = Rogue("r", to: a.host, on: network)
    rogue.attach()
    var entry = rogue.entry()
    entry.rank = .max
    rogue.say(rogue.invitation(a, entry: entry))
    try a.accept()
    network.run()
    rogue.say(Confirm(id: 1, reason: .none, rank: .max))
    rogue.say(rogue.join(a, entry: entry))
    let b = try network.testPeer("b")
    try network.connect(a, b)
    #expect(a.connected.contains("B"))
  }

  @Test("Two endpoints of one host never share a number")
  func sharedNumber() throws {
    let a = try network.testPeer("a")
    let rogue = Rogue("r", to: a.host, on: network)
    try rogue.enter(with: a)
    var second = rogue.entry()
    second.endpoint = EndpointID(ID128(high: 1, low: 2))
    let ticket = introduction(of: [second], by: rogue)
    rogue.say(rogue.join(a, index: 1, entry: second, tickets: [ticket]))
    #expect(rogue.ending == .protocolViolation)
  }

  @Test("A member that changes its number keeps only the last")
  func changingNumber() throws {
    let a = try network.testPeer("a")
    let rogue = Rogue("r", to: a.host, on: network)
    try rogue.enter(with: a)
    for index in UInt32(2)...50 { rogue.say(rogue.join(a, index: index)) }
    #expect(!rogue.isClosed)
    #expect(a.engine.hosts[rogue.host]?.bond?.members.count == 1)
  }

  // MARK: Claims of others

  @Test("Nobody takes the place of a host's own endpoint")
  func ownEndpoint() throws {
    let a = try network.testPeer("a")
    let b = try network.testPeer("b", on: a.host)
    let rogue = Rogue("r", to: a.host, on: network)
    try rogue.enter(with: a)
    var entry = rogue.entry()
    entry.endpoint = b.endpoint
    rogue.say(Introduce(record: rogue.head(), spread: true, introduction: introduction(of: [entry], by: rogue)))
    #expect(a.engine.endpoints[a.endpoint]?.group.members[b.endpoint] == nil)
    try network.connect(a, b)
    #expect(b.connected.contains("A"))
  }

  /// A member of a's session that can send any claims about the honest newcomer c, who is invited by b, before it
  /// comes.
  private func slanderer() throws -> (peers: [TestPeer], c: TestPeer, rogue: Rogue) {
    let peers = try network.gather("a", "b")
    let c = try network.testPeer("c")
    let rogue = Rogue("r", to: peers[0].host, on: network)
    try rogue.enter(with: peers[0])
    network.clear()
    return (peers, c, rogue)
  }

  private func slander(_ peer: TestPeer, host: HostID? = nil, count: UInt32) -> Entry {
    let local = peer.engine.endpoints[peer.endpoint]!  // it was made for this stage
    var entry = peer.engine.entry(of: local)
    entry.incarnation.count += count
    entry.host = host ?? entry.host
    return entry
  }

  @Test("A member's lies about another's incarnation or host keep nobody out", arguments: [false, true])
  func displaced(isElsewhere: Bool) throws {
    let (peers, c, rogue) = try slanderer()
    let entry = slander(c, host: isElsewhere ? rogue.host : nil, count: 5)
    rogue.say(Introduce(record: rogue.head(), spread: true, introduction: introduction(of: [entry], by: rogue)))
    #expect(peers[0].engine.endpoints[peers[0].endpoint]?.group.members[c.endpoint] != nil)
    try network.connect(peers[1], c)
    network.run(.seconds(1))
    #expect(peers[0].connected == "B C R")
    #expect(c.connected == "A B")
  }

  @Test("An endpoint that a member claims for another peer is its own peer's once that has come")
  func claimed() throws {
    let (peers, c, rogue) = try slanderer()
    var entry = rogue.entry()
    entry.endpoint = c.endpoint
    rogue.say(Introduce(record: rogue.head(), spread: true, introduction: introduction(of: [entry], by: rogue)))
    #expect(peers[0].engine.endpoints[peers[0].endpoint]?.group.members[c.endpoint]?.peer == rogue.peer)
    try network.connect(peers[1], c)
    network.run(.seconds(20))
    network.expectAllConnected([peers[0], peers[1], c])
  }

  @Test("A member's lies about one who is connected change nothing")
  func slandered() throws {
    let (peers, _, rogue) = try slanderer()
    for host in [nil, rogue.host] {
      let entry = slander(peers[1], host: host, count: 5)
      rogue.say(Introduce(record: rogue.head(), spread: true, introduction: introduction(of: [entry], by: rogue)))
    }
    network.run(.seconds(1))
    #expect(peers[0].connected == "B R")
    try peers[1].say("still here")
    network.run(.seconds(1))
    #expect(peers[0].heard == ["B"])
  }

  @Test("Invented members of the lowest rank and limit put nobody out, and leave room for who comes")
  func invented() throws {
    let (peers, c, rogue) = try slanderer()
    for batch in 0..<20 {
      let entries = (0..<20).map { number in
        var entry = rogue.entry()
        entry.endpoint = EndpointID(ID128(high: 0, low: UInt64(batch * 20 + number + 1)))
        entry.inviter = entry.endpoint
        entry.terms.peersMax = 2
        return entry
      }
      rogue.say(Introduce(record: rogue.head(), spread: false, introduction: introduction(of: entries, by: rogue)))
    }
    #expect(peers[0].connected == "B R")
    #expect(peers[1].connected == "A")
    try network.connect(peers[1], c)
    network.run(.seconds(2))
    #expect(c.connected == "A B")
  }

  @Test("A member that lowers its limit under the number of those before it leaves itself")
  func lowered() throws {
    let (peers, _, rogue) = try slanderer()
    var entry = rogue.entry()
    entry.rank = 9
    entry.terms.peersMax = 2
    rogue.say(rogue.join(peers[0], entry: entry))
    network.run(.seconds(1))
    #expect(peers[0].connected == "B")
    #expect(peers[1].connected == "A")
  }

  @Test("Invented hosts are dialled some at a time")
  func inventedHosts() throws {
    let (peers, _, rogue) = try slanderer()
    var dials = 0
    for batch in 0..<10 {
      let entries = try (0..<24).map { number in
        var entry = rogue.entry()
        let word = UInt64(batch * 24 + number + 1)
        entry.endpoint = EndpointID(ID128(high: 0, low: word))
        entry.host = HostID(ID128(high: 0, low: word))
        entry.addresses = [try Address(text: "nowhere \(word)")]
        return entry
      }
      let frame = Introduce(record: rogue.head(), spread: false, introduction: introduction(of: entries, by: rogue))
      let bytes = frame.encoded()
      peers[0].engine.received(bytes.span.bytes, on: rogue.link, at: network.now)
    }
    while let output = peers[0].engine.nextOutput() { if case .dial = output { dials += 1 } }
    #expect(dials == 64)
  }

  @Test("However much is said and shown of a host, it is dialled where it said itself, and the list is bounded")
  func hearsay() throws {
    let (peers, _, _) = try slanderer()
    let (engine, type) = (peers[0].engine, network.type)
    let host = try #require(engine.hosts[peers[1].engine.hostID])
    for number in 0..<100 {
      host.learn(byHearsay: [try Address(text: "lie \(number)")])
      let sighting = Sighting(
        peer: PeerID(ID128(high: 9, low: UInt64(number))), host: host.id, type: type, name: try DisplayName("x"),
        info: .empty, addresses: [try Address(text: "show \(number)")])
      engine.sighted(SightingID(rawValue: UInt64(10_000 + number)), sighting, at: network.now)
    }
    let addresses = engine.addresses(of: host).map(\.description)
    #expect(addresses.count == 17)
    #expect(addresses.prefix(2) == ["show 99", "show 98"])
    #expect(addresses.firstIndex(of: "b") == 8)
    #expect(addresses.last == "lie 7")
  }

  @Test("A decision outlives that its group becomes part of another")
  func movedDecision() throws {
    var settings = SessionSettings()
    settings.trust = .ask(timeout: .seconds(60))
    let a = try network.testPeer("a", settings)
    let b = try network.testPeer("b", on: a.host)
    let rogue = Rogue("r", to: a.host, on: network)
    rogue.attach()
    rogue.say(rogue.invitation(a))
    try a.accept()
    network.run()
    rogue.say(Confirm(id: 1, reason: .none, rank: 1))
    rogue.say(rogue.join(a))
    let asked = try #require(a.lastDecision)
    try b.invite(a)
    network.run()
    try a.accept()
    network.run(.milliseconds(100))
    #expect(a.engine.endpoints[a.endpoint]?.group === b.engine.endpoints[b.endpoint]?.group)
    try a.engine.decide(asked, false, at: network.now)
    network.run()
    #expect(a.take().contains("A: R notConnected untrusted"))
  }

  // MARK: Without bound

  @Test("An invitation that ended early is forgotten")
  func endedInvitations() throws {
    let a = try network.testPeer("a")
    let b = try network.testPeer("b")
    for _ in 0..<3 {
      try a.invite(b, timeout: .seconds(10))
      network.run(.seconds(1))
      try b.decline()
    }
    network.run(.seconds(120))
    #expect(a.engine.outgoing.isEmpty)
    #expect(b.engine.incoming.isEmpty)
  }

  @Test("A peer that invites and cancels for ever does not use memory for ever")
  func takenBack() throws {
    let a = try network.testPeer("a")
    let rogue = Rogue("r", to: a.host, on: network)
    rogue.attach()
    for id in UInt64(1)...300 {
      rogue.say(rogue.invitation(a, id: id), Cancel(id: id, reason: .cancelled))
      network.run(.milliseconds(50))
    }
    #expect(!rogue.isClosed)
    #expect(a.engine.incoming.count <= 65)
  }

  @Test("A group remembers only so many who left")
  func departed() throws {
    let group = Group(
      serial: 1, label: GroupID(ID128(high: 1, low: 1)), dirty: try network.host("a").engine.dirty)
    let incarnation = EndpointIncarnation(host: Incarnation(1), count: 0)
    for number in UInt64(1)...10_000 {
      group.noteDeparture(of: EndpointID(ID128(high: 0, low: number)), incarnation)
      #expect(group.departed.count <= 4_096)
    }
    #expect(group.departed.contains(EndpointID(ID128(high: 0, low: 10_000))))
  }

  @Test("A host holds only so many links")
  func manyLinks() throws {
    let a = try network.host("a")
    let rogues = (0..<40).map { _ in Rogue("r", to: a, on: network) }
    #expect(rogues.filter { !$0.isClosed }.count == 16)
    #expect(rogues.last?.ending == .busy)
  }

  @Test("Hosts that came and went are forgotten")
  func passingHosts() throws {
    let a = try network.testPeer("a")
    for number in 0..<20 {
      let rogue = Rogue("r\(number)", to: a.host, on: network)
      rogue.attach()
      a.engine.linkClosed(rogue.link, at: network.now)
    }
    network.run(.seconds(30))
    #expect(a.engine.hosts.count <= 1)
  }

  // MARK: Local peers

  @Test("Local peers may invite each other as often as they like")
  func localInvitations() throws {
    let a = try network.testPeer("a")
    let b = try network.silentPeer("b", on: a.host)
    for _ in 0..<400 { try a.invite(b) }
    network.run()
    #expect(!a.take().isEmpty)
  }

  @Test(
    "A security identity that no frame can carry is refused",
    arguments: [[], [9, 1], [1, 5_000], [4, 4_000]] as [[Int]])
  func wrongIdentity(shape: [Int]) throws {
    let a = try network.silentPeer("a")
    let chain = shape.isEmpty ? [] : [[UInt8]](repeating: [UInt8](repeating: 1, count: shape[1]), count: shape[0])
    var settings = SessionSettings()
    settings.identity = SecurityIdentity(id: IdentityID(rawValue: 1), chain: chain)
    #expect(throws: EngineError.self) { try a.engine.openSession(a.peer, settings, at: network.now) }
  }

  private func introduction(of entries: [Entry], by rogue: Rogue) -> Introduction {
    let own = rogue.entry()
    let signed = Introduction.signedBytes(
      group: GroupID(own.endpoint.raw), introducer: own.endpoint, introducerIncarnation: own.incarnation,
      entries: entries)
    return Introduction(
      group: GroupID(own.endpoint.raw), introducer: own.endpoint, introducerIncarnation: own.incarnation,
      entries: entries, signature: network.crypto.sign(signed, with: rogue.peerKey))
  }
}
