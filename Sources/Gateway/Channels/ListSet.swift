/// A set of lists of `SharedItems`, by their slots: a bit for each.
///
/// Invariant: the last word is not zero, so that equal sets have equal words.
struct ListSet: Hashable, Sendable {
  private var words: [UInt64] = []

  init() {}
  init(_ slot: Int) { insert(slot) }

  var isEmpty: Bool { words.isEmpty }

  /// The slot of a set of one.
  var only: Int? {
    guard let last = words.last, last.nonzeroBitCount == 1, words.dropLast().allSatisfy({ $0 == 0 }) else { return nil }
    return (words.count - 1) * 64 + last.trailingZeroBitCount
  }

  func contains(_ slot: Int) -> Bool { slot / 64 < words.count && words[slot / 64] & Self.bit(slot) != 0 }

  mutating func insert(_ slot: Int) {
    while words.count <= slot / 64 { words.append(0) }
    words[slot / 64] |= Self.bit(slot)
  }

  mutating func remove(_ slot: Int) {
    guard contains(slot) else { return }
    words[slot / 64] ^= Self.bit(slot)
    trim()
  }

  mutating func formUnion(_ other: ListSet) {
    while words.count < other.words.count { words.append(0) }
    for (index, word) in other.words.enumerated() { words[index] |= word }
  }

  mutating func subtract(_ other: ListSet) {
    for index in 0..<min(words.count, other.words.count) { words[index] &= ~other.words[index] }
    trim()
  }

  func intersection(_ other: ListSet) -> ListSet {
    var common = ListSet()
    common.words = zip(words, other.words).map { $0 & $1 }
    common.trim()
    return common
  }

  func isDisjoint(with other: ListSet) -> Bool { zip(words, other.words).allSatisfy { $0 & $1 == 0 } }

  /// In ascending order.
  func forEach(_ body: (Int) -> Void) {
    for (index, word) in words.enumerated() {
      var left = word
      while left != 0 {
        body(index * 64 + left.trailingZeroBitCount)
        left &= left - 1
      }
    }
  }

  private static func bit(_ slot: Int) -> UInt64 { 1 << UInt64(slot % 64) }

  private mutating func trim() {
    while words.last == 0 { words.removeLast() }
  }
}
