public import Reactor
public import Wire

/// What a link tells the one that uses it, always on the loop and never from within a call of the link.
public protocol SecureLinkOwner: AnyObject {
  /// The handshake is done: who is at the other end, and 32 bytes that only the two ends know.
  ///
  /// A side that dialled hears this before the other one has checked its certificate; a refusal comes as `closed`.
  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest)

  /// Bytes have come. Answers how many of them are taken; the rest is shown again with what comes next.
  func received(_ bytes: RawSpan, from link: SecureLink) -> Int

  /// The link can take bytes. Asked after `wantsToSend()`, again and again until nothing is put; the room is that of
  /// one record, 16 KiB.
  func fill(_ output: inout OutputRawSpan, for link: SecureLink)

  /// The link is over. Told exactly once, and nothing after it.
  func closed(_ link: SecureLink, because end: LinkEnd)
}

/// An authenticated, encrypted pipe between two hosts over one TCP connection.
///
/// It belongs to its reactor's thread. From its making until `closed` is told, it keeps itself and its owner alive.
public final class SecureLink: @unchecked Sendable {
  // `@unchecked`: each public entry checks that it runs on the reactor's thread, and each callback comes from there.

  public struct Limits: Sendable {
    /// From the first packet to the end of the handshake, for one who connects and says nothing.
    public var handshakeTime: Duration = .seconds(10)
    /// How long `close()` waits for its last bytes to be taken.
    public var closingTime: Duration = .seconds(2)
    /// The most that is kept of what came and was not taken: a whole frame and its neighbour's head.
    public var receivedBytesMax = 2 << 20
    public init() {}
  }

  /// What one link may move in one turn before the others have theirs.
  private static let bytesPerTurnMax = 256 << 10

  private enum State: Equatable {
    case connecting
    case shakingHands
    case open
    /// Sends what is left, then its goodbye, then waits for the other side to hang up.
    case closing(saidGoodbye: Bool)
    case closed
  }

  public let reactor: Reactor
  /// Where the other end is; nil for one that left before it could be asked.
  public let remoteAddress: SocketAddress?
  private let limits: Limits
  private var owner: (any SecureLinkOwner)?
  private var state: State
  /// Nil once the link is closed.
  private var tls: TLSStream?
  private var registration: Registration?
  private var interest: Readiness
  private var deadline: Timer?
  private var incoming: ReceiveBuffer
  private var outgoing = SendBuffer()
  private var hasMoreToSend = false
  /// Whether a turn was asked for that no event will bring.
  private var turnIsDue = false
  /// Whether something in this turn had to wait for room in the socket.
  private var isBlocked = false

  /// Begins to connect; how that goes is told later.
  public static func dial(
    _ address: SocketAddress, _ context: LinkContext, on reactor: Reactor, limits: Limits = Limits(),
    owner: any SecureLinkOwner
  ) throws(SystemError) -> SecureLink {
    try SecureLink(
      .client, try .connecting(to: address), address, context, on: reactor, limits: limits, owner: owner)
  }

  /// Takes a connection that a listener accepted.
  public static func accept(
    _ socket: consuming Descriptor, _ context: LinkContext, on reactor: Reactor, limits: Limits = Limits(),
    owner: any SecureLinkOwner
  ) throws(SystemError) -> SecureLink {
    let address = try? socket.remoteAddress()
    return try SecureLink(.server, socket, address, context, on: reactor, limits: limits, owner: owner)
  }

  private init(
    _ role: TLSStream.Role, _ socket: consuming Descriptor, _ address: SocketAddress?, _ context: LinkContext,
    on reactor: Reactor, limits: Limits, owner: any SecureLinkOwner
  ) throws(SystemError) {
    self.reactor = reactor
    remoteAddress = address
    self.limits = limits
    self.owner = owner
    state = role == .client ? .connecting : .shakingHands
    interest = role == .client ? .writable : .readable
    incoming = ReceiveBuffer(bytesMax: limits.receivedBytesMax)
    let tls = TLSStream(role, context, on: socket)
    registration = try reactor.register(tls.socket, for: interest) { [self] _ in turn() }
    self.tls = consume tls
    setDeadline(limits.handshakeTime, .handshakeTimedOut)
  }

  /// There are bytes to fetch by `fill`. It costs nothing to say so twice.
  public func wantsToSend() {
    reactor.preconditionIsolated()
    hasMoreToSend = true
    if state == .open { askForTurn() }
  }

