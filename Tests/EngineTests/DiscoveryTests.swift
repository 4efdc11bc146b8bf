import Testing
import Wire

@testable import Engine

@Suite struct DiscoveryTests {
  let network = TestNetwork()

  @Test("P-BRO-1 A peer is found once by exactly its type, lost once, and never by itself")
  func foundOnce() throws {
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b")
    try a.advertise()
    try a.browse()
    try b.engine.startAdvertising(b.peer, try ServiceType("chats"), info: .empty, at: network.now)
    network.run()
    #expect(a.take() == [])
    try b.advertise()
    try b.advertise()
    network.run(.seconds(30))
    #expect(a.take() == ["a found b as chat"])
    b.stopAdvertising()
    network.run()
    #expect(a.take() == ["a lost b"])
    try b.advertise()
    network.run()
    #expect(a.take() == ["a found b as chat"])
  }

  @Test("P-BRO-1 Peers of one host find each other, and are lost when one is removed")
  func sameHost() throws {
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b", on: a.host)
    try a.browse()
    try a.advertise()
    try b.advertise()
    try b.browse()
    network.run()
    #expect(a.take() == ["a found b as chat", "b found a as chat"])
    a.engine.removePeer(b.peer, at: network.now)
    network.run()
    #expect(a.take() == ["a lost b"])
  }

  @Test("P-BRO-1 Records of one peer by several media are one peer, which is lost with the last of them")
  func severalRecords() throws {
    let a = try network.silentPeer("a")
    try a.browse()
    let rogue = network.crypto.key(named: "somebody")
    let sighting = Sighting(
      peer: PeerID(digest: network.crypto.hash(PeerID.preimage(of: rogue))),
      host: HostID(digest: network.crypto.hash([1])),
      type: network.type, name: try DisplayName("x"), info: .empty, addresses: [])
    network.call(sighting.peer, "x")
    let records = [SightingID(rawValue: 101), SightingID(rawValue: 102)]
    for record in records { a.engine.sighted(record, sighting, at: network.now) }
    network.run()
    #expect(a.take() == ["a found x as chat"])
    a.engine.sightingGone(records[0], at: network.now)
    network.run()
    #expect(a.take() == [])
    a.engine.sightingGone(records[1], at: network.now)
    network.run()
    #expect(a.take() == ["a lost x"])
  }

  @Test("P-BRO-1 A later browser finds the peers that were there before")
  func lateBrowser() throws {
    let a = try network.testPeer("a")
    let b = try network.silentPeer("b", on: a.host)
    let c = try network.silentPeer("c")
    try b.browse()
    try c.browse()
    network.run()
    #expect(b.take() == ["b found a as chat"])
    #expect(c.take() == ["c found a as chat"])
  }

  @Test("P-BRO-2 Changed discovery info comes as a change, with no lost and found")
  func changed() throws {
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b", on: a.host)
    let c = try network.silentPeer("c")
    try a.browse()
    try b.advertise(["room": "1"])
    try c.advertise(["room": "2"])
    network.run()
    #expect(a.take() == ["a found b as chat room=1", "a found c as chat room=2"])
    try b.advertise(["room": "3"])
    try c.advertise(["room": "4"])
    try c.advertise(["room": "4"])
    network.run(.seconds(10))
    #expect(a.take() == ["a sees b changed room=3", "a sees c changed room=4"])
  }

  @Test("P-BRO-5 A host whose power goes is lost within eight seconds, and its return is found again")
  func powerCut() throws {
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b")
    try a.browse()
    try b.advertise()
    network.run(.seconds(100))
    #expect(a.take() == ["a found b as chat"])
    network.powerOff(b.host)
    network.run(.seconds(8))
    #expect(a.take() == ["a lost b"])
    network.run(.seconds(600))
    #expect(a.take() == [])
    let again = try network.silentPeer("b", on: try network.host("b", incarnation: 2))
    try again.advertise()
    network.run(.seconds(4))
    #expect(a.take() == ["a found b as chat"])
    #expect(again.peer == b.peer)
  }

