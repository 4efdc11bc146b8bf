internal import Media
internal import Reactor

/// The detector of a connection's protocol: it peeks at the first bytes, and leaves them for the code that serves it.
///
/// It belongs to its front, which keeps it until it has decided.
final class ProtocolDetector {
  enum Decision {
    /// A link of another host; no byte of it has been read.
    case link
    /// HTTP in the clear; no byte of it has been read.
    case http
    /// HTTP under TLS, or with a long content; these are all bytes that were read.
    case tunnel(Transport, [UInt8])
    /// A WebSocket; these bytes were read behind its head.
    case socket(Transport, Head, [UInt8])
    case refused(Transport, WebFault, Head?)
    /// It has closed, or speaks an unknown protocol.
    case dropped
  }

  private enum State {
    /// The first byte shows whether it is TLS.
    case peeking
    case clientHello
    case handshaking(ServerStream)
    case readingHead(Transport)
  }

  let number: UInt64
  let origin: Origin
  let admission: Admission
  private var socket: Descriptor?
  private let reactor: Reactor
  private let limits: WebLimits
  private let scratch: ScratchBuffer
  private let identity: ServerIdentity?
  private let takesLinks: Bool
  private let decided: (ProtocolDetector, Decision) -> Void
  private var state = State.peeking
  private var parser: HeadParser
  /// The bytes that were read under TLS.
  private var bytes: [UInt8] = []
  private var registration: Registration?
  private var deadline: Timer?

  init(
    _ number: UInt64, _ socket: consuming Descriptor, from client: SocketAddress, _ admission: Admission,
    on reactor: Reactor, _ limits: WebLimits, _ scratch: ScratchBuffer, _ identity: ServerIdentity?, takesLinks: Bool,
    decided: @escaping (ProtocolDetector, Decision) -> Void
  ) {
    self.number = number
    self.socket = consume socket
    origin = Origin(client: client, isSecure: false)
    self.admission = admission
    self.reactor = reactor
    self.limits = limits
    self.scratch = scratch
    self.identity = identity
    self.takesLinks = takesLinks
    self.decided = decided
    parser = HeadParser(limits)
  }

  deinit {
    if let registration { reactor.deregister(registration) }
    if let deadline { reactor.cancel(deadline) }
  }

  func begin() {
    do throws(SystemError) {
      // Peeked bytes stay in the socket: an event comes once each time that more has arrived.
      registration = try register { [unowned self] _ in handleReadiness() }
    } catch {
      return decide(.dropped)
    }
    deadline = reactor.schedule(after: limits.headTime) { [unowned self] in
      deadline = nil
      if case .readingHead(let transport) = state {
        return decide(
          .refused(
            transport, WebFault(408, "The request's header section timed out: send it at once.", rule: "headSeconds"),
            nil))
      }
      decide(.dropped)
    }
  }

  /// The socket with all of its bytes unread.
  func takeSocket() -> Descriptor? {
    stopWatching()
    return socket.take()
  }

  private func register(_ handler: @escaping (Readiness) -> Void) throws(SystemError) -> Registration? {
    guard let number = socket?.number else { return nil }
    return try Descriptor.lent(number) { (socket) throws(SystemError) in
      try reactor.register(socket, for: [.readable, .once], handler)
    }
  }

  private func stopWatching() {
    if let registration { reactor.deregister(registration) }
    if let deadline { reactor.cancel(deadline) }
    registration = nil
    deadline = nil
  }

  private func decide(_ decision: Decision) {
    stopWatching()
    decided(self, decision)
  }

  private func handleReadiness() {
    switch state {
    case .peeking, .clientHello: peek()
    case .handshaking(let stream): continueHandshake(stream)
    case .readingHead(let transport): read(transport)
    }
  }

  // MARK: In the clear

