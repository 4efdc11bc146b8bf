internal import Synchronization

/// A pool of tasks that run concurrently for as long as a command does.
final class Crew: Sendable {
  typealias Work = @Sendable () async -> Void

  private let works: AsyncStream<Work>
  private let entrance: AsyncStream<Work>.Continuation

  init() {
    (works, entrance) = AsyncStream.makeStream()
  }

  func add(_ work: @escaping Work) { entrance.yield(work) }

  /// Cancels the tasks that are not done yet.
  func dismiss() { entrance.finish() }

  /// Returns when the pool is dismissed, and all of its tasks have ended.
  func work() async {
    await withDiscardingTaskGroup { group in
      for await work in works { group.addTask { await work() } }
      group.cancelAll()
    }
  }
}

/// The exit code of a command; the first one that is set counts.
final class Ending: Sendable {
  private struct State {
    var code: ExitCode?
    var waiters: [CheckedContinuation<ExitCode, Never>] = []
  }

  private let state = Mutex(State())

  func settle(_ code: ExitCode) {
    let waiters = state.withLock { state -> [CheckedContinuation<ExitCode, Never>] in
      guard state.code == nil else { return [] }
      state.code = code
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume(returning: code) }
  }

  var isSettled: Bool { state.withLock { $0.code != nil } }

  var code: ExitCode {
    get async {
      await withCheckedContinuation { continuation in
        let code = state.withLock { state in
          if state.code == nil { state.waiters.append(continuation) }
          return state.code
        }
        if let code { continuation.resume(returning: code) }
      }
    }
  }
}
