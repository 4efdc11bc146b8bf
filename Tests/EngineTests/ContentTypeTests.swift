import Testing
import Wire

@testable import Engine

/// The media type that a sender gives a message.
@Suite struct ContentTypeTests {
  let network = TestNetwork()

  @Test("P-MSG-2 A message comes with its content type, by record and by datagram, and to a peer of the same host")
  func travels() throws {
    let peers = try network.gather("a", "b")
    let c = try network.testPeer("c", on: peers[0].host)
    try network.connect(peers[0], c)
    network.run(.seconds(1))
    network.clear()
    for mode in [Mode.reliable, .unreliable] {
      let mark = mode == .reliable ? "" : "~"
      try peers[0].say("# x", mode, as: "text/markdown")
      try peers[0].say("none", mode)
      network.run(.seconds(1))
      #expect(peers[1].take() == ["B < A: \(mark)(text/markdown) # x", "B < A: \(mark)none"])
      #expect(c.take() == ["C < A: \(mark)(text/markdown) # x", "C < A: \(mark)none"])
    }
  }

  @Test("Without a way for datagrams an unreliable message has its content type all the same")
  func lossy() throws {
    network.datagramBytesMax = 0
    let peers = try network.gather("a", "b")
    try peers[0].say("x", .unreliable, as: "a/b")
    network.run(.seconds(1))
    #expect(peers[1].take() == ["B < A: ~(a/b) x"])
  }

  @Test("A host of a version without content types gets messages without them, and one with them gets both kinds")
  func olderHost() throws {
    let a = try network.testPeer("a")
    let older = Rogue("old", to: a.host, on: network)
    try older.enter(with: a, features: .away)
    let newer = Rogue("new", to: a.host, on: network)
    try newer.enter(with: a, features: .contentTypes)
    #expect(a.connected == "NEW OLD")
    try a.say("x", as: "text/markdown")
    try a.say("y")
    network.run()
    older.read()
    newer.read()
    let kinds: Set<FrameType> = [.message, .typedMessage]
    #expect(older.frames.map(\.type).filter(kinds.contains) == [.message, .message])
    #expect(newer.frames.map(\.type).filter(kinds.contains) == [.typedMessage, .message])
    let typed = try #require(newer.frames.first { $0.type == .typedMessage })
    let view = try MessageView(decoding: typed.body.span.bytes, isTyped: true)
    #expect(view.contentType?.text == "text/markdown" && [UInt8](view.payload) == Array("x".utf8))
    #expect(!older.isClosed && !newer.isClosed)
  }

  @Test("A host that comes back as a version without content types is met anew where one waits that it cannot read")
  func downgrade() throws {
    for type in ["text/markdown", nil] {
      let network = TestNetwork()
      let a = try network.testPeer("a")
      let rogue = Rogue("r", to: a.host, on: network)
      try rogue.enter(with: a, features: .contentTypes)
      let bond = rogue.last(Hello.self)?.bond
      a.engine.linkClosed(rogue.link, at: network.now)
      _ = a.take()
      try a.say("x", as: type, receipt: true)
      let again = Rogue("r", to: a.host, on: network)
      again.greet(expects: bond)
      again.say(
        Attach(
          bond: Rogue.bond, expects: bond ?? 0, received: a.engine.hosts[rogue.host]?.bond?.sendQueue.everSent ?? 0,
          first: 1, next: 4))
      let lines = a.take()
      #expect(lines.contains("A: R resumed") == (type == nil), "\(lines)")
      #expect(lines.contains("undelivered to R") == (type != nil), "\(lines)")
      #expect((again.last(Hello.self)?.bond == bond) == (type == nil))
      #expect(!again.isClosed)
    }
  }

  @Test("An invalid content type closes its link", arguments: ["", "text", "text/", "a/b\n", "a b/c"])
  func broken(type: String) throws {
    let a = try network.testPeer("a")
    let rogue = Rogue("r", to: a.host, on: network)
    try rogue.enter(with: a)
    _ = a.take()
    var body = ArraySink()
    rogue.head().encode(into: &body)
    body.put(varint: UInt32(1))
    body.put(varint: UInt32(0))
    EndpointSelection.all.encode(into: &body)
    body.put(text: type, max: 127)
    rogue.say(bytes: [UInt8(body.bytes.count + 1), FrameType.typedMessage.rawValue] + body.bytes)
    #expect(rogue.ending == .protocolViolation)
    #expect(!a.take().contains { $0.contains("<") })
  }
}
