import Wire

/// The frame of the vector of the same name, with the type erased.
struct Sample: Sendable {
  var name: String
  var type: FrameType
  var encoded: [UInt8]
  var encodedSize: Int
  /// The output of `write` for a buffer of exactly `encodedSize` bytes.
  var written: [UInt8]
  /// Whether the body decodes to the very frame.
  var isDecoded: @Sendable ([UInt8]) throws(WireError) -> Bool
  /// Decodes a body and gives the frame that it encodes to.
  var recoded: @Sendable ([UInt8]) throws(WireError) -> [UInt8]
  /// Whether the last field takes all that is left.
  var isOpen: Bool {
    [.message, .typedMessage, .datagram, .typedDatagram, .streamData, .resourceChunk, .circuitData].contains(type)
  }

  init<F: Frame>(_ name: String, _ frame: F) {
    self.name = name
    type = F.type
    encoded = frame.encoded()
    encodedSize = frame.encodedSize
    written = filled(frame.encodedSize) { frame.write(into: &$0) }
    isDecoded = { body throws(WireError) in try F(decoding: body.span.bytes) == frame }
    recoded = { body throws(WireError) in try F(decoding: body.span.bytes).encoded() }
  }
}

/// The bytes that work writes into a buffer of a size.
func filled(_ size: Int, _ work: (inout OutputRawSpan) -> Void) -> [UInt8] {
  [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
    let raw = UnsafeMutableRawBufferPointer(buffer)
    var out = OutputRawSpan(buffer: raw, initializedCount: 0)
    work(&out)
    count = out.finalize(for: raw)
  }
}

/// A message that owns its bytes; the view writes it, and it is described once more here to check the view.
struct Message: Frame {
  static let type = FrameType.message
  var record: RecordHead
  var from: UInt32
  var seen: UInt64
  var to: EndpointSelection
  var payload: [UInt8]

  init(record: RecordHead, from: UInt32, seen: UInt64, to: EndpointSelection, payload: [UInt8]) {
    self.record = record
    self.from = from
    self.seen = seen
    self.to = to
    self.payload = payload
  }

  init(body: inout Reader) throws(WireError) {
    let view = try MessageView(decoding: try body.rest("body", max: .max))
    record = view.record
    from = view.from
    seen = view.seen
    to = view.selection.owned
    payload = [UInt8](view.payload)
  }

  func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    record.encode(into: &sink)
    sink.put(varint: from)
    sink.put(varint: seen)
    to.encode(into: &sink)
    sink.put(raw: payload.span.bytes)
  }

  var viewed: [UInt8] {
    let size = MessageView.encodedSize(record: record, from: from, seen: seen, to: to, payloadBytes: payload.count)
    return filled(size) {
      MessageView.write(
        record: record, from: from, seen: seen, to: to, payload: payload.span.bytes, into: &$0)
    }
  }
}

/// The same with a content type.
struct TypedMessage: Frame {
  static let type = FrameType.typedMessage
  var message: Message
  var contentType: ContentType

  init(_ message: Message, _ contentType: String) {
    self.message = message
    self.contentType = Sample.known { try ContentType(contentType) }
  }

  init(body: inout Reader) throws(WireError) {
    let view = try MessageView(decoding: try body.rest("body", max: .max), isTyped: true)
    message = Message(
      record: view.record, from: view.from, seen: view.seen, to: view.selection.owned, payload: [UInt8](view.payload))
    // A typed frame has one, or is not decoded.
    contentType = view.contentType!
  }

  func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    message.record.encode(into: &sink)
    sink.put(varint: message.from)
    sink.put(varint: message.seen)
    message.to.encode(into: &sink)
    contentType.encode(into: &sink)
    sink.put(raw: message.payload.span.bytes)
  }

  var viewed: [UInt8] {
    let size = MessageView.encodedSize(
      record: message.record, from: message.from, seen: message.seen, to: message.to, contentType: contentType,
      payloadBytes: message.payload.count)
    return filled(size) {
      MessageView.write(
        record: message.record, from: message.from, seen: message.seen, to: message.to, contentType: contentType,
        payload: message.payload.span.bytes, into: &$0)
    }
  }
}

/// A datagram that owns its bytes.
struct Datagram: Frame {
  static let type = FrameType.datagram
  var from: UInt32
  var seen: UInt64
  var to: EndpointSelection
  var payload: [UInt8]

