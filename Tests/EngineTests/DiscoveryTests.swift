import Testing
import Wire

@testable import Engine

@Suite struct DiscoveryTests {
  let stage = Stage()

  @Test("P-BRO-1 A peer is found once by exactly its type, lost once, and never by itself")
  func foundOnce() throws {
    let a = try stage.silentSeat("a")
    let b = try stage.silentSeat("b")
    try a.advertise()
    try a.browse()
    try b.engine.startAdvertising(b.peer, try ServiceType("chats"), info: .empty, at: stage.now)
    stage.run()
    #expect(a.take() == [])
    try b.advertise()
    try b.advertise()
    stage.run(.seconds(30))
    #expect(a.take() == ["a found b as chat"])
    b.stopAdvertising()
    stage.run()
    #expect(a.take() == ["a lost b"])
    try b.advertise()
    stage.run()
    #expect(a.take() == ["a found b as chat"])
  }

  @Test("P-BRO-1 Peers of one host find each other, and are lost when one is removed")
  func sameHost() throws {
    let a = try stage.silentSeat("a")
    let b = try stage.silentSeat("b", on: a.host)
    try a.browse()
    try a.advertise()
    try b.advertise()
    try b.browse()
    stage.run()
    #expect(a.take() == ["a found b as chat", "b found a as chat"])
    a.engine.removePeer(b.peer, at: stage.now)
    stage.run()
    #expect(a.take() == ["a lost b"])
  }

  @Test("P-BRO-1 Records of one peer by several media are one peer, which is lost with the last of them")
  func severalRecords() throws {
    let a = try stage.silentSeat("a")
    try a.browse()
    let rogue = stage.crypto.key(named: "somebody")
    let sighting = Sighting(
      peer: PeerID(digest: stage.crypto.hash(PeerID.preimage(of: rogue))), host: HostID(digest: stage.crypto.hash([1])),
      type: stage.type, name: try DisplayName("x"), info: .empty, addresses: [])
    stage.call(sighting.peer, "x")
    let records = [SightingID(rawValue: 101), SightingID(rawValue: 102)]
    for record in records { a.engine.sighted(record, sighting, at: stage.now) }
    stage.run()
    #expect(a.take() == ["a found x as chat"])
    a.engine.sightingGone(records[0], at: stage.now)
    stage.run()
    #expect(a.take() == [])
    a.engine.sightingGone(records[1], at: stage.now)
    stage.run()
    #expect(a.take() == ["a lost x"])
  }

  @Test("P-BRO-1 Who browses later is told of who was there before")
  func lateBrowser() throws {
    let a = try stage.seat("a")
    let b = try stage.silentSeat("b", on: a.host)
    let c = try stage.silentSeat("c")
    try b.browse()
    try c.browse()
    stage.run()
    #expect(b.take() == ["b found a as chat"])
    #expect(c.take() == ["c found a as chat"])
  }

  @Test("P-BRO-2 Changed discovery info comes as a change, with no lost and found")
  func changed() throws {
    let a = try stage.silentSeat("a")
    let b = try stage.silentSeat("b", on: a.host)
    let c = try stage.silentSeat("c")
    try a.browse()
    try b.advertise(["room": "1"])
    try c.advertise(["room": "2"])
    stage.run()
    #expect(a.take() == ["a found b as chat room=1", "a found c as chat room=2"])
    try b.advertise(["room": "3"])
    try c.advertise(["room": "4"])
    try c.advertise(["room": "4"])
    stage.run(.seconds(10))
    #expect(a.take() == ["a sees b changed room=3", "a sees c changed room=4"])
  }

  @Test("P-BRO-5 A host whose power goes is lost within eight seconds, and its return is found again")
  func powerCut() throws {
    let a = try stage.silentSeat("a")
    let b = try stage.silentSeat("b")
    try a.browse()
    try b.advertise()
    stage.run(.seconds(100))
    #expect(a.take() == ["a found b as chat"])
    stage.powerOff(b.host)
    stage.run(.seconds(8))
    #expect(a.take() == ["a lost b"])
    stage.run(.seconds(600))
    #expect(a.take() == [])
    let again = try stage.silentSeat("b", on: try stage.host("b", incarnation: 2))
    try again.advertise()
    stage.run(.seconds(4))
    #expect(a.take() == ["a found b as chat"])
    #expect(again.peer == b.peer)
  }

