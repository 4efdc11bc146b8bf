public import Reactor
public import Wire

/// The events of a link, always on the loop and never from within a call of the link.
public protocol SecureLinkOwner: AnyObject {
  /// The handshake is done: the key at the other end, and 32 bytes that only the two ends know.
  ///
  /// A side that dialled gets this before the other one has checked its certificate; a refusal comes as `closed`.
  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest)

  /// Bytes have come: `read`, called once before this returns, appends them in place, as far as there is room and up to
  /// `bytesMax`. Without the call some of them are discarded.
  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void)

  /// The link can take bytes. Called after `wantsToSend()`, again and again until nothing is appended; the room is 66
  /// KiB, unless the link's limits say less.
  func fill(_ output: inout OutputRawSpan, for link: SecureLink)

  /// The link is over. Called exactly once, and nothing after it.
  func closed(_ link: SecureLink, because end: LinkEnd)
}

/// An authenticated, encrypted pipe between two hosts over one connected socket, of TCP or of another medium.
///
/// It belongs to its reactor's thread. From its making until `closed`, it keeps itself and its owner alive.
public final class SecureLink: @unchecked Sendable {
  // `@unchecked`: each public entry checks that it runs on the reactor's thread, and each callback comes from there.

  public struct Limits: Sendable {
    /// From the first packet to the end of the handshake, for a client that connects and sends nothing.
    public var handshakeTime: Duration = .seconds(10)
    /// How long `close()` waits for its last bytes to be taken.
    public var closingTime: Duration = .seconds(2)
    /// Unsent bytes in the kernel. With one batch here too, a new frame has 130 KiB before it, a tenth of a second at 10
    /// Mbit/s.
    public var unsentBytesMax = 64 << 10
    /// The room of the owner's `fill`, which goes out in one piece.
    public var batchBytesMax = TLSStream.batchBytesMax
    public init() {}
  }

  /// Bytes that one link may move in one turn before the others have theirs.
  private static let bytesPerTurnMax = 256 << 10
  /// The room is twice the last read: a quiet link makes its owner hold little.
  private static let roomRange = 4 << 10...TLSStream.batchBytesMax

  private enum State: Equatable {
    case connecting
    case shakingHands
    case open
    /// Sends the rest, then its bye, then waits for the other side to hang up.
    case closing(saidGoodbye: Bool)
    case closed
  }

  public let reactor: Reactor
  public let isDialed: Bool
  /// The address of the other end; nil where it is not one of the internet, or left before it could be asked.
  public let remoteAddress: SocketAddress?
  private let limits: Limits
  private var owner: (any SecureLinkOwner)?
  private var state: State
  /// Nil once the link is closed.
  private var tls: TLSStream?
  private var registration: Registration?
  private var interest: Readiness
  private var deadline: Timer?
  private var room = roomRange.lowerBound
  /// Whether reading may bring something: the socket said so, or a turn ended before all was read.
  private var mayRead = true
  private var hasMoreToSend = false
  /// Whether a turn was requested that no event will bring.
  private var turnIsDue = false
  /// Whether a write in this turn had to wait for room in the socket.
  private var isBlocked = false
  private var meter = SendMeter()

  /// Begins to connect; the outcome is reported later. Where the host is known, a ticket from an earlier link resumes
  /// its session; if another host answers, that is not noticed here: the owner has to compare.
  public static func dial(
    _ address: SocketAddress, _ context: LinkContext, resuming host: HostID? = nil, on reactor: Reactor,
    limits: Limits = Limits(), owner: any SecureLinkOwner
  ) throws(SystemError) -> SecureLink {
    let socket = try Descriptor.connecting(to: address)
    return try SecureLink(.client, socket, address, context, host, on: reactor, limits: limits, owner: owner)
  }

  /// Takes a socket that is connected already, by a medium of whatever kind.
  static func connect(
    over socket: consuming Descriptor, _ context: LinkContext, resuming host: HostID, on reactor: Reactor,
    limits: Limits = Limits(), owner: any SecureLinkOwner
  ) throws(SystemError) -> SecureLink {
    try SecureLink(.client, socket, nil, context, host, on: reactor, limits: limits, owner: owner)
  }

  public static func accept(
    _ socket: consuming Descriptor, _ context: LinkContext, on reactor: Reactor, limits: Limits = Limits(),
    owner: any SecureLinkOwner
  ) throws(SystemError) -> SecureLink {
    let address = try? socket.remoteAddress()
    return try SecureLink(.server, socket, address, context, nil, on: reactor, limits: limits, owner: owner)
  }

  private init(
    _ role: TLSStream.Role, _ socket: consuming Descriptor, _ address: SocketAddress?, _ context: LinkContext,
    _ host: HostID?, on reactor: Reactor, limits: Limits, owner: any SecureLinkOwner
  ) throws(SystemError) {
    self.reactor = reactor
    isDialed = role == .client
    remoteAddress = address
    self.limits = limits
    self.owner = owner
    state = role == .client ? .connecting : .shakingHands
    interest = role == .client ? .writable : .readable
    try socket.limitUnsent(to: limits.unsentBytesMax)
    let tls = TLSStream(role, context, resuming: host, on: socket)
    registration = try reactor.register(tls.socket, for: interest) { [self] readiness in
      if readiness != .writable { mayRead = true }
      turn()
    }
    self.tls = consume tls
    setDeadline(limits.handshakeTime, .handshakeTimedOut)
  }

  /// Whether the handshake is done and nobody has ended it.
  public var isOpen: Bool { state == .open }

