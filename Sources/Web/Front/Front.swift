package import Media
package import Reactor

/// The front of one port: it accepts sockets, detects the protocol of each, and passes it on: links of other hosts,
/// HTTP, WebSockets, the last two in the clear or over TLS.
///
/// It belongs to its reactor's thread.
package final class Front: ConnectionAcceptor {
  private let reactor: Reactor
  private let handler: any WebHandler
  private let limits: WebLimits
  /// The TLS identity that later connections are shown.
  package var identity: ServerIdentity?
  private let link: ((consuming Descriptor) -> Void)?
  private let connectionCounts: ConnectionCounts
  private let scratch = ScratchBuffer()
  package let meter = WebMeter()
  private let http: HTTPServer
  private let sockets: SocketServer
  private var detectors: [UInt64: ProtocolDetector] = [:]
  private var lastDetectorNumber: UInt64 = 0
  private var isClosed = false

  /// The wanted limit of descriptors.
  private static let descriptorsMax = 1 << 16
  /// The part of them that connections may have; the rest is for files, links and the store.
  private static func descriptorsForConnections(of count: Int) -> Int { count - max(count / 8, min(count / 2, 128)) }

  /// Without an identity there is no HTTPS; without `link` there are no links.
  package init(
    on reactor: Reactor, handler: any WebHandler, limits: WebLimits = WebLimits(), identity: ServerIdentity? = nil,
    link: ((consuming Descriptor) -> Void)? = nil
  ) {
    self.reactor = reactor
    self.handler = handler
    self.limits = limits
    self.identity = identity
    self.link = link
    precondition(
      limits.headBytesMax <= ScratchBuffer.byteCount,
      "heads of \(limits.headBytesMax) bytes are more than is read at once")
    Descriptor.raiseLimit(to: Self.descriptorsMax)
    let descriptors = Self.descriptorsForConnections(of: Descriptor.limit)
    connectionCounts = ConnectionCounts(limits, descriptorsMax: min(limits.descriptorsMax, descriptors))
    http = HTTPServer(on: reactor, handler, limits, scratch, meter)
    sockets = SocketServer(on: reactor, limits, scratch, meter)
    http.upgraded = { [sockets, meter] grant, transport, unsent, bytes, admission in
      meter.connected(as: .socket)
      sockets.take(grant, transport, unsent: unsent, first: bytes, admission)
    }
  }

  /// The number of connections of clients, in any state.
  package var connectionCount: Int { connectionCounts.count }

  /// The bytes queued for WebSockets, those of rings not counted.
  package var queuedBytes: Int { sockets.queuedBytes }
  package var requestsUnderWay: Int { http.requestsUnderWay }
  /// The number of connections whose first request has not come yet.
  package var newConnectionCount: Int { detectors.count + http.newConnectionCount }

  package func take(_ socket: consuming Descriptor) {
    guard !isClosed, let client = try? socket.remoteAddress() else { return }
    let admission: Admission
    do throws(ConnectionLimit) { admission = try admit(client) } catch { return refuse(client, at: error) }
    if detectors.count >= limits.undecidedMax, let oldest = detectors.keys.min() { detectors[oldest] = nil }
    lastDetectorNumber += 1
    let detector = ProtocolDetector(
      lastDetectorNumber, socket, from: client, admission, on: reactor, limits, scratch, identity,
      takesLinks: link != nil
    ) { [unowned self] in decided($0, $1) }
    detectors[lastDetectorNumber] = detector
    detector.begin()
  }

  private func admit(_ client: SocketAddress) throws(ConnectionLimit) -> Admission {
    let isShared = handler.isShared(client)
    do {
      return try connectionCounts.admit(client, isShared: isShared)
    } catch {
      // Among the client's undecided connections, the one that has waited longest is closed to make room.
      guard let oldest = detectors.values.filter({ $0.admission.isOf(client) }).map(\.number).min() else { throw error }
      detectors[oldest] = nil
      return try connectionCounts.admit(client, isShared: isShared)
    }
  }

  private func refuse(_ client: SocketAddress, at limit: ConnectionLimit) {
    meter.refusedConnections[limit, default: 0] += 1
    handler.refused(client, at: limit)
  }

  /// Ends all connections at once.
  package func close() {
    isClosed = true
    detectors = [:]
    sockets.close()
    http.close()
  }

  private func decided(_ detector: ProtocolDetector, _ decision: ProtocolDetector.Decision) {
    detectors[detector.number] = nil
    meter.connected(as: decision.kind)
    switch decision {
    case .link:
      if let socket = detector.takeSocket() { link?(socket) }
    case .http:
      if let socket = detector.takeSocket() {
        http.take(socket, reading: RequestReader(from: detector.origin, limits), detector.admission)
      }
    case .tunnel(let transport, let bytes):
      tunnel(
        transport, bytes, Origin(client: detector.origin.client, isSecure: transport.isSecure), detector.admission)
    case .socket(let transport, let head, let bytes):
      do throws(WebFault) {
        upgrade(transport, try handler.read(head), bytes, detector.admission)
      } catch {
        refuse(transport, error, head, detector.admission)
      }
    case .refused(let transport, let fault, let head):
      refuse(transport, fault, head, detector.admission)
    case .dropped:
      break
    }
  }

  private func refuse(_ transport: Transport, _ fault: WebFault, _ head: Head?, _ admission: Admission) {
    let response = handler.refusal(of: fault, head)
    meter.refused(with: response.status)
    LingeringClose(response.closingBytes, to: transport, admission, on: reactor, scratch)
  }

  private func tunnel(_ transport: Transport, _ bytes: [UInt8], _ origin: Origin, _ admission: Admission) {
    do throws(ConnectionLimit) { try admission.add(descriptors: 2) } catch { return refuse(origin.client, at: error) }
    guard let pair = try? Descriptor.pair() else { return refuse(origin.client, at: .descriptors) }
    let bypass = Bypass()
    let reader = RequestReader(from: origin, limits, bypass)
    http.take(pair.theirs, reading: reader, admission, bypass)
    _ = try? Tunnel(transport, SocketPairEnd(pair.ours), first: bytes, reader, bypass, admission, on: reactor, scratch)
  }

  private func upgrade(_ transport: Transport, _ head: Head, _ bytes: [UInt8], _ admission: Admission) {
    switch handler.upgrade(head) {
    case .refuse(let response):
      meter.refused(with: response.status)
      LingeringClose(response.closingBytes, to: transport, admission, on: reactor, scratch)
    case .accept(let subprotocol, let owner, let reading):
      let grant = SocketGrant(head, subprotocol, owner, reading)
      sockets.take(grant, transport, unsent: grant.bytes, first: bytes, admission)
    }
  }
}

extension ProtocolDetector.Decision {
  fileprivate var kind: WebMeter.Kind {
    switch self {
    case .link: .link
    case .http, .tunnel: .http
    case .socket: .socket
    case .refused, .dropped: .refused
    }
  }
}
