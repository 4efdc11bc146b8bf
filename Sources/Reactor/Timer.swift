/// One action at one time, made by a reactor.
public final class Timer {
  /// Nanoseconds on the monotonic clock.
  public let deadline: UInt64
  /// Whether it may be coalesced with other wake-ups.
  let isPatient: Bool
  fileprivate let order: UInt64
  fileprivate var action: (() -> Void)?
  /// Its position in the heap; nil once it has fired or was cancelled.
  fileprivate var index: Int?

  fileprivate init(deadline: UInt64, isPatient: Bool, order: UInt64, action: @escaping () -> Void) {
    self.deadline = deadline
    self.isPatient = isPatient
    self.order = order
    self.action = action
  }

  fileprivate static func < (a: Timer, b: Timer) -> Bool {
    (a.deadline, a.order) < (b.deadline, b.order)
  }
}

/// The pending timers, as a binary heap: the earliest first, equals in the order they were made.
///
/// Each timer knows its position, so a cancelled one leaves at once and nothing of it stays behind.
struct TimerHeap {
  private let isPatient: Bool
  private var heap: [Timer] = []
  private var made: UInt64 = 0

  init(isPatient: Bool = false) { self.isPatient = isPatient }

  var count: Int { heap.count }
  var earliest: UInt64? { heap.first?.deadline }

  mutating func insert(at deadline: UInt64, _ action: @escaping () -> Void) -> Timer {
    let timer = Timer(deadline: deadline, isPatient: isPatient, order: made, action: action)
    made += 1
    heap.append(timer)
    timer.index = heap.count - 1
    rise(from: heap.count - 1)
    return timer
  }

  /// Does nothing to a timer that has fired.
  mutating func remove(_ timer: Timer) {
    guard let index = timer.index else { return }
    precondition(index < heap.count && heap[index] === timer, "a timer was given to a reactor that did not make it")
    let last = heap.removeLast()
    timer.index = nil
    timer.action = nil
    guard last !== timer else { return }
    place(last, at: index)
    rise(from: index)
    sink(from: index)
  }

  mutating func removeAll() -> [() -> Void] {
    let actions = heap.compactMap(\.action)
    for timer in heap {
      timer.index = nil
      timer.action = nil
    }
    heap = []
    return actions
  }

  mutating func removeDue(at now: UInt64) -> (() -> Void)? {
    guard let first = heap.first, first.deadline <= now else { return nil }
    let action = first.action
    remove(first)
    return action
  }

  private mutating func place(_ timer: Timer, at index: Int) {
    heap[index] = timer
    timer.index = index
  }

  private mutating func rise(from start: Int) {
    var index = start
    while index > 0, heap[index] < heap[(index - 1) / 2] {
      swap(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  private mutating func sink(from start: Int) {
    var index = start
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2] where child < heap.count && heap[child] < heap[least] {
        least = child
      }
      if least == index { return }
      swap(index, least)
      index = least
    }
  }

  private mutating func swap(_ a: Int, _ b: Int) {
    let (first, second) = (heap[a], heap[b])
    place(second, at: a)
    place(first, at: b)
  }
}
