/// A lock for each name: changes of the same thing run one after the other, in the order of the requests.
///
/// Invariant: a caller is queued before the first `await`, so that no two changes of a thing begin from the same state
/// of it.
final class NamedLocks {
  /// Waiting callers by name; empty where one holds the lock and nobody waits.
  private var waiting: [String: [CheckedContinuation<Void, Never>]] = [:]

  /// The names that are locked.
  var names: [String] { Array(waiting.keys) }

  /// Runs a body when its turn has come.
  func withLock<Result>(_ name: String, _ body: () async throws -> Result) async rethrows -> Result {
    await lock(name)
    defer { unlock(name) }
    return try await body()
  }

  private func lock(_ name: String) async {
    guard let others = waiting[name] else { return waiting[name] = [] }
    await withCheckedContinuation { waiting[name] = others + [$0] }
  }

  private func unlock(_ name: String) {
    guard let others = waiting[name], let next = others.first else { return waiting[name] = nil }
    waiting[name] = Array(others.dropFirst())
    next.resume()
  }
}
