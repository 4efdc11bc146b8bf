/// Validates UTF-8 (RFC 3629) that comes in pieces, and fails at the first byte that cannot belong to it.
struct UTF8Check: Equatable {
  /// The number of continuation bytes that the current character lacks.
  private var missing = 0
  /// The range of the next continuation byte: narrower behind some first bytes, which excludes overlong forms,
  /// surrogates, and numbers beyond U+10FFFF.
  private var lowest: UInt8 = 0x80
  private var highest: UInt8 = 0xbf

  /// Whether no character is in progress.
  var isComplete: Bool { missing == 0 }

  /// Takes the next bytes; false where they are no UTF-8.
  mutating func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var index = 0
    while index < bytes.count {
      if missing == 0 {
        while index + 8 <= bytes.count,
          bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
        {
          index += 8
        }
        if index == bytes.count { break }
      }
      guard take(bytes[index]) else { return false }
      index += 1
    }
    return true
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    if missing > 0 {
      guard byte >= lowest, byte <= highest else { return false }
      missing -= 1
      (lowest, highest) = (0x80, 0xbf)
      return true
    }
    switch byte {
    case 0x00...0x7f: return true
    case 0xc2...0xdf: missing = 1
    case 0xe0...0xef: missing = 2
    case 0xf0...0xf4: missing = 3
    default: return false
    }
    switch byte {
    case 0xe0: lowest = 0xa0
    case 0xed: highest = 0x9f
    case 0xf0: lowest = 0x90
    case 0xf4: highest = 0x8f
    default: break
    }
    return true
  }
}