  @Test("P-BRO-5 A host that dies in a session is not connected within five seconds and lost within eight")
  func powerCutInSession() throws {
    let seats = try stage.gather("a", "b")
    stage.powerOff(seats[1].host)
    stage.run(.seconds(5))
    #expect(seats[0].take() == ["A: B suspended", "A: B notConnected lost"])
    stage.run(.seconds(3))
    #expect(seats[0].take() == ["a lost b"])
  }

  @Test("P-BRO-5 A host whose link breaks is asked at once, and lost in six seconds, but not while it is connected")
  func brokenLink() throws {
    let seats = try stage.gather("a", "b")
    stage.walls.insert(["a", "b"])
    stage.cut(seats[0].host, seats[1].host)
    stage.run(.seconds(6))
    #expect(seats[0].take() == ["A: B suspended", "A: B notConnected lost", "a lost b"])
    // A host that is back says so by its link, too.
    stage.heal(seats[0].host, seats[1].host)
    stage.run(.seconds(5))
    #expect(seats[0].take() == ["a found b as chat", "A: B connecting", "A: B connected"])
  }

  @Test("P-BRO-5 Where a tenth of all datagrams is lost, a living host is lost a few times a day")
  func flicker() throws {
    let a = try stage.silentSeat("a")
    let b = try stage.silentSeat("b")
    try a.browse()
    try b.advertise()
    var state: UInt64 = 7
    stage.losesProbe = {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state >> 33 % 100 < 19
    }
    stage.run(.seconds(24 * 3_600))
    let lost = a.take().count { $0 == "a lost b" }
    #expect((1...15).contains(lost))
  }

  @Test("P-BRO-5 Lost probes are no loss: fewer than five in a row tell nothing")
  func fewMisses() throws {
    let a = try stage.silentSeat("a")
    let b = try stage.silentSeat("b")
    try a.browse()
    try b.advertise()
    stage.run(.seconds(1))
    #expect(a.take() == ["a found b as chat"])
    for _ in 0..<10 {
      stage.walls.insert(["a", "b"])
      stage.run(.milliseconds(3_600))
      stage.heal(a.host, b.host)
      stage.run(.milliseconds(6_100))
    }
    #expect(a.take() == [])
  }

  @Test("P-ADV-3 Advertising stops and starts while a session that was joined through it stays")
  func stopAdvertising() throws {
    let seats = try stage.gather("a", "b")
    let (a, b) = (seats[0], seats[1])
    b.stopAdvertising()
    a.stopBrowsing()
    stage.run(.seconds(120))
    #expect(b.take() == [])
    #expect(a.take() == [])
    try a.say("still here")
    stage.run()
    #expect(b.take() == ["B < A: still here"])
    try a.browse()
    stage.run()
    #expect(a.take() == [])
    try b.advertise()
    stage.run()
    #expect(a.take() == ["a found b as chat"])
  }

  @Test("P-ID-2 Two peers of the same name are two peers")
  func sameName() throws {
    let a = try stage.silentSeat("a")
    try a.browse()
    let host = try stage.host("b")
    let twins = try ["one", "two"].map { secret in
      let peer = host.engine.addPeer(stage.crypto.key(named: secret), name: try DisplayName("sam"), at: stage.now)
      stage.call(peer, secret)
      try host.engine.startAdvertising(peer, stage.type, info: .empty, at: stage.now)
      return peer
    }
    stage.run()
    #expect(twins[0] != twins[1])
    #expect(a.take() == ["a found one as chat", "a found two as chat"])
  }

