internal import Synchronization

/// A bounded queue for one reader.
final class Mailbox<Element: Sendable>: Sendable {
  private struct State {
    var waiting: [(element: Element, weight: Int)?] = []
    /// How many elements were taken from the front.
    var taken = 0
    var weight = 0
    /// High-water mark: whether more than half of the room is used, or was and a quarter still is.
    var isHigh = false
    var reader: CheckedContinuation<Void, Never>?
    var isFinished = false

    /// The memory of a burst is released beyond this.
    private static var keptMax: Int { 64 }

    mutating func next() -> Element? {
      guard taken < waiting.count, let next = waiting[taken].take() else { return nil }
      taken += 1
      weight -= next.weight
      if taken == waiting.count {
        waiting.removeAll(keepingCapacity: taken <= Self.keptMax)
        taken = 0
      } else if taken * 2 >= waiting.count {
        // Moving the rest pays off from half on.
        waiting.removeFirst(taken)
        taken = 0
      }
      return next.element
    }
  }

  enum Level {
    case low
    /// Back pressure: half of it is full; the sender is called by `eased` when most of that was read.
    case high
    /// It was not taken: there is no room, or nobody will read any more.
    case full
  }

  private let state = Mutex(State())
  private let weightMax: Int
  private let eased: (@Sendable () -> Void)?

  init(weightMax: Int, eased: (@Sendable () -> Void)? = nil) {
    self.weightMax = weightMax
    self.eased = eased
  }

  /// If so, `eased` is called later.
  var isHigh: Bool { state.withLock { $0.isHigh } }

  @discardableResult
  func put(_ element: Element, weight: Int = 1) -> Level {
    let (level, reader) = state.withLock { state -> (Level, CheckedContinuation<Void, Never>?) in
      guard !state.isFinished, state.weight < weightMax else { return (.full, nil) }
      state.waiting.append((element, weight))
      state.weight += weight
      if state.weight >= weightMax / 2 { state.isHigh = true }
      return (state.isHigh ? .high : .low, state.reader.take())
    }
    reader?.resume()
    return level
  }

  /// Empties the queue.
  func takeAll() -> [Element] {
    state.withLock { state in
      var all: [Element] = []
      while let next = state.next() { all.append(next) }
      state.isHigh = false
      return all
    }
  }

  /// Replaces the queue: only the latest is of interest.
  func put(latest element: Element) {
    let reader = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard !state.isFinished else { return nil }
      state.waiting = [(element, 0)]
      state.taken = 0
      return state.reader.take()
    }
    reader?.resume()
  }

  /// The reader gets the queued elements, then the end.
  func finish() {
    let reader = state.withLock { state in
      state.isFinished = true
      return state.reader.take()
    }
    reader?.resume()
  }

  /// The next; nil at the end, or where the reader's task is cancelled.
  @specialized(where Element == SessionEvent)
  func next() async -> Element? {
    while true {
      let (next, isOver, hasEased) = state.withLock { state in
        let next = state.next()
        let hasEased = state.isHigh && state.weight < weightMax / 4
        if hasEased { state.isHigh = false }
        return (next, state.isFinished, hasEased)
      }
      if hasEased { eased?() }
      if let next { return next }
      if isOver || Task.isCancelled { return nil }
      await news()
    }
  }

  private func news() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mustWait = state.withLock { state in
          precondition(state.reader == nil, "events have one reader at a time")
          guard state.waiting.count == state.taken, !state.isFinished, !Task.isCancelled else { return false }
          state.reader = continuation
          return true
        }
        if !mustWait { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.reader.take() }?.resume()
    }
  }
}

/// Events in order, for one reader at a time; the next loop resumes where one stopped.
public struct Events<Element: Sendable>: AsyncSequence, Sendable {
  let mailbox: Mailbox<Element>

  public struct AsyncIterator: AsyncIteratorProtocol {
    let mailbox: Mailbox<Element>

    public func next() async -> Element? { await mailbox.next() }

    @specialized(where Element == SessionEvent)
    public func next(isolation actor: isolated (any Actor)?) async throws(Never) -> Element? { await mailbox.next() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(mailbox: mailbox) }
}
