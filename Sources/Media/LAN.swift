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
  private var lastLink: UInt64 = 0
  private var stopped: (() -> Void)?

  public init(key: SigningKey, _ options: Options, on reactor: Reactor, driver: any EngineDriver) throws {
    self.reactor = reactor
    self.driver = driver
    context = LinkContext(key: key)
    guard let any = SocketAddress("0.0.0.0", port: options.port) else { return }
    listener = try Listener(at: any, on: reactor) { [unowned self] in take($0) }
  }

  public var addresses: [SocketAddress] { listener.map { [$0.address] } ?? [] }

  /// Ends every link, after what it still has to send; then says so.
  public func stop(_ stopped: @escaping () -> Void) {
    self.stopped = stopped
    listener = nil
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
    case .dial(let dial, _, let address):
      open(dial, at: address)
    case .wantsToSend(let link):
      links[link]?.wantsToSend()
    case .close(let link, _):
      links[link]?.close()
    case .probe(let sighting):
      reactor.soon { [self] in driver.call { $0.probeAnswered(sighting, at: $1) } }
    case .publish, .withdraw, .publishRoster, .withdrawRoster, .look, .lookNoMore:
      break
    case .datagram, .persist:
      preconditionFailure("the engine was told that there is neither a datagram nor a store, and asks for \(output)")
    default:
      return false
    }
    return true
  }

  // MARK: Links

  private func open(_ dial: DialID, at address: Address) {
    let text = address.description
    do {
      guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
        let target = SocketAddress(String(text[..<colon].filter { !"[]".contains($0) }), port: port)
      else { throw SystemError("dial \(text)", code: EINVAL) }
      let end = Connection(of: self, number(), dial)
      links[end.id] = try .dial(target, context, on: reactor, owner: end)
    } catch {
      reactor.soon { [self] in driver.call { $0.dialFailed(dial, at: $1) } }
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
    driver.call { $0.linkOpened(id, to: key, exporter: exporter, dial: dial, datagramBytesMax: 0, at: $1) }
  }

  fileprivate func received(upTo bytesMax: Int, on id: LinkID, _ read: (inout OutputRawSpan) -> Void) {
    driver.call { $0.receive(upTo: bytesMax, on: id, at: $1, read) }
  }

  fileprivate func fill(_ output: inout OutputRawSpan, for id: LinkID) {
    driver.call { $0.fill(&output, for: id, at: $1) }
  }

  fileprivate func closed(_ id: LinkID, unanswered dial: DialID?) {
    links[id] = nil
    driver.call { engine, now in
      if let dial { engine.dialFailed(dial, at: now) } else { engine.linkClosed(id, at: now) }
    }
    tellIfStopped()
  }
}

/// A link's owner: the medium, by the number under which the engine knows the link.
private final class Connection: SecureLinkOwner {
  let id: LinkID
  private let lan: LAN
  private let dial: DialID?
  private var isOpen = false

  init(of lan: LAN, _ id: LinkID, _ dial: DialID?) {
    self.lan = lan
    self.id = id
    self.dial = dial
  }

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) {
    isOpen = true
    lan.opened(id, to: remoteKey, exporter, dial)
  }

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {
    lan.received(upTo: bytesMax, on: id, read)
  }

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) { lan.fill(&output, for: id) }

  func closed(_ link: SecureLink, because end: LinkEnd) { lan.closed(id, unanswered: isOpen ? nil : dial) }
}
