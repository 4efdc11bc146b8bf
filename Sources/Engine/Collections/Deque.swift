/// A queue in a ring of memory that it keeps.
struct Deque<Element> {
  private var ring: [Element?] = []
  private var head = 0
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }
  var first: Element? { count == 0 ? nil : ring[head] }
  var last: Element? { count == 0 ? nil : self[count - 1] }

  /// From the front; traps out of bounds.
  subscript(position: Int) -> Element {
    precondition(position < count, "position \(position) of \(count)")
    guard let element = ring[(head + position) & (ring.count - 1)] else { preconditionFailure("hole in a queue") }
    return element
  }

  mutating func replace(at position: Int, by element: Element) {
    precondition(position < count, "position \(position) of \(count)")
    ring[(head + position) & (ring.count - 1)] = element
  }

  mutating func append(_ element: Element) {
    if count == ring.count { grow() }
    ring[(head + count) & (ring.count - 1)] = element
    count += 1
  }

  @discardableResult
  mutating func popFirst() -> Element? {
    guard count > 0 else { return nil }
    let element = ring[head]
    ring[head] = nil
    head = (head + 1) & (ring.count - 1)
    count -= 1
    return element
  }

  mutating func removeAll() { self = Deque() }

  private mutating func grow() {
    var larger = [Element?](repeating: nil, count: max(16, ring.count * 2))
    for position in 0..<count { larger[position] = ring[(head + position) & (ring.count - 1)] }
    ring = larger
    head = 0
  }
}
