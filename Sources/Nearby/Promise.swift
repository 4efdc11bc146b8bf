internal import Synchronization

/// A promise of one value, for all who wait for it.
final class Promise<Value: Sendable>: Sendable {
  private enum State {
    case waiting([CheckedContinuation<Value, Never>])
    case settled(Value)
  }

  private let state = Mutex(State.waiting([]))

  /// The first value counts.
  func settle(_ value: Value) {
    let waiters = state.withLock { state -> [CheckedContinuation<Value, Never>] in
      guard case .waiting(let waiters) = state else { return [] }
      state = .settled(value)
      return waiters
    }
    for waiter in waiters { waiter.resume(returning: value) }
  }

  var isSettled: Bool {
    state.withLock { if case .settled = $0 { true } else { false } }
  }

  var value: Value {
    get async {
      await withCheckedContinuation { continuation in
        let settled = state.withLock { state -> Value? in
          switch state {
          case .settled(let value): return value
          case .waiting(let waiters):
            state = .waiting(waiters + [continuation])
            return nil
          }
        }
        if let settled { continuation.resume(returning: settled) }
      }
    }
  }
}
