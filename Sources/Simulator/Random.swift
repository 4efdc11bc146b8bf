/// The only source of randomness in a simulated world: xoshiro256**, seeded by splitmix64.
struct Random: Sendable {
  private var s0, s1, s2, s3: UInt64

  init(seed: UInt64) {
    var state = seed
    s0 = Self.splitmix(&state)
    s1 = Self.splitmix(&state)
    s2 = Self.splitmix(&state)
    s3 = Self.splitmix(&state)
  }

  /// A stream of its own for one concern, so that drawing more here changes nothing there.
  init(seed: UInt64, stream: UInt64) {
    var state = seed ^ (stream &* 0xD6E8_FEB8_6659_FD93)
    self.init(seed: Self.splitmix(&state))
  }

  static func splitmix(_ state: inout UInt64) -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    return mix(state)
  }

  static func mix(_ value: UInt64) -> UInt64 {
    var z = value
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func next() -> UInt64 {
    let result = Self.rotate(s1 &* 5, 7) &* 9
    let t = s1 << 17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    s3 = Self.rotate(s3, 45)
    return result
  }

  private static func rotate(_ x: UInt64, _ k: UInt64) -> UInt64 { (x << k) | (x >> (64 - k)) }

  /// 0 ..< bound; 0 where the bound is 0.
  mutating func below(_ bound: Int) -> Int {
    bound <= 1 ? 0 : Int(next().multipliedFullWidth(by: UInt64(bound)).high)
  }

  mutating func within(_ range: ClosedRange<Int>) -> Int { range.lowerBound + below(range.count) }

  mutating func chance(perMille: Int) -> Bool { perMille > 0 && below(1000) < perMille }

  mutating func flip() -> Bool { next() >> 63 == 0 }

  mutating func pick<T>(_ items: [T]) -> T { items[below(items.count)] }

  mutating func bytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count + 7)
    while bytes.count < count {
      var word = next()
      for _ in 0..<8 {
        bytes.append(UInt8(truncatingIfNeeded: word))
        word >>= 8
      }
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}
