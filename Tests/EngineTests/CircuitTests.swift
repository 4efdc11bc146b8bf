import Testing
import Wire

@testable import Engine

/// Circuits through a relay, between two hosts whose every frame is the test's.
@Suite struct CircuitTests {
  let network = TestNetwork()

  private func relay(_ change: (inout RelayRules) -> Void = { _ in }) throws -> TestNetwork.Host {
    var settings = Settings()
    settings.media = [.lan, .folder, .relay]
    var rules = RelayRules()
    change(&rules)
    settings.relay = rules
    // As hosts have it that are not asked to relay for strangers.
    settings.looksForRelays = !rules.isForMembers
    return try network.host("relay", settings)
  }

  private func end(_ name: String, at relay: TestNetwork.Host, features: Hello.Features = .circuits) -> Rogue {
    let rogue = Rogue(name, to: relay, on: network)
    rogue.attach(features: features)
    return rogue
  }

  /// A circuit from one host, where it has the number 1, to another, where it has the number 2.
  private func joined(at relay: TestNetwork.Host) -> (a: Rogue, b: Rogue) {
    let (a, b) = (end("a", at: relay), end("b", at: relay))
    a.say(CircuitOpen(circuit: 1, to: b.host))
    b.say(CircuitAccept(circuit: 2))
    return (a, b)
  }

