internal import Synchronization

/// Counters of a writer's commits, readable from any thread.
public final class WriterMeter: Sendable {
  private let commitCount = Atomic<Int>(0)
  private let time = Atomic<Int64>(0)
  private let failureCount = Atomic<Int>(0)

  public var commits: Int { commitCount.load(ordering: .relaxed) }
  /// The total duration of all commits.
  public var nanoseconds: Int64 { time.load(ordering: .relaxed) }
  public var failures: Int { failureCount.load(ordering: .relaxed) }

  func countCommit(in duration: Duration) {
    let (seconds, attoseconds) = duration.components
    commitCount.wrappingAdd(1, ordering: .relaxed)
    time.wrappingAdd(seconds * 1_000_000_000 + attoseconds / 1_000_000_000, ordering: .relaxed)
  }

  func countFailure() { failureCount.wrappingAdd(1, ordering: .relaxed) }
}
