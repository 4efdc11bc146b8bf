import Testing
import Wire

@testable import Engine

@Suite struct AdhocTests {
  let network = TestNetwork()

  /// The log of the ad hoc connection article, step by step, with the end that it should have had.
  @Test("P-SES-7 The nine steps of mutual invitation end in one connection that stands")
  func nineSteps() throws {
    // 1. The simulator starts; its browser and its advertiser find nobody.
    let simulator = try network.testPeer("s")
    network.run(.seconds(10))
    #expect(simulator.take() == [])
    // 2. The phone starts. 3. It finds the simulator and invites it; the simulator has not seen the phone yet.
    network.hears = { listener, _ in listener.name == "p" }
    let phone = try network.silentPeer("p")
    try phone.advertise()
    try phone.browse()
    network.run()
    #expect(phone.take() == ["p found s as chat"])
    try phone.invite(simulator)
    network.run()
    // 4. The simulator accepts, with nobody in its session.
    #expect(simulator.take() == ["s invited by p: "])
    #expect(simulator.connected == "")
    try simulator.accept()
    network.run()
    // 5. The phone gets an event for its session, 6. and so does the simulator.
    #expect(phone.take() == ["invitation ended: none", "P: S connecting", "P: S connected"])
    #expect(simulator.take() == ["invitation ended: none", "S: P connecting", "S: P connected"])
    // 7. The simulator finds the phone, and invites it though they are connected.
    network.hears = { _, _ in true }
    try phone.advertise(["late": "yes"])
    network.run()
    #expect(simulator.take() == ["s found p as chat late=yes"])
    try simulator.invite(phone)
    network.run(.seconds(30))
    // It is answered that they are connected already, and no connection is reported lost.
    #expect(simulator.take() == ["invitation ended: already"])
    #expect(phone.take() == [])
    network.expectAllConnected([simulator, phone])
    try simulator.say("so far so good")
    network.run()
    #expect(phone.take() == ["P < S: so far so good"])
  }

  @Test("P-SES-7 Ad hoc mode takes nothing from a browser of the same peer, nor that from it")
  func besideBrowser() throws {
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b")
    try b.advertise()
    try a.startAdhoc()
    network.run()
    _ = a.take()
    // A later browser is shown the present peers.
    try a.browse()
    network.run()
    #expect(a.take() == ["a found b as chat"])
    a.engine.stopAdhoc(a.endpoint, at: network.now)
    b.stopAdvertising()
    network.run()
    #expect(a.take() == ["a lost b"])
    try a.startAdhoc()
    a.stopBrowsing()
    try b.startAdhoc()
    network.run(.seconds(10))
    #expect(a.take().contains("A: B connected"))
  }

  @Test("P-SES-7 Ad hoc mode ends no advertising of the same peer, nor that ad hoc mode's")
  func besideAdvertiser() throws {
    let a = try network.silentPeer("a")
    let other = try network.testPeer("A2", of: a.peer, on: a.host)
    let b = try network.silentPeer("b")
    try b.browse()
    try a.advertise(["by": "hand"])
    network.run()
    #expect(b.take() == ["b found a as chat by=hand"])
    // Its discovery info goes before that of a session, which has none.
    try a.startAdhoc()
    network.run()
    a.engine.closeSession(a.endpoint, at: network.now)
    network.run()
    #expect(b.take().isEmpty)
    // Nor do two sessions of one peer.
    let last = try network.testPeer("A3", of: a.peer, on: a.host)
    try other.startAdhoc()
    try last.startAdhoc()
    a.stopAdvertising()
    other.engine.stopAdhoc(other.endpoint, at: network.now)
    network.run()
    #expect(b.take() == ["b sees a changed"])
    last.engine.stopAdhoc(last.endpoint, at: network.now)
    network.run()
    #expect(b.take() == ["b lost a"])
  }

