import Testing
import Wire

@testable import Engine

@Suite struct SuspensionTests {
  let network = TestNetwork()

  @Test("A short cut suspends a pair and resumes it, and nothing else is told")
  func shortCut() throws {
    let peers = try network.gather("a", "b")
    network.cut(peers[0].host, peers[1].host)
    network.run(.seconds(2))
    #expect(peers[0].take() == ["A: B suspended", "A: B resumed"])
    #expect(peers[1].take() == ["B: A suspended", "B: A resumed"])
    try peers[0].say("there?")
    network.run()
    #expect(peers[1].take() == ["B < A: there?"])
  }

  @Test("A link that is cut as soon as it is back gives the pair its whole time again")
  func cutAgain() throws {
    let peers = try network.gather("a", "b")
    network.walls.insert(["a", "b"])
    network.cut(peers[0].host, peers[1].host)
    network.run(.seconds(4))
    network.walls = []
    var heard: [String] = []
    for _ in 0..<1_000 where !heard.contains("A: B resumed") {
      network.run(.milliseconds(1))
      heard += peers[0].take()
    }
    network.walls.insert(["a", "b"])
    network.cut(peers[0].host, peers[1].host)
    network.run(.seconds(4))
    #expect(heard + peers[0].take() == ["A: B suspended", "A: B resumed", "A: B suspended"])
    #expect(!peers[1].take().contains { $0.contains("notConnected") })
  }

  @Test("A bond that ends while one of its links takes over from another leaves neither behind")
  func endsWithinSwap() throws {
    let peer = try network.testPeer("v")
    let rogue = Rogue("r", to: peer.host, on: network)
    try rogue.enter(with: peer)
    peer.engine.linkClosed(rogue.link, at: network.now)
    network.run(.milliseconds(4_800))
    let links = [UInt32(2), 3].map { ordinal in
      let again = Rogue("r", to: peer.host, on: network)
      again.greet(ordinal: ordinal)
      return again
    }
    #expect(links.map(\.isClosed) == [false, false])
    network.run(.milliseconds(200))
    #expect(links.map(\.ending) == [.lost, .lost])
  }

  @Test("P-MSG-3 Links cut in mid burst, many times: every message once and in order", arguments: [1, 7])
  func cutBursts(milliseconds: Int) throws {
    network.latency = .milliseconds(milliseconds)
    network.windowBytes = 3_000
    let peers = try network.gather("a", "b", "c")
    var said = 0
    for round in 0..<30 {
      for _ in 0..<(round % 7 + 1) {
        said += 1
        for peer in peers { try peer.say("\(said) \(String(repeating: "x", count: said * 37 % 900))", receipt: true) }
      }
      network.run(.milliseconds(round % 5 * milliseconds / 2))
      network.cut(peers[round % 3].host, peers[(round + 1) % 3].host)
      network.run(.milliseconds(round * 13 % 40))
    }
    network.run(.seconds(10))
    for peer in peers {
      let lines = peer.take()
      for other in peers where other !== peer {
        let numbers = lines.compactMap { line -> Int? in
          let start = "\(network.name(peer.endpoint)) < \(network.name(other.endpoint)): "
          return line.hasPrefix(start) ? Int(line.dropFirst(start.count).prefix { $0 != " " }) : nil
        }
        #expect(numbers == Array(1...said), "from \(other.name) to \(peer.name)")
        #expect(lines.filter { $0 == "delivered to \(network.name(other.endpoint))" }.count == said)
      }
      #expect(!lines.contains { $0.contains("notConnected") || $0.contains("undelivered") || $0.contains("unknown") })
    }
  }

  @Test("P-MSG-3 A message that is sent while suspended arrives when the link is back")
  func sentWhileSuspended() throws {
    let peers = try network.gather("a", "b")
    network.walls.insert(["a", "b"])
    network.cut(peers[0].host, peers[1].host)
    network.run(.seconds(1))
    for number in 0..<10 { try peers[0].say("\(number)", receipt: true) }
    network.run(.seconds(3))
    network.heal(peers[0].host, peers[1].host)
    network.run(.seconds(1))
    #expect(peers[1].take() == ["B: A suspended", "B: A resumed"] + (0..<10).map { "B < A: \($0)" })
    #expect(peers[0].take() == ["A: B suspended", "A: B resumed"] + Array(repeating: "delivered to B", count: 10))
  }

  @Test("A host that falls silent is notConnected within five seconds of its last sign of life")
  func silence() throws {
    let peers = try network.gather("a", "b")
    network.powerOff(peers[1].host)
    network.run(.seconds(3))
    #expect(peers[0].take() == ["A: B suspended"])
    network.run(.seconds(2))
    #expect(peers[0].take() == ["A: B notConnected lost"])
    #expect(throws: EngineError.self) { try peers[0].say("x") }
  }

