import Testing
import Wire

/// A list or text of a frame, and a way to build a body in which it has `count` items or bytes.
struct Limited: Sendable, CustomTestStringConvertible {
  var field: String
  var max: Int
  var decode: @Sendable ([UInt8]) throws -> Void
  var body: @Sendable (Int) -> [UInt8]
  var testDescription: String { field }

  init<F: Frame>(_ field: String, _ max: Int, in type: F.Type, _ body: @escaping @Sendable (Int) -> [UInt8]) {
    self.field = field
    self.max = max
    self.body = body
    decode = { _ = try F(decoding: $0.span.bytes) }
  }

  init<P: Part>(_ field: String, _ max: Int, part type: P.Type, _ body: @escaping @Sendable (Int) -> [UInt8]) {
    self.field = field
    self.max = max
    self.body = body
    decode = {
      var reader = Reader($0.span.bytes)
      _ = try P(from: &reader)
      try reader.finish()
    }
  }

  static let helloHead = Array(Raw.part(RawHello()))
  static let joinHead: [UInt8] = [1, 1, 0] + Raw.part(Sample.endpoint) + [0, 0, 0]
  static let entryHead = Array(Raw.part(Sample.bo).dropLast())

  static let flow: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 1]
  static let openHead: [UInt8] = [1, 1] + flow + [0, 0, 0]
  static let offerHead: [UInt8] = [1, 1] + flow + [0, 0]
  static let chunkHead: [UInt8] = flow + [1, 0] + Raw.part(Sample.digest)

  /// The fixed fields of the least hello.
  struct RawHello: Part {
    init() {}
    init(from reader: inout Reader) throws(WireError) {}
    func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
      sink.put(u8: 1)
      sink.put(u8: 0)
      sink.put(u64: 1)
      sink.put(u64: 0)
      sink.put(u8: 0)
      sink.put(u8: 0)
    }
  }

  static let all = [
    Limited("hello addresses", 8, in: Hello.self) { helloHead + Raw.list($0, of: [1, 0x61]) + [0] },
    Limited("extensions", 16, in: Hello.self) { helloHead + [0] + Raw.list($0, of: [7, 0]) },
    Limited("extension value", 256, in: Hello.self) { helloHead + [0, 1, 7] + Raw.bytes($0) },
    Limited("away peers", 512, in: Away.self) { [1] + Raw.list($0, of: Raw.part(Sample.peer) + [0]) },
    Limited("advertised types", 64, in: AdvertisedTypes.self) { Raw.list($0, of: [1, 0x61]) },
    Limited("detail", 255, in: Bye.self) { [0] + Raw.bytes($0) },
    Limited("service type", 15, in: Browse.self) { Raw.bytes($0) },
    Limited("display name", 63, part: DisplayName.self) { Raw.bytes($0) },
    Limited("discovery info", 64, part: DiscoveryInfo.self) { count in
      Raw.count(count) + (0..<count).flatMap { [1, UInt8($0) + (($0 < 29) ? 0x20 : 0x21), 0] }
    },
    Limited("discovery key", 255, part: DiscoveryInfo.self) { count in
      // A key of 255 bytes and its “=” exceed the limit of a pair, so 254 is the longest possible.
      count == 255 ? [1] + Raw.bytes(254) + [0] : [1] + Raw.bytes(count) + [0]
    },
    Limited("discovery value", 255, part: DiscoveryInfo.self) { count in
      count == 255 ? [1, 1, 0x61] + Raw.bytes(253) : [1, 1, 0x61] + Raw.bytes(count)
    },
    Limited("address", 64, part: Address.self) { Raw.bytes($0) },
    Limited("entry addresses", 4, part: Entry.self) { entryHead + Raw.list($0, of: [1, 0x61]) },
    Limited("connection data addresses", 8, part: ConnectionData.self) {
      [1] + Raw.part(Sample.peer) + Raw.part(HostID(Sample.id(0xa0))) + Raw.part(Sample.endpoint)
        + Raw.list($0, of: [1, 0x61])
    },
    Limited("context", 8_192, in: Invite.self) { Array(Sample.invitation[1].encoded.body.dropLast()) + Raw.bytes($0) },
    Limited("audience", 8_192, in: Join.self) {
      joinHead + [1] + Raw.list($0, of: [0]) + Raw.part(Sample.bo) + Raw.part(Sample.carrier) + [0]
    },
    Limited("audience", 8_192, in: Message.self) { [1, 1, 0, 0, 2] + Raw.list($0, of: [0]) },
    Limited("tickets", 8, in: Join.self) {
      joinHead + [0] + Raw.part(Sample.bo) + Raw.part(Sample.carrier)
        + Raw.list($0, of: Raw.part(Sample.introduction))
    },
    Limited("introduction entries", 64, part: Introduction.self) {
      Raw.part(Sample.group) + Raw.part(Sample.endpoint) + [0, 0] + Raw.list($0, of: Raw.part(Sample.bo))
        + Raw.part(Sample.signature)
    },
    Limited("message payload", 1_048_576, in: Message.self) { [1, 1, 0, 0, 0] + [UInt8](repeating: 7, count: $0) },
    Limited("datagram payload", 65_000, in: Datagram.self) { [0, 0, 0] + [UInt8](repeating: 7, count: $0) },
    Limited("content type", 127, in: TypedMessage.self) {
      [1, 1, 0, 0, 0] + Raw.count($0) + Array("a/".utf8) + [UInt8](repeating: 0x62, count: $0 - 2)
    },
    Limited("content type", 127, in: TypedDatagram.self) {
      [0, 0, 0] + Raw.count($0) + Array("a/".utf8) + [UInt8](repeating: 0x62, count: $0 - 2)
    },
    Limited("chain", 8, in: IdentityFrame.self) { [0, 0] + Raw.list($0, of: [0]) + [0] },
    Limited("certificate", 4_096, in: IdentityFrame.self) { [0, 0, 1] + Raw.bytes($0) + [0] },
    Limited("identity signature", 1_024, in: IdentityFrame.self) { [0, 0, 0] + Raw.bytes($0) },
    Limited("stream name", 255, in: StreamOpen.self) { openHead + Raw.bytes($0) },
    Limited("stream payload", 16_384, in: StreamData.self) { flow + [0] + [UInt8](repeating: 7, count: $0) },
    Limited("circuit payload", 8_192, in: CircuitData.self) { [1] + [UInt8](repeating: 7, count: $0) },
    Limited("heard hosts", 64, in: Heard.self) { [1] + Raw.list($0, of: Raw.part(HostID(Sample.id(0xa0)))) },
    Limited("resource name", 255, in: ResourceOffer.self) { offerHead + Raw.bytes($0) + [0, 14, 0, 0] },
    Limited("resource type", 127, in: ResourceOffer.self) { offerHead + [0] + Raw.bytes($0) + [14, 0, 0] },
    Limited("proof", 40, in: ResourceChunk.self) { chunkHead + Raw.list($0, of: Raw.part(Sample.digest)) + [7] },
    Limited("chunk payload", 16_384, in: ResourceChunk.self) { chunkHead + [0] + [UInt8](repeating: 7, count: $0) },
  ]
}

