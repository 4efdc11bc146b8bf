import Testing
import Wire

@testable import Engine

@Suite struct MessageTests {
  let network = TestNetwork()

  @Test("P-MSG-1 A send names who is not connected, sends nothing then, and refuses an empty list")
  func notConnected() throws {
    let peers = try network.gather("a", "b")
    let c = try network.testPeer("c")
    let error = #expect(throws: EngineError.self) { try peers[0].say("x", to: [peers[1], c]) }
    #expect(error?.code == .notConnected)
    #expect(error?.endpoints == [c.endpoint])
    network.run(.seconds(1))
    #expect(peers[1].take().filter { $0.contains("<") } == [])
    let empty = #expect(throws: EngineError.self) { try peers[0].say("x", to: []) }
    #expect(empty?.code == .invalidParameter)
    let alone = #expect(throws: EngineError.self) { try c.say("x") }
    #expect(alone?.code == .notConnected)
  }

  @Test(
    "P-MSG-2 One send is one receive, byte for byte, of every size", arguments: [0, 1, 999, 1_000, 70_000, 1_048_576])
  func boundaries(size: Int) throws {
    let peers = try network.gather("a", "b")
    let payload = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    peers[1].host.outputs = []
    try peers[0].engine.send(
      payload.span.bytes, from: peers[0].endpoint, to: .all, .reliable, receipt: false, at: network.now)
    try peers[0].say("next")
    var received: [[UInt8]] = []
    network.onMessage = { received.append($0) }
    network.run(.seconds(1))
    #expect(received == [payload, Array("next".utf8)])
  }

  @Test("Changes while the store is held are one batch, and none is reported before")
  func held() throws {
    var settings = Settings()
    settings.isDurable = true
    let peers = try network.gather("a", "b", settings: settings)
    let engine = peers[0].engine
    func batches() -> [[Fact]] {
      var batches: [[Fact]] = []
      while let output = engine.nextOutput() {
        if case .persist(let batch, let facts) = output {
          batches.append(facts)
          engine.persisted(batch, at: network.now)
        }
      }
      return batches
    }
    engine.holdStore()
    for payload in ["x", "y", "z"].map({ Array($0.utf8) }) {
      try engine.send(payload.span.bytes, from: peers[0].endpoint, to: .all, .reliable, receipt: true, at: network.now)
      #expect(batches() == [])
    }
    engine.releaseStore(at: network.now)
    let records = batches().map { facts in
      facts.count { fact in if case .record = RowKey(bytes: fact.key) { true } else { false } }
    }
    #expect(records == [3])
  }

  @Test("Messages between local peers wait for no store, and make no batch and no deadline")
  func local() throws {
    var settings = Settings()
    settings.isDurable = true
    let host = try network.host("h", settings)
    let peers = [try network.testPeer("a", on: host), try network.testPeer("b", on: host)]
    try network.connect(peers[0], peers[1])
    network.run(.seconds(1))
    var told: [String] = []
    var batches: [UInt64] = []
    func look() {
      while let output = host.engine.nextOutput() {
        switch output {
        case .persist(let batch, _): batches.append(batch)
        case .message(_, _, _, _, let payload): told.append(String(decoding: payload.bytes, as: UTF8.self))
        case .deliveryStatus(_, _, _, let status): told.append("\(status)")
        default: break
        }
      }
    }
    func send(_ text: String) throws {
      try host.engine.send(
        Array(text.utf8).span.bytes, from: peers[0].endpoint, to: .all, .reliable, receipt: true, at: network.now)
      look()
    }
    look()
    batches = []
    let deadline = host.engine.nextDeadline
    try send("x")
    try send("y")
    #expect(told == ["x", "delivered", "y", "delivered"])
    #expect(batches.isEmpty && host.engine.nextDeadline == deadline)
  }

