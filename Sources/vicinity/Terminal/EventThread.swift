internal import Glibc
internal import Synchronization

/// The thread that waits for signals, for standard input and for timers, so that no task blocks on them.
///
/// Signals are delivered one by one. The second request to end, by Ctrl-C or SIGTERM, ends the process at once.
final class EventThread: Sendable {
  /// A signal from outside.
  enum Signal: Sendable {
    case interrupt
    case terminate
    /// The window has another size, or the process is in the foreground again: the footer must be redrawn.
    case redraw
  }

  private struct State {
    var reader: CheckedContinuation<[UInt8], Never>?
    var alarms: [UInt64: (deadline: ContinuousClock.Instant, sleeper: CheckedContinuation<Void, Never>)] = [:]
    var last: UInt64 = 0
    var end: (deadline: ContinuousClock.Instant, code: ExitCode)?
    var endRequestCount = 0
    var isAsking = false
  }

  let signals: AsyncStream<Signal>
  private let signalContinuation: AsyncStream<Signal>.Continuation
  private let state = Mutex(State())
  private let wakePipeRead: CInt
  private let wakePipeWrite: CInt

  /// Creates the only instance in a process.
  init() {
    (signals, signalContinuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(16))
    var ends: [CInt] = [0, 0]
    precondition(pipe(&ends) == 0, "no pipe can be made: \(errno)")
    for end in ends {
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
    }
    (wakePipeRead, wakePipeWrite) = (ends[0], ends[1])
    signalPipe = wakePipeWrite
    signal(SIGPIPE, SIG_IGN)
    for number in [SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP, SIGCONT] { installHandler(for: number) }
  }

