internal import Reactor
internal import Wire

/// The events of a link's datagram path, always from the loop and never from within a call.
public protocol DatagramPathOwner: AnyObject {
  /// From now on datagrams of up to so many bytes get through; 0 where the path is lost, or not proved yet.
  func carries(datagramBytesMax: Int, on path: DatagramPath)

  /// One datagram from the other end of the link, for the first time. It is valid during this call.
  func received(datagram: RawSpan, on path: DatagramPath)
}

/// The datagrams of one link, through the port that all links share.
///
/// Invariants:
/// - Datagrams go only to an address that has echoed a challenge (return routability). So nobody, not even the host at
///   the other end, can direct them at somebody who did not ask for them.
/// - A knock is as large as its answer (no amplification).
/// - It belongs to its port's reactor. The port keeps it until `close()`.
public final class DatagramPath {
  public struct Limits: Sendable {
    /// Before the first knock the link has time for its first frames; the next knocks come as soon again, and then less
    /// often.
    public var firstKnocks: Duration = .milliseconds(50)
    /// The interval of knocks in the long run, with a path or without one.
    public var knocks: Duration = .seconds(2)
    /// The path is lost after three knocks in a row without an echo.
    public var silenceMax: Duration = .seconds(7)
    public init() {}
  }

  private struct Place {
    let address: SocketAddress
    let challenge = UInt64.random(in: 1 ... .max)
  }

  let keys: DatagramKeys
  private let limits: Limits
  private let reactor: Reactor
  private weak var port: DatagramPort?
  private weak var owner: (any DatagramPathOwner)?
  private let sealing: DatagramSeal
  private let opening: DatagramSeal
  private var sent: UInt64 = 0
  private var window = ReplayWindow()
  /// The proved destination of datagrams.
  private var target: Place?
  /// The source of the newest datagram, or the link's own address: challenged, and not trusted yet.
  private var candidate: Place?
  /// When an echo of the target came last.
  private var proved: UInt64 = 0
  /// The newest challenge of the other side, and when it came last; 0 where that is too long ago.
  private var echo: UInt64 = 0
  private var heard: UInt64 = 0
  private var delay: Duration
  private var timer: Timer?

  init(_ keys: DatagramKeys, from port: DatagramPort, to address: SocketAddress?, _ limits: Limits, _ reactor: Reactor)
  {
    self.keys = keys
    self.limits = limits
    self.port = port
    self.reactor = reactor
    sealing = DatagramSeal(keys.sending, opens: false)
    opening = DatagramSeal(keys.receiving, opens: true)
    delay = limits.firstKnocks
    candidate = address.map { Place(address: $0) }
  }

  /// The size of one datagram, where datagrams get through; else 0.
  public var datagramBytesMax: Int { target == nil ? 0 : DatagramPacket.payloadBytesMax }

  /// Sends one datagram now or never; returns whether it went out. There is no acknowledgement.
  @discardableResult
  public func send(_ datagram: RawSpan) -> Bool {
    reactor.preconditionIsolated()
    guard let target, datagram.byteCount <= DatagramPacket.payloadBytesMax else { return false }
    return datagram.withUnsafeBytes { send(.datagram, $0, to: target) }
  }

  /// The link is over: nothing more goes or comes.
  public func close() {
    if let timer { reactor.cancel(timer) }
    timer = nil
    owner = nil
    (target, candidate) = (nil, nil)
    port?.forget(self)
    port = nil
  }

  func begin(_ owner: any DatagramPathOwner) {
    self.owner = owner
    if candidate != nil { wait() }
  }

  // MARK: Out

  private func send(_ kind: DatagramPacket.Kind, _ payload: UnsafeRawBufferPointer, to place: Place) -> Bool {
    guard sent < DatagramSeal.countMax, let port else { return false }
    sent += 1
    return port.send(payload.count + DatagramPacket.headerBytes + DatagramPacket.tagBytes, to: place.address) {
      packet in
      packet[0] = kind.rawValue
      packet.put(u64: keys.sending.id, at: 1)
      packet.put(u64: sent, at: 9)
      let header = UnsafeRawBufferPointer(rebasing: packet[..<DatagramPacket.headerBytes])
      let out = UnsafeMutableRawBufferPointer(rebasing: packet[DatagramPacket.headerBytes...])
      sealing.seal(payload, header: header, counter: sent, into: out)
    }
  }

