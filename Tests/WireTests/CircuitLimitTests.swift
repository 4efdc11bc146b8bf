import Testing
import Wire

@Suite struct CircuitLimitTests {
  @Test("A circuit of 0, or of more than 32 bits, is refused in every frame of one")
  func numbers() {
    let none = WireError.Rule.numberUnderLimit(field: "circuit", value: 0, min: 1)
    let wide = WireError.Rule.numberOverLimit(field: "circuit", value: 1 << 32, max: UInt64(UInt32.max))
    for (number, rule) in [([0], none), (Raw.varint(1 << 32), wide)] {
      #expect(broken { try decode(CircuitOpen.self, number, Raw.part(HostID(Sample.id(1)))) } == rule)
      #expect(broken { try decode(CircuitAccept.self, number) } == rule)
      #expect(broken { try decode(CircuitEnd.self, number, [0]) } == rule)
      #expect(broken { try decode(CircuitData.self, number, [7]) } == rule)
      #expect(broken { try decode(CircuitGrant.self, number, [1]) } == rule)
    }
  }

  @Test("A grant is of a byte at least, and of a whole window at most")
  func grants() {
    let most = UInt64(Limits.circuitWindowBytes)
    #expect(broken { try decode(CircuitGrant.self, [1], Raw.varint(1)) } == nil)
    #expect(broken { try decode(CircuitGrant.self, [1], Raw.varint(most)) } == nil)
    #expect(
      broken { try decode(CircuitGrant.self, [1], [0]) } == .numberUnderLimit(field: "grant", value: 0, min: 1))
    #expect(
      broken { try decode(CircuitGrant.self, [1], Raw.varint(most + 1)) }
        == .numberOverLimit(field: "grant", value: most + 1, max: most))
  }

  @Test("The longest frame of a circuit may come early, and one without a byte is refused")
  func lengths() throws {
    let longest = CircuitData(circuit: .max, payload: [UInt8](repeating: 7, count: Limits.circuitDataBytes))
    #expect(try longest.viewed.head()?.end == longest.encodedSize)
    #expect(longest.encodedSize <= Limits.earlyFrameLengthMax)
    #expect(
      broken { try decode(CircuitData.self, [1]) } == .lengthUnderLimit(field: "circuit payload", value: 0, min: 1))
    let heard = Heard(
      isHeard: true, hosts: Array(repeating: HostID(Sample.id(1)), count: Limits.heardHostsMax))
    #expect(heard.encodedSize <= Limits.earlyFrameLengthMax)
  }

  private func decode<F: Frame>(_: F.Type, _ parts: [UInt8]...) throws {
    _ = try F(decoding: Array(parts.joined()).span.bytes)
  }
}
