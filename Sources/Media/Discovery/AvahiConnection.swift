internal import CAvahi
internal import Reactor

/// One client of the Avahi daemon, which reconnects when it fails.
///
/// Invariants of all code here that uses Avahi:
/// - Avahi calls back from within its calls. A callback records the event and asks for a later turn; the work is done
///   there, where it is safe to call Avahi and to free its objects.
/// - Objects of a client are freed before it.
/// - A call waits for the daemon's answer: a turn makes a bounded number of them.
final class AvahiConnection {
  enum State: Equatable {
    /// There is no daemon.
    case away(Trouble)
    /// The daemon is registering its own records: a program's are left as they are, and new ones wait.
    case busy
    case running(hostName: String)
  }

  /// Exponential backoff after a failure: so short at first that a restarted daemon is found at once, so long in the
  /// end that a daemon that always fails costs next to nothing.
  private static let pauseMin: Duration = .milliseconds(100)
  private static let pauseMax: Duration = .seconds(5)

  /// Nil while there is none to be had.
  private(set) var client: OpaquePointer?
  private let reactor: Reactor
  private let poll: ReactorPoll
  private let changed: (State) -> Void
  private var state: State?
  private var isReviewDue = false
  private var retry: Timer?
  private var pause = pauseMin
  private var made: UInt64 = 0

  /// Reports each change of state, including the first.
  init(on reactor: Reactor, changed: @escaping (State) -> Void) {
    self.reactor = reactor
    self.changed = changed
    poll = ReactorPoll(on: reactor)
    connectSoon(after: .zero)
  }

  /// All objects of the client have been freed.
  func close() {
    if let retry { reactor.cancel(retry) }
    retry = nil
    if let client { avahi_client_free(client) }
    client = nil
  }

  deinit {
    close()
  }

  private func connectSoon(after pause: Duration) {
    retry = reactor.schedule(after: pause) { [unowned self] in connect() }
  }

  private func connect() {
    retry = nil
    made = Reactor.now
    var code: CInt = 0
    client = avahi_client_new(
      poll.api, AVAHI_CLIENT_NO_FAIL, clientChanged, Unmanaged.passUnretained(self).toOpaque(), &code)
    if client == nil {
      become(.away(AvahiError(code).connecting))
      again()
    } else {
      reviewSoon()
    }
  }

  private func again() {
    if Reactor.now - made > 5_000_000_000 { pause = Self.pauseMin }
    connectSoon(after: pause)
    pause = min(pause * 2, Self.pauseMax)
  }

  fileprivate func reviewSoon() {
    guard !isReviewDue else { return }
    isReviewDue = true
    reactor.soon { [weak self] in self?.review() }
  }

  private func review() {
    isReviewDue = false
    guard let client else { return }
    switch avahi_client_get_state(client) {
    case AVAHI_CLIENT_S_RUNNING:
      // It may have gone this moment, which will be reported.
      guard let name = avahi_client_get_host_name_fqdn(client) else { return }
      become(.running(hostName: String(cString: name)))
    case AVAHI_CLIENT_S_REGISTERING, AVAHI_CLIENT_S_COLLISION:
      become(.busy)
    case AVAHI_CLIENT_CONNECTING:
      become(.away(AvahiError.noDaemon))
    default:
      let error = AvahiError(of: client)
      become(.away(error.code == CInt(AVAHI_ERR_DISCONNECTED) ? AvahiError.noDaemon : error.connecting))
      avahi_client_free(client)
      self.client = nil
      again()
    }
  }

  private func become(_ new: State) {
    guard state != new else { return }
    state = new
    changed(new)
  }
}

private func clientChanged(_: OpaquePointer?, _: AvahiClientState, _ userdata: UnsafeMutableRawPointer?) {
  // The connection outlives its client.
  Unmanaged<AvahiConnection>.fromOpaque(userdata!).takeUnretainedValue().reviewSoon()
}
