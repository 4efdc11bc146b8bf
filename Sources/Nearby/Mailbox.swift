internal import Synchronization

/// What waits for one reader, in order. It has a limit: past it nothing more is taken, and whoever fills it sees to that.
final class Mailbox<Element: Sendable>: Sendable {
  private struct State {
    var waiting: [(element: Element, weight: Int)?] = []
    /// How many of them were taken.
    var taken = 0
    var weight = 0
    var reader: CheckedContinuation<Void, Never>?
    var isFinished = false

    mutating func next() -> Element? {
      guard taken < waiting.count, let next = waiting[taken].take() else { return nil }
      taken += 1
      weight -= next.weight
      // Half of it is enough to move the rest for.
      if taken * 2 >= waiting.count {
        waiting.removeFirst(taken)
        taken = 0
      }
      return next.element
    }
  }

  private let state = Mutex(State())
  private let weightMax: Int

  init(weightMax: Int) {
    self.weightMax = weightMax
  }

  /// False where there is no room, or nobody will read any more.
  @discardableResult
  func put(_ element: Element, weight: Int = 1) -> Bool {
    let (isTaken, reader) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
      guard !state.isFinished, state.weight < weightMax else { return (false, nil) }
      state.waiting.append((element, weight))
      state.weight += weight
      return (true, state.reader.take())
    }
    reader?.resume()
    return isTaken
  }

  /// In the place of what waits: only the latest is of interest.
  func put(latest element: Element) {
    let reader = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard !state.isFinished else { return nil }
      state.waiting = [(element, 0)]
      state.taken = 0
      return state.reader.take()
    }
    reader?.resume()
  }

  /// What stands in it is still read; then its reader is at the end.
  func finish() {
    let reader = state.withLock { state in
      state.isFinished = true
      return state.reader.take()
    }
    reader?.resume()
  }

  /// The next; nil at the end, or where the reader's task is cancelled.
  func next() async -> Element? {
    while true {
      let (next, isOver) = state.withLock { ($0.next(), $0.isFinished) }
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

/// What happens, one after another, for one reader at a time; what one loop leaves unread, the next one reads.
public struct Events<Element: Sendable>: AsyncSequence, Sendable {
  let mailbox: Mailbox<Element>

  public struct AsyncIterator: AsyncIteratorProtocol {
    let mailbox: Mailbox<Element>

    public func next() async -> Element? { await mailbox.next() }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(mailbox: mailbox) }
}
