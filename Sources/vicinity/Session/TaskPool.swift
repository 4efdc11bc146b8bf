internal import Synchronization

/// A pool of tasks that run concurrently for as long as a command does.
final class TaskPool: Sendable {
  typealias Work = @Sendable () async -> Void

  private let works: AsyncStream<Work>
  private let continuation: AsyncStream<Work>.Continuation

  init() {
    (works, continuation) = AsyncStream.makeStream()
  }

  func add(_ work: @escaping Work) { continuation.yield(work) }

  /// Cancels the tasks that are not done yet.
  func cancel() { continuation.finish() }

  /// Returns when the pool is cancelled, and all of its tasks have ended.
  func run() async {
    await withDiscardingTaskGroup { group in
      for await work in works { group.addTask { await work() } }
      group.cancelAll()
    }
  }
}

/// The exit code of a command; the first one that is set counts.
final class ExitStatus: Sendable {
  private struct State {
    var code: ExitCode?
    var waiters: [CheckedContinuation<ExitCode, Never>] = []
  }

  private let state = Mutex(State())

  func set(_ code: ExitCode) {
    let waiters = state.withLock { state -> [CheckedContinuation<ExitCode, Never>] in
      guard state.code == nil else { return [] }
      state.code = code
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume(returning: code) }
  }

  var isSet: Bool { state.withLock { $0.code != nil } }

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
