import Wire

/// The bytes of a file or of a stream, generated from a number: any part is made where it is needed, and none is kept.
struct Content {
  private let seed: UInt64

  init(_ number: Int, of kind: UInt64) { seed = Random.mix(UInt64(number) &* 0x9E37_79B9_7F4A_7C15 ^ kind << 56) }

  func bytes(from offset: UInt64, count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      let raw = UnsafeMutableRawBufferPointer(buffer)
      var place = 0
      while place < count {
        let (word, within) = ((offset + UInt64(place)) / 8, Int((offset + UInt64(place)) % 8))
        var value = self.word(word) >> UInt64(8 * within)
        if within == 0, count - place >= 8 {
          raw.storeBytes(of: value.littleEndian, toByteOffset: place, as: UInt64.self)
          place += 8
        } else {
          for _ in 0..<min(8 - within, count - place) {
            raw[place] = UInt8(truncatingIfNeeded: value)
            value >>= 8
            place += 1
          }
        }
      }
      filled = count
    }
  }

  func matches(_ bytes: RawSpan, at offset: UInt64) -> Bool {
    var place = 0
    while place < bytes.byteCount {
      let (word, within) = ((offset + UInt64(place)) / 8, Int((offset + UInt64(place)) % 8))
      var value = self.word(word) >> UInt64(8 * within)
      if within == 0, bytes.byteCount - place >= 8 {
        guard bytes.unsafeLoadUnaligned(fromByteOffset: place, as: UInt64.self).littleEndian == value else {
          return false
        }
        place += 8
      } else {
        for _ in 0..<min(8 - within, bytes.byteCount - place) {
          guard bytes.unsafeLoad(fromByteOffset: place, as: UInt8.self) == UInt8(truncatingIfNeeded: value) else {
            return false
          }
          value >>= 8
          place += 1
        }
      }
    }
    return true
  }

  private func word(_ place: UInt64) -> UInt64 { Random.mix(seed &+ place &* 0xD6E8_FEB8_6659_FD93) }
}
