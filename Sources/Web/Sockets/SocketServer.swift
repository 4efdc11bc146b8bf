internal import Reactor

/// The WebSockets of a port.
final class SocketServer {
  let limits: WebLimits
  let reactor: Reactor
  let scratch: ScratchBuffer
  let meter: WebMeter
  /// A buffer for output of several pieces, shared by all sockets.
  let block = ScratchBuffer()
  /// A buffer for input: its bytes are there while an owner is called with them.
  let input = ScratchBuffer()
  let writeTurns: WriteTurns
  private var sweep: Timer?
  private var sockets: [ObjectIdentifier: WebSocket] = [:]

  init(on reactor: Reactor, _ limits: WebLimits, _ scratch: ScratchBuffer, _ meter: WebMeter) {
    self.meter = meter
    self.reactor = reactor
    self.limits = limits
    self.scratch = scratch
    writeTurns = WriteTurns(on: reactor)
    setSweep()
  }

  var count: Int { sockets.count }
  /// The bytes queued in all sockets, those of rings not counted; each socket keeps its own part of the sum.
  var queuedBytes = 0

  func isFull(for count: Int) -> Bool { queuedBytes + count > limits.socketQueuesBytesMax }

  /// Takes a client whose request was granted: `unsent` is output that goes to it before all else, `bytes` is input
  /// behind its head.
  func take(
    _ grant: SocketGrant, _ transport: Transport, unsent: [UInt8], first bytes: [UInt8], _ admission: Admission
  ) {
    let socket = WebSocket(grant, transport, admission, in: self)
    sockets[ObjectIdentifier(socket)] = socket
    socket.begin(unsent, bytes)
  }

  func forget(_ socket: WebSocket) { sockets[ObjectIdentifier(socket)] = nil }

  /// Ends all sockets at once.
  func close() {
    for socket in sockets.values { socket.cut() }
    writeTurns.close()
    if let sweep { reactor.cancel(sweep) }
    sweep = nil
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
