/// Numbers that follow from a seed (SplitMix64).
public struct Chance: RandomNumberGenerator {
  private var state: UInt64

  public init(_ seed: UInt64) {
    state = seed
  }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  public mutating func number(in range: Range<Int>) -> Int { .random(in: range, using: &self) }

  /// True in that share of all cases.
  public mutating func hits(_ share: Double) -> Bool { .random(in: 0..<1, using: &self) < share }
}