  @Test("P-BRO-5 A host that dies in a session is not connected within five seconds and lost within eight")
  func powerCutInSession() throws {
    let testPeers = try network.gather("a", "b")
    network.powerOff(testPeers[1].host)
    network.run(.seconds(5))
    #expect(testPeers[0].take() == ["A: B suspended", "A: B notConnected lost"])
    network.run(.seconds(3))
    #expect(testPeers[0].take() == ["a lost b"])
  }

  @Test("P-BRO-5 A host whose link breaks is asked at once, and lost in six seconds, but not while it is connected")
  func brokenLink() throws {
    let testPeers = try network.gather("a", "b")
    network.walls.insert(["a", "b"])
    network.cut(testPeers[0].host, testPeers[1].host)
    network.run(.seconds(6))
    #expect(testPeers[0].take() == ["A: B suspended", "A: B notConnected lost", "a lost b"])
    // A host that is back says so by its link, too.
    network.heal(testPeers[0].host, testPeers[1].host)
    network.run(.seconds(5))
    #expect(testPeers[0].take() == ["a found b as chat", "A: B connecting", "A: B connected"])
  }

  @Test("P-BRO-5 With a tenth of all datagrams lost, a living host is lost a few times a day")
  func flicker() throws {
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b")
    try a.browse()
    try b.advertise()
    var state: UInt64 = 7
    network.losesProbe = {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state >> 33 % 100 < 19
    }
    network.run(.seconds(24 * 3_600))
    let lost = a.take().count { $0 == "a lost b" }
    #expect((1...15).contains(lost))
  }

  @Test("P-BRO-5 Lost probes are no loss: fewer than five in a row tell nothing")
  func fewMisses() throws {
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b")
    try a.browse()
    try b.advertise()
    network.run(.seconds(1))
    #expect(a.take() == ["a found b as chat"])
    for _ in 0..<10 {
      network.walls.insert(["a", "b"])
      network.run(.milliseconds(3_600))
      network.heal(a.host, b.host)
      network.run(.milliseconds(6_100))
    }
    #expect(a.take() == [])
  }

  @Test("P-ADV-3 Advertising stops and starts while a session that was joined through it stays")
  func stopAdvertising() throws {
    let testPeers = try network.gather("a", "b")
    let (a, b) = (testPeers[0], testPeers[1])
    b.stopAdvertising()
    a.stopBrowsing()
    network.run(.seconds(120))
    #expect(b.take() == [])
    #expect(a.take() == [])
    try a.say("still here")
    network.run()
    #expect(b.take() == ["B < A: still here"])
    try a.browse()
    network.run()
    #expect(a.take() == [])
    try b.advertise()
    network.run()
    #expect(a.take() == ["a found b as chat"])
  }

  @Test("P-ID-2 Two peers of the same name are two peers")
  func sameName() throws {
    let a = try network.silentPeer("a")
    try a.browse()
    let host = try network.host("b")
    let twins = try ["one", "two"].map { secret in
      let peer = host.engine.addPeer(network.crypto.key(named: secret), name: try DisplayName("sam"), at: network.now)
      network.call(peer, secret)
      try host.engine.startAdvertising(peer, network.type, info: .empty, at: network.now)
      return peer
    }
    network.run()
    #expect(twins[0] != twins[1])
    #expect(a.take() == ["a found one as chat", "a found two as chat"])
  }

  @Test("P-ID-4 A peer that comes back at once with its stored key stays in place: not lost, not found twice")
  func backInPlace() throws {
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b")
    try a.browse()
    try b.advertise()
    network.run()
    #expect(a.take() == ["a found b as chat"])
    network.powerOff(b.host)
    network.run(.seconds(2))
    let again = try network.silentPeer("b", on: try network.host("b", incarnation: 2))
    try again.advertise()
    network.run(.seconds(60))
    #expect(again.peer == b.peer)
    #expect(a.take() == [])
    try a.invite(again)
    network.run()
    try again.accept()
    network.run()
    #expect(a.take() == ["invitation ended: none", "A: B connecting", "A: B connected"])
  }

