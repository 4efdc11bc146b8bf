internal import CLinux
internal import Glibc

extension Reactor {
  /// Runs on a thread of its own until `stop()`. One that others wait for has its turn before theirs, where the system lets
  /// it: for a service `LimitNICE=` says so.
  public func start(isWaitedFor: Bool = false) {
    if isWaitedFor { post { _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, -10) } }
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
