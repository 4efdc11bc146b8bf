import Testing
import Wire

@testable import Engine

/// A durable host with a damaged store: it has less, but never traps.
@Suite struct DamagedStoreTests {
  let crypto = ToyCrypto()
  let now = Instant(nanoseconds: 1_000_000_000)

  /// Two local peers in one session, a message between them, and all of it stored.
  func stored() throws -> [Fact] {
    var facts: [[UInt8]: [UInt8]] = [:]
    let engine = engine([], 1)
    let (a, b) = try addPeers(to: engine)
    let type = try ServiceType("chat")
    let atA = try engine.openSession(a, SessionSettings(), at: now)
    let atB = try engine.openSession(b, SessionSettings(), at: now)
    func run() throws {
      while let output = engine.nextOutput() {
        if case .persist(let batch, let rows) = output {
          for row in rows { facts[row.key] = row.value }
          engine.persisted(batch, at: now)
        }
        if case .invitation(let id, _, _, _, _, _, _) = output { try engine.accept(id, with: atB, at: now) }
      }
    }
    try engine.startAdvertising(b, type, info: .empty, at: now)
    _ = try engine.invite(b, as: type, to: atA, context: [], timeout: .zero, at: now)
    try run()
    let key = crypto.key(named: "host r")
    engine.linkOpened(
      LinkID(rawValue: 1), to: key, exporter: crypto.hash([]), dial: nil, datagramBytesMax: 0, at: now)
    let own = try #require(engine.hosts.values.first { !$0.isSelf }?.bond).nonce
    let gone = Gone(
      record: RecordHead(strand: 1, sequence: 1), endpoint: atA,
      incarnation: EndpointIncarnation(host: Incarnation(1), count: 0))
    for frame in [
      Hello(incarnation: Incarnation(1), bond: 7, expects: own, ordinal: 1).encoded(),
      Attach(bond: 7, expects: own, received: 0, first: 1, next: 1).encoded(), gone.encoded(),
    ] {
      engine.received(frame.span.bytes, on: LinkID(rawValue: 1), at: now)
    }
    try run()
    return facts.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { Fact(key: $0.key, value: $0.value) }
  }

  func engine(_ facts: [Fact], _ incarnation: UInt64) -> Engine {
    var settings = Settings()
    settings.isDurable = true
    return Engine(
      host: crypto.key(named: "host a"), incarnation: Incarnation(incarnation), settings: settings, crypto: crypto,
      seed: crypto.hash([UInt8(incarnation)]), restoring: facts, at: now)
  }

  func addPeers(to engine: Engine) throws -> (PeerID, PeerID) {
    (
      engine.addPeer(crypto.key(named: "peer a"), name: try DisplayName("a"), at: now),
      engine.addPeer(crypto.key(named: "peer b"), name: try DisplayName("b"), at: now)
    )
  }

  /// Comes back from these facts and lives for an hour, with everybody leaving at the end.
  func live(_ facts: [Fact]) throws {
    let engine = engine(facts, 2)
    let (a, _) = try addPeers(to: engine)
    var moment = now
    for _ in 0..<4 {
      moment = moment + .seconds(900)
      engine.advance(to: moment)
      while let output = engine.nextOutput() {
        if case .persist(let batch, _) = output { engine.persisted(batch, at: moment) }
      }
    }
    _ = try engine.openSession(a, SessionSettings(), at: moment)
    for endpoint in engine.endpoints.keys { engine.leave(endpoint, at: moment) }
    while engine.nextOutput() != nil {}
  }

  @Test("Stored state is restored") func whole() throws {
    let facts = try stored()
    let engine = engine(facts, 2)
    _ = try addPeers(to: engine)
    engine.advance(to: now)
    #expect(engine.endpoints.count == 2)
    #expect(Set(engine.endpoints.values.map { $0.group.serial }).count == 1)
  }

  @Test("Any byte of any fact may be wrong") func wrongBytes() throws {
    let facts = try stored()
    for number in facts.indices {
      let value = facts[number].value ?? []
      for place in value.indices {
        for byte: UInt8 in [0, 1, 0x7f, 0x80, 0xff] {
          var damaged = facts
          damaged[number].value?[place] = byte
          try live(damaged)
        }
      }
    }
  }

  @Test("Any number of any fact may be the highest") func highNumbers() throws {
    let facts = try stored()
    let highest: [UInt8] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]
    for number in facts.indices {
      for place in (facts[number].value ?? []).indices {
        for bytes in [highest, [0xff, 0xff, 0xff, 0xff, 0x0f]] {
          var damaged = facts
          damaged[number].value?.replaceSubrange(place...place, with: bytes)
          try live(damaged)
        }
      }
      for place in facts[number].key.indices {
        var damaged = facts
        damaged[number].key[place] = 0xff
        try live(damaged)
      }
    }
  }

  @Test("A fact may be missing, or there twice") func missingFacts() throws {
    let facts = try stored()
    for number in facts.indices {
      var damaged = facts
      damaged.append(damaged.remove(at: number))
      try live(damaged + [facts[number]])
      damaged.removeLast()
      try live(damaged)
    }
  }

  @Test("A store that does not answer ends nothing between local peers") func slowStore() throws {
    var settings = Settings()
    settings.isDurable = true
    let network = TestNetwork()
    let a = try network.silentPeer("a", SessionSettings(), settings)
    let b = try network.testPeer("b", on: a.host)
    _ = try a.engine.invite(b.peer, as: network.type, to: a.endpoint, context: [], timeout: .zero, at: network.now)
    a.engine.advance(to: network.now + .seconds(20))
    a.engine.advance(to: network.now + .seconds(60))
    while a.engine.nextOutput() != nil {}
    #expect(a.engine.hosts[a.engine.hostID]?.links.count == 1)
  }
}
