import Testing

@testable import Engine

/// `SlotSet` beside the standard library's set of the same numbers.
struct SlotSetTests {
  private static func random(_ seed: inout UInt64, below bound: Int) -> Int {
    seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(seed >> 33) % bound
  }

  private static func set(_ slots: Set<Int>) -> SlotSet {
    var set = SlotSet()
    for slot in slots { set.insert(slot) }
    return set
  }

  @Test(
    "A set of slots is what a set of numbers is, whatever is near to or far from what",
    arguments: [10, 64, 130, 1_000])
  func likeASet(bound: Int) {
    var seed = UInt64(bound)
    for size in [0, 1, 2, 5, 40] {
      for _ in 0..<100 {
        let a = Set((0..<size).map { _ in Self.random(&seed, below: bound) })
        let b = Set((0..<Self.random(&seed, below: 6)).map { _ in Self.random(&seed, below: bound) })
        let (x, y) = (Self.set(a), Self.set(b))
        #expect(x.slots == a.sorted())
        #expect(x.count == a.count && x.isEmpty == a.isEmpty && x.only == (a.count == 1 ? a.first : nil))
        #expect(x.union(y) == Self.set(a.union(b)) && y.union(x) == x.union(y))
        #expect(x.intersection(y) == Self.set(a.intersection(b)) && y.intersection(x) == x.intersection(y))
        #expect(x.subtracting(y) == Self.set(a.subtracting(b)) && y.subtracting(x) == Self.set(b.subtracting(a)))
        #expect(x.shifted(by: 70).slots == a.sorted().map { $0 + 70 })
        #expect(SlotSet(words: x.words) == x && SlotSet(words: x.words + [0, 0]) == x)
        for slot in 0..<min(bound, 200) { #expect(x.contains(slot) == a.contains(slot)) }
      }
    }
  }
}