  /// Sends what the owner still fills in, says goodbye, and closes. Nothing more is received.
  public func close() {
    reactor.preconditionIsolated()
    switch state {
    case .connecting, .shakingHands:
      reactor.soon { [self] in finish(.closedHere) }
    case .open:
      state = .closing(saidGoodbye: false)
      setDeadline(limits.closingTime, .closedHere)
      askForTurn()
    case .closing, .closed:
      break
    }
  }

  // MARK: A turn

  private func turn() {
    isBlocked = false
    if state == .connecting { finishConnecting() }
    if state == .shakingHands { shakeHands() }
    if isUp { receive() }
    if isUp { send() }
    watch(isBlocked ? [.readable, .writable] : .readable)
  }

  private var isUp: Bool {
    switch state {
    case .open, .closing: true
    case .connecting, .shakingHands, .closed: false
    }
  }

  private func finishConnecting() {
    guard let error = tls?.socket.connectionError() else {
      state = .shakingHands
      return
    }
    let target = remoteAddress.map { "connect to \($0)" } ?? error.operation
    finish(.failed(SystemError(target, code: error.code)))
  }

  private func shakeHands() {
    guard proceeds(after: tls?.shakeHands() ?? .ended), let remoteKey = tls?.remoteKey(), let exporter = tls?.exporter()
    else { return }
    state = .open
    cancelDeadline()
    owner?.opened(self, remoteKey: remoteKey, exporter: exporter)
  }

  private func receive() {
    var left = Self.bytesPerTurnMax
    while left > 0 {
      // Fetches all there is room for, then shows it once.
      var step: TLSStream.Step
      var fresh = 0
      repeat {
        step = incoming.fill { tls?.read(into: $0) ?? .ended }
        guard case .moved(let count) = step else { break }
        fresh += count
      } while !incoming.isFull && fresh < left
      left -= fresh
      if fresh > 0, !show() { return finish(.overflowed(bytesMax: limits.receivedBytesMax)) }
      guard proceeds(after: step) else { return }
    }
    // What TLS has fetched and not shown makes no event.
    askForTurn()
  }

  /// Shows the owner what waits; false where it can neither take it nor be shown more.
  private func show() -> Bool {
    let taken = state == .open ? owner?.received(incoming.waiting, from: self) : incoming.waiting.byteCount
    return incoming.drop(taken ?? 0)
  }

  private func send() {
    if state == .closing(saidGoodbye: true) { return }
    var left = Self.bytesPerTurnMax / SendBuffer.capacity
    while left > 0 {
      if outgoing.isEmpty, hasMoreToSend {
        outgoing.refill { owner?.fill(&$0, for: self) }
        if outgoing.isEmpty { hasMoreToSend = false }
      }
      if outgoing.isEmpty { return sayGoodbyeIfClosing() }
      guard proceeds(after: outgoing.send { tls?.write($0) ?? .ended }) else { return }
      left -= 1
    }
    askForTurn()
  }

  private func sayGoodbyeIfClosing() {
    guard state == .closing(saidGoodbye: false), proceeds(after: tls?.sayGoodbye() ?? .ended) else { return }
    tls?.socket.endSending()
    state = .closing(saidGoodbye: true)
  }

  /// Whether the step was done; if not, sees to what it waits for or how it ended.
  private func proceeds(after step: TLSStream.Step) -> Bool {
    switch step {
    case .moved:
      return true
    case .needsReadable:
      break
    case .needsWritable:
      isBlocked = true
    case .ended:
      if state == .open { _ = tls?.sayGoodbye() }
      finish(.closedThere)
    case .failed(let end):
      finish(end)
    }
    return false
  }

  private func finish(_ end: LinkEnd) {
    if state == .closed { return }
    // However the other side answers a goodbye, it was said here.
    let end = if case .closing = state { LinkEnd.closedHere } else { end }
    state = .closed
    cancelDeadline()
    if let registration { reactor.deregister(registration) }
    registration = nil
    tls = nil
    let owner = owner.take()
    owner?.closed(self, because: end)
  }

  // MARK: What brings the next turn

  private func watch(_ interest: Readiness) {
    guard let registration, interest != self.interest else { return }
    self.interest = interest
    reactor.update(registration, to: interest)
  }

  private func askForTurn() {
    if turnIsDue { return }
    turnIsDue = true
    reactor.soon { [self] in
      turnIsDue = false
      turn()
    }
  }

  private func setDeadline(_ delay: Duration, _ end: LinkEnd) {
    cancelDeadline()
    deadline = reactor.schedule(after: delay) { [self] in finish(end) }
  }

  private func cancelDeadline() {
    if let deadline { reactor.cancel(deadline) }
    deadline = nil
  }
}