  /// Whether the handshake resumed a session of an earlier link.
  public var isResumed: Bool { tls?.isResumed ?? false }

  var measurements: TCPMeasurements? { tls?.socket.tcpMeasurements() }

  /// The rate at which the socket has taken bytes, as far as they had to wait for that; and how many it has taken.
  var sending: (bytesPerSecond: UInt64?, bytes: UInt64) { (meter.bytesPerSecond, tls?.sentCount ?? 0) }

  /// The address of this end; nil where it is not one of the internet, or the link is closed.
  var localAddress: SocketAddress? { tls?.localAddress }

  /// Nil unless the link is open.
  func datagramKeys() -> DatagramKeys? { state == .open ? tls?.datagramKeys() : nil }

  /// Called once, when the handshake is done or has failed.
  var handshakeEnded: ((SecureLink) -> Void)?

  /// Evicts a link that is not open yet, in favour of others.
  func makeRoom() {
    if state == .connecting || state == .shakingHands { finish(.crowdedOut) }
  }

  /// Ends an open link at once, without a bye: its medium is gone.
  func cut() {
    reactor.soon { [self] in finish(.cut) }
  }

  /// Later events go to another owner.
  func handOver(to owner: any SecureLinkOwner) {
    if state != .closed { self.owner = owner }
  }

  /// The owner has bytes for `fill`. Calling it twice costs nothing.
  public func wantsToSend() {
    reactor.preconditionIsolated()
    hasMoreToSend = true
    if state == .open { askForTurn() }
  }

  /// Sends the owner's remaining bytes and a bye, and closes. Nothing more is received.
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
    if isUp, mayRead { receive() }
    if isUp { send() }
    if let sent = tls?.sentCount { meter.turned(isBlocked: isBlocked, sent: sent) { Reactor.now } }
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
    let isDone = proceeds(after: tls?.shakeHands() ?? .ended)
    if state == .shakingHands { _ = proceeds(after: tls?.flush() ?? .ended) }
    guard isDone, state == .shakingHands, let remoteKey = tls?.remoteKey(), let exporter = tls?.exporter() else {
      return
    }
    state = .open
    // The handshake has read all that was there, and the socket will report more.
    mayRead = tls?.hasUnread ?? false
    cancelDeadline()
    handshakeEnded.take()?(self)
    owner?.opened(self, remoteKey: remoteKey, exporter: exporter)
  }

  private func receive() {
    var left = Self.bytesPerTurnMax
    while left > 0 {
      let (step, count) = state == .open ? readForOwner() : discard()
      left -= count
      if case .needsReadable = step { mayRead = false }
      guard proceeds(after: step) else { return }
    }
    askForTurn()
  }

  private func readForOwner() -> (TLSStream.Step, bytes: Int) {
    var read: (step: TLSStream.Step, bytes: Int)?
    owner?.received(upTo: room, from: self) { out in
      precondition(read == nil, "what has come is read twice")
      let before = out.byteCount
      let step = tls?.read(into: &out) ?? .ended
      read = (step, out.byteCount - before)
    }
    guard let read else { return discard() }
    if read.bytes > 0 { room = min(max(2 * read.bytes, Self.roomRange.lowerBound), Self.roomRange.upperBound) }
    return read
  }

  /// Discards input: nobody wants it any more, but the socket must be read for the other side's bye.
  private func discard() -> (TLSStream.Step, bytes: Int) {
    withUnsafeTemporaryAllocation(byteCount: Self.roomRange.upperBound, alignment: 16) { memory in
      var out = OutputRawSpan(buffer: memory, initializedCount: 0)
      let step = tls?.read(into: &out) ?? .ended
      return (step, out.finalize(for: memory))
    }
  }

  private func send() {
    var left = Self.bytesPerTurnMax
    while proceeds(after: tls?.flush() ?? .ended) {
      if state == .closing(saidGoodbye: true) {
        return tls?.socket.endSending() ?? ()
      } else if hasMoreToSend {
        guard left > 0 else { return askForTurn() }
        let (step, count) = seal()
        guard proceeds(after: step) else { return }
        left -= count
        if count == 0 { hasMoreToSend = false }
      } else if state == .closing(saidGoodbye: false) {
        guard proceeds(after: tls?.sayGoodbye() ?? .ended) else { return }
        state = .closing(saidGoodbye: true)
      } else {
        return
      }
    }
  }

  /// Lets the owner fill a batch, and TLS seal it.
  private func seal() -> (TLSStream.Step, bytes: Int) {
    withUnsafeTemporaryAllocation(
      byteCount: limits.batchBytesMax, alignment: TLSStream.batchAlignment
    ) { memory in
      var out = OutputRawSpan(buffer: memory, initializedCount: 0)
      owner?.fill(&out, for: self)
      let count = out.finalize(for: memory)
      if count == 0 { return (.moved(0), 0) }
      return (tls?.write(UnsafeRawBufferPointer(rebasing: memory[..<count])) ?? .ended, count)
    }
  }

  /// Whether the step was done; if not, waits for its condition or ends the link.
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
    // However the other side answers a bye, this side closed the link.
    let end = if case .closing = state { LinkEnd.closedHere } else { end }
    state = .closed
    cancelDeadline()
    if case .broken = end { tls?.forgetTicket() }
    // A TLS alert about it goes out if it can.
    _ = tls?.flush()
    if let registration { reactor.deregister(registration) }
    registration = nil
    tls = nil
    handshakeEnded.take()?(self)
    let owner = owner.take()
    owner?.closed(self, because: end)
  }

  // MARK: Scheduling turns

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
