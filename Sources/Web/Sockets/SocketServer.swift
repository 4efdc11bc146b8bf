internal import CWebSockets
internal import Glibc
internal import Media
internal import Reactor

/// WebSockets by libwebsockets. It runs on a libuv loop, since Debian's build runs on no other loop that fits; this
/// package's loop polls that loop's descriptor, and runs it when it has events, and before sleeping.
///
/// Laws:
/// - Every callback comes from within `uv_run`, on the loop.
/// - The library is run from the loop alone, never from within its callbacks: those use `scheduleTurn`.
/// - The library has one end of a socket pair for each client, never the client's own socket: see `WebSocket`.
final class SocketServer {
  let limits: WebLimits
  let reactor: Reactor
  let scratch: ScratchBuffer
  let meter: WebMeter
  /// A buffer for output of several pieces, shared by all sockets.
  let block = ScratchBuffer()
  private let loop: UnsafeMutablePointer<uv_loop_t>
  private let protocols: UnsafeMutablePointer<lws_protocols>
  /// Nil once it is closed.
  private var context: OpaquePointer?
  private var polling: Registration?
  private var alarm: Timer?
  private var sweep: Timer?
  private var turnIsDue = false
  private var sockets: [ObjectIdentifier: WebSocket] = [:]

  /// Limit for the bytes that the library reads at once from the pair, and delivers at once.
  private static let readBytesMax = 16 << 10
  /// Limit for one piece of a message from the library; it keeps that much memory for each client, however idle.
  private static let pieceBytesMax = 2 << 10
  private static let turnsMax = 8
  /// The library allocates a table with a place of 16 bytes for each descriptor that it could get, and touches all of
  /// it. A client takes three.
  static let descriptorsMax = 1 << 16

  init(on reactor: Reactor, _ limits: WebLimits, _ scratch: ScratchBuffer, _ meter: WebMeter) {
    self.meter = meter
    self.reactor = reactor
    self.limits = limits
    self.scratch = scratch
    loop = .allocate(capacity: 1)
    precondition(uv_loop_init(loop) == 0, "libuv has no loop to give")
    protocols = .allocate(capacity: 2)
    let (loop, protocols, me) = (loop, protocols, Unmanaged.passUnretained(self).toOpaque())
    context = Descriptor.limited(to: Self.descriptorsMax) {
      CWebSockets_start(loop, protocols, socketCallback, me, Self.readBytesMax, Self.pieceBytesMax)
    }
    guard context != nil else {
      fatalError("libwebsockets does not start: is the package libwebsockets-evlib-uv installed?")
    }
    do throws(SystemError) {
      polling = try Descriptor.lent(uv_backend_fd(loop)) { (poll) throws(SystemError) in
        try reactor.register(poll, for: .readable) { [unowned self] _ in scheduleTurn() }
      }
    } catch {
      fatalError("libuv cannot be watched: \(error)")
    }
    setSweep()
    scheduleTurn()
  }

  var count: Int { sockets.count }
  /// The bytes queued in all sockets, those of rings not counted; each socket keeps its own part of the sum.
  var queuedBytes = 0

  func isFull(for count: Int) -> Bool { queuedBytes + count > limits.socketQueuesBytesMax }

  /// Takes a client whose request was granted: `unsent` is output that goes to it before all else, `bytes` is input
  /// behind its head.
  func take(
    _ grant: SocketGrant, _ transport: Transport, unsent: [UInt8], first bytes: [UInt8], _ admission: Admission
  ) throws(SystemError) {
    guard let context, let host = lws_get_vhost_by_name(context, "default") else { return }
    let pair = try Descriptor.pair()
    let number = pair.theirs.release()
    // The library closes a socket that it does not take.
    guard let library = lws_adopt_socket_vhost(host, number) else { return }
    let socket = WebSocket(grant, transport, SocketPairEnd(pair.ours), library, admission, in: self)
    lws_set_opaque_user_data(library, Unmanaged.passUnretained(socket).toOpaque())
    sockets[ObjectIdentifier(socket)] = socket
    scheduleTurn()
    socket.begin(unsent, bytes)
  }

  func forget(_ socket: WebSocket) { sockets[ObjectIdentifier(socket)] = nil }

  /// Ends all sockets at once.
  ///
  /// The library's context stays until the process ends: its destruction closes one descriptor twice, which may be
  /// another file's the second time.
  func close() {
    for socket in sockets.values { socket.cut() }
    for _ in 0..<Self.turnsMax { uv_run(loop, UV_RUN_NOWAIT) }
    context = nil
    if let alarm { reactor.cancel(alarm) }
    if let sweep { reactor.cancel(sweep) }
    if let polling { reactor.deregister(polling) }
    (alarm, sweep, polling) = (nil, nil, nil)
  }

  func scheduleTurn() {
    if turnIsDue || context == nil { return }
    turnIsDue = true
    reactor.soon { [self] in
      turnIsDue = false
      turn()
    }
  }

  private func turn() {
    if context == nil { return }
    uv_run(loop, UV_RUN_NOWAIT)
    if let alarm { reactor.cancel(alarm) }
    alarm = nil
    let milliseconds = uv_backend_timeout(loop)
    if milliseconds < 0 { return }
    // A timer is used even for now, so that others have their turn first.
    alarm = reactor.schedule(after: .milliseconds(Int64(milliseconds))) { [unowned self] in
      alarm = nil
      turn()
    }
  }

  /// Checks all sockets for liveness.
  private func setSweep() {
    sweep = reactor.schedule(after: limits.pingInterval / 5) { [unowned self] in
      let now = Reactor.now
      for socket in sockets.values { socket.checkLiveness(at: now) }
      setSweep()
    }
  }
}

/// The library's callback for one socket.
private func socketCallback(
  _ library: OpaquePointer?, _ reason: lws_callback_reasons, _: UnsafeMutableRawPointer?,
  _ bytes: UnsafeMutableRawPointer?, _ count: Int
) -> CInt {
  guard let library, let context = lws_get_opaque_user_data(library) else { return 0 }
  // The server keeps each socket until the library has reported its end.
  let socket = Unmanaged<WebSocket>.fromOpaque(context).takeUnretainedValue()
  let payload = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
  switch reason {
  case LWS_CALLBACK_ESTABLISHED:
    socket.established()
  case LWS_CALLBACK_RECEIVE:
    let kind: MessageKind = lws_frame_is_binary(library) == 1 ? .binary : .text
    socket.received(payload, kind, isLast: lws_is_final_fragment(library) == 1)
  case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
    socket.handleCloseFrame(payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : 1005)
  case LWS_CALLBACK_WSI_DESTROY:
    lws_set_opaque_user_data(library, nil)
    socket.handleLibraryClose()
  default:
    break
  }
  return 0
}