  @Test("P-MSG-3 When suspension is over, what was sent is unknown, what never left is undelivered, and both are told")
  func deliveryStatuses() throws {
    network.latency = .milliseconds(50)
    let peers = try network.gather("a", "b")
    try peers[0].say("delivered", receipt: true)
    network.run(.milliseconds(200))
    try peers[0].say("on its way", receipt: true)
    network.run(.milliseconds(1))
    network.walls.insert(["a", "b"])
    network.cut(peers[0].host, peers[1].host)
    try peers[0].say("never sent")
    network.run(.seconds(6))
    #expect(
      peers[0].take() == [
        "delivered to B", "A: B suspended", "A: B notConnected lost", "unknown to B", "undelivered to B", "a lost b",
      ])
    #expect(peers[1].take() == ["B < A: delivered", "B: A suspended", "B: A notConnected lost", "b lost a"])
  }

  @Test("After a loss the hosts rejoin by themselves, and what was lost is not sent again")
  func rejoin() throws {
    let peers = try network.gather("a", "b", "c")
    network.walls.insert(["a", "b"])
    network.cut(peers[0].host, peers[1].host)
    try peers[0].say("lost", to: [peers[1]])
    network.run(.seconds(60))
    #expect(peers.map(\.connected) == ["C", "C", "A B"])
    network.clear()
    network.heal(peers[0].host, peers[1].host)
    network.run(.seconds(6))
    network.expectAllConnected(peers)
    #expect(peers[0].take().filter { $0.contains(":") } == ["A: B connecting", "A: B connected"])
    #expect(peers[1].take().filter { $0.contains(":") } == ["B: A connecting", "B: A connected"])
    #expect(peers[2].take() == [])
    try peers[0].say("new")
    network.run()
    #expect(peers[1].take() == ["B < A: new"])
  }

  @Test("Past the session's rejoin time a lost member is forgotten")
  func rejoinOver() throws {
    var session = SessionSettings()
    session.rejoinMax = .seconds(30)
    let peers = try network.gather("a", "b", session: session)
    network.walls.insert(["a", "b"])
    network.run(.seconds(60))
    network.clear()
    network.heal(peers[0].host, peers[1].host)
    network.run(.seconds(60))
    #expect(peers.map(\.connected) == ["", ""])
    for peer in peers { #expect(peer.take().filter { $0.contains(":") } == []) }
    try network.connect(peers[0], peers[1])
    network.expectAllConnected(peers)
  }

  @Test("P-ID-4 A host that restarts without state is gone from its sessions, with no ghost, and joins them anew")
  func restarted() throws {
    let peers = try network.gather("a", "b", "c")
    network.powerOff(peers[1].host)
    network.run(.seconds(1))
    let again = try network.silentPeer("b", on: try network.host("b", incarnation: 2))
    network.call(again.endpoint, "B2")
    try again.advertise()
    try again.browse()
    network.run(.seconds(20))
    for peer in [peers[0], peers[2]] {
      let told = peer.take().filter { $0.contains("B") }
      #expect(told.first == "\(peer.name.uppercased()): B suspended")
      #expect(told.contains("\(peer.name.uppercased()): B notConnected lost"))
      #expect(peer.engine.members(of: peer.endpoint).count == 1)
      #expect(!told.contains { $0.hasSuffix(" connected") })
    }
    network.clear()
    try network.connect(peers[0], again)
    network.run(.seconds(1))
    network.expectAllConnected([peers[0], again, peers[2]])
    #expect(again.peer == peers[1].peer)
    #expect(peers[2].take() == ["C: B2 connecting", "C: B2 connected"])
  }

  @Test("A process that ends is told lost when its suspension is over, whatever its sockets say")
  func killed() throws {
    let peers = try network.gather("a", "b")
    network.kill(peers[1].host)
    network.run(.seconds(6))
    #expect(peers[0].take() == ["A: B suspended", "a lost b", "A: B notConnected lost"])
  }

  @Test("Links in both directions at once: one is kept and nothing is told twice")
  func bothDial() throws {
    network.latency = .milliseconds(30)
    let peers = try network.gather("a", "b")
    for _ in 0..<10 {
      network.cut(peers[0].host, peers[1].host)
      try peers[0].say("x")
      try peers[1].say("y")
      network.run(.seconds(2))
    }
    #expect(peers[0].heard.count == 10)
    #expect(peers[1].heard.count == 10)
    #expect(network.pipes.count == 1)
  }
}
