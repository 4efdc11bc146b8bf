internal import Synchronization

/// What waits for one reader, in order. It has a limit: past it nothing more is taken, and whoever fills it sees to that.
final class Mailbox<Element: Sendable>: Sendable {
  private struct State {
    var waiting: [Element] = []
    var weight = 0
    var reader: CheckedContinuation<Void, Never>?
    var isFinished = false
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
      state.waiting.append(element)
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
      state.waiting = [element]
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

  /// All that waits, at least one; empty at the end, or where the reader's task is cancelled.
  func take() async -> [Element] {
    while true {
      let (taken, isOver) = state.withLock { state -> ([Element], Bool) in
        state.weight = 0
        return (state.waiting.exchange(with: []), state.isFinished)
      }
      if !taken.isEmpty || isOver || Task.isCancelled { return taken }
      await news()
    }
  }

  private func news() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mustWait = state.withLock { state in
          precondition(state.reader == nil, "events have one reader at a time")
          guard state.waiting.isEmpty, !state.isFinished, !Task.isCancelled else { return false }
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

extension Array {
  /// The old value for the new one.
  fileprivate mutating func exchange(with new: [Element]) -> [Element] {
    let old = self
    self = new
    return old
  }
}

/// What happens, one after another, for one reader.
public struct Events<Element: Sendable>: AsyncSequence, Sendable {
  let mailbox: Mailbox<Element>

  public struct AsyncIterator: AsyncIteratorProtocol {
    let mailbox: Mailbox<Element>
    private var batch: [Element] = []
    private var place = 0

    init(_ mailbox: Mailbox<Element>) {
      self.mailbox = mailbox
    }

    public mutating func next() async -> Element? {
      if place == batch.count {
        batch = await mailbox.take()
        place = 0
      }
      guard place < batch.count else { return nil }
      defer { place += 1 }
      return batch[place]
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(mailbox) }
}
