import Testing
import Wire

@testable import Engine

@Suite struct ResourceTests {
  let network = TestNetwork()

  func gather(acceptsUnasked: Bool = true, isDurable: Bool = false) throws -> [TestPeer] {
    var session = SessionSettings()
    session.resources.acceptsUnasked = acceptsUnasked
    var settings = Settings()
    settings.isDurable = isDurable
    return try network.gather("a", "b", session: session, settings: settings)
  }

  @Test(
    "P-RES-3 A resource of any size arrives whole, and both sides are told once",
    arguments: [0, 1, 16_383, 16_384, 16_385, 200_000, 1_500_000], [true, false])
  func sizes(count: Int, isSizeKnown: Bool) throws {
    let peers = try gather()
    try peers[0].offer("file", pattern(count), to: peers[1], isSizeKnown: isSizeKnown)
    network.run(.seconds(1))
    #expect(peers[1].file("file") == pattern(count))
    #expect(peers[0].take() == ["file ended: none"])
    #expect(peers[1].take() == ["B < A: file", "file ended: none"])
  }

  @Test("P-RES-3 A complete resource that cannot be stored fails on both sides")
  func unkept() throws {
    let peers = try gather()
    peers[1].host.program.isKeeping = false
    try peers[0].offer("file", pattern(200_000), to: peers[1])
    network.run(.seconds(1))
    #expect(peers[1].file("file") == pattern(200_000))
    #expect(peers[0].take() == ["file ended: unwritable"])
    #expect(peers[1].take() == ["B < A: file", "file ended: unwritable"])
  }

