import Testing
import Wire

@testable import Engine

/// Members that lie about streams and resources: about sizes, places, hashes and credit.
@Suite struct FlowRogueTests {
  let network = TestNetwork()

  /// A rogue member in a session with an honest one.
  func member(_ rules: (inout SessionSettings) -> Void = { _ in }) throws -> (Rogue, TestPeer, SessionSettings) {
    var session = SessionSettings()
    session.resources.acceptsUnasked = true
    rules(&session)
    let peer = try network.testPeer("v", session)
    let rogue = Rogue("r", to: peer.host, on: network)
    try rogue.enter(with: peer)
    #expect(peer.connected == "R")
    network.clear()
    return (rogue, peer, session)
  }

  func open(_ rogue: Rogue, _ flow: UInt64 = 5) throws {
    rogue.say(
      StreamOpen(
        record: rogue.head(), flow: flow, incarnation: Incarnation(1), from: 1, to: try index(rogue), name: "s"))
  }

  func index(_ rogue: Rogue) throws -> UInt32 { try #require(rogue.last(Join.self)).index }

  func data(_ count: Int, at offset: UInt64, flow: UInt64 = 5) -> [UInt8] {
    var bytes = [UInt8](
      repeating: 0, count: StreamDataView.encodedSize(flow: flow, offset: offset, payloadBytes: count))
    return fill(&bytes) { out in
      StreamDataView.writeHead(flow: flow, offset: offset, payloadBytes: count, into: &out)
    }
  }

  func chunk(_ count: Int, at offset: UInt64, turn: UInt32 = 1, flow: UInt64 = 5) -> [UInt8] {
    let digest = network.crypto.leaf(of: [UInt8](repeating: 0, count: count).span.bytes)
    var bytes = [UInt8](
      repeating: 0,
      count: ResourceChunkView.encodedSize(flow: flow, turn: turn, offset: offset, digest: digest, payloadBytes: count))
    return fill(&bytes) { out in
      ResourceChunkView.writeHead(
        flow: flow, turn: turn, offset: offset, digest: digest, payloadBytes: count, into: &out)
    }
  }

  /// The head as written, and zeros.
  private func fill(_ bytes: inout [UInt8], _ write: (inout OutputRawSpan) -> Void) -> [UInt8] {
    bytes.withUnsafeMutableBytes { buffer in
      // Filled from its start, and finalised to what was written.
      var out = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
      write(&out)
      _ = unsafe out.finalize(for: buffer)
    }
    return bytes
  }

  func offer(_ rogue: Rogue, size: UInt64?, root: Digest? = nil, flow: UInt64 = 5) throws {
    rogue.say(
      ResourceOffer(
        record: rogue.head(), flow: flow, from: 1, to: try index(rogue), name: "f", type: "", size: size, root: root))
  }

  @Test("Stream bytes that were not asked for, or are not the next, close the link", arguments: [0, 1, 2])
  func streamLies(kind: Int) throws {
    let (rogue, peer, _) = try member()
    peer.host.program.isReading = false
    try open(rogue)
    for piece in 0..<16 { rogue.say(bytes: data(16_384, at: UInt64(piece) * 16_384)) }
    #expect(!rogue.isClosed)
    #expect(peer.host.program.text("s").count == 256 << 10)
    switch kind {
    case 0: rogue.say(bytes: data(1, at: 256 << 10))
    case 1: rogue.say(bytes: data(1, at: 0))
    default: rogue.say(StreamEnd(record: rogue.head(), flow: 5, reason: .none, size: 1))
    }
    #expect(rogue.ending == .protocolViolation)
  }

  @Test("A grant on a new link of what was not sent there closes it")
  func grantAfterReconnect() throws {
    let (first, peer, _) = try member()
    let stream = try peer.engine.openStream("out", from: peer.endpoint, to: first.endpoint, at: network.now)
    try peer.engine.write([UInt8](repeating: 1, count: 100_000), to: stream, at: network.now)
    network.run()
    let flow = try #require(first.last(StreamOpen.self)).flow
    first.say(StreamGrant(flow: flow, received: 0, limit: 100_000))
    first.acknowledge()
    peer.engine.linkClosed(first.link, at: network.now)
    let again = Rogue("r", to: peer.host, on: network)
    again.greet(ordinal: 2)
    let theirs = try #require(again.last(Attach.self))
    again.say(
      Attach(
        bond: Rogue.bond, expects: theirs.bond, received: theirs.next - 1, first: theirs.received + 1,
        next: theirs.received + 1))
    again.say(StreamGrant(flow: flow, received: 0, limit: 0))
    #expect(!again.isClosed)
    again.say(StreamGrant(flow: flow, received: 100_000, limit: 200_000))
    #expect(again.ending == .protocolViolation)
  }

  @Test("A leave for no reason closes the link, and ends nothing as whole", arguments: [true, false])
  func leaveForNoReason(isStream: Bool) throws {
    let (rogue, peer, _) = try member()
    if isStream { try open(rogue) } else { try offer(rogue, size: 100_000) }
    rogue.say(Leave(record: rogue.head(), index: 1, reason: .none, seen: 0))
    #expect(rogue.ending == .protocolViolation)
    #expect(!peer.take().contains { $0.hasSuffix("ended: none") })
  }

  @Test("One number for two transfers closes the link")
  func sameNumber() throws {
    let (rogue, peer, _) = try member()
    try offer(rogue, size: 10)
    let other = try network.testPeer("w", on: peer.host)
    try network.connect(peer, other)
    network.run(.seconds(1))
    let joins = rogue.frames.filter { $0.type == .join }.compactMap { try? Join(decoding: $0.body.span.bytes) }
    let second = try #require(joins.first { $0.entry.endpoint == other.endpoint }).index
    rogue.say(Verdict(record: rogue.head(), about: second, by: .all, reason: .none, seen: 3))
    #expect(other.connected.contains("R"))
    rogue.say(
      ResourceOffer(record: rogue.head(), flow: 5, from: 1, to: second, name: "g", type: "", size: 10, root: nil))
    #expect(rogue.ending == .protocolViolation)
  }

  @Test("Offers that end at once leave nothing behind")
  func offersThatEnd() throws {
    let (rogue, peer, _) = try member()
    for flow in 1...3_000 {
      try offer(rogue, size: 1 << 20, flow: UInt64(flow))
      rogue.say(ResourceEnd(record: rogue.head(), flow: UInt64(flow), outcome: .broken(.cancelled)))
    }
    #expect(peer.engine.timers.count < 500)
  }

  @Test("Streams that are closed and not used keep their place")
  func unusedStreams() throws {
    let (rogue, peer, _) = try member()
    peer.host.program.isReading = false
    for flow in 1...70 {
      try open(rogue, UInt64(flow))
      rogue.say(bytes: data(100, at: 0, flow: UInt64(flow)))
      rogue.say(StreamEnd(record: rogue.head(), flow: UInt64(flow), reason: .none, size: 100))
    }
    #expect(rogue.last(StreamStop.self)?.reason == .busy)
    #expect(peer.host.program.streams.count == 64)
    for stream in peer.host.program.streams.keys { peer.engine.consumed(100, of: stream, at: network.now) }
    try open(rogue, 99)
    #expect(peer.host.program.streams.count == 65)
  }

  @Test("A stream that is opened twice closes the link")
  func openedTwice() throws {
    let (rogue, _, _) = try member()
    try open(rogue)
    try open(rogue)
    #expect(rogue.ending == .protocolViolation)
  }

  @Test("Bytes, grants and ends of what is not there mean nothing")
  func unknownFlows() throws {
    let (rogue, peer, _) = try member()
    rogue.say(bytes: data(10, at: 77))
    rogue.say(bytes: chunk(10, at: 77))
    rogue.say(StreamGrant(flow: 9, received: 5, limit: 10), StreamStop(record: rogue.head(), flow: 9, reason: .none))
    rogue.say(StreamEnd(record: rogue.head(), flow: 9, reason: .lost, size: 4))
    rogue.say(ResourceWant(flow: 9, turn: 1, offset: 0, limit: 99, root: network.crypto.hash([])))
    rogue.say(ResourceStop(record: rogue.head(), flow: 9, reason: .none))
    rogue.say(ResourceEnd(record: rogue.head(), flow: 9, outcome: .broken(.cancelled)))
    #expect(!rogue.isClosed)
    #expect(peer.take() == [])
  }

  @Test("A stream that a host that was restarted had opened before is not told")
  func formerLife() throws {
    let (rogue, peer, _) = try member()
    rogue.say(
      StreamOpen(record: rogue.head(), flow: 5, incarnation: Incarnation(0), from: 1, to: try index(rogue), name: "s"))
    #expect(peer.take() == [])
  }

  @Test("A grant of what was not sent, or that takes back, closes the link", arguments: [0, 1, 2])
  func grantLies(kind: Int) throws {
    let (rogue, peer, _) = try member()
    let stream = try peer.engine.openStream("out", from: peer.endpoint, to: rogue.endpoint, at: network.now)
    try peer.engine.write([UInt8](repeating: 1, count: 1_000), to: stream, at: network.now)
    network.run()
    let flow = try #require(rogue.last(StreamOpen.self)).flow
    rogue.say(StreamGrant(flow: flow, received: 0, limit: 600))
    rogue.say(StreamGrant(flow: flow, received: 500, limit: 600))
    #expect(!rogue.isClosed)
    switch kind {
    case 0: rogue.say(StreamGrant(flow: flow, received: 601, limit: 700))
    case 1: rogue.say(StreamGrant(flow: flow, received: 499, limit: 700))
    default: rogue.say(StreamStop(record: rogue.head(), flow: flow, reason: .none))
    }
    #expect(rogue.ending == .protocolViolation)
  }

  @Test("Too many streams are refused one by one, and the member stays")
  func tooManyStreams() throws {
    let (rogue, peer, _) = try member()
    for flow in 1...70 { try open(rogue, UInt64(flow)) }
    #expect(peer.take().count == 64)
    #expect(rogue.frames.filter { $0.type == .streamStop }.count == 6)
    #expect(rogue.last(StreamStop.self)?.reason == .busy)
    #expect(!rogue.isClosed)
  }

  @Test("A chunk that is not the next one, as it was asked for, closes the link", arguments: 0...6)
  func chunkLies(kind: Int) throws {
    let (rogue, peer, _) = try member()
    try offer(rogue, size: kind == 6 ? nil : 100_000)
    #expect(try #require(rogue.last(ResourceWant.self)).turn == 1)
    rogue.say(bytes: chunk(16_384, at: 0))
    #expect(!rogue.isClosed)
    switch kind {
    case 0: rogue.say(bytes: chunk(16_384, at: 0))
    case 1: rogue.say(bytes: chunk(16_384, at: 32_768))
    case 2: rogue.say(bytes: chunk(10_000, at: 16_384))
    case 3: rogue.say(bytes: chunk(16_384, at: 16_384, turn: 2))
    case 4:
      for piece in 1..<6 { rogue.say(bytes: chunk(16_384, at: UInt64(piece) * 16_384)) }
      rogue.say(bytes: chunk(16_384, at: 6 * 16_384))
    case 5:
      for piece in 1..<6 { rogue.say(bytes: chunk(16_384, at: UInt64(piece) * 16_384)) }
      rogue.say(bytes: chunk(1, at: 6 * 16_384))
    default:
      rogue.say(bytes: chunk(10, at: 16_384))
      rogue.say(bytes: chunk(10, at: 16_394))
    }
    // Its source may have grown since it offered that.
    #expect(rogue.ending == (kind == 4 ? nil : .protocolViolation))
    #expect(peer.take().contains("f ended: mismatch") == (kind == 4))
  }

  @Test("More than was asked for closes the link, though nobody stores it")
  func pastTheWindow() throws {
    let (rogue, peer, _) = try member()
    peer.host.program.isStoring = false
    try offer(rogue, size: nil)
    for piece in 0..<64 { rogue.say(bytes: chunk(16_384, at: UInt64(piece) * 16_384)) }
    #expect(!rogue.isClosed)
    rogue.say(bytes: chunk(16_384, at: 64 * 16_384))
    #expect(rogue.ending == .protocolViolation)
  }

  @Test("A resource whose size or root turns out to be another ends as a mismatch", arguments: [0, 1, 2])
  func endLies(kind: Int) throws {
    let (rogue, peer, _) = try member()
    try offer(rogue, size: kind == 0 ? 20_000 : nil)
    rogue.say(bytes: chunk(16_384, at: 0))
    let root = network.crypto.leaf(of: [UInt8](repeating: 0, count: 16_384).span.bytes)
    let size: UInt64 = [16_384, 10_000, 16_384][kind]
    rogue.say(
      ResourceEnd(
        record: rogue.head(), flow: 5,
        outcome: .whole(size: size, root: kind == 2 ? network.crypto.hash([9]) : root)))
    #expect(peer.take().last == "f ended: mismatch")
    #expect(rogue.last(ResourceStop.self)?.reason == .mismatch)
    #expect(!rogue.isClosed)
  }

  @Test("A sender that stops in the middle is given up in time, and one that offers too much refused")
  func neverFinishes() throws {
    let (rogue, peer, _) = try member { $0.resources.offersMax = 3 }
    for flow in 1...5 { try offer(rogue, size: 1 << 40, flow: UInt64(flow)) }
    #expect(rogue.frames.filter { $0.type == .resourceStop }.count == 2)
    for second in 0..<70 {
      network.run(.seconds(1))
      rogue.say(Pong(token: UInt64(second)))
      rogue.acknowledge()
    }
    #expect(peer.take().filter { $0 == "f ended: timedOut" }.count == 3)
    #expect(!rogue.isClosed)
  }

  @Test("A receiver that asks and never reads has no more read for it than a window, and is given up in time")
  func neverReads() throws {
    let (rogue, peer, _) = try member()
    let id = try peer.engine.offer(
      ResourceInfo(name: "f", size: 1 << 41), from: peer.endpoint, to: rogue.endpoint, at: network.now)
    peer.host.program.names[id] = "f"
    peer.host.program.sources["f"] = pattern(5_000_000)
    network.run()
    let flow = try #require(rogue.last(ResourceOffer.self)).flow
    rogue.say(ResourceWant(flow: flow, turn: 1, offset: 0, limit: 1 << 41, root: network.crypto.hash([])))
    #expect(peer.host.program.readFrom == [0, 262_144, 524_288, 786_432])
    #expect(rogue.frames.filter { $0.type == .resourceChunk }.count == 64)
    for second in 0..<910 {
      network.run(.seconds(1))
      rogue.say(Pong(token: UInt64(second)))
      rogue.acknowledge()
    }
    #expect(peer.take() == ["f ended: timedOut"])
  }

  @Test("A want of what cannot be wanted closes the link; of another content, it ends the transfer", arguments: 0...5)
  func wantLies(kind: Int) throws {
    let (rogue, peer, _) = try member()
    try peer.engine.offer(
      ResourceInfo(name: "f", size: 100_000), from: peer.endpoint, to: rogue.endpoint, at: network.now
    ).in(peer)
    network.run()
    let flow = try #require(rogue.last(ResourceOffer.self)).flow
    let empty = network.crypto.hash([])
    rogue.say(ResourceWant(flow: flow, turn: 1, offset: 0, limit: 65_536, root: empty))
    #expect(rogue.frames.filter { $0.type == .resourceChunk }.count == 4)
    switch kind {
    case 0: rogue.say(ResourceWant(flow: flow, turn: 2, offset: 1_000, limit: 65_536, root: empty))
    case 1: rogue.say(ResourceWant(flow: flow, turn: 2, offset: 114_688, limit: 1 << 20, root: empty))
    case 2: rogue.say(ResourceWant(flow: flow, turn: 2, offset: 81_920, limit: 1 << 20, root: empty))
    case 3: rogue.say(ResourceStop(record: rogue.head(), flow: flow, reason: .none))
    case 4: rogue.say(ResourceWant(flow: flow, turn: 2, offset: 16_384, limit: 65_536, root: empty))
    default:
      for turn in UInt32(2)...9 {
        rogue.say(ResourceWant(flow: flow, turn: turn, offset: 0, limit: 65_536, root: empty))
      }
    }
    #expect(rogue.ending == (kind == 4 ? nil : .protocolViolation))
    #expect(peer.take().contains("f ended: mismatch") == (kind == 4))
  }
}

extension ResourceID {
  fileprivate func `in`(_ peer: TestPeer) {
    peer.host.program.names[self] = "f"
    peer.host.program.sources["f"] = pattern(100_000)
  }
}
