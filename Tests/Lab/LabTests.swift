import Synchronization
import Testing

@testable import lab_rig

/// All tests in the laboratory, one after another: what they measure is time, and the machine is one.
@Suite(.serialized, .lendingRigs, .logsOnFailure)
enum LabTests {}

/// Closes in the end the rigs that were lent.
struct LendingRigs: SuiteTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    try await function()
    try await Rig.closeIdle()
  }
}

/// Attaches to a test that fails all that was said in its rigs.
struct LogsOnFailure: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    let failures = Failures()
    let watching = IssueHandlingTrait.compactMapIssues { issue in
      failures.count.add(1, ordering: .relaxed)
      return issue
    }
    _ = await Rig.takeLogs()
    do {
      try await watching.provideScope(for: test, testCase: testCase, performing: function)
    } catch {
      await attachLogs()
      throw error
    }
    if failures.count.load(ordering: .relaxed) > 0 { await attachLogs() }
  }

  private func attachLogs() async {
    for log in await Rig.takeLogs() { Attachment.record(log, named: "rig.log") }
  }
}

private final class Failures: Sendable {
  let count = Atomic(0)
}

extension Trait where Self == LendingRigs {
  static var lendingRigs: Self { LendingRigs() }
}

extension Trait where Self == LogsOnFailure {
  static var logsOnFailure: Self { LogsOnFailure() }
}