  private func data(_ circuit: UInt32, _ payload: [UInt8]) -> [UInt8] {
    let size = CircuitDataView.encodedSize(circuit: circuit, payloadBytes: payload.count)
    return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      let raw = UnsafeMutableRawBufferPointer(buffer)  // filled from its start, and finalised to what was written
      var out = unsafe OutputRawSpan(buffer: raw, initializedCount: 0)
      CircuitDataView.writeHead(circuit: circuit, payloadBytes: payload.count, into: &out)
      out.put(raw: payload.span.bytes)
      count = unsafe out.finalize(for: raw)
    }
  }

  private func received(_ rogue: Rogue, _ circuit: UInt32) -> [UInt8] {
    rogue.frames.flatMap { frame -> [UInt8] in
      guard frame.type == .circuitData, let view = try? CircuitDataView(decoding: frame.body.span.bytes),
        view.circuit == circuit
      else { return [] }
      return [UInt8](view.payload)
    }
  }

  private func refusal(_ rogue: Rogue) -> Reason? { rogue.last(CircuitEnd.self)?.reason }

  @Test("P-SES-8 A circuit carries bytes both ways, and its end comes behind them")
  func carries() throws {
    let relay = try relay()
    let (a, b) = joined(at: relay)
    #expect(b.last(CircuitOpen.self) == CircuitOpen(circuit: 2, to: b.host))
    #expect(a.last(CircuitAccept.self) == CircuitAccept(circuit: 1))
    let text = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
    for start in stride(from: 0, to: text.count, by: 5_000) {
      a.say(bytes: data(1, Array(text[start..<start + 5_000])))
    }
    b.say(bytes: data(2, [1, 2, 3]))
    #expect(received(b, 2) == text)
    #expect(received(a, 1) == [1, 2, 3])
    #expect(relay.engine.circuitLoad.relayed == 1)
    a.say(bytes: data(1, [9]) + CircuitEnd(circuit: 1, reason: .none).encoded())
    #expect(received(b, 2).last == 9)
    #expect(b.last(CircuitEnd.self) == CircuitEnd(circuit: 2, reason: .none))
    #expect(relay.engine.circuitLoad.relayed == 0)
    // Late frames of a circuit that has ended are ignored.
    b.say(bytes: data(2, [4]))
    #expect(!a.isClosed && !b.isClosed)
  }

  @Test("P-SES-8 A relay holds no more of a circuit than a window, and a sender without credit is cut off")
  func credit() throws {
    let relay = try relay()
    let (a, b) = joined(at: relay)
    let window = Limits.circuitWindowBytes
    let piece = [UInt8](repeating: 7, count: Limits.circuitDataBytes)
    // One window is on its way to the far end, and one waits here.
    for _ in 0..<8 { a.say(bytes: data(1, piece)) }
    #expect(received(b, 2).count == window)
    #expect(relay.engine.circuitLoad.bytesMax == window)
    b.say(CircuitGrant(circuit: 2, bytes: 8_192))
    #expect(received(b, 2).count == window + 8_192)
    #expect(a.last(CircuitGrant.self) == CircuitGrant(circuit: 1, bytes: 8_192))
    a.say(bytes: data(1, piece))
    #expect(!a.isClosed)
    a.say(bytes: data(1, [7]))
    #expect(a.last(Bye.self)?.reason == .protocolViolation)
    #expect(a.isClosed)
    #expect(refusal(b) == .lost)
    #expect(!b.isClosed)
  }

  @Test("P-SES-8 A relay refuses by name: a host that is not there, more than its limits, and strangers if it must")
  func refuses() throws {
    let relay = try relay { $0.circuitsPerHostMax = 2 }
    let (a, b) = joined(at: relay)
    a.say(CircuitOpen(circuit: 3, to: HostID(ID128(high: 1, low: 1))))
    #expect(a.last(CircuitEnd.self) == CircuitEnd(circuit: 3, reason: .unreachable))
    a.say(CircuitOpen(circuit: 5, to: b.host))
    b.say(CircuitEnd(circuit: 4, reason: .declined))
    #expect(a.last(CircuitEnd.self) == CircuitEnd(circuit: 5, reason: .declined))
    a.say(CircuitOpen(circuit: 7, to: b.host))
    a.say(CircuitOpen(circuit: 9, to: b.host))
    #expect(a.last(CircuitEnd.self) == CircuitEnd(circuit: 9, reason: .busy))
    let old = end("old", at: relay, features: [])
    old.say(CircuitOpen(circuit: 1, to: a.host))
    #expect(refusal(old) == .busy)
    #expect(!a.isClosed && !b.isClosed && !old.isClosed)

    var settings = Settings()
    settings.media = [.lan, .relay]
    let single = try network.host("single", settings)
    let other = end("c", at: single)
    other.say(CircuitOpen(circuit: 1, to: b.host))
    #expect(refusal(other) == .declined)
    let members = try self.relay { $0.isForMembers = true }
    let stranger = end("d", at: members)
    stranger.say(CircuitOpen(circuit: 1, to: b.host))
    #expect(refusal(stranger) == .declined)
  }

  @Test("P-SES-8 For members alone a relay leads those of one session to each other, looks for nobody and says nothing")
  func members() throws {
    let relay = try relay { $0.isForMembers = true }
    let sessions = try ["s", "t"].map { try network.testPeer($0, on: relay) }
    let rogues = ["a", "b", "c"].map { Rogue($0, to: relay, on: network) }
    let (a, b, c) = (rogues[0], rogues[1], rogues[2])
    for (rogue, session) in [(a, 0), (b, 0), (c, 1)] { try rogue.enter(with: sessions[session], features: .circuits) }
    a.say(CircuitOpen(circuit: 1, to: b.host))
    b.say(CircuitAccept(circuit: 2))
    #expect(a.last(CircuitAccept.self)?.circuit == 1)
    a.say(bytes: data(1, [1, 2, 3]))
    #expect(received(b, 2) == [1, 2, 3])
    #expect(relay.engine.relayed.circuits == 1 && relay.engine.relayed.bytes == 3)
    for host in [c.host, HostID(ID128(high: 1, low: 1))] {
      a.say(CircuitOpen(circuit: 3, to: host))
      #expect(a.last(CircuitEnd.self) == CircuitEnd(circuit: 3, reason: .declined))
    }
    #expect(relay.looks == [network.type])
    relay.engine.sightedRoster(network.sighting(of: "far"), of: c.host, type: .hosts, addresses: [], at: network.now)
    a.say(Browse(type: .relays))
    network.run(.seconds(1))
    #expect(a.last(Heard.self) == nil)
    #expect(relay.engine.longestSuspension == MediumProfile.lan.suspensionMax)
    // A former member is led to nobody.
    try relay.engine.remove(b.endpoint, from: sessions[0].endpoint, ban: false, at: network.now)
    network.run(.milliseconds(10))
    #expect(a.last(CircuitEnd.self) == CircuitEnd(circuit: 1, reason: .declined))
    #expect(relay.engine.relayed.circuits == 0)
  }

  @Test("P-SES-8 A host without the feature is not led to, and one that does not answer is given up in time")
  func unanswered() throws {
    let relay = try relay()
    let (a, old, mute) = (end("a", at: relay), end("old", at: relay, features: []), end("mute", at: relay))
    a.say(CircuitOpen(circuit: 1, to: old.host))
    #expect(refusal(a) == .declined)
    a.say(CircuitOpen(circuit: 3, to: mute.host))
    for _ in 0..<6 {
      network.run(.seconds(1))
      for rogue in [a, mute] { rogue.say(Pong(token: 0)) }
    }
    #expect(a.last(CircuitEnd.self) == CircuitEnd(circuit: 3, reason: .unreachable))
    #expect(mute.last(CircuitEnd.self)?.circuit == 2)
    #expect(relay.engine.circuitLoad.relayed == 0)
  }

  @Test("P-SES-8 Circuits take turns, and each has its bytes in order")
  func turns() throws {
    let relay = try relay()
    let (a, b) = joined(at: relay)
    let c = end("c", at: relay)
    c.say(CircuitOpen(circuit: 1, to: b.host))
    b.say(CircuitAccept(circuit: 4))
    let piece = [UInt8](repeating: 1, count: Limits.circuitDataBytes)
    for _ in 0..<8 { a.say(bytes: data(1, piece)) }
    c.say(bytes: data(1, piece))
    // Bytes that wait of the first circuit do not hold up the second.
    #expect(received(b, 4) == piece)
  }

  @Test("P-SES-8 Hosts take turns on a link: one with many circuits has no more of it than one with a single one")
  func turnsOfHosts() throws {
    let relay = try relay()
    let (a, b, c) = (end("a", at: relay), end("b", at: relay), end("c", at: relay))
    for number in 0..<UInt32(8) {
      a.say(CircuitOpen(circuit: 1 + 2 * number, to: b.host))
      b.say(CircuitAccept(circuit: 2 + 2 * number))
    }
    c.say(CircuitOpen(circuit: 1, to: b.host))
    b.say(CircuitAccept(circuit: 18))
    // One window of each has gone, and one waits for credit.
    let piece = [UInt8](repeating: 1, count: Limits.circuitDataBytes)
    for _ in 0..<8 {
      for number in 0..<UInt32(8) { a.say(bytes: data(1 + 2 * number, piece)) }
      c.say(bytes: data(1, piece))
    }
    let before = b.frames.count
    b.say(bytes: (1...UInt32(9)).flatMap { CircuitGrant(circuit: 2 * $0, bytes: 32_768).encoded() })
    let order = b.frames[before...].compactMap { frame in
      frame.type == .circuitData ? try? CircuitDataView(decoding: frame.body.span.bytes).circuit : nil
    }
    #expect(order.count == 36)
    #expect(order.prefix(8).count { $0 == 18 } == 4)
  }

  @Test("P-SES-8 A relay's rate is shared by the hosts that send, over whichever links and circuits")
  func rateOfHosts() throws {
    let relay = try relay { $0.bytesPerSecond = 20_000 }
    let (a, c, d) = (end("a", at: relay), end("c", at: relay), end("d", at: relay))
    let ends = (0..<6).map { end("b\($0)", at: relay) }
    for (place, b) in ends.enumerated() {
      a.say(CircuitOpen(circuit: UInt32(1 + 2 * place), to: b.host))
      b.say(CircuitAccept(circuit: 2))
    }
    c.say(CircuitOpen(circuit: 1, to: d.host))
    d.say(CircuitAccept(circuit: 2))
    let window = [UInt8](repeating: 1, count: Limits.circuitDataBytes)
    for _ in 0..<4 {
      for place in ends.indices { a.say(bytes: data(UInt32(1 + 2 * place), window)) }
      c.say(bytes: data(1, window))
    }
    let before = ends.reduce(0) { $0 + received($1, 2).count }
    #expect(before == 20_000)
    #expect(received(d, 2).isEmpty)
    for _ in 0..<2 {
      network.run(.seconds(1))
      for rogue in [a, c, d] + ends { rogue.say(Pong(token: 0)) }
    }
    let (ofA, ofC) = (ends.reduce(0) { $0 + received($1, 2).count } - before, received(d, 2).count)
    #expect((18_000...21_000).contains(ofA))
    #expect((18_000...21_000).contains(ofC))
  }

  @Test("P-SES-8 P-SES-9 A link moves to a better medium for circuits as for members, and these go on")
  func handover() throws {
    let relay = try relay { $0.circuitsPerHostMax = 1 }
    let far = try network.host("far", relay.engine.settings)
    let (lan, folder) = (MediumID(rawValue: 0), MediumID(rawValue: 1))
    network.down = [folder]
    relay.engine.sightedRoster(
      network.sighting(of: "far"), of: far.engine.hostID, type: .hosts, addresses: far.engine.settings.addresses,
      at: network.now)
    let a = end("a", at: relay)
    a.say(CircuitOpen(circuit: 1, to: far.engine.hostID))
    #expect(a.last(CircuitAccept.self)?.circuit == 1)
    #expect(relay.engine.medium(of: far.engine.hostID) == lan)
    network.down = []
    for _ in 0..<12 {
      network.run(.seconds(1))
      a.say(Pong(token: 0))
    }
    #expect(relay.engine.medium(of: far.engine.hostID) == folder)
    #expect(far.engine.medium(of: relay.engine.hostID) == folder)
    a.say(bytes: data(1, [7]))
    guard case .circuitBytes(_, let bytes)? = far.outputs.last else {
      Issue.record("the circuit has ended")
      return
    }
    #expect(bytes.bytes == [7])
    // It counts as one of the host's, though it is on standby.
    let b = end("b", at: relay)
    b.say(CircuitOpen(circuit: 1, to: far.engine.hostID))
    #expect(refusal(b) == .busy)
    network.down = [folder]
    network.cut(folder)
    network.run(.seconds(1))
    #expect(relay.engine.medium(of: far.engine.hostID) == lan)
    #expect(a.last(CircuitEnd.self) == nil)
  }

  @Test("P-SES-8 P-SES-9 A circuit that is opened while its link is exchanged is taken over whichever link it comes")
  func openedMeanwhile() throws {
    let relay = try relay { $0.circuitsPerHostMax = 100 }
    let far = try network.host("far", relay.engine.settings)
    let (lan, folder) = (MediumID(rawValue: 0), MediumID(rawValue: 1))
    network.latencies = [lan: .milliseconds(30), folder: .milliseconds(2)]
    network.down = [folder]
    relay.engine.sightedRoster(
      network.sighting(of: "far"), of: far.engine.hostID, type: .hosts, addresses: far.engine.settings.addresses,
      at: network.now)
    let a = end("a", at: relay)
    a.say(CircuitOpen(circuit: 1, to: far.engine.hostID))
    network.run(.milliseconds(500))
    #expect(relay.engine.medium(of: far.engine.hostID) == lan)
    network.down = []
    for number in 1...150 as ClosedRange<UInt32> {
      a.say(CircuitOpen(circuit: 1 + 2 * number, to: far.engine.hostID))
      network.run(.milliseconds(25))
      if number > 20 { a.say(CircuitEnd(circuit: 2 * number - 39, reason: .none)) }
    }
    network.run(.milliseconds(100))
    #expect(relay.engine.medium(of: far.engine.hostID) == folder)
    #expect(refusal(a) == nil)
    #expect(a.frames.count { $0.type == .circuitAccept } == 151)
  }

  @Test("P-SES-8 A circuit whose far end was asked over a link that is lost is opened over the next one, in its time")
  func reopened() throws {
    let relay = try relay()
    let (a, first) = (end("a", at: relay), end("b", at: relay))
    // One that ends as soon as it has begun counts as a dial that failed.
    for _ in 0..<3 {
      network.run(.seconds(1))
      for rogue in [a, first] { rogue.say(Pong(token: 0)) }
    }
    a.say(CircuitOpen(circuit: 1, to: first.host))
    #expect(first.last(CircuitOpen.self)?.circuit == 2)
    first.closed(.lost)
    network.run(.milliseconds(500))
    #expect(refusal(a) == nil)
    let next = end("b", at: relay)
    #expect(next.last(CircuitOpen.self)?.circuit == 2)
    next.say(CircuitAccept(circuit: 2))
    #expect(a.last(CircuitAccept.self)?.circuit == 1)
    #expect(relay.engine.circuitLoad.relayed == 1)
    // None that is open is moved: bytes of it may be lost.
    next.closed(.lost)
    network.run()
    #expect(refusal(a) == .lost)
    #expect(relay.engine.circuitLoad.relayed == 0)
    a.say(CircuitOpen(circuit: 3, to: first.host))
    #expect(a.last(CircuitEnd.self) == CircuitEnd(circuit: 3, reason: .unreachable))
  }

  @Test(
    "P-SES-8 Frames of circuits that break a rule close the link that they came over, and no other", arguments: 0..<6)
  func hostile(kind: Int) throws {
    let relay = try relay()
    let (a, b) = joined(at: relay)
    switch kind {
    case 0: a.say(CircuitOpen(circuit: 2, to: b.host))
    case 1: a.say(CircuitOpen(circuit: 1, to: b.host))
    case 2: a.say(CircuitAccept(circuit: 1))
    case 3: a.say(CircuitGrant(circuit: 1, bytes: 1))
    case 4: a.say(Heard(isHeard: true, hosts: [b.host]))
    default:
      a.say(CircuitOpen(circuit: 3, to: b.host))
      a.say(bytes: data(3, [1]))
    }
    #expect(a.last(Bye.self)?.reason == .protocolViolation)
    #expect(a.isClosed)
    #expect(refusal(b) == .lost)
    #expect(!b.isClosed)
  }

  @Test("P-SES-8 The far end of a circuit takes it, and its medium gets the bytes and gives them")
  func ends() throws {
    var settings = Settings()
    settings.media = [.lan, .relay]
    let host = try network.host("far", settings)
    let relay = end("relay", at: host, features: [.circuits, .relay])
    relay.say(CircuitOpen(circuit: 1, to: host.engine.hostID))
    #expect(relay.last(CircuitAccept.self) == CircuitAccept(circuit: 1))
    guard case .circuitOpened(let id, isDialed: false)? = host.outputs.last else {
      Issue.record("no circuit was reported")
      return
    }
    relay.say(bytes: data(1, [1, 2]))
    guard case .circuitBytes(id, _)? = host.outputs.last else {
      Issue.record("no bytes were reported")
      return
    }
    let much = [UInt8](repeating: 3, count: 40_000)
    #expect(host.engine.write(much.span.bytes, to: id, at: network.now) == Limits.circuitWindowBytes)
    network.run()
    #expect(received(relay, 1).count == Limits.circuitWindowBytes)
    relay.say(CircuitGrant(circuit: 1, bytes: 8_192))
    guard case .circuitWritable(id)? = host.outputs.last else {
      Issue.record("room was not reported")
      return
    }
    relay.say(CircuitEnd(circuit: 1, reason: .none))
    guard case .circuitEnded(id, .none)? = host.outputs.last else {
      Issue.record("no end was reported")
      return
    }
    // A relay of one's own is asked by its host.
    let circuit = host.engine.openCircuit(to: HostID(ID128(high: 0, low: 9)), through: relay.host, at: network.now)
    network.run()
    #expect(relay.last(CircuitOpen.self)?.circuit == 2)
    relay.closed(.lost)
    network.run()
    guard let circuit, case .circuitEnded(circuit, .lost)? = host.outputs.last else {
      Issue.record("the circuit outlived its link")
      return
    }
  }

  @Test("P-SES-8 A relay that opens no circuit to a host, or loses the link to it, is tried after the others")
  func failing() throws {
    var settings = Settings()
    settings.media = [.lan, .relay]
    let engine = try network.host("far", settings).engine
    let relays = ["first", "second"].map { end($0, at: network.hosts[0], features: [.circuits, .relay]) }
    let key = network.crypto.key(named: "host target")
    let target = engine.host(HostID(digest: network.crypto.hash(HostID.preimage(of: key))))
    let ways = relays.map { Address.relay($0.host) }
    #expect(engine.addresses(of: target) == ways)

    _ = engine.openCircuit(to: target.id, through: relays[0].host, at: network.now)
    network.run()
    let refused = try #require(relays[0].last(CircuitOpen.self))
    relays[0].say(CircuitEnd(circuit: refused.circuit, reason: .unreachable))
    #expect(engine.addresses(of: target) == ways.reversed())

    let circuit = try #require(engine.openCircuit(to: target.id, through: relays[1].host, at: network.now))
    network.run()
    let taken = try #require(relays[1].last(CircuitOpen.self))
    relays[1].say(CircuitAccept(circuit: taken.circuit))
    let link = network.newLink()
    engine.linkOpened(
      link, to: key, exporter: network.exporter(of: link), dial: nil, datagramBytesMax: 0,
      medium: MediumID(rawValue: 1), circuit: circuit, at: network.now)
    network.run()
    #expect(engine.addresses(of: target) == ways.reversed())
    engine.linkClosed(link, at: network.now)
    network.run()
    #expect(engine.addresses(of: target) == ways)
  }
}
