internal import CLinux
internal import Glibc
internal import Synchronization

/// One thread that waits for descriptors, timers and jobs, and is the executor of the actors that live on it.
///
/// Invariants:
/// - Everything but `enqueue`, `spawn`, `post`, `stop` and `now` belongs to the thread inside `run()`, or, before
///   `run()`, to the one thread that sets the reactor up.
/// - A turn is bounded: at most so many events, so many jobs, and timers for so long. The rest waits for the next turn,
///   after the descriptors were polled again.
/// - Jobs run before timers: long work in pieces, a timer that is always due, delays new input by one piece, not by
///   two.
/// - A handler is never called for a registration that has ended, even where its event was already fetched.
/// - Executor references do not retain: a reactor outlives the actors and tasks that live on it.
///
/// A plain `Task {}` leaves the loop when it resumes; `spawn` is the way to start a task that stays.
public final class Reactor: SerialExecutor, TaskExecutor, @unchecked Sendable {
  // `@unchecked`: `inbox`, `owner` and `stopping` are safe from anywhere; the rest is touched under the first law,
  // which each entry checks.

  /// Many enough to spare system calls when busy, few enough that timers and jobs are not kept waiting.
  private static let eventsPerTurnMax = 256
  private static let jobsPerTurnMax = 1024
  /// The time that timers have in one turn, in nanoseconds, or as long as what came before them: thousands may be due
  /// together.
  private static let timersTime: UInt64 = 2_000_000
  /// How much sooner a coalesced timer may fire. A loop with links to some others is awake more often.
  private static let companyTime: UInt64 = 250_000_000

  /// Work that other threads post to the loop.
  private enum Arrival: Sendable {
    case job(UnownedJob)
    case call(@Sendable () -> Void)
  }

  private struct Inbox {
    var arrivals: [Arrival] = []
    /// Whether the loop has been woken for these, or polls; one wake-up serves all.
    var hasWoken = false
  }

  private enum Work {
    case job(UnownedJob)
    case call(() -> Void)
    case done
  }

  private let poll: Descriptor
  private let wakeup: Descriptor
  private let clock: Descriptor
  private let inbox = Mutex(Inbox())
  /// The thread inside `run()`; 0 while there is none.
  private let owner = Atomic<UInt>(0)
  private let stopping = Atomic<Bool>(false)

  private var ready: [Work] = []
  private var registrations = RegistrationTable()
  private var timers = TimerHeap()
  /// Timers that may be coalesced.
  private var patientTimers = TimerHeap(isPatient: true)
  private var clockDeadline = UInt64.max
  /// Whether another thread runs the jobs (`SteppedReactor`). Timers wait then, and none of them counts as late.
  private var isStepped = false
  private var busyPoll: BusyPoll?
  /// The number of turns, the present one included.
  public private(set) var turnCount: UInt64 = 0
  var lookupsUnderWay = 0

