/// A queue in an array. Removed elements stay at the front until they are the greater part, or all; then they are cut
/// off.
struct Deque<Element> {
  private var elements: ContiguousArray<Element> = []
  private var head = 0

  var count: Int { elements.count - head }
  var isEmpty: Bool { count == 0 }
  var first: Element? { isEmpty ? nil : elements[head] }

  /// From the front; traps out of bounds.
  subscript(position: Int) -> Element {
    _read { yield elements[head + position] }
    _modify { yield &elements[head + position] }
  }

  mutating func append(_ element: consuming Element) { elements.append(element) }

  mutating func removeFirst() {
    precondition(!isEmpty, "nothing to remove")
    head += 1
    if head == elements.count {
      elements.removeAll(keepingCapacity: head <= Self.keptMax)
      head = 0
    } else if head >= Self.keptMax, head * 2 >= elements.count {
      elements.removeSubrange(..<head)
      head = 0
    }
  }

  mutating func removeAll(where isToGo: (Element) -> Bool) {
    elements.removeSubrange(..<head)
    head = 0
    elements.removeAll(where: isToGo)
  }

  /// Frees an empty queue's memory after a quiet period.
  mutating func releaseMemory() { if isEmpty { elements = [] } }

  /// Capacity that an empty queue may keep, so that one burst does not hold memory for ever.
  private static var keptMax: Int { 1_024 }
}
