public import Engine
internal import Glibc
public import Reactor
public import Wire

/// The one way to an engine for whoever carries bytes: one mutation, and all that comes of it.
public protocol EngineDriver: AnyObject {
  func call<Result, Failure: Error>(
    _ mutate: (Engine, Instant) throws(Failure) -> Result
  ) throws(Failure) -> Result

  /// Something about the network that people should know. Told from the loop, never from within a call.
  func changed(_ condition: LAN.Condition)
}

/// The local network as a medium: finds hosts, and keeps links to them.
///
/// It belongs to its reactor's thread.
public final class LAN {
  public struct Options: Sendable {
    public var port: UInt16 = 0
    /// Where hosts are, given by hand; nil for discovery by the daemon.
    public var fixed: [SocketAddress]?
    public init() {}
  }

  public enum Condition: Sendable {
    case discoveryUnavailable(cause: String, cure: String)
    case discoveryAvailable
    case notPublished(ServiceType, cause: String)
    case addresses([SocketAddress])
  }

  private let reactor: Reactor
  private unowned let driver: any EngineDriver
  private let context: LinkContext
  private var listener: Listener?
  private var links: [LinkID: SecureLink] = [:]
  private var dials: [DialID: Dialer] = [:]
  private var lastLink: UInt64 = 0
  private var lastSighting: UInt64 = 0
  private var fixed: FixedHosts?
  private var stopped: (() -> Void)?

  public init(key: SigningKey, _ options: Options, on reactor: Reactor, driver: any EngineDriver) throws {
    self.reactor = reactor
    self.driver = driver
    context = LinkContext(key: key)
    if let places = options.fixed {
      fixed = FixedHosts(places, context, on: reactor, driver: driver) { [unowned self] in sighting() }
    }
    guard let any = SocketAddress("0.0.0.0", port: options.port) else { return }
    listener = try Listener(at: any, on: reactor) { [unowned self] in take($0) }
  }

  public var addresses: [SocketAddress] { listener.map { [$0.address] } ?? [] }

  /// Ends every link, after what it still has to send; then says so.
  public func stop(_ stopped: @escaping () -> Void) {
    self.stopped = stopped
    listener = nil
    fixed?.stop()
    for dialer in dials.values { dialer.cancel() }
    dials = [:]
    for link in links.values { link.close() }
    tellIfStopped()
  }

  private func tellIfStopped() {
    guard links.isEmpty, let stopped = stopped.take() else { return }
    reactor.soon(stopped)
  }

  /// Whether the output was for the network.
  public func carryOut(_ output: Output) -> Bool {
    switch output {
    case .dial(let dial, let host, let addresses):
      open(dial, to: host, at: addresses)
    case .wantsToSend(let link):
      links[link]?.wantsToSend()
    case .close(let link, _):
      links[link]?.close()
    case .probe(let sighting):
      reactor.soon { [self] in driver.call { $0.probeAnswered(sighting, at: $1) } }
    case .look(let type):
      fixed?.look(for: type)
    case .lookNoMore(let type):
      fixed?.lookNoMore(for: type)
    case .publish, .withdraw, .publishRoster, .withdrawRoster:
      break
    case .datagram, .persist:
      preconditionFailure("the engine was told that there is neither a datagram nor a store, and asks for \(output)")
    default:
      return false
    }
    return true
  }

  // MARK: Links

  private func open(_ dial: DialID, to host: HostID, at addresses: [Address]) {
    let end = Connection(of: self, number())
    dials[dial] = Dialer.dial(
      addresses.compactMap(SocketAddress.init(told:)), expecting: host, context, on: reactor,
      owner: end.answering(dial)
    ) { [unowned self] _ in
      dials[dial] = nil
      driver.call { $0.dialFailed(dial, at: $1) }
    }
  }

  private func take(_ socket: consuming Descriptor) {
    // One that left before it could be watched was never here.
    _ = try? SecureLink.accept(socket, context, on: reactor, owner: Connection(of: self, number()))
  }

  private func sighting() -> SightingID {
    lastSighting += 1
    return SightingID(rawValue: lastSighting)
  }

  private func number() -> LinkID {
    lastLink += 1
    return LinkID(rawValue: lastLink)
  }

  fileprivate func opened(_ id: LinkID, _ link: SecureLink, to key: PublicKey, _ exporter: Digest, _ dial: DialID?) {
    links[id] = link
    if let dial { dials[dial] = nil }
    driver.call { $0.linkOpened(id, to: key, exporter: exporter, dial: dial, datagramBytesMax: 0, at: $1) }
  }

  fileprivate func received(upTo bytesMax: Int, on id: LinkID, _ read: (inout OutputRawSpan) -> Void) {
    driver.call { $0.receive(upTo: bytesMax, on: id, at: $1, read) }
  }

  fileprivate func fill(_ output: inout OutputRawSpan, for id: LinkID) {
    driver.call { $0.fill(&output, for: id, at: $1) }
  }

  fileprivate func closed(_ id: LinkID) {
    // One that never opened is nothing to the engine.
    guard links.removeValue(forKey: id) != nil else { return }
    driver.call { $0.linkClosed(id, at: $1) }
    tellIfStopped()
  }
}

/// A link's owner: the medium, by the number under which the engine knows the link.
private final class Connection: SecureLinkOwner {
  let id: LinkID
  private let lan: LAN
  private var dial: DialID?

  init(of lan: LAN, _ id: LinkID) {
    self.lan = lan
    self.id = id
  }

  func answering(_ dial: DialID) -> Connection {
    self.dial = dial
    return self
  }

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) {
    lan.opened(id, link, to: remoteKey, exporter, dial)
  }

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {
    lan.received(upTo: bytesMax, on: id, read)
  }

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) { lan.fill(&output, for: id) }

  func closed(_ link: SecureLink, because end: LinkEnd) { lan.closed(id) }
}
