import CAllocations
import Glibc

/// The cost of one operation.
struct Measurement {
  let nanoseconds: Double
  /// Exact, over all operations of one run: a fraction is an allocation that not every operation makes.
  let allocations: Double

  /// Runs the operation once to warm up, then five times, each time as often as told, and takes the median time. The
  /// operation does its work that many times itself, so that what surrounds the loop is not measured.
  static func of(operations: Int, _ operation: (_ times: Int) -> Void) -> Measurement {
    precondition(operations > 0, "a measurement of nothing")
    operation(operations)
    let before = allocations_of_this_thread()
    operation(operations)
    let allocations = Double(allocations_of_this_thread() - before) / Double(operations)
    let times = (0..<5).map { _ in processorTime { operation(operations) } }.sorted()
    return Measurement(nanoseconds: times[2] / .nanoseconds(1) / Double(operations), allocations: allocations)
  }
}

/// Keeps the optimiser from seeing that a value is not used.
@inline(never)
@_optimize(none)
func consume<Value>(_ value: Value) {}

/// The processor time of the work on this thread: the machine may have other things to do.
func processorTime<E: Error>(_ work: () throws(E) -> Void) throws(E) -> Duration {
  let start = threadTime()
  try work()
  return threadTime() - start
}

func threadTime() -> Duration {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
