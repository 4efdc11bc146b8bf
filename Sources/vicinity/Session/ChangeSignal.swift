internal import Synchronization

/// A signal that wakes all tasks that wait for a change.
final class ChangeSignal: Sendable {
  private struct State {
    var count: UInt64 = 0
    var last: UInt64 = 0
    var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
  }

  private let state = Mutex(State())

  /// The number of notifications. A task that reads it before it checks its condition misses no later change.
  var count: UInt64 { state.withLock { $0.count } }

  func notify() {
    let waiters = state.withLock { state in
      state.count += 1
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns when there has been one since; false where the task is cancelled.
  func wait(since count: UInt64) async -> Bool {
    let number = state.withLock { state in
      state.last += 1
      return state.last
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mustWait = state.withLock { state in
          if state.count != count || Task.isCancelled { return false }
          state.waiters[number] = continuation
          return true
        }
        if !mustWait { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
    }
    return !Task.isCancelled
  }
}