  @Test("P-MSG-2 A message over the limit is refused with the limit", arguments: [Mode.reliable, .unreliable])
  func tooLarge(mode: Mode) throws {
    let peers = try network.gather("a", "b")
    let limit = mode == .reliable ? Limits.messagePayloadBytesMax : Limits.datagramPayloadBytesMax
    let payload = [UInt8](repeating: 1, count: limit + 1)
    let error = #expect(throws: EngineError.self) {
      try peers[0].engine.send(
        payload.span.bytes, from: peers[0].endpoint, to: .all, mode, receipt: false, at: network.now)
    }
    #expect(error?.code == .invalidParameter)
    #expect(error?.description.contains("\(limit)") == true)
  }

  @Test("P-MSG-3 Reliable messages of several senders come once and in each sender's order")
  func order() throws {
    network.latency = .milliseconds(9)
    let peers = try network.gather("a", "b", "c")
    for number in 0..<200 {
      for peer in peers { try peer.say("\(number)") }
      if number % 10 == 0 { network.run(.milliseconds(1)) }
    }
    network.run(.seconds(1))
    for peer in peers {
      let lines = peer.take()
      for other in peers where other !== peer {
        let start = "\(network.name(peer.endpoint)) < \(network.name(other.endpoint)): "
        #expect(lines.filter { $0.hasPrefix(start) } == (0..<200).map { start + "\($0)" })
      }
    }
  }

  @Test("P-MSG-5 A message to some reaches those, on hosts with one peer and with several, and nobody else")
  func subset() throws {
    let a = try network.testPeer("a")
    let b = try network.testPeer("b")
    let c = try network.testPeer("c", on: b.host)
    let d = try network.testPeer("d", on: b.host)
    let e = try network.testPeer("e", on: a.host)
    let peers = [a, b, c, d, e]
    for peer in peers.dropFirst() { try network.connect(a, peer) }
    network.run(.seconds(5))
    network.expectAllConnected(peers)
    for mode in [Mode.reliable, .unreliable] {
      network.clear()
      try a.say("1", to: [b, d], mode)
      try a.say("2", to: [c, e, c], mode)
      try a.say("3", to: [b, c, d], mode)
      network.run(.milliseconds(100))
      let mark = mode == .reliable ? "" : "~"
      #expect(b.take() == ["B+D < A: \(mark)1", "C < A: \(mark)2", "B+C+D < A: \(mark)3"])
      #expect(a.take() == ["E < A: \(mark)2"])
    }
  }

  @Test("P-MSG-5 Repeating a recipient sends once")
  func repeated() throws {
    let peers = try network.gather("a", "b")
    try peers[0].say("x", to: [peers[1], peers[1]], receipt: true)
    network.run(.seconds(1))
    #expect(peers[1].heard == ["A"])
    #expect(peers[0].take() == ["delivered to B"])
  }

  @Test("A message to all reaches exactly those who were told as connected, while somebody joins and leaves")
  func exactWhileJoining() throws {
    network.latency = .milliseconds(11)
    let peers = try network.gather("a", "b")
    let c = try network.testPeer("c", on: peers[1].host)
    let d = try network.testPeer("d")
    network.clear()
    var owed: [String: Int] = [:]
    func sayToAll(_ text: String) throws {
      for name in peers[0].connected.split(separator: " ") { owed[String(name), default: 0] += 1 }
      try peers[0].say(text)
    }
    try peers[1].invite(c)
    try peers[1].invite(d)
    network.run(.milliseconds(100))
    try c.accept()
    try d.accept()
    for number in 0..<400 {
      try sayToAll("\(number)")
      network.run(.milliseconds(1))
    }
    network.run(.seconds(1))
    #expect(owed["B"] == 400)
    #expect(owed.count == 3)
    #expect(peers[1].heard.filter { $0 == "A" }.count == 400)
    #expect(c.heard.filter { $0 == "A" }.count == owed["C"])
    #expect(d.heard.filter { $0 == "A" }.count == owed["D"])
  }

  @Test("P-MSG-4 Unreliable messages go at once by datagrams, past a reliable queue that stands still")
  func datagrams() throws {
    let peers = try network.gather("a", "b")
    network.windowBytes = 1
    network.latency = .seconds(1)
    try peers[0].say(String(repeating: "x", count: 5_000))
    try peers[0].say("now", .unreliable)
    network.run()
    #expect(peers[1].take() == ["B < A: ~now"])
  }

  @Test("P-MSG-4 Unreliable messages are dropped while a pair is suspended, and no delivery status is reported")
  func droppedWhileSuspended() throws {
    let peers = try network.gather("a", "b")
    network.walls.insert(["a", "b"])
    network.cut(peers[0].host, peers[1].host)
    try peers[0].say("gone", .unreliable)
    network.heal(peers[0].host, peers[1].host)
    network.run(.seconds(2))
    #expect(peers[1].take() == ["B: A suspended", "B: A resumed"])
    #expect(peers[0].take() == ["A: B suspended", "A: B resumed"])
  }

  @Test("P-MSG-4 Without datagrams an unreliable message goes before what is queued, and the late ones are dropped")
  func lane() throws {
    network.datagramBytesMax = 0
    let peers = try network.gather("a", "b")
    network.windowBytes = 1
    network.latency = .milliseconds(100)
    for number in 0..<10 { try peers[0].say("\(number) \(String(repeating: "x", count: 1_500))") }
    for number in 0..<10 { try peers[0].say("\(number)\(String(repeating: "y", count: 1_000))", .unreliable) }
    network.run(.seconds(10))
    let heard = peers[1].take().filter { $0.contains("<") }
    let lossy = heard.filter { $0.contains("~") }
    #expect(lossy.first?.hasPrefix("B < A: ~0y") == true)
    #expect(lossy.count < 10)
    #expect(heard.firstIndex { $0.contains("~0y") }.map { $0 <= 1 } == true)
    #expect(heard.count - lossy.count == 10)
  }

  @Test("P-MSG-4 Without datagrams unreliable messages that are said in one go all arrive")
  func burst() throws {
    network.datagramBytesMax = 0
    let peers = try network.gather("a", "b")
    for number in 0..<20 { try peers[0].say("\(number)", .unreliable) }
    network.run()
    #expect(peers[1].take() == (0..<20).map { "B < A: ~\($0)" })
  }

  @Test("P-MSG-4 A way for datagrams that is proved later is used from then on, and one that ends no more")
  func laterWay() throws {
    network.datagramBytesMax = 0
    let peers = try network.gather("a", "b")
    let engine = peers[0].engine
    let link = try #require(engine.links.values.first { !$0.isLoopback })
    func datagrams() throws -> Int {
      try peers[0].say("now", .unreliable)
      var count = 0
      while let output = engine.nextOutput() { if case .datagram = output { count += 1 } }
      _ = network.filled(by: engine, for: link.id)
      return count
    }
    #expect(try datagrams() == 0)
    engine.linkCarriesDatagrams(link.id, bytesMax: 1_200, at: network.now)
    #expect(try datagrams() == 1)
    engine.linkCarriesDatagrams(link.id, bytesMax: 6, at: network.now)
    #expect(try datagrams() == 0)
    engine.linkCarriesDatagrams(link.id, bytesMax: 1_200, at: network.now)
    #expect(try datagrams() == 1)
    engine.linkCarriesDatagrams(link.id, bytesMax: 0, at: network.now)
    engine.linkCarriesDatagrams(LinkID(rawValue: 99), bytesMax: 1_200, at: network.now)
    #expect(try datagrams() == 0)
  }

  @Test("P-SES-3 The connected members are those last told as connected, through joins, cuts, leaves and returns")
  func connectedMembers() throws {
    // The network's ledger compares the two after every step.
    let peers = try network.gather("a", "b", "c", "d")
    network.cut(peers[0].host, peers[1].host)
    network.run(.seconds(1))
    network.walls.insert(["c", "d"])
    network.run(.seconds(20))
    peers[1].leave()
    network.heal(peers[2].host, peers[3].host)
    network.run(.seconds(20))
    try network.connect(peers[3], peers[1])
    network.run(.seconds(5))
    network.expectAllConnected(peers)
    for peer in peers { #expect(peer.engine.connectedMembers(of: peer.endpoint).count == 3) }
  }
}