  private func knock() {
    guard let place = candidate ?? target else { return }
    withUnsafeTemporaryAllocation(byteCount: DatagramPacket.knockPayloadBytes, alignment: 8) { payload in
      payload.put(u64: place.challenge, at: 0)
      payload.put(u64: echo, at: 8)
      _ = send(.knock, UnsafeRawBufferPointer(payload), to: place)
    }
  }

  private func knockAndWait() {
    if isLongAgo(heard) { echo = 0 }
    if target != nil, isLongAgo(proved) || sent == DatagramSeal.countMax { lose() }
    knock()
    wait()
  }

  private func wait() {
    let again = { [weak self] in self?.knockAndWait() ?? () }
    timer =
      target == nil
      ? reactor.schedule(after: delay, again) : reactor.scheduleInCompany(after: limits.knocks, again)
    delay = min(delay * 2, limits.knocks)
  }

  private func isLongAgo(_ time: UInt64) -> Bool {
    Duration.nanoseconds(Reactor.now - time) > limits.silenceMax
  }

  private func lose() {
    candidate = candidate ?? target
    target = nil
    delay = limits.firstKnocks
    owner?.carries(datagramBytesMax: 0, on: self)
  }

  // MARK: In

  enum Verdict { case taken, replayed, forged }

  /// Handles a packet that names this path; `room` is for its decrypted payload.
  func take(
    _ kind: DatagramPacket.Kind, _ packet: UnsafeRawBufferPointer, from address: SocketAddress,
    room: UnsafeMutableRawBufferPointer
  ) -> Verdict {
    let counter = packet.u64(at: 9)
    guard window.isFresh(counter) else { return .replayed }
    let header = UnsafeRawBufferPointer(rebasing: packet[..<DatagramPacket.headerBytes])
    let sealed = UnsafeRawBufferPointer(rebasing: packet[DatagramPacket.headerBytes...])
    guard let count = opening.open(sealed, header: header, counter: counter, into: room) else { return .forged }
    let isNewest = counter > window.newest
    window.use(counter)
    let hasMoved = isNewest && follow(address)
    let payload = UnsafeRawBufferPointer(rebasing: room[..<count])
    var mustKnock = hasMoved
    switch kind {
    case .datagram:
      owner?.received(datagram: payload.bytes, on: self)
    case .knock where count == DatagramPacket.knockPayloadBytes:
      if isNewest { mustKnock = take(challenge: payload.u64(at: 0), echo: payload.u64(at: 8)) || hasMoved }
    case .knock, .probe, .answer:
      // The other end breaks the protocol; the packet is authentic, and ignored.
      break
    }
    if mustKnock { answer() }
    return .taken
  }

  /// Whether that is a new address, which has not been challenged yet.
  private func follow(_ address: SocketAddress) -> Bool {
    if address == target?.address {
      candidate = nil
    } else if address != candidate?.address {
      candidate = Place(address: address)
      return true
    }
    return false
  }

  /// Handles a knock, with its sender's echo; returns whether the sender needs an answer.
  private func take(challenge: UInt64, echo: UInt64) -> Bool {
    guard let place = candidate ?? target else { return false }
    let isNew = challenge != self.echo
    self.echo = challenge
    heard = Reactor.now
    if echo == place.challenge { prove(place) } else if echo == 0, target != nil { lose() }
    return isNew || echo != place.challenge
  }

  private func prove(_ place: Place) {
    let isFirst = target == nil
    (target, candidate) = (place, nil)
    proved = Reactor.now
    if isFirst { owner?.carries(datagramBytesMax: DatagramPacket.payloadBytesMax, on: self) }
  }

  private func answer() {
    if timer == nil, port != nil { knockAndWait() } else { knock() }
  }
}