  @Test("An offer waits for a decision: accepted it comes, declined both sides are told")
  func decisions() throws {
    let peers = try gather(acceptsUnasked: false)
    for name in ["yes", "no"] { try peers[0].offer(name, pattern(50_000), to: peers[1]) }
    network.run(.seconds(30))
    #expect(peers[1].take() == ["B < A: yes?", "B < A: no?"])
    let program = peers[1].host.program
    try peers[1].engine.accept(try #require(program.resource("yes")), at: network.now)
    try peers[1].engine.decline(try #require(program.resource("no")), at: network.now)
    network.run()
    #expect(peers[1].file("yes") == pattern(50_000))
    #expect(peers[0].take().sorted() == ["no ended: declined", "yes ended: none"])
    #expect(throws: EngineError.self) {
      try peers[1].engine.accept(try #require(program.resource("no")), at: network.now)
    }
  }

  @Test("A resource of no bytes whose root was told is whole as soon as it is accepted")
  func emptyByDecision() throws {
    let peers = try gather(acceptsUnasked: false)
    let info = ResourceInfo(name: "empty", size: 0, root: ChunkTree().root(network.crypto))
    let id = try peers[0].engine.offer(info, from: peers[0].endpoint, to: peers[1].endpoint, at: network.now)
    peers[0].host.program.names[id] = "empty"
    network.run()
    try peers[1].engine.accept(try #require(peers[1].host.program.resource("empty")), at: network.now)
    network.run()
    #expect(peers[0].take() == ["empty ended: none"])
    #expect(peers[1].take() == ["B < A: empty?", "empty ended: none"])
  }

  @Test("An offer that nobody decides on ends in time")
  func undecided() throws {
    let peers = try gather(acceptsUnasked: false)
    try peers[0].offer("late", pattern(10), to: peers[1])
    network.run(.seconds(599))
    #expect(peers[0].take() == [])
    network.run(.seconds(2))
    #expect(peers[0].take() == ["late ended: timedOut"])
    #expect(peers[1].take() == ["B < A: late?", "late ended: timedOut"])
  }

  @Test("P-RES-2 Cancelled from either side, both are told so", arguments: [0, 1])
  func cancelled(side: Int) throws {
    let peers = try gather()
    peers[1].host.program.isStoring = false
    try peers[0].offer("file", pattern(5_000_000), to: peers[1])
    network.run()
    peers[side].engine.cancelResource(try #require(peers[side].host.program.resource("file")), at: network.now)
    network.run()
    #expect(peers[0].take() == ["file ended: cancelled"])
    #expect(peers[1].take() == ["B < A: file", "file ended: cancelled"])
  }

  @Test("P-RES-2 Both sides see how far it is, how fast it goes and how long it takes")
  func progress() throws {
    network.latency = .milliseconds(50)
    network.windowBytes = 20_000
    let peers = try gather()
    try peers[0].offer("file", pattern(2_000_000), to: peers[1])
    network.run(.seconds(3))
    for peer in peers {
      let told = peer.host.program.progress
      #expect(told.count > 4 && told.count < 14)
      #expect(told.map(\.bytes) == told.map(\.bytes).sorted())
      let last = try #require(told.last)
      #expect(last.size == 2_000_000)
      #expect((300_000..<500_000).contains(last.bytesPerSecond))
      let left = try #require(last.timeLeft)
      #expect(left > .seconds(1) && left < .seconds(5))
    }
    network.run(.seconds(10))
    #expect(peers[0].take() == ["file ended: none"])
  }

  @Test("P-RES-5 A cut link does not begin a transfer anew")
  func cut() throws {
    network.latency = .milliseconds(20)
    network.windowBytes = 20_000
    let peers = try gather()
    try peers[0].offer("file", pattern(2_000_000), to: peers[1])
    for _ in 0..<8 {
      network.run(.milliseconds(300))
      network.cut(peers[0].host, peers[1].host)
    }
    network.run(.seconds(10))
    #expect(peers[1].file("file") == pattern(2_000_000))
    #expect(peers[0].takeFlows() == ["file ended: none"])
    let chunks = 2_000_000 / 16_384 + 1
    #expect(peers[1].host.program.storedFrom.count < chunks + 8 * 2)
  }

  @Test("P-RES-5 A transfer goes on when its pair is back, and what ended meanwhile is told then", arguments: [0, 1])
  func rejoin(cancels: Int) throws {
    network.latency = .milliseconds(20)
    network.windowBytes = 20_000
    let peers = try gather()
    try peers[0].offer("stays", pattern(700_000), to: peers[1])
    try peers[0].offer("goes", pattern(700_000), to: peers[1])
    network.run(.seconds(1))
    network.walls.insert(["a", "b"])
    network.run(.seconds(30))
    #expect(peers[0].connected == "")
    let before = peers[1].file("stays")?.count ?? 0
    #expect(before > 100_000)
    peers[cancels].engine.cancelResource(try #require(peers[cancels].host.program.resource("goes")), at: network.now)
    network.clear()
    peers[1].host.program.storedFrom = []
    network.heal(peers[0].host, peers[1].host)
    network.run(.seconds(30))
    #expect(peers[1].file("stays") == pattern(700_000))
    #expect(peers[1].host.program.storedFrom.first.map { Int($0) } == before)
    for (side, peer) in peers.enumerated() {
      let told = peer.takeFlows()
      #expect(told.contains("stays ended: none"))
      #expect(told.contains("goes ended: cancelled"), "side \(side)")
    }
  }

  @Test("A transfer whose member does not come back ends on both sides")
  func lost() throws {
    let peers = try gather()
    peers[1].host.program.isStoring = false
    try peers[0].offer("file", pattern(700_000), to: peers[1])
    network.run(.seconds(1))
    network.walls.insert(["a", "b"])
    network.run(.seconds(600))
    #expect(peers[0].takeFlows() == [])
    network.run(.seconds(20))
    #expect(peers[0].takeFlows() == ["file ended: lost"])
    #expect(peers[1].takeFlows().last == "file ended: lost")
  }

  @Test("A transfer cancelled while the hosts were apart ends for its receiver once they have met again")
  func givenUp() throws {
    var (hasty, patient) = (SessionSettings(), SessionSettings())
    hasty.rejoinMax = .seconds(5)
    patient.resources.acceptsUnasked = true
    let peers = [try network.testPeer("a", hasty), try network.testPeer("b", patient)]
    try network.connect(peers[0], peers[1])
    peers[1].host.program.isStoring = false
    try peers[0].offer("file", pattern(700_000), to: peers[1])
    network.run(.seconds(1))
    network.walls.insert(["a", "b"])
    network.run(.seconds(30))
    #expect(peers[0].takeFlows().last == "file ended: lost")
    network.walls = []
    network.run(.seconds(75))
    network.expectAllConnected(peers)
    #expect(peers[1].takeFlows().last == "file ended: gone")
  }

  @Test("A leave ends the peer's transfers", arguments: [0, 1])
  func left(side: Int) throws {
    let peers = try gather()
    peers[1].host.program.isStoring = false
    try peers[0].offer("file", pattern(700_000), to: peers[1])
    network.run()
    peers[side].leave()
    network.run()
    #expect(peers[0].takeFlows() == ["file ended: left"])
    #expect(peers[1].takeFlows().last == "file ended: left")
  }

  @Test("P-RES-5 A restart of either host with its store does not begin a transfer anew", arguments: [0, 1])
  func restart(side: Int) throws {
    network.latency = .milliseconds(60)
    network.windowBytes = 20_000
    var peers = try gather(isDurable: true)
    try peers[0].offer("file", pattern(900_000), to: peers[1], isSizeKnown: false)
    network.run(.seconds(1))
    let before = peers[1].file("file")?.count ?? 0
    #expect(before > 100_000)
    network.clear()
    peers[side] = try network.restart(peers[side])
    peers[1].host.program.storedFrom = []
    network.run(.seconds(30))
    #expect(peers[1].file("file") == pattern(900_000))
    #expect(peers[1].host.program.storedFrom.first.map { Int($0) } ?? 0 >= before - 65_536)
    #expect(peers[0].takeFlows().last == "file ended: none")
    #expect(peers[1].takeFlows().last == "file ended: none")
  }

  @Test("P-RES-5 A resource that was complete and not stored when its receiver crashed is stored when that is back")
  func wholeBeforeRestart() throws {
    var peers = try gather(isDurable: true)
    peers[1].host.program.isKeeping = nil
    try peers[0].offer("file", pattern(100_000), to: peers[1])
    network.run()
    #expect(peers[1].file("file") == pattern(100_000) && peers[1].takeFlows().last != "file ended: none")
    peers[1].host.program.isKeeping = true
    peers[1] = try network.restart(peers[1])
    network.run(.seconds(30))
    #expect(peers[0].takeFlows().last == "file ended: none")
    #expect(peers[1].takeFlows().last == "file ended: none")
  }

  @Test("A source that is read again after a restart is asked for a window at a time, however much its receiver has")
  func readAgain() throws {
    var peers = try gather(isDurable: true)
    peers[1].host.program.storedMax = 150
    try peers[0].offer("file", pattern(3_000_000), to: peers[1])
    network.run(.seconds(1))
    #expect(peers[1].file("file")?.count == 150 * 16_384)
    peers[0].host.program.isSupplying = false
    peers[0] = try network.restart(peers[0])
    network.run(.seconds(10))
    #expect(peers[0].host.program.readFrom == [0, 262_144, 524_288, 786_432])
  }

  @Test("A sender that has lost what it was sending does not leave its receiver waiting")
  func forgottenBySender() throws {
    network.latency = .milliseconds(60)
    network.windowBytes = 20_000
    var peers = try gather(isDurable: true)
    let before = peers[0].host.facts
    try peers[0].offer("file", pattern(900_000), to: peers[1])
    network.run(.seconds(1))
    network.clear()
    peers[0].host.facts = before
    peers[0] = try network.restart(peers[0])
    network.run(.seconds(90))
    #expect(peers[0].connected == "B")
    #expect(peers[1].takeFlows() == ["file ended: gone"])
  }

  @Test("A sender that crashes after its last chunk, before it has stored its end, finishes after a restart")
  func forgottenEnd() throws {
    let peers = try gather(isDurable: true)
    network.filter = { type, _, _ in type != .resourceWant }
    try peers[0].offer("file", pattern(20_000), to: peers[1], isSizeKnown: false)
    network.run()
    let facts = peers[0].host.facts
    network.filter = { type, _, _ in type != .resourceEnd }
    network.cut(peers[0].host, peers[1].host)
    network.run(.seconds(1))
    #expect(peers[1].file("file") == pattern(20_000))
    network.clear()
    peers[0].host.facts = facts
    let again = try network.restart(peers[0])
    network.filter = nil
    network.run(.seconds(10))
    #expect(again.takeFlows().last == "file ended: none")
    #expect(peers[1].takeFlows() == ["file ended: none"])
    #expect(peers[1].host.program.storedFrom.count == 2)
  }

  @Test("A restart in the middle of a transfer between peers of one host does not begin it anew")
  func restartOfBoth() throws {
    var session = SessionSettings()
    session.resources.acceptsUnasked = true
    var settings = Settings()
    settings.isDurable = true
    let host = try network.host("h", settings)
    var peers = [try network.testPeer("a", on: host, session), try network.testPeer("b", on: host, session)]
    try network.connect(peers[0], peers[1])
    host.program.storedMax = 10
    try peers[0].offer("file", pattern(900_000), to: peers[1])
    network.run(.seconds(1))
    #expect(host.program.files["file"]?.count == 10 * 16_384)
    peers = try network.restart(peers)
    peers[0].host.program.storedMax = .max
    network.run(.seconds(90))
    #expect(peers[1].file("file") == pattern(900_000))
    #expect(peers[1].host.program.storedFrom.first == 10 * 16_384)
    #expect(peers[0].takeFlows().filter { $0 == "file ended: none" }.count == 2)
  }

  @Test("A source that has changed since its first part was sent never becomes a wrong file")
  func changedSource() throws {
    network.latency = .milliseconds(60)
    network.windowBytes = 20_000
    var peers = try gather(isDurable: true)
    try peers[0].offer("file", pattern(900_000), to: peers[1])
    network.run(.seconds(1))
    peers[0].host.program.sources["file"]?[5] = 0
    peers[0] = try network.restart(peers[0])
    network.run(.seconds(30))
    #expect(peers[0].takeFlows().last == "file ended: mismatch")
    #expect(peers[1].takeFlows().last == "file ended: mismatch")
  }

  @Test("P-RES-4 A damaged chunk is asked for again; one that never matches ends the transfer", arguments: [1, 3, 4])
  func damaged(times: Int) throws {
    let peers = try gather()
    peers[1].host.program.damages = times
    try peers[0].offer("file", pattern(100_000), to: peers[1])
    network.run(.seconds(1))
    let reason = times < 4 ? "none" : "mismatch"
    #expect(peers[0].take() == ["file ended: \(reason)"])
    #expect(peers[1].take().last == "file ended: \(reason)")
    if times < 4 { #expect(peers[1].file("file") == pattern(100_000)) }
  }

  @Test("A failed read or write ends the transfer on both sides, with the reason", arguments: [0, 1])
  func broken(side: Int) throws {
    let peers = try gather()
    peers[side].host.program.isBroken = true
    try peers[0].offer("file", pattern(100_000), to: peers[1])
    network.run(.seconds(1))
    let reason = side == 0 ? "unreadable" : "unwritable"
    #expect(peers[0].take() == ["file ended: \(reason)"])
    #expect(peers[1].take().last == "file ended: \(reason)")
  }

  @Test("A source that is shorter or longer than was offered is no whole resource", arguments: [90_000, 110_000])
  func lyingSource(count: Int) throws {
    let peers = try gather()
    let id = try peers[0].engine.offer(
      ResourceInfo(name: "file", size: 100_000), from: peers[0].endpoint, to: peers[1].endpoint, at: network.now)
    peers[0].host.program.names[id] = "file"
    peers[0].host.program.sources["file"] = pattern(count)
    network.run(.seconds(1))
    let ended = peers[0].take().last
    // The first part of a longer one was offered.
    #expect(ended == (count < 100_000 ? "file ended: mismatch" : "file ended: none"))
  }

  @Test("A resource that is too large, or one too many, is refused with the reason")
  func limits() throws {
    var session = SessionSettings()
    session.resources.acceptsUnasked = true
    session.resources.bytesMax = 100_000
    session.resources.offersMax = 2
    let peers = try network.gather("a", "b", session: session)
    try peers[0].offer("large", pattern(100_001), to: peers[1])
    try peers[0].offer("grows", pattern(200_000), to: peers[1], isSizeKnown: false)
    network.run(.seconds(1))
    #expect(peers[0].take() == ["large ended: tooLarge", "grows ended: tooLarge"])
    network.filter = { type, _, _ in type != .resourceChunk }
    for number in 0..<3 { try peers[0].offer("\(number)", pattern(50_000), to: peers[1]) }
    network.run()
    #expect(peers[0].take() == ["2 ended: busy"])
    network.run(.seconds(61))
    #expect(peers[0].take().sorted() == ["0 ended: timedOut", "1 ended: timedOut"])
  }

  @Test("A hundred resources at once all arrive, though not all are under way at a time")
  func many() throws {
    let peers = try gather()
    for number in 0..<100 { try peers[0].offer("\(number)", pattern(20_000 + number), to: peers[1]) }
    network.run(.seconds(1))
    for number in 0..<100 { #expect(peers[1].file("\(number)") == pattern(20_000 + number)) }
    #expect(peers[0].take().count == 100)
  }

  @Test("A bulk transfer delays a message by no more than the chunk that is under way")
  func messageUnderBulk() throws {
    network.latency = .milliseconds(10)
    network.windowBytes = 1_000
    let peers = try gather()
    try peers[0].offer("file", pattern(3_000_000), to: peers[1])
    let stream = try peers[0].open("s", to: peers[1])
    try peers[0].write(String(repeating: "x", count: 200_000), to: stream)
    network.run(.seconds(1))
    let before = peers[1].host.program.storedFrom.count
    let bytes = peers[1].host.program.text("s").count
    try peers[0].say("now")
    while peers[1].heard.isEmpty { network.run(.milliseconds(1)) }
    let chunks =
      peers[1].host.program.storedFrom.count - before + (peers[1].host.program.text("s").count - bytes) / 16_384
    // The chunk whose last bytes are in the pipe, and the one whose first bytes are behind them.
    #expect(chunks <= 2)
  }

  @Test("One peer's bulk does not starve another's, whatever the number of its files")
  func fairShares() throws {
    network.latency = .milliseconds(10)
    network.windowBytes = 20_000
    var session = SessionSettings()
    session.resources.acceptsUnasked = true
    let host = try network.host("h")
    let greedy = try network.testPeer("greedy", on: host, session)
    let modest = try network.testPeer("modest", on: host, session)
    let far = try network.testPeer("far", session)
    try network.connect(greedy, modest)
    try network.connect(greedy, far)
    network.run(.seconds(1))
    for number in 0..<10 { try greedy.offer("g\(number)", pattern(1_000_000), to: far) }
    try modest.offer("m", pattern(1_000_000), to: far)
    network.run(.milliseconds(600))
    let many = (0..<10).reduce(0) { $0 + (far.file("g\($1)")?.count ?? 0) }
    let one = far.file("m")?.count ?? 0
    #expect(one > 300_000)
    #expect(many > one * 7 / 10 && many < one * 13 / 10)
  }

  @Test("Messages go before streams and these before resources, and each still gets its part")
  func shares() throws {
    network.latency = .milliseconds(10)
    network.windowBytes = 20_000
    let peers = try gather()
    try peers[0].offer("file", pattern(5_000_000), to: peers[1])
    let stream = try peers[0].open("s", to: peers[1])
    let message = String(repeating: "m", count: 10_000)
    for _ in 0..<200 {
      for _ in 0..<5 { _ = try? peers[0].say(message) }
      try? peers[0].write(message, to: stream)
      try? peers[0].write(message, to: stream)
      network.run(.milliseconds(10))
    }
    let heard = peers[1].heard.count * 10_000
    let streamed = peers[1].host.program.text("s").count
    let stored = peers[1].file("file")?.count ?? 0
    #expect(heard > streamed * 3)
    #expect(streamed > stored * 3)
    #expect(stored > heard / 150)
  }

  @Test("The memory of sent pieces is reused for the next ones, and freed when there can be none")
  func spareMemory() throws {
    let peers = try gather()
    network.windowBytes = 64 << 10
    network.latency = .milliseconds(2)
    let file = pattern(3 << 20)
    try peers[0].offer("file", file, to: peers[1])
    let engine = peers[0].engine
    let sender = try #require(engine.flows.senders.values.first)
    #expect(engine.takeSpare(of: sender.id).isEmpty)
    var pieces = 0
    var momentsAfterTheLast = 0
    while peers[1].file("file") != file {
      network.run(.milliseconds(1))
      let spare = engine.takeSpare(of: sender.id)
      if sender.isRead { momentsAfterTheLast += 1 }
      if spare.isEmpty { continue }
      pieces += 1
      #expect(!sender.isRead && spare.count.isMultiple(of: Limits.chunkBytes))
    }
    #expect(pieces > 3 && momentsAfterTheLast > 3)
  }

  @Test("A resource that is offered again while it waits for its turn has one turn, and comes")
  func offeredAgainWhileQueued() throws {
    let peers = try gather()
    network.windowBytes = 1
    network.latency = .milliseconds(10)
    try peers[0].offer("file", pattern(300_000), to: peers[1])
    let engine = peers[0].engine
    while engine.flows.senders.values.first?.isQueued != true { network.run(.milliseconds(1)) }
    let local = try #require(engine.endpoints[peers[0].endpoint])
    let member = try #require(local.group.members[peers[1].endpoint])
    let lanes = try #require(member.host.bond?.lanes)
    let sender = try #require(engine.flows.senders.values.first)
    for isParted in [false, true, false] {
      if isParted { engine.endFlows(of: member, SlotSet(local.slot), .lost, mayReturn: true) }
      engine.resumeSenders(to: member, local)
      engine.finishMutation()
      for _ in 0..<300 {
        network.run(.milliseconds(1))
        var turns: [ResourceSender] = []
        while let next = lanes.resources.next() { turns.append(next) }
        #expect(turns.count == (sender.isQueued ? 1 : 0))
        for next in turns { lanes.resources.add(next, of: peers[0].endpoint) }
      }
    }
    network.windowBytes = 256 << 10
    network.run(.seconds(20))
    #expect(peers[1].file("file") == pattern(300_000))
  }
}
