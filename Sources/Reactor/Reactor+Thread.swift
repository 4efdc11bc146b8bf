internal import CLinux
internal import Glibc

extension Reactor {
  /// A thread's priority where more threads than processors are busy.
  public enum Rank: CInt, Sendable {
    /// Others wait for it. As the system allows: for a service by `LimitNICE=`.
    case first = -10
    case usual = 0
    /// Nobody waits for it. It gets a tenth of a busy processor, so that it finishes its work.
    case last = 10
  }

  /// Runs on a thread of its own until `stop()`.
  public func start(_ rank: Rank = .usual) {
    if rank != .usual { post { _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, rank.rawValue) } }
    let start: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
      // It was retained below for this thread, and by nobody else.
      Unmanaged<Reactor>.fromOpaque(context.unsafelyUnwrapped).takeRetainedValue().run()
      return nil
    }
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    var thread = pthread_t()
    let code = pthread_create(&thread, &attributes, start, Unmanaged.passRetained(self).toOpaque())
    precondition(code == 0, "\(SystemError("pthread_create", code: code))")
  }
}
