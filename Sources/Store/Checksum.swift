/// CRC-32C, to detect bytes that the disk has changed.
public enum Checksum {
  /// Sums of a byte with so many zeros behind it: eight bytes are looked up side by side.
  private static let tables: [UInt32] = {
    var tables: [UInt32] = (0..<256).map { byte in sum(ofByte: byte) }
    for place in 256..<8 * 256 {
      let sum = tables[place - 256]
      tables.append(sum >> 8 ^ tables[Int(sum & 0xFF)])
    }
    return tables
  }()

  private static func sum(ofByte byte: UInt32) -> UInt32 {
    (0..<8).reduce(byte) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0x82F6_3B78 : sum >> 1 }
  }

  public static func of(_ bytes: [UInt8]) -> Int {
    let tables = tables.span
    let bytes = bytes.span
    func look(_ zeros: Int, _ byte: UInt32) -> UInt32 { tables[zeros << 8 | Int(byte & 0xFF)] }
    var (sum, place) = (~UInt32(0), 0)
    while place + 8 <= bytes.count {
      var (low, high): (UInt32, UInt32) = (0, 0)
      for offset in 0..<4 {
        low |= UInt32(bytes[place + offset]) << UInt32(8 * offset)
        high |= UInt32(bytes[place + 4 + offset]) << UInt32(8 * offset)
      }
      low ^= sum
      sum = 0
      for byte in 0..<4 as Range<UInt32> {
        sum ^= look(7 - Int(byte), low >> (8 * byte))
        sum ^= look(3 - Int(byte), high >> (8 * byte))
      }
      place += 8
    }
    while place < bytes.count {
      sum = sum >> 8 ^ look(0, sum ^ UInt32(bytes[place]))
      place += 1
    }
    return Int(~sum)
  }
}
