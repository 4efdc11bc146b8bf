internal import Media
internal import Reactor

/// A connection whose protocol is not known yet: its first bytes are peeked at, and left for the code that serves it.
///
/// It belongs to its front, which keeps it until it has decided.
final class Arrival {
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
    case looking
    case offering
    case shakingHands(ServerStream)
    case asking(Transport)
  }

  let number: UInt64
  let origin: Origin
  let admission: Admission
  private var socket: Descriptor?
  private let reactor: Reactor
  private let limits: WebLimits
  private let scratch: Scratch
  private let identity: ServerIdentity?
  private let takesLinks: Bool
  private let decided: (Arrival, Decision) -> Void
  private var state = State.looking
  private var parser: HeadParser
  /// The bytes that were read under TLS.
  private var bytes: [UInt8] = []
  private var registration: Registration?
  private var deadline: Timer?

  init(
    _ number: UInt64, _ socket: consuming Descriptor, from client: SocketAddress, _ admission: Admission,
    on reactor: Reactor, _ limits: WebLimits, _ scratch: Scratch, _ identity: ServerIdentity?, takesLinks: Bool,
    decided: @escaping (Arrival, Decision) -> Void
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
      registration = try register { [unowned self] _ in look() }
    } catch {
      return decide(.dropped)
    }
    deadline = reactor.schedule(after: limits.headTime) { [unowned self] in
      deadline = nil
      if case .asking(let transport) = state {
        return decide(
          .refused(
            transport, WebFault(408, "The request's head did not come in time: send it at once.", rule: "headSeconds"),
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

  private func register(_ told: @escaping (Readiness) -> Void) throws(SystemError) -> Registration? {
    guard let number = socket?.number else { return nil }
    return try Descriptor.lent(number) { (socket) throws(SystemError) in
      try reactor.register(socket, for: [.readable, .once], told)
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

  private func look() {
    switch state {
    case .looking, .offering: peek()
    case .shakingHands(let stream): shakeHands(stream)
    case .asking(let transport): read(transport)
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
    if bytes[0] == ClientHello.firstByte { return offered(bytes) }
    switch parser.parse(bytes) {
    case .incomplete: break
    case .refused(let fault): refuse(fault)
    case .whole(let raw, let byteCount): asked(raw, byteCount)
    }
  }

  private func refuse(_ fault: WebFault, _ head: Head? = nil) {
    guard let socket = takeSocket() else { return }
    decide(.refused(Transport(socket), fault, head))
  }

  private func asked(_ raw: RawHead, _ byteCount: Int) {
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

  private func offered(_ bytes: UnsafeRawBufferPointer) {
    state = .offering
    switch ClientHello.parse(bytes) {
    case .incomplete: break
    case .notTLS: decide(.dropped)
    case .whole(let hello):
      if takesLinks, hello.applicationProtocols.contains(LinkContext.applicationProtocol) { return decide(.link) }
      guard let identity, let number = socket?.number else { return decide(.dropped) }
      let stream = Descriptor.lent(number) { ServerStream(identity, on: $0) }
      state = .shakingHands(stream)
      // From here on bytes are read; those that TLS holds in its buffer cause no event.
      shakeHands(stream)
    }
  }

  private func shakeHands(_ stream: ServerStream) {
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
      state = .asking(transport)
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
        if asked(transport) { return }
      case .blocked: return
      case .ended, .failed: return decide(.dropped)
      }
    }
  }

  /// Parses the head; returns whether that decided the connection.
  private func asked(_ transport: Transport) -> Bool {
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