  init(from: UInt32, seen: UInt64, to: EndpointSelection, payload: [UInt8]) {
    self.from = from
    self.seen = seen
    self.to = to
    self.payload = payload
  }

  init(body: inout Reader) throws(WireError) {
    let view = try DatagramView(decoding: try body.rest("body", max: .max))
    from = view.from
    seen = view.seen
    to = view.selection.owned
    payload = [UInt8](view.payload)
  }

  func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: from)
    sink.put(varint: seen)
    to.encode(into: &sink)
    sink.put(raw: payload.span.bytes)
  }

  var viewed: [UInt8] {
    filled(DatagramView.encodedSize(from: from, seen: seen, to: to, payloadBytes: payload.count)) {
      DatagramView.write(from: from, seen: seen, to: to, payload: payload.span.bytes, into: &$0)
    }
  }
}

/// The same with a content type.
struct TypedDatagram: Frame {
  static let type = FrameType.typedDatagram
  var datagram: Datagram
  var contentType: ContentType

  init(_ datagram: Datagram, _ contentType: String) {
    self.datagram = datagram
    self.contentType = Sample.known { try ContentType(contentType) }
  }

  init(body: inout Reader) throws(WireError) {
    let view = try DatagramView(decoding: try body.rest("body", max: .max), isTyped: true)
    datagram = Datagram(from: view.from, seen: view.seen, to: view.selection.owned, payload: [UInt8](view.payload))
    // A typed frame has one, or is not decoded.
    contentType = view.contentType!
  }

  func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: datagram.from)
    sink.put(varint: datagram.seen)
    datagram.to.encode(into: &sink)
    contentType.encode(into: &sink)
    sink.put(raw: datagram.payload.span.bytes)
  }

  var viewed: [UInt8] {
    let size = DatagramView.encodedSize(
      from: datagram.from, seen: datagram.seen, to: datagram.to, contentType: contentType,
      payloadBytes: datagram.payload.count)
    return filled(size) {
      DatagramView.write(
        from: datagram.from, seen: datagram.seen, to: datagram.to, contentType: contentType,
        payload: datagram.payload.span.bytes, into: &$0)
    }
  }
}

extension Sample {
  static let peer = PeerID(id(0x50))
  static let other = PeerID(id(0x60))
  static let group = GroupID(id(0x10))
  static let endpoint = EndpointID(id(0xd0))
  static let key = known { try PublicKey(bytes: Array(0..<32)) }
  static let signature = known { try Signature(bytes: Array(0x40..<0x80)) }
  static let digest = known { try Digest(bytes: Array(0x80..<0xa0)) }
  static let chat = known { try ServiceType("vic-chat") }
  static let address = known { try Address(text: "192.0.2.1:7777") }

  static let ana = Entry(
    endpoint: EndpointID(id(0xe0)), incarnation: EndpointIncarnation(host: Incarnation(300), count: 1), peer: key,
    host: HostID(id(0xa0)), name: known { try DisplayName("Ana’s phone") },
    terms: Terms(encryption: .required, showsIdentity: true, peersMax: 8), rank: 3, inviter: endpoint,
    addresses: [address])
  static let bo = Entry(
    endpoint: endpoint, incarnation: EndpointIncarnation(host: Incarnation(1), count: 0),
    peer: known { try PublicKey(bytes: Array(0x20..<0x40)) }, host: HostID(id(0xa0)),
    name: known { try DisplayName("Bo") },
    terms: Terms(encryption: .optional, showsIdentity: false, peersMax: 2), rank: 0, inviter: endpoint,
    addresses: [])
  static let carrier = Carrier(peer: key, incarnation: Incarnation(300), signature: signature)
  static let standing = Standing(size: 3, peersMax: 8, needs: .requiresEncryption)
  static let introduction = Introduction(
    group: group, introducer: ana.endpoint, introducerIncarnation: ana.incarnation, entries: [bo],
    signature: signature)