  /// With `pollsBusily` the loop polls for a moment where it has been answered at once.
  public init(pollsBusily: Bool = false) throws(SystemError) {
    busyPoll = pollsBusily ? BusyPoll() : nil
    poll = Descriptor(owning: try system("epoll_create1") { epoll_create1(CInt(EPOLL_CLOEXEC)) })
    wakeup = Descriptor(
      owning: try system("eventfd") { eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC)) })
    clock = Descriptor(
      owning: try system("timerfd_create") {
        timerfd_create(CLOCK_MONOTONIC, CInt(TFD_NONBLOCK | TFD_CLOEXEC))
      })
    // Edge-triggered, so that neither ever has to be read.
    let edge = EPOLLIN.rawValue | EPOLLET.rawValue
    try control(EPOLL_CTL_ADD, wakeup.number, edge, tag: RegistrationTable.wakeupTag)
    try control(EPOLL_CTL_ADD, clock.number, edge, tag: RegistrationTable.clockTag)
  }

  // MARK: The loop

  /// Takes the calling thread until `stop()`. Open registrations are then released without a call.
  public func run() {
    let thread = UInt(pthread_self())
    let previous = owner.exchange(thread, ordering: .acquiringAndReleasing)
    precondition(previous == 0, "a reactor runs on one thread at a time")
    ignoreBrokenPipes()
    var events = [epoll_event](repeating: epoll_event(), count: Self.eventsPerTurnMax)
    while !stopping.load(ordering: .acquiring) { turn(&events) }
    letGo()
    owner.store(0, ordering: .releasing)
  }

  /// Ends `run()` after the present turn; from any thread.
  public func stop() {
    stopping.store(true, ordering: .releasing)
    eventfd_write(wakeup.number, 1)
  }

  /// Releases all registrations, so that no handler keeps an owner of the reactor alive.
  private func letGo() {
    // Held until the tables are whole again: an object that is freed with its handler may deregister.
    let handlers = registrations.removeAll()
    let actions = timers.removeAll() + patientTimers.removeAll()
    let work = ready
    ready = []
    withExtendedLifetime((handlers, actions, work)) {}
  }

  private func turn(_ events: inout [epoll_event]) {
    let count = mustNotWait() ? look(&events) : wait(&events)
    turnCount += 1
    let start = Self.now
    for event in events.prefix(count) { dispatch(event) }
    runReady()
    fireTimers(since: start)
  }

  /// Polls or waits for events, up to so many.
  private func look(_ events: inout [epoll_event], orSleep sleeps: Bool = false) -> Int {
    let count = epoll_wait(poll.number, &events, CInt(events.count), sleeps ? -1 : 0)
    if count == -1 { precondition(errno == EINTR, "\(SystemError("epoll_wait", code: errno))") }
    return Int(max(count, 0))
  }

  private func wait(_ events: inout [epoll_event]) -> Int {
    guard busyPoll != nil else { return look(&events, orSleep: true) }
    if let count = pollBusily(&events) { return count }
    let start = Self.now
    let count = look(&events, orSleep: true)
    if count > 0, events[0].data.u64 != RegistrationTable.clockTag { busyPoll?.recordSleep(Self.now - start) }
    return count
  }

  /// Polls for a while, where it is worthwhile; nil where nothing came.
  private func pollBusily(_ events: inout [epoll_event]) -> Int? {
    guard let busyPoll, busyPoll.isWorthwhile else { return nil }
    let start = Self.now
    var elapsed: UInt64 = 0
    repeat {
      let count = takeArrivals(looksAgain: true) ? 0 : look(&events)
      elapsed = Self.now - start
      if count > 0 || !ready.isEmpty {
        self.busyPoll?.recordHit(elapsed)
        takeArrivals()
        return count
      }
      // The other side may be waiting for this processor.
      sched_yield()
    } while elapsed < BusyPoll.nanosecondsMax
    self.busyPoll?.recordMiss()
    return takeArrivals() ? 0 : nil
  }

  private func dispatch(_ event: epoll_event) {
    switch event.data.u64 {
    case RegistrationTable.wakeupTag:
      takeArrivals()
    case RegistrationTable.clockTag:
      clockDeadline = .max
    case let tag:
      registrations.handler(tagged: tag)?(Readiness(epoll: event.events))
    }
  }

  /// Whether there was something. A loop that polls again at once is not woken meanwhile.
  @discardableResult
  private func takeArrivals(looksAgain: Bool = false) -> Bool {
    let arrivals = inbox.withLock { inbox in
      defer { inbox.arrivals = [] }
      inbox.hasWoken = looksAgain && inbox.arrivals.isEmpty
      return inbox.arrivals
    }
    for arrival in arrivals {
      switch arrival {
      case .job(let job): ready.append(.job(job))
      case .call(let call): ready.append(.call(call))
      }
    }
    return !arrivals.isEmpty
  }

  private func fireTimers(since start: UInt64) {
    // The present ones: a timer that sets another one, already due, does not delay the turn.
    if timers.count + patientTimers.count == 0 { return }
    let now = Self.now
    let end = now + max(Self.timersTime, now - start)
    for _ in 0..<timers.count {
      guard let action = timers.removeDue(at: now) else { break }
      action()
      if Self.now > end { break }
    }
    // One fires in any case.
    for _ in 0..<patientTimers.count {
      guard let action = patientTimers.removeDue(at: now + Self.companyTime) else { break }
      action()
      if Self.now > end { break }
    }
  }

  private func runReady() {
    var done = 0
    while done < ready.count, done < Self.jobsPerTurnMax {
      // An object that is freed with it may post more: not while the list is being changed.
      let work = ready[done]
      ready[done] = .done
      run(work)
      done += 1
    }
    ready.removeFirst(done)
  }

  private func run(_ work: Work) {
    switch work {
    case .job(let job):
      job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
    case .call(let call):
      call()
    case .done: break
    }
  }

  /// Whether there is work to do at once; if not, arms the clock for the next timer.
  private func mustNotWait() -> Bool {
    if !ready.isEmpty { return true }
    let deadline = min(timers.earliest ?? .max, patientTimers.earliest ?? .max)
    if deadline == .max { return false }
    let now = Self.now
    if deadline <= now { return true }
    if deadline < clockDeadline {
      // Not by its absolute time: libfaketime, which sets clocks in tests, takes every one for wall clock time.
      let pause = deadline - now
      var time = itimerspec()
      time.it_value.tv_sec = Int(pause / 1_000_000_000)
      time.it_value.tv_nsec = Int(pause % 1_000_000_000)
      let result = timerfd_settime(clock.number, 0, &time, nil)
      precondition(result == 0, "\(SystemError("timerfd_settime", code: errno))")
      clockDeadline = deadline
    }
    return false
  }

  // MARK: Steps

  /// Whether a job or call is waiting.
  var hasJobs: Bool {
    checkOnLoop()
    takeArrivals()
    return !ready.isEmpty
  }

  /// Runs the next job or call, and only that one.
  func runNextJob() {
    if hasJobs { run(ready.removeFirst()) }
  }

  /// Runs the body while the calling thread owns the loop, which no other thread owns.
  func own<Result>(_ body: () throws -> Result) rethrows -> Result {
    let previous = owner.exchange(UInt(pthread_self()), ordering: .acquiringAndReleasing)
    precondition(previous == 0, "a reactor runs on one thread at a time")
    defer { owner.store(0, ordering: .releasing) }
    return try body()
  }

  /// Runs the body while no thread owns the loop; called by a timer, as no list of the loop is in use then.
  func disown(_ body: () -> Void) {
    checkOnLoop()
    isStepped = true
    let thread = owner.exchange(0, ordering: .acquiringAndReleasing)
    body()
    owner.store(thread, ordering: .releasing)
    isStepped = false
  }

  /// Writing to a socket that the other side has closed must be an error, not a signal that ends the process.
  private func ignoreBrokenPipes() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  // MARK: Time and calls

  /// Nanoseconds on the monotonic clock.
  public static var now: UInt64 { monotonicNanoseconds() }

  /// Calls the action once, as soon after the deadline as the loop gets there.
  @discardableResult
  public func schedule(at deadline: UInt64, _ action: @escaping () -> Void) -> Timer {
    checkOnLoop()
    return timers.insert(at: deadline, action)
  }

  @discardableResult
  public func schedule(after delay: Duration, _ action: @escaping () -> Void) -> Timer {
    schedule(at: Self.deadline(after: delay), action)
  }

  /// Calls the action once, then or up to a quarter of a second sooner, where something else has woken the loop (timer
  /// coalescing): for work that is not worth a wake-up of its own.
  @discardableResult
  public func scheduleInCompany(after delay: Duration, _ action: @escaping () -> Void) -> Timer {
    // A timer that is due so soon cannot be coalesced.
    if delay < .nanoseconds(2 * Self.companyTime) { return schedule(after: delay, action) }
    checkOnLoop()
    return patientTimers.insert(at: Self.deadline(after: delay), action)
  }

  /// Calls the action once, at the first multiple of `step` on the clock after the delay (timer coalescing): however many
  /// timers have the same step, the loop wakes for them once in each.
  @discardableResult
  public func schedule(after delay: Duration, onStepOf step: Duration, _ action: @escaping () -> Void) -> Timer {
    let (deadline, step) = (Self.deadline(after: delay), Self.nanoseconds(step))
    return schedule(at: (deadline + step - 1) / step * step, action)
  }

  private static func deadline(after delay: Duration) -> UInt64 { now + nanoseconds(delay) }

  private static func nanoseconds(_ duration: Duration) -> UInt64 {
    let (seconds, attoseconds) = duration.components
    return UInt64(max(0, seconds) * 1_000_000_000 + max(0, attoseconds) / 1_000_000_000)
  }

  /// Whether a timer is due by now, as where long work is done in pieces.
  public var isBehind: Bool {
    checkOnLoop()
    return !isStepped && timers.earliest.map { $0 <= Self.now } ?? false
  }

  /// Does nothing to a timer that has fired.
  public func cancel(_ timer: Timer) {
    checkOnLoop()
    if timer.isPatient { patientTimers.remove(timer) } else { timers.remove(timer) }
  }

  /// Calls the action when the caller has returned to the loop, in order.
  public func soon(_ action: @escaping () -> Void) {
    checkOnLoop()
    ready.append(.call(action))
  }

  /// The same, from any thread.
  public func post(_ action: @escaping @Sendable () -> Void) {
    if isOnLoop { ready.append(.call(action)) } else { arrive(.call(action)) }
  }

  private func arrive(_ arrival: Arrival) {
    let mustWake = inbox.withLock { inbox in
      inbox.arrivals.append(arrival)
      defer { inbox.hasWoken = true }
      return !inbox.hasWoken
    }
    if mustWake { eventfd_write(wakeup.number, 1) }
  }

  // MARK: Descriptors

  /// Calls the handler in each turn in which the descriptor is ready for its interest, or has failed. Deregister before
  /// the descriptor is closed.
  public func register(
    _ descriptor: borrowing Descriptor, for interest: Readiness, _ handler: @escaping (Readiness) -> Void
  ) throws(SystemError) -> Registration {
    checkOnLoop()
    let registration = registrations.insert(descriptor.number, interest, handler)
    do {
      try control(EPOLL_CTL_ADD, descriptor.number, interest.epoll, tag: registration.tag)
    } catch {
      registrations.remove(registration)
      throw error
    }
    return registration
  }

  /// Changes the interest of a live registration; does nothing to one that has ended. With `once`, present readiness is
  /// reported again.
  public func update(_ registration: Registration, to interest: Readiness) {
    checkOnLoop()
    guard let descriptor = registrations.change(registration, to: interest) else { return }
    changeKnown(EPOLL_CTL_MOD, descriptor, interest.epoll, tag: registration.tag)
  }

  public func deregister(_ registration: Registration) {
    checkOnLoop()
    guard let descriptor = registrations.remove(registration) else { return }
    changeKnown(EPOLL_CTL_DEL, descriptor, 0, tag: 0)
  }

  /// The kernel knows the descriptor, so that only a bug can make this fail.
  private func changeKnown(_ operation: CInt, _ descriptor: CInt, _ events: UInt32, tag: UInt64) {
    do throws(SystemError) {
      try control(operation, descriptor, events, tag: tag)
    } catch {
      preconditionFailure("\(error); was descriptor \(descriptor) closed while it was registered?")
    }
  }

  private func control(_ operation: CInt, _ descriptor: CInt, _ events: UInt32, tag: UInt64) throws(SystemError) {
    var event = epoll_event(events: events, data: epoll_data_t(u64: tag))
    try system("epoll_ctl") { epoll_ctl(poll.number, operation, descriptor, &event) }
  }
}

// MARK: - The executor

extension Reactor {
  /// Starts a task whose every step runs on this loop, whatever it awaits.
  @discardableResult
  public func spawn<Value: Sendable>(_ operation: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
    Task(executorPreference: self, operation: operation)
  }

  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if isOnLoop { ready.append(.job(job)) } else { arrive(.job(job)) }
  }

  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  public func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

  public func isIsolatingCurrentContext() -> Bool? { isOnLoop }

  public func checkIsolated() {
    // A failed precondition would print nothing in a release build.
    if !isOnLoop { fatalError("this must run on the reactor's thread") }
  }

  private var isOnLoop: Bool { owner.load(ordering: .relaxed) == UInt(pthread_self()) }

  func checkOnLoop() {
    let owner = owner.load(ordering: .relaxed)
    precondition(owner == 0 || owner == UInt(pthread_self()), "this must run on the reactor's thread")
  }
}

private func monotonicNanoseconds() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
