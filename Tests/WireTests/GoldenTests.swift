import Testing
import Wire

@Suite struct GoldenTests {
  static let byName = Dictionary(uniqueKeysWithValues: Sample.all.map { ($0.name, $0) })

  @Test("Every frame type has a vector, and every vector a sample")
  func vectorsAreComplete() throws {
    #expect(Set(Vector.all.map(\.name)) == Set(Self.byName.keys))
    #expect(Vector.all.count == Self.byName.count)
    #expect(Set(Sample.all.map(\.type)) == Set(FrameType.allCases))
  }

  @Test("A vector decodes to what it means, and that encodes to the vector", arguments: Vector.all)
  func wholeFrame(_ vector: Vector) throws {
    let sample = try #require(Self.byName[vector.name])
    let head = try #require(try vector.frame.head())
    #expect(head.type == sample.type)
    #expect(head.end == vector.frame.count)
    #expect(head.body.upperBound == head.end)
    #expect(try sample.isDecoded(vector.frame.body))
    #expect(sample.encoded == vector.frame)
    #expect(sample.written == vector.frame)
    #expect(sample.encodedSize == vector.frame.count)
  }

  @Test("A frame that arrives byte by byte is found with its last byte and never before", arguments: Vector.all)
  func everySplit(_ vector: Vector) throws {
    for count in 0..<vector.frame.count {
      #expect(try Array(vector.frame[..<count]).head() == nil)
    }
    #expect(try vector.frame.head()?.end == vector.frame.count)
  }

  @Test("Bytes after a frame are left alone", arguments: Vector.all)
  func followed(_ vector: Vector) throws {
    let alone = try vector.frame.head()
    for next in [[0], [0xff, 0xff], vector.frame] { #expect(try (vector.frame + next).head() == alone) }
  }

  @Test("A byte left over in a body is an error", arguments: Vector.all)
  func trailing(_ vector: Vector) throws {
    let sample = try #require(Self.byName[vector.name])
    guard !sample.isOpen else { return }
    #expect(broken { _ = try sample.recoded(vector.frame.body + [0]) } == .trailingBytes(count: 1))
  }

  @Test("A body that ends early is an error wherever it ends", arguments: Vector.all)
  func truncated(_ vector: Vector) throws {
    let sample = try #require(Self.byName[vector.name])
    let body = vector.frame.body
    for count in 0..<body.count {
      let cut = Array(body[..<count])
      if sample.isOpen {
        // The last field takes the rest, so only bytes before it can be missing, or all of it.
        var recoded: [UInt8]?
        let rule = broken { recoded = try sample.recoded(cut) }
        switch rule {
        case nil: #expect(recoded?.body == cut)
        case .lengthUnderLimit(_, let value, let min): #expect(value == 0 && min == 1)
        default: #expect(rule == .truncated)
        }
      } else {
        #expect(broken { _ = try sample.recoded(cut) } == .truncated)
      }
    }
  }

  @Test("A frame with a payload is written by its view as its vector says")
  func views() throws {
    for (name, message) in Sample.messages { #expect(message.viewed == Self.byName[name]?.encoded) }
    for (name, datagram) in Sample.datagrams { #expect(datagram.viewed == Self.byName[name]?.encoded) }
    for (name, message) in Sample.typedMessages { #expect(message.viewed == Self.byName[name]?.encoded) }
    for (name, datagram) in Sample.typedDatagrams { #expect(datagram.viewed == Self.byName[name]?.encoded) }
    for (name, data) in Sample.streamData { #expect(data.viewed == Self.byName[name]?.encoded) }
    for (name, data) in Sample.circuitData { #expect(data.viewed == Self.byName[name]?.encoded) }
    for (name, chunk) in Sample.chunks { #expect(chunk.viewed == Self.byName[name]?.encoded) }
  }

  @Test("Early frames are those that docs/protocol.md lists")
  func early() {
    let late: Set<FrameType> = [
      .leave, .verdict, .introduce, .message, .typedMessage, .gone, .digest, .datagram, .typedDatagram, .streamOpen,
      .streamEnd, .streamStop, .streamGrant, .streamData, .resourceOffer, .resourceEnd, .resourceStop, .resourceWant,
      .resourceChunk, .clockRequest, .clockReply,
    ]
    for type in FrameType.allCases { #expect(type.isEarly == !late.contains(type)) }
  }

  @Test("Records are those that docs/protocol.md lists, and their bodies begin with a strand and a sequence")
  func records() {
    let records: Set<FrameType> = [
      .join, .leave, .verdict, .introduce, .message, .typedMessage, .gone, .streamOpen, .streamEnd, .streamStop,
      .resourceOffer, .resourceEnd, .resourceStop,
    ]
    for type in FrameType.allCases { #expect(type.isRecord == records.contains(type)) }
    for sample in Sample.all where sample.type.isRecord {
      let unplaced: [UInt8] = [1, 0] + sample.encoded.body.dropFirst(2)
      #expect(
        broken { _ = try sample.recoded(unplaced) } == .numberUnderLimit(field: "sequence", value: 0, min: 1))
    }
  }
}