  static let messages = [
    ("message", Message(record: record(11), from: 2, seen: 12, to: .all, payload: Array("hello".utf8))),
    (
      "message-only", Message(record: record(12), from: 2, seen: 12, to: .only([0, 1, 300]), payload: Array("hi".utf8))
    ),
    (
      "message-all-but",
      Message(
        record: RecordHead(strand: .max, sequence: .max), from: .max, seen: .max, to: .allBut([.max]), payload: [])
    ),
  ]
  static let datagrams = [
    ("datagram", Datagram(from: 2, seen: 300, to: .all, payload: Array("beat".utf8))),
    ("datagram-only", Datagram(from: 0, seen: 0, to: .only([7]), payload: [])),
  ]
  static let typedMessages = [
    (
      "typedMessage",
      TypedMessage(
        Message(record: record(14), from: 2, seen: 12, to: .all, payload: Array("# hello".utf8)), "text/markdown")
    ),
    (
      "typedMessage-least",
      TypedMessage(Message(record: record(15), from: 2, seen: 12, to: .only([7]), payload: []), "a/b")
    ),
  ]
  static let typedDatagrams = [
    (
      "typedDatagram",
      TypedDatagram(Datagram(from: 2, seen: 300, to: .all, payload: [0x7b, 0x7d]), "application/json; charset=utf-8")
    )
  ]

  static let all: [Sample] = link + discovery + invitation + records + trust + streams + resources + circuits

  static let link = [
    Sample(
      "hello",
      Hello(
        incarnation: Incarnation(300), bond: 0x0102_0304_0506_0708, expects: 0, ordinal: 2,
        features: .init(rawValue: 5),
        addresses: [address], extensions: [Hello.Extension(id: 7, value: [1, 2, 3])])),
    Sample(
      "hello-standby",
      Hello(
        incarnation: Incarnation(3), bond: 1, expects: 2, ordinal: 4, features: .init(rawValue: 15),
        extensions: Hello.extensions(for: .standby))),
    Sample("hello-least", Hello(incarnation: Incarnation(0), bond: 1, expects: 0, ordinal: 0)),
    Sample(
      "hello-greatest",
      Hello(
        incarnation: Incarnation(.max), bond: .max, expects: .max, ordinal: .max, features: .init(rawValue: .max),
        extensions: [Hello.Extension(id: .max, value: [])])),
    Sample(
      "attach", Attach(bond: 0x0102_0304_0506_0708, expects: 0x1112_1314_1516_1718, received: 128, first: 5, next: 300)),
    Sample("attach-new", Attach(bond: 1, expects: 2, received: 0, first: 1, next: 1)),
    Sample("ping", Ping(token: 0x1122_3344_5566_7788)),
    Sample("pong", Pong(token: 0x1122_3344_5566_7788)),
    Sample("bye", Bye(reason: .stopping, detail: "The host is stopping – bye")),
    Sample("bye-silent", Bye(reason: .none)),
    Sample("ack", Ack(strand: 1, received: 16384)),
    Sample("digest", RosterDigest(strand: 1, count: 4, sum: 0x0102_0304_0506_0708)),
  ]

  static let discovery = [
    Sample("browse", Browse(type: chat)),
    Sample("browseEnd", BrowseEnd(type: chat)),
    Sample(
      "advertised",
      Advertised(
        type: chat, peer: peer, name: ana.name, info: known { try DiscoveryInfo(["room": "Küche", "a": "1"]) })),
    Sample(
      "advertised-bare",
      Advertised(type: known { try ServiceType("a") }, peer: peer, name: known { try DisplayName("B") }, info: .empty)),
    Sample("withdrawn", Withdrawn(type: chat, peer: peer)),
    Sample(
      "away",
      Away(
        isLast: true,
        peers: [.init(peer: peer, milliseconds: 65_000), .init(peer: other, milliseconds: Limits.awayMillisecondsMax)])),
    Sample("away-here", Away(peers: [.init(peer: peer, milliseconds: nil)])),
    Sample("away-nobody", Away(isLast: true, peers: [])),
    Sample("browseTypes", BrowseTypes(isOn: true)),
    Sample("browseTypes-end", BrowseTypes(isOn: false)),
    Sample("advertisedTypes", AdvertisedTypes(types: [known { try ServiceType("a") }, chat])),
    Sample("advertisedTypes-none", AdvertisedTypes(types: [])),
    Sample("clockRequest", ClockRequest(strand: 1, token: 0x0102_0304_0506_0708, time: 1_500_000_000)),
    Sample("clockRequest-last", ClockRequest(strand: .max, token: .max, time: Limits.clockNanosecondsMax)),
    Sample("clockReply", ClockReply(token: 0x0102_0304_0506_0708, time: 1_500_000_300, bound: 0)),
    Sample(
      "clockReply-last", ClockReply(token: 0, time: Limits.clockNanosecondsMax, bound: Limits.clockNanosecondsMax)),
  ]