  @Test(
    "P-SES-7 Invitations that wait for a person are accepted when the person chooses ad hoc mode",
    arguments: [true, false])
  func waiting(isLower: Bool) throws {
    let (asks, invites) = isLower ? ("a", "b") : ("b", "a")
    let asked = try network.silentPeer(asks)
    try asked.advertise()
    let adhoc = try network.silentPeer(invites)
    try adhoc.startAdhoc()
    let inviter = try network.silentPeer("c")
    try inviter.browse()
    network.run(.seconds(5))
    try inviter.invite(asked)
    network.run(.seconds(1))
    #expect(asked.take().count { $0.contains("invited by") } == 2)
    asked.stopAdvertising()
    try asked.startAdhoc()
    network.run(.seconds(2))
    network.expectAllConnected([asked, adhoc, inviter])
    #expect(asked.take().count { $0.contains("invited by") } == 0)
  }

  @Test("P-SES-7 Two peers in ad hoc mode connect once, by one invitation of the lower")
  func two() throws {
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b")
    try a.startAdhoc()
    try b.startAdhoc()
    network.run(.seconds(120))
    for (me, other) in [(a, b), (b, a)] {
      let states = me.take().filter { $0.hasPrefix("\(me.name.uppercased()):") }
      let name = other.name.uppercased()
      #expect(states == ["\(me.name.uppercased()): \(name) connecting", "\(me.name.uppercased()): \(name) connected"])
    }
  }

  @Test("P-SES-7 Two hosts of which one hears the other connect within five seconds", arguments: ["a", "b"])
  func oneWay(deaf: String) throws {
    network.hears = { listener, _ in listener.name != deaf }
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b")
    try a.startAdhoc()
    try b.startAdhoc()
    network.run(.seconds(5))
    network.expectAllConnected([a, b])
  }

