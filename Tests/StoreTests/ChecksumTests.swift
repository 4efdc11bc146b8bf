import Store
import Testing

@Suite struct ChecksumTests {
  @Test("a checksum is that of CRC-32C, however many bytes there are")
  func checksum() {
    #expect(Checksum.of(Array("123456789".utf8)) == 0xE306_9283)
    for count in 0..<40 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 91) }
      var sum: UInt32 = .max
      for byte in bytes {
        sum ^= UInt32(byte)
        for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0x82F6_3B78 : sum >> 1 }
      }
      #expect(Checksum.of(bytes) == Int(~sum))
    }
  }
}