@Suite struct LimitTests {
  @Test("A list or text at its maximum is taken, and one more is refused by name", arguments: Limited.all)
  func maximum(_ limited: Limited) {
    #expect(broken { try limited.decode(limited.body(limited.max)) } == nil)
    #expect(
      broken { try limited.decode(limited.body(limited.max + 1)) }
        == .lengthOverLimit(field: limited.field, value: UInt64(limited.max + 1), max: limited.max))
  }

  @Test("A count that the bytes left cannot hold is refused before anything is allocated for it")
  func promisedCounts() {
    let identity = [0, 0] + Raw.count(8) + [0]
    #expect(broken { _ = try IdentityFrame(decoding: identity.span.bytes) } == .truncated)
    let message: [UInt8] = [1, 1, 0, 0, 1] + Raw.count(8_192)
    #expect(broken { _ = try Message(decoding: message.span.bytes) } == .truncated)
    let chunk = Limited.chunkHead + Raw.count(2) + Raw.part(Sample.digest) + [UInt8](repeating: 7, count: 31)
    #expect(broken { _ = try ResourceChunk(decoding: chunk.span.bytes) } == .truncated)
  }

  @Test("A field that needs an item or a byte at least is refused without one")
  func minimum() {
    #expect(broken { _ = try Address([]) } == .lengthUnderLimit(field: "address", value: 0, min: 1))
    let empty = Raw.part(Sample.group) + Raw.part(Sample.endpoint) + [0, 0, 0] + Raw.part(Sample.signature)
    #expect(
      broken {
        var reader = Reader(empty.span.bytes)
        _ = try Introduction(from: &reader)
      } == .lengthUnderLimit(field: "introduction entries", value: 0, min: 1))
  }

  @Test("The longest message with the longest audience fits one frame")
  func longestMessage() throws {
    let indexes = (0..<UInt32(Limits.selectedIndexesMax)).map { $0 * 524_288 }
    let message = Message(
      record: RecordHead(strand: .max, sequence: .max), from: .max, seen: .max, to: .allBut(indexes),
      payload: [UInt8](repeating: 1, count: Limits.messagePayloadBytesMax))
    let frame = message.viewed
    #expect(try frame.head()?.end == frame.count)
    #expect(frame == message.encoded())
    #expect(try Message(decoding: frame.body.span.bytes) == message)
  }
}
