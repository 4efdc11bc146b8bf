internal import CWebSockets
internal import Glibc
internal import Reactor

/// One WebSocket. Its own frames and those of rings go out in the order of sending.
///
/// The opening handshake and pongs are done here. libwebsockets removes masking, checks UTF-8 and closes, at one end of
/// a socket pair: a client's input first passes a guard, since the library accepts frames that RFC 6455 forbids and
/// does not report what it has read; its output is queued with the socket's own frames. Those go straight to the
/// client's socket, or under its TLS: many with one call, and never split by another frame.
///
/// It belongs to the server's thread; after it is closed, calls of it have no effect.
package final class WebSocket {
  package let head: Head
  package let subprotocol: String?

  private enum State {
    /// The library has not answered the request yet.
    case opening
    case open
    /// One side has sent a close frame: input is not delivered any more.
    case closing
    /// The library is done; the queue is still sent.
    case draining
    case closed
  }

  /// The server, which retains this until it is cut.
  private let server: SocketServer
  private let transport: Transport
  private let admission: Admission
  private var inner: SocketPairEnd
  private var library: OpaquePointer?
  private var owner: (any SocketOwner)?
  private let reading: SocketReading
  private var state = State.opening
  private var clientWatch: Registration?
  private var libraryWatch: Registration?

  private var frameGuard: FrameGuard
  /// The beginning of a header whose rest has not come.
  private var held: [UInt8] = []
  private var message: [UInt8] = []
  /// Answers to the latest pings, until the client takes them.
  private var pongs: [[UInt8]] = []
  private var wantsReading = true
  private var hasClientEnded = false
  private var hasFailed = false

  let sendQueue: SocketSendQueue
  private var libraryOutput = LibraryOutputReader()
  private var needsWritableCall = false

  /// The part of the server's queued bytes that is counted for this socket.
  private var counted = 0

  private var hasSentClose = false
  private var closeCode: UInt16?
  private var pingedAt: UInt64
  private var pingsUnanswered = 0
  private var closeDeadline: Timer?

  init(
    _ grant: SocketGrant, _ transport: Transport, _ inner: consuming SocketPairEnd, _ library: OpaquePointer,
    _ admission: Admission, in server: SocketServer
  ) {
    head = grant.head
    subprotocol = grant.subprotocol
    owner = grant.owner
    reading = grant.reading
    self.transport = transport
    self.inner = inner
    self.library = library
    self.admission = admission
    self.server = server
    sendQueue = SocketSendQueue(server.meter, server.block)
    queuedBytesMax = server.limits.socketQueueBytesMax
    pingedAt = Reactor.now
    frameGuard =
      switch reading {
      case .messages(let bytesMax): FrameGuard(messageBytesMax: bytesMax)
      case .pieces: FrameGuard(messageBytesMax: .max)
      }
  }

  // MARK: For its owner

  /// The number of writes to its client; in the clear, each is a system call.
  package var writeCount: Int { transport.writeCount }

  /// Limit for queued bytes; past it, `send` takes nothing. Bytes with a memory reservation do not count.
  package var queuedBytesMax: Int

  /// The queue size below which `writable` is called, all bytes counted; nil for half of `queuedBytesMax`.
  package var resumeBytes: Int?

  /// Takes the whole message or, where the queue is full, nothing: then `writable` is called once there is room.
  @discardableResult
  package func send(_ bytes: UnsafeRawBufferPointer, _ kind: MessageKind = .binary) -> Bool {
    guard state == .open else { return true }
    let waiting = sendQueue.countedBytes + bytes.count
    if waiting > queuedBytesMax || waiting > server.limits.socketShareBytesMax && server.isFull(for: bytes.count) {
      needsWritableCall = true
      return false
    }
    enqueue(Opcode(kind), bytes)
    return true
  }

  /// Takes all of the messages, however long: memory is reserved for them, and nothing is copied.
  package func send(reserved messages: [Pieces], _ kind: MessageKind = .text) {
    guard state == .open else { return }
    var frames = Pieces()
    for message in messages { frames.append(Opcode(kind).frame(message)) }
    if frames.isEmpty { return }
    sendQueue.append(frames)
    updateCount()
    flushSoon()
  }

  /// Requests a call of `writable` once the queue is short, as after a send that was refused.
  package func requestWritable() { needsWritableCall = true }

  /// Sends the queue, then a close frame: within this time, or the usual one. Nothing more is received.
  package func close(_ code: UInt16 = 1000, _ reason: String = "", within time: Duration? = nil) {
    guard state == .open || state == .opening else { return }
    beginClosing(with: code)
    let payload = [UInt8(code >> 8), UInt8(code & 0xff)] + Array(reason.utf8.prefix(Self.reasonBytesMax))
    payload.withUnsafeBytes { enqueue(.close, $0) }
    hasSentClose = true
    setCloseDeadline(time)
  }

  /// A close frame's limit for the reason (RFC 6455 §5.5).
  private static let reasonBytesMax = 123

  /// Backpressure on the client: false holds it back. The library still delivers what it reads at once, up to 16 KiB.
  package var isReading: Bool {
    get { wantsReading }
    set {
      wantsReading = newValue
      pingsUnanswered = 0
      if let library { lws_rx_flow_control(library, newValue ? 1 : 0) }
      server.scheduleTurn()
      watch()
      // Under TLS, bytes that were read before may wait there.
      if newValue, transport.isSecure { server.reactor.soon { [weak self] in self?.relayToLibrary() } }
    }
  }

  /// Begins to close; nothing is sent behind a close frame (RFC 6455 §5.5.1).
  private func beginClosing(with code: UInt16) {
    if closeCode == nil { closeCode = code }
    guard state == .open || state == .opening else { return }
    state = .closing
    sendQueue.endRings()
    flushSoon()
  }

  // MARK: Rings

  /// Subscribes to a ring; false where the socket is about to close.
  func subscribe(to fanout: Fanout) -> Bool {
    guard state == .open || state == .opening else { return false }
    sendQueue.add(fanout)
    return true
  }

  func unsubscribe(from fanout: Fanout) {
    sendQueue.end(fanout)
    flushSoon()
  }

  /// A ring has new messages, or has dropped the next frame for this socket.
  func flush(after fanout: Fanout) {
    if state == .closed { return }
    if sendQueue.isBehind(fanout) {
      server.meter.lags += 1
      sendQueue.remove(fanout)
      // The rest of a frame in progress moves to the client's own memory, which may be full.
      let rest = sendQueue.unshareRest()
      if rest > 0, server.isFull(for: rest) {
        fanout.forget(self)
        return fail()
      }
      updateCount()
      fanout.forget(self)
      owner?.lagging(self, in: fanout)
    }
    if !sendQueue.isBlocked { flush() }
  }

  var reactor: Reactor { server.reactor }

  // MARK: From the library

  func established() {
    guard state == .opening else { return }
    state = .open
    owner?.opened(self)
  }

  func received(_ bytes: UnsafeRawBufferPointer, _ kind: MessageKind, isLast: Bool) {
    guard state == .open else { return }
    if isLast { server.meter.socketMessagesIn += 1 }
    switch reading {
    case .pieces:
      owner?.received(bytes, kind, isLast: isLast, from: self)
    case .messages:
      if message.isEmpty, isLast {
        owner?.received(bytes, kind, isLast: true, from: self)
        return
      }
      message += bytes
      guard isLast else { return }
      let whole = message
      message = []
      whole.withUnsafeBytes { owner?.received($0, kind, isLast: true, from: self) }
    }
  }

  func handleCloseFrame(_ code: UInt16) {
    beginClosing(with: code)
  }

  func handleLibraryClose() {
    library = nil
  }

  // MARK: From the client to the library

  /// Gives the library the granted request, in a form that it accepts: it fails on some header names and on long ones.
  /// The client's input behind the head follows once the library has answered, since the library loses part of input
  /// that exceeds one read. `unsent` goes to the client before all else.
  func begin(_ unsent: [UInt8], _ bytes: [UInt8]) {
    sendQueue.begin(with: unsent)
    do throws(SystemError) {
      clientWatch = try server.reactor.register(transport.socket, for: .readable) { [unowned self] in handleClient($0) }
      libraryWatch = try server.reactor.register(inner.socket, for: .readable) { [unowned self] in handleLibrary($0) }
      // Bytes in the kernel's buffer do not show whether the client reads: so that buffer is kept small.
      if case .pieces = reading { try transport.socket.limitUnsent(to: Self.unsentBytesMax) }
    } catch {
      return cut()
    }
    let isGiven = head.canonicalUpgrade.withUnsafeBytes { inner.write($0) }
    guard isGiven, inner.hasRoom else { return cut() }
    held = bytes
    flushSoon()
    watch()
  }

  private static let unsentBytesMax = 128 << 10

  private func handleClient(_ readiness: Readiness) {
    if readiness.contains(.writable) {
      // The client reads; its pong comes once it has read all bytes before the ping.
      if sendQueue.isBlocked { pingsUnanswered = 0 }
      sendQueue.isBlocked = false
      sendPongs()
      // The last bytes that TLS has made must not wait for other output.
      if case .failed = transport.flush() { return fail() }
    }
    if canRead {
      relayToLibrary()
    } else if readiness.contains(.failed) {
      // A failure is reported again and again until it is read, which may not be soon.
      return fail()
    }
    flush()
  }

  private func handleLibrary(_ readiness: Readiness) {
    if !inner.hasRoom, !inner.flush() { return drain() }
    relayToClient()
    // Under TLS, bytes that were read before may wait there.
    if transport.isSecure, canRead { relayToLibrary() }
    watch()
  }

  private var canRead: Bool {
    wantsReading && libraryOutput.hasHead && inner.hasRoom && !hasClientEnded && state != .draining && state != .closed
  }

  private func relayToLibrary() {
    for _ in 0..<Self.readsPerTurnMax where canRead {
      let room = UnsafeMutableRawBufferPointer(rebasing: server.scratch.room[held.count...])
      switch transport.read(room) {
      case .moved(let count):
        pingsUnanswered = 0
        server.meter.socketBytesIn += count
        sendQueue.traffic?.bytesReceived += count
        if !held.isEmpty { server.scratch.room.copyBytes(from: held) }
        pass(UnsafeRawBufferPointer(rebasing: server.scratch.room[..<(held.count + count)]))
      case .blocked: return
      case .ended: return handleClientEnd()
      case .failed: return fail()
      }
    }
    if canRead, transport.isSecure { server.reactor.schedule(after: .zero) { [weak self] in self?.relayToLibrary() } }
  }

  private static let readsPerTurnMax = 4

  private func pass(_ bytes: [UInt8]) { bytes.withUnsafeBytes { pass($0) } }

  private func pass(_ bytes: UnsafeRawBufferPointer) {
    let (count, violation) = frameGuard.admit(bytes)
    pongs = (pongs + frameGuard.takePings()).suffix(FrameGuard.pingsMax)
    sendPongs()
    guard inner.write(UnsafeRawBufferPointer(rebasing: bytes[..<count])) else { return drain() }
    if let violation {
      held = []
      hasClientEnded = true
      _ = FrameGuard.closeFrame(for: violation).withUnsafeBytes { inner.write($0) }
    } else if frameGuard.hasSeenClose {
      held = []
    } else {
      held = Array(bytes[count...])
    }
    server.scheduleTurn()
    watch()
  }

  private func handleClientEnd() {
    hasClientEnded = true
    // The connection may only end after a close frame; if one was sent from here, it then needs no answer.
    if frameGuard.hasSeenClose { inner.end() } else if hasSentClose { drain() } else { fail() }
  }

  // MARK: Output to the client

  private func relayToClient() {
    while state != .closed, state != .draining {
      do throws(SystemError) {
        guard let count = try inner.socket.receive(server.scratch.room) else { return }
        if count == 0 { return drain() }
        let (head, frames) = libraryOutput.take(UnsafeRawBufferPointer(rebasing: server.scratch.room[..<count]))
        if let head {
          // The client has its response already.
          guard head.starts(with: "HTTP/1.1 101 ".utf8) else { return cut() }
          let bytes = held
          held = []
          if !bytes.isEmpty { pass(bytes) }
        }
        // The library's frames behind this side's close frame, such as its answer to the client's, are too late.
        for frame in frames where !hasSentClose && frame[0] != 0x80 | Self.pong {
          if frame[0] == 0x88 {
            beginClosing(with: frame.count >= 4 ? UInt16(frame[2]) << 8 | UInt16(frame[3]) : 1005)
            hasSentClose = true
          }
          sendQueue.append(frame)
        }
        flushSoon()
      } catch {
        return drain()
      }
    }
  }

  private func enqueue(_ opcode: Opcode, _ payload: UnsafeRawBufferPointer) {
    sendQueue.append(opcode, payload)
    updateCount()
    flushSoon()
  }

  private func sendPongs() {
    if pongs.isEmpty || sendQueue.isBlocked { return }
    for payload in pongs where !hasSentClose {
      sendQueue.append([0x80 | Self.pong, UInt8(payload.count)] + payload)
    }
    pongs = []
    updateCount()
    flushSoon()
  }

  private static let pong: UInt8 = 0xa

  private func updateCount() {
    server.queuedBytes += sendQueue.countedBytes - counted
    counted = sendQueue.countedBytes
  }

  private func flushSoon() {
    guard !sendQueue.isDue, !sendQueue.isBlocked else { return }
    sendQueue.isDue = true
    server.reactor.soon { [weak self] in
      guard let self else { return }
      sendQueue.isDue = false
      if !sendQueue.isBlocked { flush() }
    }
  }

  private func flush() {
    if state == .closed || hasFailed { return }
    guard sendQueue.flush(to: transport, for: self) else { return fail() }
    updateCount()
    if needsWritableCall, sendQueue.ownBytes < resumeBytes ?? queuedBytesMax / 2, state == .open {
      needsWritableCall = false
      owner?.writable(self)
    }
    if state == .draining, sendQueue.isEmpty, transport.isFlushed { return lingerAndClose() }
    watch()
  }

  private func watch() {
    if state == .closed { return }
    if let clientWatch {
      var interest: Readiness = canRead ? .readable : []
      if sendQueue.isBlocked || !transport.isFlushed { interest.insert(.writable) }
      server.reactor.update(clientWatch, to: interest)
    }
    if let libraryWatch {
      server.reactor.update(libraryWatch, to: inner.hasRoom ? .readable : [.readable, .writable])
    }
  }

  // MARK: The end

  /// The library is done: the queue is still sent, for a while.
  private func drain() {
    guard state != .draining, state != .closed else { return }
    state = .draining
    sendQueue.endRings()
    if let libraryWatch { server.reactor.deregister(libraryWatch) }
    libraryWatch = nil
    reportClosed()
    setCloseDeadline()
    flushSoon()
    watch()
  }

  private func setCloseDeadline(_ time: Duration? = nil) {
    if closeDeadline != nil { return }
    closeDeadline = server.reactor.schedule(after: time ?? server.limits.closingTime) { [unowned self] in
      closeDeadline = nil
      let isSent = sendQueue.isEmpty && transport.isFlushed
      if time != nil || isSent { cut() } else { setCloseDeadline(server.limits.leavingTime) }
    }
  }

  /// The whole queue is sent.
  private func lingerAndClose() {
    let (transport, admission, server) = (transport, admission, server)
    transport.endSending()
    cut()
    LingeringClose([], to: transport, admission, on: server.reactor, server.scratch)
  }

  private func fail() {
    // The cut is deferred, out of the current call, since it calls the owner.
    server.reactor.soon { [weak self] in self?.cut() }
    hasClientEnded = true
    hasFailed = true
    if let clientWatch { server.reactor.deregister(clientWatch) }
    clientWatch = nil
  }

  /// Cuts the connection without a close frame.
  func cut() {
    if state == .closed { return }
    state = .closed
    if let clientWatch { server.reactor.deregister(clientWatch) }
    if let libraryWatch { server.reactor.deregister(libraryWatch) }
    if let closeDeadline { server.reactor.cancel(closeDeadline) }
    (clientWatch, libraryWatch, closeDeadline) = (nil, nil, nil)
    sendQueue.endRings()
    sendQueue.forgetAll(self)
    server.queuedBytes -= counted
    counted = 0
    reportClosed()
    // The library sees its end of the pair closed and releases it; until then it may call back.
    if let library { lws_set_opaque_user_data(library, nil) }
    library = nil
    inner.socket.cut()
    server.scheduleTurn()
    server.forget(self)
  }

  private func reportClosed() {
    guard let owner = owner.take() else { return }
    sendQueue.forgetAll(self)
    let code = closeCode ?? 1006
    server.reactor.soon { [self] in owner.closed(self, code) }
  }

  // MARK: Liveness

  /// Sends a ping when it is due, and cuts a socket that has left two unanswered.
  func checkLiveness(at now: UInt64) {
    guard state == .open, now >= pingedAt + UInt64(server.limits.pingInterval.nanoseconds) else { return }
    pingedAt = now
    // A socket that is not being read cannot answer, but must take its output.
    let isRead = wantsReading && inner.hasRoom
    guard isRead || sendQueue.isBlocked else { return }
    if pingsUnanswered == 2 { return cut() }
    pingsUnanswered += 1
    guard isRead else { return }
    enqueue(.ping, UnsafeRawBufferPointer(start: nil, count: 0))
  }
}
