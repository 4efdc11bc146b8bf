/// A priority queue of events by virtual time; events of one moment come in the order in which they were added.
struct EventQueue<Event> {
  private struct Entry {
    var time: Int64
    var order: UInt64
    var event: Event

    func precedes(_ other: Entry) -> Bool { time != other.time ? time < other.time : order < other.order }
  }

  private var heap: [Entry] = []
  private var orderLast: UInt64 = 0

  var isEmpty: Bool { heap.isEmpty }
  var nextTime: Int64? { heap.first?.time }

  mutating func push(_ event: Event, at time: Int64) {
    orderLast += 1
    heap.append(Entry(time: time, order: orderLast, event: event))
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].precedes(heap[parent]) else { break }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  mutating func pop() -> (time: Int64, event: Event)? {
    guard let first = heap.first else { return nil }
    let last = heap.removeLast()
    if !heap.isEmpty {
      heap[0] = last
      var parent = 0
      while true {
        var least = 2 * parent + 1
        guard least < heap.count else { break }
        if least + 1 < heap.count, heap[least + 1].precedes(heap[least]) { least += 1 }
        guard heap[least].precedes(heap[parent]) else { break }
        heap.swapAt(parent, least)
        parent = least
      }
    }
    return (first.time, first.event)
  }
}
