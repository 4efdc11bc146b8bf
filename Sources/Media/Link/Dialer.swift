public import Reactor
public import Wire

/// One dial of one host at all of its addresses (Happy Eyeballs, RFC 8305).
///
/// Invariant: the owner gets exactly one of two: `opened` of the first link that is open to the expected host, with all
/// later events of that link; or the reason why there is none. The other attempts end. An address that becomes known
/// meanwhile joins the race, and does not begin another. It keeps itself alive until then, and belongs to its reactor's
/// thread.
public final class Dialer {
  public struct Limits: Sendable {
    /// For the whole dial, however many addresses there are.
    public var time: Duration = .seconds(10)
    /// How long an attempt is alone before the next one joins it: RFC 8305's own advice.
    public var attemptDelay: Duration = .milliseconds(250)
    /// Strangers supply addresses; so many are more than the interfaces of any host.
    public var attemptsMax = 16
    public init() {}
  }

  private let reactor: Reactor
  private let context: LinkContext
  private let expected: HostID?
  private let limits: Limits
  private let failed: (DialFailure) -> Void
  private var owner: (any SecureLinkOwner)?
  private var waiting: ArraySlice<SocketAddress>
  private var attempts: [DialAttempt] = []
  private var outcomes: [DialFailure.Attempt] = []
  private var nextAttempt: Timer?
  private var lastAttempt: UInt64?
  private var deadline: Timer?

  /// Begins to dial. Any host will do where none is expected.
  @discardableResult
  public static func dial(
    _ addresses: [SocketAddress], expecting host: HostID?, _ context: LinkContext, on reactor: Reactor,
    limits: Limits = Limits(), owner: any SecureLinkOwner, failed: @escaping (DialFailure) -> Void
  ) -> Dialer {
    Dialer(addresses, host, context, reactor, limits, owner, failed)
  }

  private init(
    _ addresses: [SocketAddress], _ expected: HostID?, _ context: LinkContext, _ reactor: Reactor, _ limits: Limits,
    _ owner: any SecureLinkOwner, _ failed: @escaping (DialFailure) -> Void
  ) {
    self.reactor = reactor
    self.context = context
    self.expected = expected
    self.limits = limits
    self.owner = owner
    self.failed = failed
    waiting = []
    line(up: Self.order(of: addresses), attemptsMax: limits.attemptsMax)
    deadline = reactor.schedule(after: limits.time) { [self] in giveUp() }
    reactor.soon { [self] in startNextAttempt() }
  }

  /// Ends it without a report.
  public func cancel() {
    reactor.preconditionIsolated()
    end()
  }

  /// Adds addresses, which have the next turns: a host that has moved is likely to be where it was seen last.
  public func join(_ addresses: [SocketAddress]) {
    reactor.preconditionIsolated()
    guard owner != nil else { return }
    let known = Set(waiting + attempts.map(\.address) + outcomes.map(\.address))
    let tried = attempts.count + outcomes.count { !$0.isUntried }
    line(
      up: Self.order(of: addresses).filter { !known.contains($0) } + waiting, attemptsMax: limits.attemptsMax - tried)
    if nextAttempt == nil { setNextAttempt() }
  }

  private func line(up addresses: [SocketAddress], attemptsMax: Int) {
    waiting = addresses.prefix(max(0, attemptsMax))
    outcomes += addresses.dropFirst(waiting.count).map { DialFailure.Attempt(address: $0, outcome: .notTried) }
  }

  /// IPv6 first, then alternating; each once, in the given order. A link-local address without an interface is one on
  /// each.
  static func order(of addresses: [SocketAddress], interfaces: @autoclosure () -> [UInt32] = NetworkInterface.linkLocal)
    -> [SocketAddress]
  {
    let scoped = addresses.flatMap { address in
      address.lacksScope ? interfaces().map { address.scoped(to: $0) } : [address]
    }
    var known: Set<SocketAddress> = []
    let fresh = scoped.filter { known.insert($0).inserted }
    let (sixes, fours) = (fresh.filter(\.isV6), fresh.filter { !$0.isV6 })
    return (0..<max(sixes.count, fours.count)).flatMap { place in
      [sixes, fours].compactMap { place < $0.count ? $0[place] : nil }
    }
  }

  // MARK: Attempts

  /// Starts the next attempt; where there is none, and none is in progress, the dial has failed.
  private func startNextAttempt() {
    guard owner != nil else { return }
    if let nextAttempt { reactor.cancel(nextAttempt) }
    nextAttempt = nil
    while let address = waiting.popFirst() {
      let attempt = DialAttempt(of: self, at: address)
      lastAttempt = Reactor.now
      do throws(SystemError) {
        attempt.link = try .dial(address, context, resuming: expected, on: reactor, owner: attempt)
      } catch {
        note(attempt, .ended(.failed(error)))
        continue
      }
      attempts.append(attempt)
      setNextAttempt()
      return
    }
    if attempts.isEmpty { fail() }
  }

  /// Without an attempt yet, the first one is about to begin.
  private func setNextAttempt() {
    guard let lastAttempt, !waiting.isEmpty else { return }
    let alone = Duration.nanoseconds(Reactor.now - lastAttempt)
    nextAttempt = reactor.schedule(after: limits.attemptDelay - alone) { [self] in startNextAttempt() }
  }

  fileprivate func opened(_ attempt: DialAttempt, _ link: SecureLink, _ key: PublicKey, _ exporter: Digest) {
    guard let owner, let place = attempts.firstIndex(where: { $0 === attempt }) else { return link.close() }
    attempts.remove(at: place)
    let host = HostID(of: key)
    guard expected == nil || expected == host else {
      link.close()
      note(attempt, .answeredBy(host))
      return startNextAttempt()
    }
    end()
    link.handOver(to: owner)
    owner.opened(link, remoteKey: key, exporter: exporter)
  }

  fileprivate func closed(_ attempt: DialAttempt, because end: LinkEnd) {
    guard let place = attempts.firstIndex(where: { $0 === attempt }) else { return }
    attempts.remove(at: place)
    note(attempt, .ended(end))
    startNextAttempt()
  }

  private func note(_ attempt: DialAttempt, _ outcome: DialFailure.Attempt.Outcome) {
    outcomes.append(DialFailure.Attempt(address: attempt.address, outcome: outcome))
  }

  private func giveUp() {
    for attempt in attempts { note(attempt, .tookTooLong) }
    fail()
  }

  private func fail() {
    guard owner != nil else { return }
    end()
    failed(DialFailure(host: expected, attempts: outcomes))
  }

  private func end() {
    owner = nil
    for timer in [nextAttempt, deadline].compactMap(\.self) { reactor.cancel(timer) }
    (nextAttempt, deadline) = (nil, nil)
    let attempts = attempts
    self.attempts = []
    for attempt in attempts { attempt.link?.close() }
  }
}

/// An attempt at one address, which owns the link until that is chosen.
private final class DialAttempt: SecureLinkOwner {
  let address: SocketAddress
  private let dialer: Dialer
  weak var link: SecureLink?

  init(of dialer: Dialer, at address: SocketAddress) {
    self.dialer = dialer
    self.address = address
  }

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) {
    dialer.opened(self, link, remoteKey, exporter)
  }

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {}

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) {}

  func closed(_ link: SecureLink, because end: LinkEnd) { dialer.closed(self, because: end) }
}
