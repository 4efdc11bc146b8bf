/// A dictionary that is walked in the order of insertion, so that the same inputs give the same outputs in every
/// process: the standard library's order changes from run to run.
struct Table<Key: Hashable, Value> {
  private var slots: [(key: Key, value: Value)?] = []
  private var index: [Key: Int] = [:]

  var count: Int { index.count }
  var isEmpty: Bool { index.isEmpty }

  subscript(key: Key) -> Value? {
    get { index[key].flatMap { slots[$0]?.value } }
    set {
      if let newValue {
        if let slot = index[key] {
          slots[slot] = (key, newValue)
        } else {
          index[key] = slots.count
          slots.append((key, newValue))
        }
      } else if let slot = index.removeValue(forKey: key) {
        slots[slot] = nil
        compactIfSparse()
      }
    }
  }

  subscript(key: Key, default value: @autoclosure () -> Value) -> Value {
    get { self[key] ?? value() }
    set { self[key] = newValue }
  }

  func contains(_ key: Key) -> Bool { index[key] != nil }

  /// A copy in order: what is done with each may change the table.
  var values: [Value] { slots.compactMap { $0?.value } }
  var keys: [Key] { slots.compactMap { $0?.key } }

  /// The same for some, which costs no more than they do beside the look at all.
  func values(where test: (Value) -> Bool) -> [Value] {
    var some: [Value] = []
    for case let (_, value)? in slots where test(value) { some.append(value) }
    return some
  }

  func forEach(_ body: (Key, Value) -> Void) {
    for case let (key, value)? in slots { body(key, value) }
  }

  func first(where test: (Value) -> Bool) -> Value? {
    for case let (_, value)? in slots where test(value) { return value }
    return nil
  }

  func contains(where test: (Value) -> Bool) -> Bool { first(where: test) != nil }

  mutating func removeAll() { self = Table() }

  mutating func removeFirst() -> (key: Key, value: Value)? {
    for case let entry? in slots {
      self[entry.key] = nil
      return entry
    }
    return nil
  }

  private mutating func compactIfSparse() {
    guard slots.count > 16, slots.count > 2 * index.count else { return }
    slots = slots.filter { $0 != nil }
    for (slot, entry) in slots.enumerated() {
      if let entry { index[entry.key] = slot }
    }
  }
}
