/// A set of small numbers: the slots that local endpoints have in their group.
///
/// Up to 64 slots it needs no memory of its own.
struct SlotSet: Hashable, Sendable {
  private var low: UInt64 = 0
  /// Words from slot 64 on, without zeros at the end.
  private var high: [UInt64] = []

  init() {}

  var words: [UInt64] { low == 0 && high.isEmpty ? [] : [low] + high }

  init(_ slot: Int) { insert(slot) }

  var isEmpty: Bool { low == 0 && high.isEmpty }
  var count: Int { high.reduce(low.nonzeroBitCount) { $0 + $1.nonzeroBitCount } }

  func contains(_ slot: Int) -> Bool {
    if slot < 64 { return low & (1 << UInt64(slot)) != 0 }
    let word = slot / 64 - 1
    return word < high.count && high[word] & (1 << UInt64(slot % 64)) != 0
  }

  mutating func insert(_ slot: Int) {
    if slot < 64 {
      low |= 1 << UInt64(slot)
      return
    }
    let word = slot / 64 - 1
    while high.count <= word { high.append(0) }
    high[word] |= 1 << UInt64(slot % 64)
  }

  mutating func remove(_ slot: Int) {
    if slot < 64 {
      low &= ~(1 << UInt64(slot))
    } else if slot / 64 - 1 < high.count {
      high[slot / 64 - 1] &= ~(1 << UInt64(slot % 64))
      trim()
    }
  }

  func union(_ other: SlotSet) -> SlotSet { combined(with: other, |) }
  func intersection(_ other: SlotSet) -> SlotSet { combined(with: other, &) }
  func subtracting(_ other: SlotSet) -> SlotSet { combined(with: other) { $0 & ~$1 } }

  mutating func formUnion(_ other: SlotSet) { self = union(other) }
  mutating func subtract(_ other: SlotSet) { self = subtracting(other) }

  /// The same set with every slot moved up.
  func shifted(by offset: Int) -> SlotSet {
    var moved = SlotSet()
    forEach { moved.insert($0 + offset) }
    return moved
  }

  /// In ascending order.
  func forEach(_ body: (Int) -> Void) {
    Self.forEach(in: low, from: 0, body)
    for (word, bits) in high.enumerated() { Self.forEach(in: bits, from: (word + 1) * 64, body) }
  }

  var slots: [Int] {
    var all: [Int] = []
    forEach { all.append($0) }
    return all
  }

  private static func forEach(in word: UInt64, from base: Int, _ body: (Int) -> Void) {
    var left = word
    while left != 0 {
      body(base + left.trailingZeroBitCount)
      left &= left - 1
    }
  }

  private func combined(with other: SlotSet, _ operation: (UInt64, UInt64) -> UInt64) -> SlotSet {
    var result = SlotSet()
    result.low = operation(low, other.low)
    let words = max(high.count, other.high.count)
    if words > 0 {
      result.high.reserveCapacity(words)
      for word in 0..<words {
        result.high.append(
          operation(word < high.count ? high[word] : 0, word < other.high.count ? other.high[word] : 0))
      }
      result.trim()
    }
    return result
  }

  private mutating func trim() {
    while high.last == 0 { high.removeLast() }
  }
}
