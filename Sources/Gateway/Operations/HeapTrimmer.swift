internal import Reactor

/// Returns freed memory to the system. glibc keeps most of it, since it lies between blocks that are in use.
///
/// Invariant: the heap is trimmed after work, once the process has become quiet; so a busy gateway is not delayed. The
/// look every `interval` goes along with other work.
final class HeapTrimmer {
  static let interval: Duration = .seconds(10)
  /// The processor time from which on there may be something to return, in nanoseconds.
  private static let workMin: UInt64 = 20_000_000
  /// The processor time in one interval up to which the process is quiet: a tenth of it.
  private static let quietMax: UInt64 = 1_000_000_000

  private let reactor: Reactor
  private var timer: Timer?
  /// The processor time of the process at the last trim, and at the last look.
  private var trimmedAt: UInt64 = 0
  private var lookedAt: UInt64 = 0
  private(set) var trimCount = 0

  init(on reactor: Reactor) { self.reactor = reactor }

  deinit {
    if let timer { reactor.cancel(timer) }
  }

  func start() {
    timer = reactor.scheduleInCompany(after: Self.interval) { [weak self] in
      guard let self else { return }
      if takeDueTrim(at: UInt64((ProcessStatistics.processorTime ?? 0) * 1e9)) {
        Heap.trim()
        trimCount += 1
      }
      start()
    }
  }

  /// Records a look at the total processor time of the process; returns whether to trim now, once for each trim.
  func takeDueTrim(at time: UInt64) -> Bool {
    defer { lookedAt = time }
    guard time - trimmedAt >= Self.workMin, time - lookedAt <= Self.quietMax else { return false }
    trimmedAt = time
    return true
  }
}