  @Test("P-BRO-1 A host of many peers tells of them over a link, and a second browse keeps what the first was told")
  func rosters() throws {
    let a = try network.silentPeer("a")
    let b = try network.host("b")
    let types = [network.type, try ServiceType("game")]
    var peers: [PeerID] = []
    for number in 0..<20 {
      let name = "p\(number)"
      let peer = b.engine.addPeer(
        network.crypto.key(named: "peer " + name), name: try DisplayName(name), at: network.now)
      for type in types { try b.engine.startAdvertising(peer, type, info: .empty, at: network.now) }
      peers.append(peer)
    }
    network.run()
    for (place, type) in types.enumerated() {
      let id = SightingID(rawValue: UInt64(1_000 + place))
      a.engine.sightedRoster(
        id, of: b.engine.hostID, type: type, addresses: b.engine.settings.addresses, at: network.now)
      try a.engine.startBrowsing(a.peer, type, at: network.now)
      network.run(.seconds(1))
      let told = a.take()
      #expect(told.count == 20)
      #expect(told.allSatisfy { $0.contains(" found ") })
    }
    b.engine.stopAdvertising(peers[3], network.type, at: network.now)
    network.run(.seconds(1))
    #expect(a.take() == ["a lost \(network.name(peers[3]))"])
    network.kill(b)
    network.run(.seconds(1))
    // It may be back at once: its record still stands.
    #expect(a.take() == [])
  }

  @Test("P-BRO-1 A host known by its address alone tells over the link who advertises later, who changes and who stops")
  func fixedHost() throws {
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b")
    network.hears = { _, _ in false }
    a.engine.sightedRoster(
      SightingID(rawValue: 1_000), of: b.engine.hostID, type: network.type, addresses: b.engine.settings.addresses,
      at: network.now)
    try a.browse()
    network.run(.seconds(2))
    #expect(a.take() == [])
    try b.advertise()
    network.run(.seconds(1))
    #expect(a.take() == ["a found b as chat"])
    try b.advertise(["room": "2"])
    network.run(.seconds(1))
    #expect(a.take() == ["a sees b changed room=2"])
    b.stopAdvertising()
    network.run(.seconds(1))
    #expect(a.take() == ["a lost b"])
  }

  @Test("P-BRO-1 A peer that a host reported over a link, without a record of its own, is lost with the link")
  func reportsWithoutRecord() throws {
    let a = try network.silentPeer("a")
    let b = try network.silentPeer("b")
    let c = try network.silentPeer("c", on: b.host)
    try a.browse()
    try b.advertise()
    // The host of an away peer has a record of its own.
    try b.engine.setAway(b.peer, since: network.now, at: network.now)
    network.run(.seconds(1))
    _ = a.take()
    network.hears = { _, _ in false }
    b.stopAdvertising()
    network.run(.seconds(1))
    try c.advertise()
    network.run(.seconds(1))
    #expect(a.take() == ["a lost b", "a found c as chat"])
    network.walls.insert(["a", "b"])
    network.cut(a.host, b.host)
    c.stopAdvertising()
    network.run(.seconds(20))
    network.heal(a.host, b.host)
    network.run(.seconds(20))
    #expect(a.take() == ["a lost c"])
  }

  @Test("A host tells of more peers than a stranger may say frames, in pieces, over one link")
  func longRoster() throws {
    let a = try network.silentPeer("a")
    let b = try network.host("b")
    let info = try DiscoveryInfo(["text": String(repeating: "x", count: 240)])
    for number in 0..<400 {
      let name = "p\(number)"
      let peer = b.engine.addPeer(
        network.crypto.key(named: "peer " + name), name: try DisplayName(name), at: network.now)
      try b.engine.startAdvertising(peer, network.type, info: info, at: network.now)
    }
    network.run()
    a.engine.sightedRoster(
      SightingID(rawValue: 1_000), of: b.engine.hostID, type: network.type, addresses: b.engine.settings.addresses,
      at: network.now)
    try a.engine.startBrowsing(a.peer, network.type, at: network.now)
    network.run(.seconds(2))
    #expect(a.take().count == 400)
    #expect(a.engine.links.values.map(\.ordinal) == [1])
  }
}