  func start() {
    let start: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
      // It was retained below for this thread, and nowhere else.
      Unmanaged<EventThread>.fromOpaque(context.unsafelyUnwrapped).takeRetainedValue().run()
    }
    var thread = pthread_t()
    let code = pthread_create(&thread, nil, start, Unmanaged.passRetained(self).toOpaque())
    precondition(code == 0, "no thread can be started: \(code)")
    pthread_detach(thread)
  }

  // MARK: For tasks

  /// The next bytes of standard input; none at its end, and where the task is cancelled. It has one reader.
  func read() async -> [UInt8] {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isCancelled = state.withLock { state in
          precondition(state.reader == nil, "standard input has one reader")
          if Task.isCancelled { return true }
          state.reader = continuation
          return false
        }
        if isCancelled { continuation.resume(returning: []) } else { wake() }
      }
    } onCancel: {
      state.withLock { $0.reader.take() }?.resume(returning: [])
    }
  }

  /// Returns after the time, or where the task is cancelled.
  func wait(for time: Duration) async {
    let deadline = ContinuousClock.now + time
    let number = state.withLock { state in
      state.last += 1
      return state.last
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isCancelled = state.withLock { state in
          if Task.isCancelled { return true }
          state.alarms[number] = (deadline, continuation)
          return false
        }
        if isCancelled { continuation.resume() } else { wake() }
      }
    } onCancel: {
      state.withLock { $0.alarms.removeValue(forKey: number) }?.sleeper.resume()
    }
  }

  /// Ends the process after the time at the latest, even where something hangs, such as output without a reader.
  func end(_ code: ExitCode, after time: Duration) {
    state.withLock { $0.end = (.now + time, code) }
    wake()
  }

  /// Waits for a person's answer. Nothing runs yet that has to be stopped, so a request to end ends the process at once.
  func asking<Answer>(
    isolation: isolated (any Actor)? = #isolation, _ question: () async -> Answer
  ) async -> Answer {
    state.withLock { $0.isAsking = true }
    defer { state.withLock { $0.isAsking = false } }
    return await question()
  }

  // MARK: The thread

  private func wake() { writeByte(0, to: wakePipeWrite) }

  private func run() -> Never {
    while true {
      let isWanted = state.withLock { $0.reader != nil } && TerminalMode.isInForeground
      var waits = [
        pollfd(fd: wakePipeRead, events: Int16(POLLIN), revents: 0),
        pollfd(fd: isWanted ? STDIN_FILENO : -1, events: Int16(POLLIN), revents: 0),
      ]
      _ = poll(&waits, 2, timeout())
      if waits[0].revents != 0 { readSignals() }
      fireAlarms()
      if waits[1].revents != 0 { readInput() }
    }
  }

  /// The milliseconds until the next alarm.
  private func timeout() -> CInt {
    let next = state.withLock { state in
      (state.alarms.values.map(\.deadline) + [state.end?.deadline].compactMap { $0 }).min()
    }
    guard let next else { return -1 }
    let milliseconds = (next - .now) / .milliseconds(1)
    return milliseconds <= 0 ? 0 : CInt(min(milliseconds + 1, 1_000_000_000))
  }

  private func fireAlarms() {
    let now = ContinuousClock.now
    if let end = state.withLock({ $0.end }), end.deadline <= now { exitAtOnce(end.code) }
    let due = state.withLock { state in
      let due = state.alarms.filter { $0.value.deadline <= now }
      for number in due.keys { state.alarms[number] = nil }
      return due.values.map(\.sleeper)
    }
    for sleeper in due { sleeper.resume() }
  }

  private func readInput() {
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    let count = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    state.withLock { $0.reader.take() }?.resume(returning: Array(bytes.prefix(max(0, count))))
  }

  private func readSignals() {
    var numbers = [UInt8](repeating: 0, count: 64)
    let count = Glibc.read(wakePipeRead, &numbers, numbers.count)
    for number in numbers.prefix(max(0, count)) { handle(CInt(number)) }
  }

  private func handle(_ number: CInt) {
    switch number {
    case SIGINT: end(.interrupt)
    case SIGTERM, SIGHUP: end(.terminate)
    case SIGWINCH: signalContinuation.yield(.redraw)
    case SIGTSTP:
      // The shell gets its terminal with the original settings.
      TerminalMode.leave()
      kill(getpid(), SIGSTOP)
    case SIGCONT:
      TerminalMode.enterAgain()
      signalContinuation.yield(.redraw)
    default: break
    }
  }

  private func end(_ signal: Signal) {
    let (isSecond, isAsking) = state.withLock { state in
      state.endRequestCount += 1
      return (state.endRequestCount > 1, state.isAsking)
    }
    // The question's line is not finished.
    if isAsking { StandardStream.error.write("\n") }
    if isSecond || isAsking { exitAtOnce(signal == .interrupt ? .interrupted : .terminated) }
    signalContinuation.yield(signal)
  }

  /// Ends the process at once.
  private func exitAtOnce(_ code: ExitCode) -> Never {
    TerminalMode.leave()
    _exit(code.rawValue)
  }
}

/// The descriptor that the handler writes to. It is set once, before any handler is installed, and then only read.
private nonisolated(unsafe) var signalPipe: CInt = -1

/// Installs a handler, unless the signal is ignored: a shell sets that for background jobs, and it must stay so.
private func installHandler(for number: CInt) {
  // A handler is an address; 1 is the one that stands for "ignored".
  let isIgnored = unsafeBitCast(signal(number, SIG_IGN), to: Int.self) == 1
  if !isIgnored { signal(number, handleSignal) }
}

/// The signal handler. It only writes: few other calls are async-signal-safe.
private func handleSignal(_ number: CInt) {
  let saved = errno
  writeByte(UInt8(truncatingIfNeeded: number), to: signalPipe)
  errno = saved
}

/// Writes a byte. A full pipe is no failure: its reader is woken anyway.
private func writeByte(_ byte: UInt8, to pipe: CInt) {
  var byte = byte
  _ = Glibc.write(pipe, &byte, 1)
}
