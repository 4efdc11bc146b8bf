internal import Engine
internal import Media
internal import Reactor
internal import Wire

/// One host on one loop: carries out its engine's network and timer outputs, and passes on its events.
///
/// Invariant: the engine is called through `call` alone. That is one mutation, and all that comes of it, before
/// anything else.
actor Host {
  private let reactor: Reactor
  private let engine: Engine
  private let context: LinkContext
  private let tell: @Sendable (Output, _ payload: RawSpan) -> Void
  private var listener: Listener?
  private var links: [LinkID: SecureLink] = [:]
  private var lastLink: UInt64 = 0
  private var alarm: (deadline: Instant, timer: Timer)?
  private var isDraining = false
  private var isStopping = false

  /// Delivers events for the peers' own programs to `tell`, on the loop; `tell` must not call back before it returns.
  init(
    on reactor: Reactor, key: SigningKey, peerKeys: [SigningKey],
    tell: @escaping @Sendable (Output, _ payload: RawSpan) -> Void
  ) throws {
    self.reactor = reactor
    self.tell = tell
    context = LinkContext(key: key)
    engine = Engine(
      host: key.publicKey, incarnation: Incarnation(1), settings: Settings(),
      crypto: OpenSSLCrypto(keys: [key] + peerKeys),
      seed: try Digest(bytes: OpenSSLCrypto.randomBytes(Digest.byteCount)), at: Self.now)
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  private static var now: Instant { Instant(nanoseconds: Int64(Reactor.now)) }

  /// Takes links of other hosts from now on; answers where.
  func listen(at address: SocketAddress) throws -> SocketAddress {
    let listener = try Listener(at: address, on: reactor) { [unowned self] in take($0) }
    self.listener = listener
    return listener.address
  }

  /// One mutation of the engine, and all that comes of it.
  func call<Result>(_ mutate: (Engine, Instant) throws -> Result) rethrows -> Result {
    precondition(!isDraining, "the engine is called from within what it tells")
    defer { drain() }
    return try mutate(engine, Self.now)
  }

  /// Ends every link, after what it still has to send, and then the loop.
  func stop() {
    isStopping = true
    listener = nil
    for link in links.values { link.close() }
    stopIfAlone()
  }

  private func stopIfAlone() {
    if isStopping, links.isEmpty { reactor.stop() }
  }

  // MARK: What comes of a mutation

  private func drain() {
    isDraining = true
    while let output = engine.nextOutput() { perform(output) }
    isDraining = false
    setAlarm()
  }

  private func perform(_ output: Output) {
    switch output {
    case .dial(let dial, _, let addresses):
      open(dial, at: addresses[...])
    case .wantsToSend(let link):
      links[link]?.wantsToSend()
    case .close(let link, _):
      links[link]?.close()
    case .probe(let sighting):
      // A sighting that was given by hand stands until it is taken back.
      reactor.soon { [self] in call { $0.probeAnswered(sighting, at: $1) } }
    case .publish, .withdraw, .publishRoster, .withdrawRoster, .browse, .stopBrowsing, .dialAlso:
      // Nobody is looked for.
      break
    case .datagram, .persist:
      preconditionFailure("the engine was told that there is neither a datagram nor a store, and asks for \(output)")
    case .message(_, _, _, _, let bytes):
      bytes.withBytes { tell(output, $0) }
    default:
      tell(output, RawSpan())
    }
  }

  private func setAlarm() {
    let deadline = engine.nextDeadline
    if deadline == alarm?.deadline { return }
    if let alarm { reactor.cancel(alarm.timer) }
    alarm = deadline.map { deadline in
      let timer = reactor.schedule(at: UInt64(max(0, deadline.nanoseconds))) { [self] in
        alarm = nil
        call { $0.advance(to: $1) }
      }
      return (deadline, timer)
    }
  }

  // MARK: Links

  /// Tries one address after the other.
  private func open(_ dial: DialID, at addresses: ArraySlice<Address>) {
    guard let address = addresses.first else {
      return reactor.soon { [self] in call { $0.dialFailed(dial, at: $1) } }
    }
    let attempt = Attempt(dial: dial, rest: addresses.dropFirst())
    do {
      let target = try SocketAddress(dialing: address)
      let end = Connection(of: self, number(), attempt)
      links[end.id] = try .dial(target, context, on: reactor, owner: end)
    } catch {
      open(dial, at: attempt.rest)
    }
  }

  private func take(_ socket: consuming Descriptor) {
    let end = Connection(of: self, number(), nil)
    // One that left before it could be watched was never here.
    links[end.id] = try? .accept(socket, context, on: reactor, owner: end)
  }

  private func number() -> LinkID {
    lastLink += 1
    return LinkID(rawValue: lastLink)
  }

  fileprivate func opened(_ id: LinkID, to key: PublicKey, _ exporter: Digest, _ dial: DialID?) {
    call { $0.linkOpened(id, to: key, exporter: exporter, dial: dial, datagramBytesMax: 0, at: $1) }
  }

  fileprivate func received(upTo bytesMax: Int, on id: LinkID, _ read: (inout OutputRawSpan) -> Void) {
    call { $0.receive(upTo: bytesMax, on: id, at: $1, read) }
  }

  fileprivate func fill(_ output: inout OutputRawSpan, for id: LinkID) {
    call { $0.fill(&output, for: id, at: $1) }
  }

  fileprivate func closed(_ id: LinkID, unanswered attempt: Attempt?) {
    links[id] = nil
    if let attempt, !isStopping {
      open(attempt.dial, at: attempt.rest)
    } else {
      call { $0.linkClosed(id, at: $1) }
    }
    stopIfAlone()
  }
}

/// A dial, and the addresses that it has not tried.
private struct Attempt {
  let dial: DialID
  let rest: ArraySlice<Address>
}

/// A link's owner: the host, by the number under which the engine knows the link.
private final class Connection: SecureLinkOwner {
  let id: LinkID
  private let host: Host
  private let attempt: Attempt?
  private var isOpen = false

  init(of host: Host, _ id: LinkID, _ attempt: Attempt?) {
    self.host = host
    self.id = id
    self.attempt = attempt
  }

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) {
    isOpen = true
    host.assumeIsolated { [id, attempt] in $0.opened(id, to: remoteKey, exporter, attempt?.dial) }
  }

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {
    // Called before this returns, on this thread.
    nonisolated(unsafe) let read = read
    host.assumeIsolated { [id] in $0.received(upTo: bytesMax, on: id, read) }
  }

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) {
    host.assumeIsolated { [id] in $0.fill(&output, for: id) }
  }

  func closed(_ link: SecureLink, because end: LinkEnd) {
    let unanswered = isOpen ? nil : attempt
    host.assumeIsolated { [id] in $0.closed(id, unanswered: unanswered) }
  }
}
