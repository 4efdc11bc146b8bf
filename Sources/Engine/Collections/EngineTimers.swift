import Wire

/// The engine's timers. A timer that fires compares the owner's own deadline: if it is too early, it is set again; if
/// the owner is gone, it is dropped. So moving a deadline costs nothing.
enum EngineTimer: Hashable {
  case link(LinkID)
  case bond(HostID)
  case host(HostID)
  case invitation(InvitationID)
  case decision(DecisionID)
  case comparison(ComparisonID)
  case group(Int)
  case clock(Int)
  case adhoc(EndpointID)
  case turns(Int)
  case resource(ResourceID)
  case circuits
  case restoring
}

/// A heap of deadlines, the earliest first; at most one current entry for each timer.
struct Timers {
  private var heap: [(due: Instant, timer: EngineTimer)] = []
  private var earliest = OrderedDictionary<EngineTimer, Instant>()

  var nextDeadline: Instant? { heap.first?.due }
  var count: Int { heap.count }

  /// Has `timer` fire at `due` or before.
  mutating func set(_ timer: EngineTimer, _ due: Instant) {
    if let set = earliest[timer], set <= due { return }
    earliest[timer] = due
    heap.append((due, timer))
    siftUp()
    sweepIfStale()
  }

  mutating func cancel(_ timer: EngineTimer) {
    earliest[timer] = nil
    sweepIfStale()
    dropStale()
  }

  /// Drops superseded and cancelled entries once they are the greater part.
  private mutating func sweepIfStale() {
    guard heap.count > 2 * earliest.count + 64 else { return }
    heap = heap.filter { earliest[$0.timer] == $0.due }
    for parent in stride(from: heap.count / 2 - 1, through: 0, by: -1) { siftDown(from: parent) }
  }

  mutating func popDue(at now: Instant) -> EngineTimer? {
    while let first = heap.first, first.due <= now {
      removeFirst()
      if earliest[first.timer] == first.due {
        earliest[first.timer] = nil
        dropStale()
        return first.timer
      }
    }
    return nil
  }

  /// Drops stale entries from the top, so that nobody wakes for one.
  private mutating func dropStale() {
    while let first = heap.first, earliest[first.timer] != first.due { removeFirst() }
  }

  private mutating func siftUp() {
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].due < heap[parent].due else { return }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  private mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    siftDown(from: 0)
  }

  private mutating func siftDown(from start: Int) {
    var parent = start
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child].due < heap[least].due {
        least = child
      }
      guard least != parent else { return }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