  @Test("P-SES-7 Invitations that wait are declined one after another by a session that is locked")
  func waitingForLocked() throws {
    let asked = try network.silentPeer("a")
    try asked.advertise()
    let inviters = try ["b", "c", "d"].map { try network.silentPeer($0) }
    for inviter in inviters { try inviter.browse() }
    network.run(.seconds(1))
    for inviter in inviters { try inviter.invite(asked) }
    network.run(.seconds(1))
    asked.engine.lock(asked.endpoint, true, at: network.now)
    try asked.startAdhoc()
    network.run(.seconds(2))
    for inviter in inviters { #expect(inviter.take().contains("invitation ended: locked")) }
  }

  @Test(
    "P-SES-7 Eight peers that start together: 28 pairs, each connected once and none told otherwise",
    arguments: [0, 40])
  func eight(milliseconds: Int) throws {
    network.latency = .milliseconds(milliseconds)
    let peers = try ["a", "b", "c", "d", "e", "f", "g", "h"].map { try network.silentPeer($0) }
    for peer in peers {
      try peer.startAdhoc()
      network.run(.milliseconds(10))
    }
    network.run(.seconds(5))
    network.expectAllConnected(peers)
    network.run(.seconds(30))
    for peer in peers {
      let told = peer.take().filter { $0.hasPrefix("\(peer.name.uppercased()): ") }
      #expect(told.filter { $0.hasSuffix(" connected") }.count == 7, "of \(peer.name)")
      #expect(told.count == 14, "of \(peer.name): \(told)")
    }
  }

  @Test("P-SES-7 Peers of one host and of others connect alike")
  func mixedHosts() throws {
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b", on: a.host)
    let c = try network.silentPeer("c")
    let d = try network.silentPeer("d", on: c.host)
    let e = try network.silentPeer("e")
    let peers = [a, b, c, d, e]
    for peer in peers { try peer.startAdhoc() }
    network.run(.seconds(10))
    network.expectAllConnected(peers)
  }

  @Test("P-SES-7 A peer that comes later is taken in by all, and one that stops stays connected")
  func later() throws {
    let peers = try ["a", "b", "c"].map { try network.silentPeer($0) }
    for peer in peers.prefix(2) { try peer.startAdhoc() }
    network.run(.seconds(20))
    try peers[2].startAdhoc()
    network.run(.seconds(5))
    network.expectAllConnected(peers)
    network.clear()
    peers[0].engine.stopAdhoc(peers[0].endpoint, at: network.now)
    network.run(.seconds(60))
    network.expectAllConnected(peers)
    #expect(peers[0].take() == [])
  }

  @Test("P-SES-7 Peers of one host come together by one invitation each, also one whom one of them has blocked")
  func oneHost() throws {
    let first = try network.silentPeer("p0")
    let peers = try [first] + (1..<40).map { try network.silentPeer("p\($0)", on: first.host) }
    first.engine.block(peers[39].peer, from: first.endpoint, true, at: network.now)
    for peer in peers {
      try peer.startAdhoc()
      network.run(.milliseconds(5))
    }
    network.run(.seconds(10))
    let counts = peers.map { $0.engine.connectedMembers(of: $0.endpoint).count }
    #expect(counts == [38] + Array(repeating: 39, count: 38) + [38])
    #expect(first.engine.outgoing.count == 39)
  }

  @Test("P-SES-7 Two hundred peers of one host that start at the same moment are together within ten seconds")
  func atOnce() throws {
    let first = try network.silentPeer("p0")
    let peers = try [first] + (1..<200).map { try network.silentPeer("p\($0)", on: first.host) }
    for peer in peers { try peer.startAdhoc() }
    network.run(.seconds(10))
    #expect(peers.allSatisfy { $0.engine.connectedMembers(of: $0.endpoint).count == 199 })
  }

  @Test("P-SES-7 Peers of several hosts come together by a few invitations, not by one for each pair")
  func crowds() throws {
    let firsts = try (0..<3).map { try network.silentPeer("h\($0)p0") }
    var peers = firsts
    for number in 1..<60 {
      for (place, first) in firsts.enumerated() {
        peers.append(try network.silentPeer("h\(place)p\(number)", on: first.host))
      }
    }
    for peer in peers {
      try peer.startAdhoc()
      network.run(.milliseconds(5))
    }
    network.run(.seconds(20))
    #expect(peers.allSatisfy { $0.engine.connectedMembers(of: $0.endpoint).count == 179 })
    // One for each newcomer by its own host, and some between hosts, of which each pair of peers would be 10,800.
    #expect(firsts.reduce(0) { $0 + $1.engine.outgoing.count } < 3 * 60 + 200)
    #expect(firsts.allSatisfy { $0.engine.endpoints[$0.endpoint]?.group.turns.isEmpty ?? false })
  }

  @Test("P-SES-7 A peer that most of a group have blocked is invited by the one that has not")
  func rotation() throws {
    // Only the last of many may invite the peer of the other host.
    let first = try network.silentPeer("p0")
    let peers = try [first] + (1..<20).map { try network.silentPeer("p\($0)", on: first.host) }
    let other = try network.silentPeer("q")
    for peer in peers.dropLast() { peer.engine.block(other.peer, from: peer.endpoint, true, at: network.now) }
    for peer in peers + [other] {
      try peer.startAdhoc()
      network.run(.milliseconds(5))
    }
    network.run(.seconds(10))
    #expect(other.engine.connectedMembers(of: other.endpoint).count == 1)
  }

  @Test("P-SES-7 Sessions of one host that are apart by a lock come together once it is lifted")
  func unlocked() throws {
    let first = try network.silentPeer("p0")
    let peers = try [first] + (1..<4).map { try network.silentPeer("p\($0)", on: first.host) }
    first.engine.lock(first.endpoint, true, at: network.now)
    for peer in peers { try peer.startAdhoc() }
    network.run(.seconds(10))
    #expect(peers.map { $0.engine.connectedMembers(of: $0.endpoint).count } == [0, 2, 2, 2])
    first.engine.lock(first.endpoint, false, at: network.now)
    network.run(.seconds(10))
    network.expectAllConnected(peers)
  }

  @Test("P-SES-7 In a crowd that has formed nobody is left to invite, until one is lost")
  func idle() throws {
    let peers = try ["a", "b", "c", "d"].map { try network.silentPeer($0) }
    for peer in peers { try peer.startAdhoc() }
    var waiting: [Int] { peers.map { $0.engine.endpoints[$0.endpoint]?.group.turns.count ?? -1 } }
    network.run(.seconds(10))
    network.expectAllConnected(peers)
    #expect(waiting == [0, 0, 0, 0])
    try peers[0].remove(peers[1])
    network.run()
    #expect(waiting == [1, 1, 0, 0])
  }
}
