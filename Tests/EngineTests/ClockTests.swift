import Testing
import Wire

@testable import Engine

@Suite struct ClockTests {
  let network = TestNetwork()

  private func read(_ testPeer: TestPeer) throws -> ClockReading {
    defer { network.drain() }
    return try testPeer.engine.readClock(of: testPeer.endpoint, at: network.now)
  }

  private func areNear(_ one: ClockReading, _ other: ClockReading) -> Bool {
    let apart = one.time - other.time
    return max(apart, .zero - apart) <= one.bound + other.bound
  }

  @Test("P-APP-3 Members read one clock, each within its error bound, and the lowest host is the one to follow")
  func together() throws {
    network.latency = .milliseconds(3)
    network.datagramBytesMax = 0
    let testPeers = try network.gather("a", "b", "c")
    for testPeer in testPeers { _ = try read(testPeer) }
    network.run(.seconds(5))
    let readings = try testPeers.map(read)
    let lowest = try #require(testPeers.map(\.engine.hostID).min())
    for (testPeer, reading) in zip(testPeers, readings) {
      #expect(reading.isSynchronized)
      #expect(reading.source == (testPeer.engine.hostID == lowest ? nil : lowest))
      #expect(reading.bound <= .milliseconds(4))
      #expect(reading.source == nil || reading.bound >= .milliseconds(3))
      for other in readings { #expect(areNear(reading, other)) }
    }
  }

  @Test("P-APP-3 Two hosts measure how far their clocks are apart, and the true difference is within the error")
  func comparison() throws {
    network.latency = .milliseconds(3)
    network.datagramBytesMax = 0
    let testPeers = try network.gather("a", "b")
    for testPeer in testPeers {
      #expect(try read(testPeer).comparison == nil)
    }
    network.run(.seconds(5))
    let (one, other) = (try read(testPeers[0]), try read(testPeers[1]))
    let apart = other.time - one.time
    for (reading, host, lead) in [(one, testPeers[1], apart), (other, testPeers[0], .zero - apart)] {
      let comparison = try #require(reading.comparison)
      #expect(comparison.host == host.engine.hostID)
      #expect(comparison.error == .milliseconds(3))
      #expect((lead - comparison.error...lead + comparison.error).contains(comparison.lead))
    }
  }

  @Test("P-APP-3 A later member takes over the group's time, whichever host is lower, and gets a step event")
  func later() throws {
    network.latency = .milliseconds(1)
    for (first, second) in [("a", "b"), ("c", "d")] {
      let early = try network.testPeer(first)
      let late = try network.testPeer(second)
      _ = try read(early)
      // The newcomer's own clock has begun, too: alone it shows another time.
      network.run(.seconds(50))
      _ = try read(late)
      network.run(.seconds(5))
      try network.connect(early, late)
      network.run(.seconds(3))
      let (one, other) = (try read(early), try read(late))
      #expect(one.time >= .seconds(58))
      #expect(areNear(one, other))
      #expect(one.steps == 0)
      #expect(other.steps == 1)
      #expect(late.take().filter { $0.hasSuffix("clock stepped") } == ["\(second.uppercased()): clock stepped"])
    }
  }

  @Test("P-APP-3 The leader of the clock may leave: the others' time continues")
  func succession() throws {
    let testPeers = try network.gather("a", "b", "c")
    for testPeer in testPeers { _ = try read(testPeer) }
    network.run(.seconds(20))
    let lowest = try #require(testPeers.min { $0.engine.hostID < $1.engine.hostID })
    let before = try read(lowest)
    network.kill(lowest.host)
    let rest = testPeers.filter { $0 !== lowest }
    network.run(.seconds(10))
    let readings = try rest.map(read)
    for reading in readings {
      #expect(reading.time >= before.time + .seconds(9))
      #expect(reading.time <= before.time + .seconds(11))
      #expect(areNear(reading, readings[0]))
      #expect(reading.source != lowest.engine.hostID)
    }
  }

  @Test("P-APP-3 Nothing is sent while nobody reads the clock, and no more a minute after the last reading")
  func idle() throws {
    var count = 0
    network.filter = { type, _, _ in
      if type == .clockRequest || type == .clockReply { count += 1 }
      return true
    }
    network.datagramBytesMax = 0
    let testPeers = try network.gather("a", "b")
    network.run(.seconds(100))
    #expect(count == 0)
    _ = try read(testPeers[0])
    network.run(.seconds(59))
    #expect(count > 30)
    #expect(count < 100)
    network.run(.seconds(5))
    count = 0
    network.run(.seconds(600))
    #expect(count == 0)
    let reading = try read(testPeers[0])
    #expect(!reading.isSynchronized || reading.source == nil)
    network.run(.seconds(1))
    #expect(try read(testPeers[0]).isSynchronized)
  }

  @Test(
    "P-APP-3 A member that claims a later time is followed once; forged replies and members without the clock are not")
  func rogue() throws {
    let a = try network.testPeer("a")
    let older = Rogue("older", to: a.host, on: network)
    try older.enter(with: a)
    network.run()
    _ = try read(a)
    network.run(.seconds(10))
    #expect(older.last(ClockRequest.self) == nil)
    #expect(try read(a).isSynchronized)

    let b = try network.testPeer("b")
    let rogue = Rogue("rogue", to: b.host, on: network)
    try rogue.enter(with: b, features: .clock)
    b.engine.linkCarriesDatagrams(rogue.link, bytesMax: 0, at: network.now)
    network.run()
    _ = try read(b)
    network.run()
    let request = try #require(rogue.last(ClockRequest.self))
    rogue.say(ClockReply(token: request.token &+ 1, time: 1 << 50, bound: 0))
    #expect(try read(b).time < .seconds(1))
    rogue.say(ClockReply(token: request.token, time: 7_200_000_000_000, bound: 0))
    #expect(try read(b).time >= .seconds(7_200))
    // The same reply again answers nothing.
    rogue.say(ClockReply(token: request.token, time: 1 << 59, bound: 0))
    let reading = try read(b)
    #expect(reading.time < .seconds(7_201))
    #expect(reading.steps == 1)
  }

  @Test("P-APP-3 A flood of requests is answered one by one, and asks nothing more in return than one request")
  func flood() throws {
    let a = try network.testPeer("a")
    let rogue = Rogue("rogue", to: a.host, on: network)
    try rogue.enter(with: a, features: .clock)
    a.engine.linkCarriesDatagrams(rogue.link, bytesMax: 0, at: network.now)
    network.run()
    let strand: UInt32 = 1
    for token in 1...100 { rogue.say(ClockRequest(strand: strand, token: UInt64(token), time: 1 << 59)) }
    network.run()
    #expect(rogue.frames.filter { $0.type == .clockReply }.count == 100)
    #expect(rogue.frames.filter { $0.type == .clockRequest }.count == 1)
    rogue.say(ClockRequest(strand: 77, token: 1, time: 0))
    #expect(rogue.frames.filter { $0.type == .clockReply }.count == 100)
  }
}
