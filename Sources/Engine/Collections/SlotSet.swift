/// A bit set of slots, which number the local endpoints of a group, or other things from 0 on.
///
/// Slots that are close together need no heap memory, and an operation costs as much as the smaller of its sets:
/// inserting, removing and finding one slot in a set of thousands is O(1).
///
/// Invariant: where the set is not empty, `first` is not zero and `rest` does not end in a zero, so that equal sets are
/// equal in all parts.
package struct SlotSet: Hashable, Sendable {
  /// The index of the word `first`; the words before it are zero.
  private var base = 0
  private var first: UInt64 = 0
  private var rest: [UInt64] = []

  package init() {}

  package init(_ slot: Int) { (base, first) = (slot / 64, 1 << UInt64(slot % 64)) }

  init(words: [UInt64]) {
    rest = words
    base = -1
    trim()
  }

  /// From slot 0 on, without zeros at the end.
  var words: [UInt64] { isEmpty ? [] : [UInt64](repeating: 0, count: base) + [first] + rest }

  package var isEmpty: Bool { first == 0 }
  package var count: Int { rest.reduce(first.nonzeroBitCount) { $0 + $1.nonzeroBitCount } }

  /// The slot of a set of one.
  package var only: Int? { rest.isEmpty && first.nonzeroBitCount == 1 ? base * 64 + first.trailingZeroBitCount : nil }

  package func contains(_ slot: Int) -> Bool { word(slot / 64) & (1 << UInt64(slot % 64)) != 0 }

  package mutating func insert(_ slot: Int) { formUnion(SlotSet(slot)) }
  package mutating func remove(_ slot: Int) { subtract(SlotSet(slot)) }

  func union(_ other: SlotSet) -> SlotSet {
    var all = self
    all.formUnion(other)
    return all
  }

  // One of the two is usually a slot or a few: the inlined part looks at one word of the other set.

  @inline(__always)
  package func subtracting(_ other: SlotSet) -> SlotSet {
    if rest.isEmpty { return SlotSet(first & ~other.word(base), at: base) }
    var left = self
    left.subtract(other)
    return left
  }

  @inline(__always)
  package func intersection(_ other: SlotSet) -> SlotSet {
    if rest.isEmpty { return SlotSet(first & other.word(base), at: base) }
    return commonWords(with: other)
  }

  @inline(__always)
  package mutating func formUnion(_ other: SlotSet) {
    if other.rest.isEmpty { formUnion(other.first, at: other.base) } else { formUnion(words: other) }
  }

  @inline(__always)
  package mutating func subtract(_ other: SlotSet) {
    if other.rest.isEmpty { subtract(other.first, at: other.base) } else { subtract(words: other) }
  }

  /// The same set with every slot moved up.
  func shifted(by offset: Int) -> SlotSet {
    var moved = SlotSet()
    forEach { moved.insert($0 + offset) }
    return moved
  }

  /// In ascending order.
  package func forEach(_ body: (Int) -> Void) {
    Self.forEach(in: first, from: base * 64, body)
    for (position, bits) in rest.enumerated() { Self.forEach(in: bits, from: (base + 1 + position) * 64, body) }
  }

  package var slots: [Int] {
    var all: [Int] = []
    forEach { all.append($0) }
    return all
  }

  private static func forEach(in word: UInt64, from start: Int, _ body: (Int) -> Void) {
    var left = word
    while left != 0 {
      body(start + left.trailingZeroBitCount)
      left &= left - 1
    }
  }

  private init(_ bits: UInt64, at word: Int) { if bits != 0 { (base, first) = (word, bits) } }

  private var end: Int { base + 1 + rest.count }

  @inline(__always)
  private func word(_ word: Int) -> UInt64 {
    word == base ? first : word > base && word < end ? rest[word - base - 1] : 0
  }

  /// The words that both sets reach.
  private func overlap(with other: SlotSet) -> Range<Int> {
    let start = max(base, other.base)
    return start..<max(start, min(end, other.end))
  }

  private func commonWords(with other: SlotSet) -> SlotSet {
    var common = SlotSet()
    for word in overlap(with: other) { common.formUnion(self.word(word) & other.word(word), at: word) }
    return common
  }

  private mutating func formUnion(words other: SlotSet) {
    if isEmpty { return self = other }
    formUnion(other.first, at: other.base)
    for (position, bits) in other.rest.enumerated() { formUnion(bits, at: other.base + 1 + position) }
  }

  private mutating func formUnion(_ bits: UInt64, at word: Int) {
    if bits == 0 { return }
    if isEmpty { base = word }
    if word == base {
      first |= bits
    } else if word > base {
      while end <= word { rest.append(0) }
      rest[word - base - 1] |= bits
    } else {
      rest.insert(contentsOf: [UInt64](repeating: 0, count: base - word - 1) + [first], at: 0)
      (base, first) = (word, bits)
    }
  }

  private mutating func subtract(words other: SlotSet) {
    for word in overlap(with: other) { remove(other.word(word), at: word) }
    trim()
  }

  private mutating func subtract(_ bits: UInt64, at word: Int) {
    remove(bits, at: word)
    trim()
  }

  private mutating func remove(_ bits: UInt64, at word: Int) {
    let common = self.word(word) & bits
    if common == 0 { return }
    if word == base { first ^= common } else { rest[word - base - 1] ^= common }
  }

  private mutating func trim() {
    while rest.last == 0 { rest.removeLast() }
    guard first == 0 else { return }
    guard let position = rest.firstIndex(where: { $0 != 0 }) else {
      base = 0
      return
    }
    first = rest[position]
    base += position + 1
    rest.removeFirst(position + 1)
  }
}
