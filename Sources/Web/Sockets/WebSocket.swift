internal import Glibc
internal import Reactor

/// One WebSocket over its client's own socket, or under its TLS. Its own frames and those of rings go out in the order
/// of sending, many with one call.
///
/// It belongs to the server's thread; after it is closed, calls of it have no effect.
package final class WebSocket {
  package let head: Head
  package let subprotocol: String?

  private enum State {
    /// Its owner does not know of it yet.
    case opening
    case open
    /// This side has begun to close: input is not delivered any more.
    case closing
    /// Both sides are done; the queue is still sent.
    case draining
    case closed
  }

  /// The server, which retains this until it is cut.
  private let server: SocketServer
  private let transport: Transport
  private let admission: Admission
  private var owner: (any SocketOwner)?
  private let reading: SocketReading
  private var state = State.opening
  private var polling: Registration?

  private var frames: FrameReader
  /// Input that is not used yet: the beginning of a frame, or all that came while the socket is not read.
  private var held: [UInt8] = []
  private var message: [UInt8] = []
  /// Answers to the latest pings, until the client takes them.
  private var pongs: [[UInt8]] = []
  private var wantsReading = true
  private var hasClientEnded = false
  private var hasFailed = false

  let sendQueue: SocketSendQueue
  private var needsWritableCall = false

  /// The part of the server's queued bytes that is counted for this socket.
  private var counted = 0

  private var hasSentClose = false
  private var closeCode: UInt16?
  private var pingedAt: UInt64
  private var pingsUnanswered = 0
  private var closeDeadline: Timer?

  init(_ grant: SocketGrant, _ transport: Transport, _ admission: Admission, in server: SocketServer) {
    head = grant.head
    subprotocol = grant.subprotocol
    owner = grant.owner
    reading = grant.reading
    self.transport = transport
    self.admission = admission
    self.server = server
    sendQueue = SocketSendQueue(server.meter, server.block)
    queuedBytesMax = server.limits.socketQueueBytesMax
    pingedAt = Reactor.now
    frames =
      switch reading {
      case .messages(let bytesMax): FrameReader(messageBytesMax: bytesMax)
      case .pieces: FrameReader(messageBytesMax: .max)
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
    enqueueClose(code, reason)
    setCloseDeadline(time)
  }

  /// A close frame's limit for the reason (RFC 6455 §5.5).
  private static let reasonBytesMax = 123

  /// Backpressure on the client: false holds it back. Nothing is received until it is true again.
  package var isReading: Bool {
    get { wantsReading }
    set {
      if wantsReading == newValue { return }
      wantsReading = newValue
      pingsUnanswered = 0
      watch()
      // Bytes that were read before wait here, and under TLS there as well.
      if newValue, transport.isSecure || !held.isEmpty { receiveSoon() }
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
  func subscribe(to fanout: Fanout, _ numbering: Fanout.Numbering?) -> Bool {
    guard state == .open || state == .opening else { return false }
    sendQueue.add(fanout, numbering)
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

  // MARK: Input

  /// Begins with `unsent`, which goes to the client before all else, and with the client's input behind its request.
  func begin(_ unsent: [UInt8], _ bytes: [UInt8]) {
    sendQueue.begin(with: unsent)
    held = bytes
    do throws(SystemError) {
      polling = try server.reactor.register(transport.socket, for: []) { [unowned self] in handle($0) }
      // Bytes in the kernel's buffer do not show whether the client reads: so that buffer is kept small.
      if case .pieces = reading { try transport.socket.limitUnsent(to: Self.unsentBytesMax) }
    } catch {
      return cut()
    }
    flushSoon()
    // The owner is not called from within its own decision to accept.
    server.reactor.soon { [weak self] in self?.open() }
  }

  private func open() {
    guard state == .opening else { return }
    state = .open
    owner?.opened(self)
    receive()
    watch()
  }

  private static let unsentBytesMax = 128 << 10

  private func handle(_ readiness: Readiness) {
    if readiness.contains(.writable) {
      // The client reads; its pong comes once it has read all bytes before the ping.
      if sendQueue.isBlocked { pingsUnanswered = 0 }
      sendQueue.isBlocked = false
      sendPongs()
      // The last bytes that TLS has made must not wait for other output.
      if case .failed = transport.flush() { return fail() }
    }
    if canRead {
      receive()
    } else if readiness.contains(.failed) {
      // A failure is reported again and again until it is read, which may not be soon.
      return fail()
    }
    flush()
  }

  private var canRead: Bool {
    wantsReading && !hasClientEnded && (state == .open || state == .closing)
  }

  private func receiveSoon() {
    server.reactor.soon { [weak self] in
      self?.receive()
      self?.watch()
    }
  }

  /// Reads what has come, and calls the owner with it.
  private func receive() {
    let input = server.input.room
    takeHeld(in: input)
    for _ in 0..<Self.readsPerTurnMax where canRead {
      let start = held.count
      input.copyBytes(from: held)
      switch transport.read(UnsafeMutableRawBufferPointer(rebasing: input[start..<Self.readBytesMax])) {
      case .moved(let count):
        pingsUnanswered = 0
        server.meter.socketBytesIn += count
        sendQueue.traffic?.bytesReceived += count
        take(UnsafeMutableRawBufferPointer(rebasing: input[..<(start + count)]))
        // In the clear, a short read has emptied the socket.
        if !transport.isSecure, start + count < Self.readBytesMax { return }
      case .blocked: return
      case .ended: return handleClientEnd()
      case .failed: return fail()
      }
    }
    if canRead, transport.isSecure { server.reactor.schedule(after: .zero) { [weak self] in self?.receive() } }
  }

  /// Takes what has waited; while the socket is read, that is the beginning of one frame at most.
  private func takeHeld(in input: UnsafeMutableRawBufferPointer) {
    if held.isEmpty { return }
    input.copyBytes(from: held)
    take(UnsafeMutableRawBufferPointer(rebasing: input[..<held.count]))
  }

  private static let readsPerTurnMax = 4
  /// Limit for input that waits here while the owner does not read.
  static let readBytesMax = 32 << 10

  private func take(_ bytes: UnsafeMutableRawBufferPointer) {
    var index = 0
    do throws(FrameReader.Violation) {
      while canRead, let item = try frames.next(in: bytes, from: &index) {
        switch item {
        case .piece(let range, let kind, let isLast):
          deliver(UnsafeRawBufferPointer(rebasing: bytes[range]), kind, isLast: isLast)
        case .ping(let range):
          pongs.append(Array(bytes[range]))
          if pongs.count > Self.pongsMax { pongs.removeFirst() }
        case .close(let code):
          finish(with: code)
        }
      }
      if index < bytes.count || !held.isEmpty { held = Array(bytes[index...]) }
    } catch {
      hasClientEnded = true
      finish(with: error.code, error.reason)
    }
    sendPongs()
  }

  /// Limit for pings that come together: the latest are answered (RFC 6455 §5.5.3).
  private static let pongsMax = 16

  private func deliver(_ bytes: UnsafeRawBufferPointer, _ kind: MessageKind, isLast: Bool) {
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

  /// The client has sent a close frame, or what the standard forbids: it gets one with the same code (§5.5.1).
  private func finish(with code: UInt16?, _ reason: String = "") {
    beginClosing(with: code ?? 1005)
    if !hasSentClose { enqueueClose(code, reason) }
    drain()
  }

  private func handleClientEnd() {
    hasClientEnded = true
    // The connection may only end after a close frame; if one was sent from here, it then needs no answer.
    if hasSentClose { drain() } else { fail() }
  }

  // MARK: Output to the client

  private func enqueueClose(_ code: UInt16?, _ reason: String) {
    let payload =
      code.map { [UInt8($0 >> 8), UInt8($0 & 0xff)] + Array(reason.utf8.prefix(Self.reasonBytesMax)) } ?? []
    payload.withUnsafeBytes { enqueue(.close, $0) }
    hasSentClose = true
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

  /// Writes its share, at its turn.
  func writeShare() {
    sendQueue.hasTurn = false
    if !sendQueue.isBlocked { flush(isTurn: true) }
  }

  private func waitForTurn() {
    if sendQueue.hasTurn { return }
    sendQueue.hasTurn = true
    server.writeTurns.add(self)
  }

  private func flush(isTurn: Bool = false) {
    if state == .closed || hasFailed { return }
    if !isTurn, sendQueue.isLarge {
      if !sendQueue.isBlocked { waitForTurn() }
      return watch()
    }
    guard sendQueue.flush(to: transport) else { return fail() }
    if sendQueue.isCutShort { waitForTurn() }
    updateCount()
    if needsWritableCall, sendQueue.ownBytes < resumeBytes ?? queuedBytesMax / 2, state == .open {
      needsWritableCall = false
      // The call is deferred, out of the current one: its owner may change what is being published.
      server.reactor.soon { [weak self] in
        guard let self, state == .open else { return }
        owner?.writable(self)
      }
    }
    if state == .draining, sendQueue.isEmpty, transport.isFlushed { return lingerAndClose() }
    watch()
  }

  private func watch() {
    if state == .closed { return }
    if let polling {
      var interest: Readiness = canRead ? .readable : []
      if sendQueue.isBlocked || !transport.isFlushed { interest.insert(.writable) }
      server.reactor.update(polling, to: interest)
    }
  }

  // MARK: The end

  /// Both sides are done: the queue is still sent, for a while.
  private func drain() {
    guard state != .draining, state != .closed else { return }
    state = .draining
    sendQueue.endRings()
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
    if let polling { server.reactor.deregister(polling) }
    polling = nil
  }

  /// Cuts the connection without a close frame.
  func cut() {
    if state == .closed { return }
    state = .closed
    if let polling { server.reactor.deregister(polling) }
    if let closeDeadline { server.reactor.cancel(closeDeadline) }
    (polling, closeDeadline) = (nil, nil)
    sendQueue.endRings()
    sendQueue.forgetAll(self)
    server.queuedBytes -= counted
    counted = 0
    reportClosed()
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
    guard wantsReading || sendQueue.isBlocked else { return }
    if pingsUnanswered == 2 { return cut() }
    pingsUnanswered += 1
    guard wantsReading else { return }
    enqueue(.ping, UnsafeRawBufferPointer(start: nil, count: 0))
  }
}
