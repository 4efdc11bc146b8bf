import Testing
import Wire

/// The place of an offset or size in a frame of a stream or resource, and a way to build a body with it.
struct FlowNumber: Sendable, CustomTestStringConvertible {
  var field: String
  var decode: @Sendable ([UInt8]) throws -> Void
  var body: @Sendable ([UInt8]) -> [UInt8]
  var type: FrameType
  var testDescription: String { "\(type) \(field)" }

  init<F: Frame>(_ field: String, in frame: F.Type, _ body: @escaping @Sendable ([UInt8]) -> [UInt8]) {
    self.field = field
    self.body = body
    type = F.type
    decode = { _ = try F(decoding: $0.span.bytes) }
  }

  private static let flow = Limited.flow
  private static let digest = Raw.part(Sample.digest)
  private static let greatest = Raw.varint(Limits.flowBytesMax)

  static let all = [
    FlowNumber("size", in: StreamEnd.self) { [1, 1] + flow + [0] + $0 },
    FlowNumber("received", in: StreamGrant.self) { flow + $0 + greatest },
    FlowNumber("limit", in: StreamGrant.self) { flow + [0] + $0 },
    FlowNumber("offset", in: StreamData.self) { flow + $0 + [7] },
    FlowNumber("size", in: ResourceOffer.self) { Limited.offerHead + [0, 0, 14, 1] + $0 + [0] },
    FlowNumber("size", in: ResourceEnd.self) { [1, 1] + flow + [0] + $0 + digest },
    FlowNumber("offset", in: ResourceWant.self) { flow + [1] + $0 + greatest + digest },
    FlowNumber("limit", in: ResourceWant.self) { flow + [1, 0] + $0 + digest },
    FlowNumber("offset", in: ResourceChunk.self) { flow + [1] + $0 + digest + [0, 7] },
  ]
}

@Suite struct FlowLimitTests {
  private let flow = Limited.flow
  private let digest = Raw.part(Sample.digest)

  @Test("An offset or size of 2^62 is taken, and one more is refused by name", arguments: FlowNumber.all)
  func bytes(_ number: FlowNumber) {
    let max: UInt64 = 1 << 62
    #expect(broken { try number.decode(number.body(Raw.varint(max))) } == nil)
    #expect(
      broken { try number.decode(number.body(Raw.varint(max + 1))) }
        == .numberOverLimit(field: number.field, value: max + 1, max: max))
  }

  @Test("A flow of 0 is refused in every frame of a stream or resource")
  func noFlow() {
    let samples = Sample.streams + Sample.resources
    #expect(Set(samples.map(\.type)) == Set(FrameType.allCases.filter { (0x60..<0x80).contains($0.rawValue) }))
    for sample in samples where sample.name == "\(sample.type)" {
      var body = sample.encoded.body
      // Strand and sequence have one byte each in these.
      let place = sample.type.isRecord ? 2 : 0
      body.replaceSubrange(place..<(place + 8), with: repeatElement(0, count: 8))
      #expect(broken { _ = try sample.recoded(body) } == .numberUnderLimit(field: "flow", value: 0, min: 1))
    }
  }

  @Test("A limit may be what is there already, and not less")
  func limits() {
    let rule = WireError.Rule.numberUnderLimit(field: "limit", value: 299, min: 300)
    #expect(broken { try decode(StreamGrant.self, flow, Raw.varint(300), Raw.varint(300)) } == nil)
    #expect(broken { try decode(StreamGrant.self, flow, Raw.varint(300), Raw.varint(299)) } == rule)
    #expect(broken { try decode(ResourceWant.self, flow, [1], Raw.varint(300), Raw.varint(300), digest) } == nil)
    #expect(broken { try decode(ResourceWant.self, flow, [1], Raw.varint(300), Raw.varint(299), digest) } == rule)
  }

  @Test("Turns begin at 1 and have 32 bits")
  func turns() {
    let none = WireError.Rule.numberUnderLimit(field: "turn", value: 0, min: 1)
    let wide = WireError.Rule.numberOverLimit(field: "turn", value: 1 << 32, max: UInt64(UInt32.max))
    for (turn, rule) in [([0], none), (Raw.varint(1 << 32), wide)] {
      #expect(broken { try decode(ResourceWant.self, flow, turn, [0, 0], digest) } == rule)
      #expect(broken { try decode(ResourceChunk.self, flow, turn, [0], digest, [0, 7]) } == rule)
    }
  }

  @Test("Chunks have 2^12 to 2^20 bytes")
  func chunkBits() {
    for bits in UInt8.min...UInt8.max {
      let expected: WireError.Rule? =
        switch bits {
        case ..<12: .numberUnderLimit(field: "chunkBits", value: UInt64(bits), min: 12)
        case 12...20: nil
        default: .numberOverLimit(field: "chunkBits", value: UInt64(bits), max: 20)
        }
      #expect(broken { try decode(ResourceOffer.self, Limited.offerHead, [0, 0, bits, 0, 0]) } == expected)
    }
    #expect(Limits.chunkBitsRange.contains(Limits.chunkBits))
    #expect(1 << Int(Limits.chunkBits) == Limits.chunkBytes)
  }

  @Test("An optional field is there or absent, and nothing else")
  func optionals() {
    for choice in UInt8(2)...UInt8.max {
      #expect(
        broken { try decode(ResourceOffer.self, Limited.offerHead, [0, 0, 14, choice, 0]) }
          == .unknownValue(field: "size", value: choice))
      #expect(
        broken { try decode(ResourceOffer.self, Limited.offerHead, [0, 0, 14, 0, choice]) }
          == .unknownValue(field: "root", value: choice))
    }
  }

  @Test("A payload of a stream or resource has a byte at least")
  func emptyPayloads() {
    #expect(
      broken { try decode(StreamData.self, flow, [0]) } == .lengthUnderLimit(field: "stream payload", value: 0, min: 1))
    #expect(
      broken { try decode(ResourceChunk.self, Limited.chunkHead, [0]) }
        == .lengthUnderLimit(field: "chunk payload", value: 0, min: 1))
  }

  @Test("Names and types of streams and resources are valid UTF-8")
  func texts() {
    #expect(broken { try decode(StreamOpen.self, Limited.openHead, [1, 0xff]) } == .invalidUTF8(field: "stream name"))
    #expect(
      broken { try decode(ResourceOffer.self, Limited.offerHead, [1, 0xff, 0, 14, 0, 0]) }
        == .invalidUTF8(field: "resource name"))
    #expect(
      broken { try decode(ResourceOffer.self, Limited.offerHead, [0, 1, 0xff, 14, 0, 0]) }
        == .invalidUTF8(field: "resource type"))
  }

  @Test("A proof is counted and passed over")
  func proofs() throws {
    let body = Sample.provenChunk.encoded().body
    let view = try ResourceChunkView(decoding: body.span.bytes)
    let (count, payload) = (view.proofCount, [UInt8](view.payload))
    #expect(count == 2)
    #expect(payload == Array("hi".utf8))
  }

  private func decode<F: Frame>(_: F.Type, _ parts: [UInt8]...) throws {
    _ = try F(decoding: Array(parts.joined()).span.bytes)
  }
}
