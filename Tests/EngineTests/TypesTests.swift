import Testing
import Wire

@testable import Engine

@Suite struct TypesTests {
  let network = TestNetwork()

  /// A peer on a host of its own that others see as a host.
  private func testPeer(_ name: String, advertising types: String...) throws -> TestPeer {
    let peer = try network.silentPeer(name)
    for type in types { try advertise(type, peer) }
    network.publishRoster(.hosts, by: peer.host)
    return peer
  }

  private func advertise(_ type: String, _ peer: TestPeer) throws {
    try peer.engine.startAdvertising(peer.peer, try ServiceType(type), info: .empty, at: network.now)
  }

  private func look(_ peer: TestPeer) { peer.engine.startBrowsingTypes(at: network.now) }

  @Test("P-BRO-7 Types in use are those that hosts tell, and this host's own, as they come and go")
  func told() throws {
    let a = try testPeer("a", advertising: "own")
    let b = try testPeer("b", advertising: "chat", "files")
    let c = try testPeer("c")
    look(a)
    network.run(.seconds(2))
    #expect(a.take() == ["types: own", "types: chat files own"])
    try advertise("chat", c)
    network.run(.seconds(1))
    #expect(a.take() == [])
    b.stopAdvertising()
    network.run(.seconds(1))
    #expect(a.take() == [])
    c.stopAdvertising()
    network.run(.seconds(1))
    #expect(a.take() == ["types: files own"])
    a.engine.stopAdvertising(a.peer, try ServiceType("own"), at: network.now)
    network.run(.seconds(1))
    #expect(a.take() == ["types: files"])
  }

  @Test("P-BRO-7 The types that a host reported are lost with it, and reported again once it is back")
  func gone() throws {
    let a = try testPeer("a")
    let b = try testPeer("b", advertising: "chat")
    look(a)
    network.run(.seconds(2))
    #expect(a.take() == ["types: chat"])
    network.walls.insert(["a", "b"])
    network.cut(a.host, b.host)
    network.run(.seconds(20))
    #expect(a.take() == ["types: "])
    network.heal(a.host, b.host)
    network.run(.seconds(20))
    #expect(a.take() == ["types: chat"])
    network.kill(b.host)
    network.run(.seconds(1))
    #expect(a.take() == ["types: "])
  }

  @Test("P-BRO-7 A browser that has stopped gets no events, and releases its links")
  func stopped() throws {
    let a = try testPeer("a")
    let b = try testPeer("b", advertising: "chat")
    for _ in 0..<2 { look(a) }
    network.run(.seconds(2))
    #expect(a.take() == ["types: chat"])
    a.engine.stopBrowsingTypes(at: network.now)
    try advertise("files", b)
    network.run(.seconds(1))
    #expect(a.take() == ["types: chat files"])
    a.engine.stopBrowsingTypes(at: network.now)
    try advertise("more", b)
    network.run(.seconds(600))
    #expect(a.take() == [])
    #expect(a.engine.links.isEmpty)
    look(a)
    network.run(.seconds(2))
    #expect(a.take() == ["types: chat files more"])
  }

  @Test("P-BRO-7 A host that does not know the question is not asked, and its silence holds up nobody")
  func olderHost() throws {
    let a = try testPeer("a")
    let old = Rogue("old", to: a.host, on: network)
    show(old, to: a)
    old.attach(features: .away)
    look(a)
    _ = try testPeer("b", advertising: "chat")
    network.run(.seconds(2))
    old.read()
    #expect(!old.isClosed && !old.frames.contains { $0.type == .browseTypes })
    #expect(a.take() == ["types: chat"])
  }

  @Test("P-BRO-7 Only what is advertised is told, at most 64 types, and only to those who ask")
  func bounded() throws {
    let a = try testPeer("a")
    let asker = Rogue("asker", to: a.host, on: network)
    asker.attach(features: .types)
    for number in 10..<90 { try advertise("type-\(number)", a) }
    network.run()
    #expect(asker.last(AdvertisedTypes.self) == nil)
    try a.engine.startBrowsing(a.peer, try ServiceType("looked-for"), at: network.now)
    asker.say(BrowseTypes(isOn: true), BrowseTypes(isOn: true))
    asker.read()
    let answers = asker.frames.filter { $0.type == .advertisedTypes }
    #expect(answers.count == 1 && answers[0].body.count <= 1_025)
    #expect(asker.last(AdvertisedTypes.self)?.types.map(\.text) == (10..<74).map { "type-\($0)" })
    asker.say(BrowseTypes(isOn: false))
    try advertise("later", a)
    network.run()
    asker.read()
    #expect(asker.frames.filter { $0.type == .advertisedTypes }.count == 1)
  }

  @Test("P-BRO-7 False reports are bounded, and unrequested ones are ignored")
  func liars() throws {
    let a = try testPeer("a")
    func tell(_ name: String, _ types: [String]) throws -> Rogue {
      let liar = Rogue(name, to: a.host, on: network)
      show(liar, to: a)
      liar.attach(features: .types)
      liar.say(AdvertisedTypes(types: try types.map { try ServiceType($0) }))
      return liar
    }
    let early = try tell("early", ["early"])
    #expect(!early.isClosed && a.take() == [])
    look(a)
    network.run()
    for liar in 0..<8 {
      _ = try tell("liar \(liar)", (100..<164).map { "t\(liar)-\($0)" })
    }
    network.run(.seconds(1))
    guard case .types(let types)? = a.host.outputs.last(where: { if case .types = $0 { true } else { false } }) else {
      Issue.record("nothing was told")
      return
    }
    #expect(types.count == 256 && !types.map(\.text).contains("early"))
    early.say(AdvertisedTypes(types: [.hosts]))
    #expect(!early.isClosed)
  }

  /// Shows the rogue's record to a peer, as a medium does.
  private func show(_ rogue: Rogue, to peer: TestPeer) {
    peer.engine.sightedRoster(
      SightingID(rawValue: 1_000_000 + rogue.link.rawValue), of: rogue.host, type: .hosts, addresses: [],
      at: network.now)
  }
}
