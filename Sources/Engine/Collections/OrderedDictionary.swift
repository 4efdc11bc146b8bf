/// A dictionary that iterates in insertion order, so that the same inputs give the same outputs in every process; the
/// standard library's order differs between runs.
///
/// A removed element leaves a gap until the gaps are compacted. A few keys are searched linearly; many have a hash
/// table with linear probing.
struct OrderedDictionary<Key: OrderedDictionaryKey, Value> {
  private var slots: [Key] = []
  /// The value of each slot; nil for a gap.
  private var held: [Value?] = []
  /// The hash table: one more than the slot of the key that belongs here or somewhat before; 0 where free.
  private var places: [UInt32] = []
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  subscript(key: Key) -> Value? {
    get { slot(of: key).flatMap { held[$0] } }
    _modify {
      if let slot = slot(of: key) {
        defer { if held[slot] == nil { removed(slot) } }
        yield &held[slot]
      } else {
        var value: Value?
        defer { if let value { append(key, value) } }
        yield &value
      }
    }
  }

  subscript(key: Key, default value: @autoclosure () -> Value) -> Value {
    get { self[key] ?? value() }
    _modify {
      let slot = slot(of: key) ?? append(key, value())
      // The slot of a key is not a gap.
      yield &held[slot]!
    }
  }

  func contains(_ key: Key) -> Bool { slot(of: key) != nil }

  /// A copy in order, so that the loop over it may change the dictionary.
  var values: [Value] { held.compactMap { $0 } }
  var keys: [Key] { slots.indices.compactMap { held[$0] == nil ? nil : slots[$0] } }

  /// The values that pass the test, in order.
  func values(where test: (Value) -> Bool) -> [Value] {
    var some: [Value] = []
    for case let value? in held where test(value) { some.append(value) }
    return some
  }

  func forEach(_ body: (Key, Value) -> Void) {
    for (slot, value) in held.enumerated() { if let value { body(slots[slot], value) } }
  }

  func first(where test: (Value) -> Bool) -> Value? {
    for case let value? in held where test(value) { return value }
    return nil
  }

  func contains(where test: (Value) -> Bool) -> Bool { first(where: test) != nil }

  mutating func removeAll() { self = OrderedDictionary() }

  @discardableResult
  mutating func removeValue(forKey key: Key) -> Value? {
    guard let slot = slot(of: key) else { return nil }
    let value = held[slot].take()
    removed(slot)
    return value
  }

  mutating func removeFirst() -> (key: Key, value: Value)? {
    guard let slot = held.firstIndex(where: { $0 != nil }), let value = held[slot].take() else { return nil }
    let key = slots[slot]
    removed(slot)
    return (key, value)
  }

  // MARK: Slots

  /// Up to this count a linear search is as fast as the hash table.
  private static var lookedThroughMax: Int { 8 }

  private func slot(of key: Key) -> Int? {
    if places.isEmpty { return slots.indices.first { slots[$0] == key && held[$0] != nil } }
    return place(of: key).map { Int(places[$0]) - 1 }
  }

  @discardableResult
  private mutating func append(_ key: Key, _ value: Value) -> Int {
    slots.append(key)
    held.append(value)
    count += 1
    if slots.count > Self.lookedThroughMax, 4 * count > 3 * places.count { return makePlaces() }
    if !places.isEmpty { settle(slots.count - 1) }
    return slots.count - 1
  }

  private mutating func removed(_ slot: Int) {
    count -= 1
    if !places.isEmpty, let place = place(of: slots[slot]) { vacate(place) }
    if slots.count > 16, slots.count > 2 * count { makePlaces() }
  }

  /// Compacts the gaps and rebuilds the hash table of a large dictionary; returns the last slot.
  @discardableResult
  private mutating func makePlaces() -> Int {
    if slots.count > count {
      slots = keys
      held = held.filter { $0 != nil }
    }
    places = []
    if slots.count > Self.lookedThroughMax {
      places = Array(repeating: 0, count: 1 << (Int.bitWidth - (2 * count - 1).leadingZeroBitCount))
      for slot in slots.indices { settle(slot) }
    }
    return slots.count - 1
  }

  // MARK: Places

  private func home(of key: Key) -> Int { Int(truncatingIfNeeded: key.spread) & (places.count - 1) }

  private func place(of key: Key) -> Int? {
    var place = home(of: key)
    while places[place] != 0 {
      if slots[Int(places[place]) - 1] == key { return place }
      place = (place + 1) & (places.count - 1)
    }
    return nil
  }

  private mutating func settle(_ slot: Int) {
    var place = home(of: slots[slot])
    while places[place] != 0 { place = (place + 1) & (places.count - 1) }
    places[place] = UInt32(slot + 1)
  }

  /// Later entries of the probe sequence move up, so that a search ends at the first free place.
  private mutating func vacate(_ place: Int) {
    let mask = places.count - 1
    var free = place
    var next = (place + 1) & mask
    while places[next] != 0 {
      let home = home(of: slots[Int(places[next]) - 1])
      if (next - home) & mask >= (next - free) & mask {
        places[free] = places[next]
        free = next
      }
      next = (next + 1) & mask
    }
    places[free] = 0
  }
}
