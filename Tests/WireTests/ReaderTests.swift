import Testing
import Wire

@Suite struct ReaderTests {
  @Test("A varint of every width is read as it was written, in its minimal size")
  func varints() throws {
    for bits in 0...64 {
      let edge: UInt64 = bits == 64 ? .max : 1 << UInt64(bits)
      for value in [edge &- 1, edge, edge &+ 1] {
        let bytes = Raw.varint(value)
        #expect(bytes.count == MeasuringSink.size(varint: value))
        #expect(filled(bytes.count) { $0.put(varint: value) } == bytes)
        var reader = Reader(bytes.span.bytes)
        let read = try reader.varint()
        let atEnd = reader.atEnd
        #expect(read == value && atEnd)
      }
    }
  }

  @Test(
    "A varint that is not minimal, does not fit or ends early is refused",
    arguments: [
      ([0x80, 0x00], WireError.Rule.varintNotMinimal),
      ([0xff, 0x80, 0x00], .varintNotMinimal),
      ([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00], .varintNotMinimal),
      ([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02], .varintTooLong),
      ([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81], .varintTooLong),
      ([0x80], .truncated),
      ([], .truncated),
    ] as [([UInt8], WireError.Rule)])
  func badVarints(_ bytes: [UInt8], _ rule: WireError.Rule) {
    let found = broken {
      var reader = Reader(bytes.span.bytes)
      _ = try reader.varint()
    }
    #expect(found == rule)
  }

  @Test("A number past 32 bits is refused where 32 are meant")
  func narrow() {
    let ack = Raw.varint(1 << 32) + [0]
    #expect(
      broken { _ = try Ack(decoding: ack.span.bytes) }
        == .numberOverLimit(field: "strand", value: 1 << 32, max: UInt64(UInt32.max)))
  }

  @Test("A length over the limit is refused from the length alone")
  func hostileLength() throws {
    let max = Limits.frameLengthMax
    for length in [UInt64(max) + 1, 1 << 21, .max] {
      let bytes = Raw.varint(length)
      #expect(broken { _ = try bytes.head() } != nil)
      // Three groups that go on are over the limit whatever follows.
      if bytes.count > 3 { #expect(broken { _ = try Array(bytes[..<3]).head() } != nil) }
    }
    #expect(
      broken { _ = try Raw.count(max + 1).head() } == .lengthOverLimit(field: "frame", value: UInt64(max + 1), max: max)
    )
    #expect(
      broken { _ = try [0xff, 0xff, 0xff].head() } == .lengthOverLimit(field: "frame", value: 0x3f_ffff, max: max))
    #expect(try Raw.count(max).head() == nil)
    let early = Raw.count(Limits.earlyFrameLengthMax + 1)
    #expect(
      broken { _ = try FrameHead.next(in: early.span.bytes, lengthMax: Limits.earlyFrameLengthMax) }
        == .lengthOverLimit(field: "frame", value: 16_385, max: 16_384))
  }

  @Test("A frame without a type, or with a length that is not minimal, is refused")
  func badLengths() {
    #expect(broken { _ = try [0].head() } == .lengthUnderLimit(field: "frame", value: 0, min: 1))
    #expect(broken { _ = try [0x80, 0x00].head() } == .varintNotMinimal)
    #expect(broken { _ = try [0x81, 0x00].head() } == .varintNotMinimal)
  }

  @Test("Each unknown type is refused as soon as it is seen")
  func unknownTypes() {
    for code in UInt8.min...UInt8.max {
      let rule = broken { _ = try [100, code].head() }
      #expect(rule == (FrameType(rawValue: code) == nil ? .unknownType(code) : nil))
    }
  }

  @Test("Unknown reasons, flags, kinds, choices and versions are refused")
  func unknownValues() {
    for code in UInt8.min...UInt8.max {
      let bytes = [code, 0]
      let reason = broken { _ = try Bye(decoding: bytes.span.bytes) }
      #expect(reason == (code > 27 ? .unknownValue(field: "reason", value: code) : nil))

      let terms = broken {
        let bytes = [code, 2]
        var reader = Reader(bytes.span.bytes)
        _ = try Terms(from: &reader)
      }
      #expect(terms == (code > 7 || code & 3 == 3 ? .unknownFlags(field: "terms", value: code) : nil))

      let standing = broken {
        let bytes = [1, 2, code]
        var reader = Reader(bytes.span.bytes)
        _ = try Standing(from: &reader)
      }
      #expect(standing == (code > 3 ? .unknownFlags(field: "standing needs", value: code) : nil))

      let kind = broken { _ = try Datagram(decoding: bytesOf(0, 0, code, 0).span.bytes) }
      #expect(kind == (code > 2 ? .unknownValue(field: "audience kind", value: code) : nil))
    }
    let introduce: [UInt8] = [1, 1, 2] + Raw.part(Sample.introduction)
    #expect(
      broken { _ = try Introduce(decoding: introduce.span.bytes) } == .unknownValue(field: "spread", value: 2))
    var hello = Sample.link[0].encoded.body
    hello[0] = 2
    #expect(broken { _ = try Hello(decoding: hello.span.bytes) } == .unsupportedVersion(2))
  }

  @Test("Lower bounds of 1 and of 2 are enforced")
  func underLimits() {
    let gone: [UInt8] = [1, 0] + Raw.part(Sample.endpoint)
    #expect(
      broken { _ = try Gone(decoding: gone.span.bytes) } == .numberUnderLimit(field: "sequence", value: 0, min: 1))
    var hello = Sample.link[1].encoded.body
    hello[9] = 0
    #expect(broken { _ = try Hello(decoding: hello.span.bytes) } == .numberUnderLimit(field: "bond", value: 0, min: 1))
    let cases: [([UInt8], WireError.Rule)] = [
      ([0, 2, 0], .numberUnderLimit(field: "standing size", value: 0, min: 1)),
      ([1, 1, 0], .numberUnderLimit(field: "peersMax", value: 1, min: 2)),
    ]
    for (bytes, rule) in cases {
      #expect(
        broken {
          var reader = Reader(bytes.span.bytes)
          _ = try Standing(from: &reader)
        } == rule)
    }
  }

  private func bytesOf(_ bytes: UInt8...) -> [UInt8] { bytes }
}