  static let invitation = [
    Sample(
      "invite",
      Invite(
        id: 9, type: chat, to: other, adhoc: false, group: group, entry: ana, carrier: carrier, standing: standing,
        millisecondsLeft: 30_000, context: Array("hello".utf8))),
    Sample(
      "invite-adhoc",
      Invite(
        id: 1, type: chat, to: other, adhoc: true, group: group, entry: bo,
        carrier: Carrier(peer: bo.peer, incarnation: Incarnation(1), signature: signature),
        standing: Standing(size: 1, peersMax: 2, needs: .hasNone), millisecondsLeft: 1, context: [])),
    Sample(
      "answer-accepted",
      Answer(
        id: 9, outcome: .accepted(Acceptance(group: group, entry: ana, carrier: carrier, standing: standing)))),
    Sample("answer-declined", Answer(id: 9, outcome: .declined(.declined))),
    Sample("confirm", Confirm(id: 9, reason: .none, rank: 4)),
    Sample("confirm-full", Confirm(id: 9, reason: .full, rank: 0)),
    Sample("cancel", Cancel(id: 9, reason: .cancelled)),
    Sample(
      "connect",
      Connect(
        id: 9, to: other, target: endpoint, entry: ana, carrier: carrier, standing: standing, millisecondsLeft: 30_000)),
  ]

  static let records =
    [
      Sample(
        "join",
        Join(
          record: record(7), index: 2, target: endpoint,
          targetIncarnation: EndpointIncarnation(host: Incarnation(300), count: 1), seen: 12, admits: .allBut([0, 5]),
          entry: ana,
          carrier: carrier, tickets: [introduction])),
      Sample(
        "join-bare",
        Join(
          record: RecordHead(strand: 0, sequence: 1), index: 0, target: endpoint,
          targetIncarnation: EndpointIncarnation(host: Incarnation(1), count: 0), seen: 0, admits: .all, entry: bo,
          carrier: carrier, tickets: [])),
      Sample("leave", Leave(record: record(8), index: 2, reason: .left, seen: 12)),
      Sample("verdict", Verdict(record: record(9), about: 3, by: .only([1, 2]), reason: .none, seen: 12)),
      Sample("verdict-blocked", Verdict(record: record(10), about: 3, by: .all, reason: .blocked, seen: .max)),
      Sample("introduce", Introduce(record: record(10), spread: true, introduction: introduction)),
      Sample(
        "gone",
        Gone(
          record: record(13), endpoint: endpoint,
          incarnation: EndpointIncarnation(host: Incarnation(300), count: 1))),
    ] + messages.map { Sample($0.0, $0.1) } + datagrams.map { Sample($0.0, $0.1) }
    + typedMessages.map { Sample($0.0, $0.1) } + typedDatagrams.map { Sample($0.0, $0.1) }

  static let trust = [
    Sample("compareCommit", CompareCommit(id: 1, from: peer, to: other, commitment: digest)),
    Sample("compareReveal", CompareReveal(id: 1, nonce: digest)),
    Sample("compareEnd", CompareEnd(id: 1, reason: .mismatch)),
    Sample(
      "identity",
      IdentityFrame(
        from: 1, to: 2, chain: [Array("leaf".utf8), Array("root".utf8)], signature: Array("signed".utf8))),
    Sample("identity-none", IdentityFrame(from: 1, to: 2, chain: [], signature: [])),
  ]

  /// A legal value, as its own tests show: a refusal ends the run.
  static func known<T>(_ value: () throws -> T) -> T { try! value() }

  static func id(_ first: UInt64) -> ID128 {
    let high = (0..<8).reduce(UInt64(0)) { $0 << 8 | (first + UInt64($1)) }
    return ID128(high: high, low: high + 0x0808_0808_0808_0808)
  }

  static func record(_ sequence: UInt64) -> RecordHead { RecordHead(strand: 1, sequence: sequence) }
}
