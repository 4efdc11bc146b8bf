internal import CWebSockets
internal import Glibc
internal import Media
internal import Reactor

/// WebSockets by libwebsockets. It runs on a libuv loop, since in Debian it can be run by nothing else of ours; that
/// loop's poll lies in our own, and the loop is turned when something is there for it, and before ours sleeps.
///
/// Laws:
/// - Every callback comes from within `uv_run`, on the loop.
/// - It is turned from the loop alone, never from within what it tells: `askForTurn` is the way.
/// - The library has one end of a pair of sockets for each client, never the client's own: see `WebSocket`.
final class SocketServer {
  let limits: WebLimits
  let reactor: Reactor
  let scratch: Scratch
  let meter: WebMeter
  /// For what all sockets write out of pieces.
  let block = Scratch()
  private let loop: UnsafeMutablePointer<uv_loop_t>
  private let protocols: UnsafeMutablePointer<lws_protocols>
  /// Nil once it is closed.
  private var context: OpaquePointer?
  private var polling: Registration?
  private var alarm: Timer?
  private var sweep: Timer?
  private var turnIsDue = false
  private var sockets: [ObjectIdentifier: WebSocket] = [:]

  /// Of what it reads at once from the pair, and tells at once.
  private static let readBytesMax = 16 << 10
  /// What the library tells of a message at once; it keeps that much memory for each client, however idle.
  private static let pieceBytesMax = 2 << 10
  private static let turnsMax = 8
  /// It has a table with a place for each descriptor that it could be given, and touches all of it: 16 bytes each. A client
  /// takes three.
  static let descriptorsMax = 1 << 16

  init(on reactor: Reactor, _ limits: WebLimits, _ scratch: Scratch, _ meter: WebMeter) {
    self.meter = meter
    self.reactor = reactor
    self.limits = limits
    self.scratch = scratch
    loop = .allocate(capacity: 1)
    precondition(uv_loop_init(loop) == 0, "libuv has no loop to give")
    protocols = .allocate(capacity: 2)
    let (loop, protocols, me) = (loop, protocols, Unmanaged.passUnretained(self).toOpaque())
    context = Descriptor.limited(to: Self.descriptorsMax) {
      CWebSockets_start(loop, protocols, socketTold, me, Self.readBytesMax, Self.pieceBytesMax)
    }
    guard context != nil else {
      fatalError("libwebsockets does not start: is the package libwebsockets-evlib-uv installed?")
    }
    do throws(SystemError) {
      polling = try Descriptor.lent(uv_backend_fd(loop)) { (poll) throws(SystemError) in
        try reactor.register(poll, for: .readable) { [unowned self] _ in askForTurn() }
      }
    } catch {
      fatalError("libuv cannot be watched: \(error)")
    }
    setSweep()
    askForTurn()
  }

  var count: Int { sockets.count }
  /// What waits in all of them, those of rings not counted; each keeps its own part of it.
  var queuedBytes = 0

  func isFull(for count: Int) -> Bool { queuedBytes + count > limits.socketQueuesBytesMax }

  /// Takes a client whose request was granted: `said` is what still has to go to it before all else, `bytes` what it sent
  /// behind its head.
  func take(
    _ grant: SocketGrant, _ transport: Transport, said: [UInt8], first bytes: [UInt8], _ admission: Admission
  ) throws(SystemError) {
    guard let context, let host = lws_get_vhost_by_name(context, "default") else { return }
    let pair = try Descriptor.pair()
    let number = pair.theirs.release()
    // It closes what it does not take.
    guard let library = lws_adopt_socket_vhost(host, number) else { return }
    let socket = WebSocket(grant, transport, InnerEnd(pair.ours), library, admission, in: self)
    lws_set_opaque_user_data(library, Unmanaged.passUnretained(socket).toOpaque())
    sockets[ObjectIdentifier(socket)] = socket
    askForTurn()
    socket.begin(said, bytes)
  }

  func forget(_ socket: WebSocket) { sockets[ObjectIdentifier(socket)] = nil }

  /// Ends all of them at once.
  ///
  /// What the library is stays until the process ends: its destruction closes one descriptor twice, and the second time
  /// that may be somebody else's.
  func close() {
    for socket in sockets.values { socket.cut() }
    for _ in 0..<Self.turnsMax { uv_run(loop, UV_RUN_NOWAIT) }
    context = nil
    if let alarm { reactor.cancel(alarm) }
    if let sweep { reactor.cancel(sweep) }
    if let polling { reactor.deregister(polling) }
    (alarm, sweep, polling) = (nil, nil, nil)
  }

  func askForTurn() {
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
    // By a timer also where it is now: so the others have their turn first.
    alarm = reactor.schedule(after: .milliseconds(Int64(milliseconds))) { [unowned self] in
      alarm = nil
      turn()
    }
  }

  /// Looks after those of which nothing is heard.
  private func setSweep() {
    sweep = reactor.schedule(after: limits.pingInterval / 5) { [unowned self] in
      let now = Reactor.now
      for socket in sockets.values { socket.lookAfter(at: now) }
      setSweep()
    }
  }
}

/// The library's word about one socket.
private func socketTold(
  _ library: OpaquePointer?, _ reason: lws_callback_reasons, _: UnsafeMutableRawPointer?,
  _ bytes: UnsafeMutableRawPointer?, _ count: Int
) -> CInt {
  guard let library, let context = lws_get_opaque_user_data(library) else { return 0 }
  // The server keeps each socket until the library has told its end.
  let socket = Unmanaged<WebSocket>.fromOpaque(context).takeUnretainedValue()
  let payload = UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count)
  switch reason {
  case LWS_CALLBACK_ESTABLISHED:
    socket.established()
  case LWS_CALLBACK_RECEIVE:
    let kind: MessageKind = lws_frame_is_binary(library) == 1 ? .binary : .text
    socket.received(payload, kind, isLast: lws_is_final_fragment(library) == 1)
  case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
    socket.clientCloses(payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : 1005)
  case LWS_CALLBACK_WSI_DESTROY:
    lws_set_opaque_user_data(library, nil)
    socket.libraryHasLeft()
  default:
    break
  }
  return 0
}
