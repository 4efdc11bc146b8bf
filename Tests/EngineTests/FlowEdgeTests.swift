import Testing
import Wire

@testable import Engine

/// Streams and resources where links, turns, restarts and sources end at another place than they began.
@Suite struct FlowEdgeTests {
  let network = TestNetwork()
  let rogues = FlowRogueTests()

  @Test("A grant of bytes that only an earlier link has had closes the link")
  func grantOverNewLink() throws {
    let network = rogues.network
    let (rogue, peer, _) = try rogues.member()
    let stream = try peer.engine.openStream("out", from: peer.endpoint, to: rogue.endpoint, at: network.now)
    try peer.engine.write([UInt8](repeating: 1, count: 1_000), to: stream, at: network.now)
    network.run()
    let flow = try #require(rogue.last(StreamOpen.self)).flow
    rogue.say(StreamGrant(flow: flow, received: 0, limit: 2_000))
    #expect(rogue.frames.contains { $0.type == .streamData })
    peer.engine.linkClosed(rogue.link, at: network.now)
    let again = Rogue("r", to: peer.host, on: network)
    again.greet()
    let records = UInt64(rogue.frames.filter { $0.type.isRecord }.count)
    again.say(
      Attach(
        bond: Rogue.bond, expects: try #require(again.last(Hello.self)).bond, received: records, first: 1, next: 3))
    again.say(StreamGrant(flow: flow, received: 0, limit: 0))
    #expect(!again.isClosed)
    again.say(StreamGrant(flow: flow, received: 1_000, limit: 2_000))
    #expect(again.ending == .protocolViolation)
  }

  @Test("One number for the resources of two endpoints closes the link")
  func oneNumberForTwo() throws {
    let network = rogues.network
    var session = SessionSettings()
    session.resources.acceptsUnasked = true
    let peer = try network.testPeer("v", session)
    try network.connect(peer, try network.testPeer("w", on: peer.host, session))
    let rogue = Rogue("r", to: peer.host, on: network)
    try rogue.enter(with: peer)
    let indexes = rogue.frames.filter { $0.type == .join }
      .compactMap { try? Join(decoding: $0.body.span.bytes) }.map(\.index)
    rogue.say(Verdict(record: rogue.head(), about: try #require(indexes.first), by: .all, reason: .none, seen: 2))
    #expect(indexes.count == 2)
    for index in indexes {
      #expect(!rogue.isClosed)
      rogue.say(
        ResourceOffer(
          record: rogue.head(), flow: 5, from: 1, to: index, name: "f", type: "", size: nil, root: nil))
    }
    #expect(rogue.ending == .protocolViolation)
  }

  /// A member that wants all of a resource of unknown size, and its source, which is not read.
  private func wanted() throws -> (Rogue, TestPeer, ResourceID, flow: UInt64) {
    let network = rogues.network
    let (rogue, peer, _) = try rogues.member()
    peer.host.program.isSupplying = false
    let id = try peer.engine.offer(ResourceInfo(name: "f"), from: peer.endpoint, to: rogue.endpoint, at: network.now)
    network.run()
    let flow = try #require(rogue.last(ResourceOffer.self)).flow
    rogue.say(ResourceWant(flow: flow, turn: 1, offset: 0, limit: 1 << 20, root: network.crypto.hash([])))
    #expect(peer.host.program.readFrom == [0, 262_144, 524_288, 786_432])
    return (rogue, peer, id, flow)
  }

  private func supply(_ count: Int, from offset: UInt64, isLast: Bool, of id: ResourceID, _ peer: TestPeer) throws {
    let bytes = pattern(count)
    try peer.engine.supply(
      bytes, digests: TestNetwork.digests(of: bytes, peer.network.crypto), isLast: isLast, of: id, from: offset,
      at: peer.network.now)
    peer.network.run()
  }

  @Test("Bytes of a source after its end are ignored")
  func grownSource() throws {
    let (rogue, peer, id, _) = try wanted()
    try supply(262_144, from: 0, isLast: true, of: id, peer)
    #expect(rogue.last(ResourceEnd.self) != nil)
    try supply(262_144, from: 262_144, isLast: false, of: id, peer)
    #expect(rogue.frames.filter { $0.type == .resourceChunk }.count == 16)
  }

  @Test("An answer to a read that its receiver wants no more is late, and no error")
  func lateAnswer() throws {
    let (rogue, peer, id, flow) = try wanted()
    rogue.say(ResourceWant(flow: flow, turn: 2, offset: 0, limit: 16_384, root: peer.network.crypto.hash([])))
    try supply(262_144, from: 0, isLast: false, of: id, peer)
    #expect(rogue.frames.allSatisfy { $0.type != .resourceChunk })
    #expect(throws: EngineError.self) { try supply(2_097_152, from: 0, isLast: false, of: id, peer) }
    try supply(16_384, from: 0, isLast: false, of: id, peer)
    #expect(rogue.frames.filter { $0.type == .resourceChunk }.count == 1)
  }

  private var sender: ResourceSender {
    ResourceSender(
      id: ResourceID(rawValue: 1), flow: 5, pair: pair, host: HostID(ID128(high: 3, low: 3)),
      info: ResourceInfo(name: "f", size: 1 << 41), at: network.now)
  }

  private var pair: Pair {
    Pair(local: EndpointID(ID128(high: 1, low: 1)), member: EndpointID(ID128(high: 2, low: 2)))
  }

  @Test("A source that is hashed again up to what its receiver has costs the memory of a tree")
  func hashedAgain() {
    let sender = sender
    let crypto = network.crypto
    sender.begin(1, at: 1 << 25, limit: 1 << 26, root: crypto.hash([7]), crypto)
    let bytes = [UInt8](repeating: 0, count: 262_144)
    let digests = [Digest](repeating: crypto.hash([1]), count: 16)
    var isSame: Bool?
    while isSame == nil, sender.nextRead(window: 262_144) != nil {
      #expect(sender.answers(bytes.count, from: sender.hashed, isLast: false))
      sender.supply(bytes, digests)
      isSame = sender.compareBeginning(crypto)
      #expect(sender.digests.count == 0)
    }
    #expect(isSame == false)
    #expect(sender.hashed == 1 << 25)
  }

  @Test("A request never reaches past the largest resource")
  func largestWant() throws {
    let receiver = ResourceReceiver(
      id: ResourceID(rawValue: 1), flow: 5, pair: pair, host: HostID(ID128(high: 3, low: 3)),
      info: ResourceInfo(name: "f"), isAccepted: true, at: network.now)
    receiver.restore(stored: Limits.flowBytesMax - 16_384, tree: ChunkTree(), at: network.now)
    let want = receiver.begin(windowBytes: 1 << 20, network.crypto)
    #expect(try ResourceWant(decoding: Array(want.encoded().dropFirst(2)).span.bytes) == want)
    #expect(receiver.settle(through: Limits.flowBytesMax)?.limit ?? want.limit == Limits.flowBytesMax)
  }

  @Test("A stored transfer that no frame could speak of is damaged", arguments: [0, 1])
  func damagedRow(kind: Int) throws {
    var row = ResourceRow(sender)
    row.ending = TransferEnd(reason: .cancelled)
    func decoded() throws -> ResourceRow {
      var sink = ArraySink()
      row.encode(into: &sink)
      var reader = Reader(sink.bytes.span.bytes)
      return try ResourceRow(from: &reader)
    }
    #expect(try decoded().ending == row.ending)
    if kind == 0 { row.flow = 0 } else { row.ending = TransferEnd(reason: .none) }
    #expect(throws: WireError.self) { try decoded() }
  }

  @Test("A transfer that stands twice in a store goes on once")
  func storedTwice() throws {
    var settings = Settings()
    settings.isDurable = true
    var session = SessionSettings()
    session.resources.acceptsUnasked = true
    var peers = try network.gather("a", "b", session: session, settings: settings)
    peers[1].host.program.isStoring = false
    try peers[0].offer("file", pattern(100_000), to: peers[1])
    network.run(.milliseconds(100))
    network.clear()
    peers[1] = try network.restart(peers[1]) { $0 + $0 }
    peers[1].host.program.isStoring = true
    network.run(.seconds(5))
    #expect(peers[1].take().filter { $0 == "B < A: file" || $0 == "file ended: none" }.count == 2)
    #expect(peers[1].file("file") == pattern(100_000))
  }
}