  @Test("P-ID-4 A peer that comes back at once with its stored key stays in place: not lost, not found twice")
  func backInPlace() throws {
    let a = try stage.silentSeat("a")
    let b = try stage.silentSeat("b")
    try a.browse()
    try b.advertise()
    stage.run()
    #expect(a.take() == ["a found b as chat"])
    stage.powerOff(b.host)
    stage.run(.seconds(2))
    let again = try stage.silentSeat("b", on: try stage.host("b", incarnation: 2))
    try again.advertise()
    stage.run(.seconds(60))
    #expect(again.peer == b.peer)
    #expect(a.take() == [])
    try a.invite(again)
    stage.run()
    try again.accept()
    stage.run()
    #expect(a.take() == ["invitation ended: none", "A: B connecting", "A: B connected"])
  }

  @Test("P-BRO-1 A host of many peers tells of them over a link, and a second browse keeps what the first was told")
  func rosters() throws {
    let a = try stage.silentSeat("a")
    let b = try stage.host("b")
    let types = [stage.type, try ServiceType("game")]
    var peers: [PeerID] = []
    for number in 0..<20 {
      let name = "p\(number)"
      let peer = b.engine.addPeer(stage.crypto.key(named: "peer " + name), name: try DisplayName(name), at: stage.now)
      for type in types { try b.engine.startAdvertising(peer, type, info: .empty, at: stage.now) }
      peers.append(peer)
    }
    stage.run()
    for (place, type) in types.enumerated() {
      let id = SightingID(rawValue: UInt64(1_000 + place))
      a.engine.sightedRoster(
        id, of: b.engine.hostID, type: type, addresses: b.engine.settings.addresses, at: stage.now)
      try a.engine.startBrowsing(a.peer, type, at: stage.now)
      stage.run(.seconds(1))
      let told = a.take()
      #expect(told.count == 20)
      #expect(told.allSatisfy { $0.contains(" found ") })
    }
    b.engine.stopAdvertising(peers[3], stage.type, at: stage.now)
    stage.run(.seconds(1))
    #expect(a.take() == ["a lost \(stage.name(peers[3]))"])
    stage.kill(b)
    stage.run(.seconds(1))
    // It may be back at once: its record still stands.
    #expect(a.take() == [])
  }

  @Test("P-BRO-1 A host known by its address alone tells over the link who advertises later, who changes and who stops")
  func fixedHost() throws {
    let a = try stage.silentSeat("a")
    let b = try stage.silentSeat("b")
    stage.hears = { _, _ in false }
    a.engine.sightedRoster(
      SightingID(rawValue: 1_000), of: b.engine.hostID, type: stage.type, addresses: b.engine.settings.addresses,
      at: stage.now)
    try a.browse()
    stage.run(.seconds(2))
    #expect(a.take() == [])
    try b.advertise()
    stage.run(.seconds(1))
    #expect(a.take() == ["a found b as chat"])
    try b.advertise(["room": "2"])
    stage.run(.seconds(1))
    #expect(a.take() == ["a sees b changed room=2"])
    b.stopAdvertising()
    stage.run(.seconds(1))
    #expect(a.take() == ["a lost b"])
  }

  @Test("A host tells of more peers than a stranger may say frames, in pieces, over one link")
  func longRoster() throws {
    let a = try stage.silentSeat("a")
    let b = try stage.host("b")
    let info = try DiscoveryInfo(["text": String(repeating: "x", count: 240)])
    for number in 0..<400 {
      let name = "p\(number)"
      let peer = b.engine.addPeer(stage.crypto.key(named: "peer " + name), name: try DisplayName(name), at: stage.now)
      try b.engine.startAdvertising(peer, stage.type, info: info, at: stage.now)
    }
    stage.run()
    a.engine.sightedRoster(
      SightingID(rawValue: 1_000), of: b.engine.hostID, type: stage.type, addresses: b.engine.settings.addresses,
      at: stage.now)
    try a.engine.startBrowsing(a.peer, stage.type, at: stage.now)
    stage.run(.seconds(2))
    #expect(a.take().count == 400)
    #expect(a.engine.links.values.map(\.ordinal) == [1])
  }
}
