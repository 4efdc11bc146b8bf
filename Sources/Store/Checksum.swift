/// CRC-32C: it finds what a disk has turned into something else.
enum Checksum {
  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0x82F6_3B78 : sum >> 1 }
  }

  static func of(_ bytes: [UInt8]) -> Int {
    Int(~bytes.reduce(~UInt32(0)) { sum, byte in sum >> 8 ^ table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] })
  }
}