  private func peek() {
    let room = UnsafeMutableRawBufferPointer(rebasing: scratch.room[..<max(limits.headBytesMax, ClientHello.bytesMax)])
    var count: Int?
    do throws(SystemError) {
      count = try socket?.peek(room)
    } catch {
      return decide(.dropped)
    }
    guard let count else { return }
    if count == 0 { return decide(.dropped) }
    let bytes = UnsafeRawBufferPointer(rebasing: room[..<count])
    if bytes[0] == ClientHello.firstByte { return readClientHello(bytes) }
    switch parser.parse(bytes) {
    case .incomplete: break
    case .refused(let fault): refuse(fault)
    case .whole(let raw, let byteCount): handleHead(raw, byteCount)
    }
  }

  private func refuse(_ fault: WebFault, _ head: Head? = nil) {
    guard let socket = takeSocket() else { return }
    decide(.refused(Transport(socket), fault, head))
  }

  private func handleHead(_ raw: RawHead, _ byteCount: Int) {
    do throws(WebFault) {
      let head = try Head(raw, from: origin)
      if !head.wantsWebSocket, head.contentLength ?? 0 <= Bypass.bytesMin { return decide(.http) }
      if head.wantsWebSocket, let fault = head.upgradeFault { return refuse(fault, head) }
      guard let socket = takeSocket() else { return }
      // Now the head is read, since the libraries get it in another form.
      let room = UnsafeMutableRawBufferPointer(rebasing: scratch.room[..<byteCount])
      guard (try? socket.receive(room)) == byteCount else { return decide(.dropped) }
      let transport = Transport(socket)
      decide(head.wantsWebSocket ? .socket(transport, head, []) : .tunnel(transport, Array(room)))
    } catch {
      refuse(error)
    }
  }

  // MARK: TLS

  private func readClientHello(_ bytes: UnsafeRawBufferPointer) {
    state = .clientHello
    switch ClientHello.parse(bytes) {
    case .incomplete: break
    case .notTLS: decide(.dropped)
    case .whole(let hello):
      if takesLinks, hello.applicationProtocols.contains(LinkContext.applicationProtocol) { return decide(.link) }
      guard let identity, let number = socket?.number else { return decide(.dropped) }
      let stream = Descriptor.lent(number) { ServerStream(identity, on: $0) }
      state = .handshaking(stream)
      // From here on bytes are read; those that TLS holds in its buffer cause no event.
      continueHandshake(stream)
    }
  }

  private func continueHandshake(_ stream: ServerStream) {
    guard let number = socket?.number else { return }
    let step = stream.shakeHands()
    let flushed = Descriptor.lent(number) { stream.flush(to: $0) }
    if case .needsWritable = flushed, let registration {
      reactor.update(registration, to: [.readable, .writable, .once])
    }
    if case .failed = flushed { return decide(.dropped) }
    switch step {
    case .moved:
      guard let socket = socket.take() else { return }
      let transport = Transport(socket, stream)
      state = .readingHead(transport)
      read(transport)
    case .needsReadable, .needsWritable: break
    case .ended, .failed: decide(.dropped)
    }
  }

  private func read(_ transport: Transport) {
    while true {
      let room = UnsafeMutableRawBufferPointer(rebasing: scratch.room[..<limits.headBytesMax])
      switch transport.read(room) {
      case .moved(let count):
        bytes += room[..<count]
        if parseHead(from: transport) { return }
      case .blocked: return
      case .ended, .failed: return decide(.dropped)
      }
    }
  }

  /// Parses the head; returns whether that decided the connection.
  private func parseHead(from transport: Transport) -> Bool {
    switch bytes.withUnsafeBytes({ parser.parse($0) }) {
    case .incomplete: return false
    case .refused(let fault): decide(.refused(transport, fault, nil))
    case .whole(let raw, let byteCount):
      do throws(WebFault) {
        let head = try Head(raw, from: Origin(client: origin.client, isSecure: true))
        if !head.wantsWebSocket {
          decide(.tunnel(transport, bytes))
        } else if let fault = head.upgradeFault {
          decide(.refused(transport, fault, head))
        } else {
          decide(.socket(transport, head, Array(bytes[byteCount...])))
        }
      } catch {
        decide(.refused(transport, error, nil))
      }
    }
    return true
  }
}
