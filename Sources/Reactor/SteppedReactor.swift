internal import CLinux
internal import Glibc

/// A reactor whose thread is blocked while another thread runs its jobs one at a time, for tests that choose the order in
/// which the threads of a program proceed.
///
/// Jobs and calls run in the order in which the reactor's own thread would run them. Descriptors and timers wait until
/// `release()`, without which the thread is blocked for ever.
package final class SteppedReactor: Sendable {
  private let reactor: Reactor
  private let released: Descriptor

  private init(_ reactor: Reactor) throws(SystemError) {
    self.reactor = reactor
    released = Descriptor(owning: try system("eventfd") { eventfd(0, CInt(EFD_CLOEXEC)) })
  }

  /// Returns when the reactor's thread is blocked; called on another thread.
  package static func block(_ reactor: Reactor) async throws(SystemError) -> SteppedReactor {
    let stepped = try SteppedReactor(reactor)
    await withCheckedContinuation { continuation in
      reactor.post { reactor.schedule(after: .zero) { stepped.wait(continuation) } }
    }
    return stepped
  }

  private func wait(_ blocked: CheckedContinuation<Void, Never>) {
    reactor.disown {
      blocked.resume()
      var count: eventfd_t = 0
      while eventfd_read(released.number, &count) != 0, errno == EINTR {}
    }
  }

  /// The reactor's thread goes on.
  package func release() { eventfd_write(released.number, 1) }

  /// Whether a job or call is waiting.
  package var hasJobs: Bool { reactor.own { reactor.hasJobs } }

  /// Runs the next job or call on the calling thread; does nothing if none is waiting.
  package func step() { reactor.own { reactor.runNextJob() } }

  /// Runs the body as the reactor's own thread runs the handler of a descriptor.
  package func perform<Result>(_ body: () throws -> Result) rethrows -> Result { try reactor.own(body) }
}
