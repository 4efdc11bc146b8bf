/// Turns of those who change the same thing: one after the other, in the order of asking.
///
/// Law: who asks stands in the queue before the first `await`, so that no two changes of a thing begin from the same state
/// of it.
final class Turns {
  /// Those who wait, by the name of what they wait for; empty where somebody has it and nobody waits.
  private var waiting: [String: [CheckedContinuation<Void, Never>]] = [:]

  /// What is being changed.
  var names: [String] { Array(waiting.keys) }

  /// Does something when its turn has come.
  func take<Result>(_ name: String, _ body: () async throws -> Result) async rethrows -> Result {
    await begin(name)
    defer { end(name) }
    return try await body()
  }

  private func begin(_ name: String) async {
    guard let others = waiting[name] else { return waiting[name] = [] }
    await withCheckedContinuation { waiting[name] = others + [$0] }
  }

  private func end(_ name: String) {
    guard let others = waiting[name], let next = others.first else { return waiting[name] = nil }
    waiting[name] = Array(others.dropFirst())
    next.resume()
  }
}
