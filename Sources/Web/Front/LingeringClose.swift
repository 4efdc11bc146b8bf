internal import Reactor

/// Lingering close: sends the last bytes to a client and drains its input before it closes, so that a reset does not
/// discard the response.
///
/// It retains itself until it has closed.
final class LingeringClose {
  /// Limits for the input that it drains, of which other connections wait for so much at most, and for the time without
  /// any; a client that goes on sending has some such times.
  private static let bytesMax = 16 << 20
  private static let bytesPerTurnMax = 256 << 10
  private static let time: Duration = .seconds(5)
  private static let timesMax = 6

  private let transport: Transport
  private let reactor: Reactor
  private let scratch: ScratchBuffer
  /// The connection's admission, held for as long as it counts.
  private let admission: Admission?
  private var rest: [UInt8]
  private var registration: Registration?
  private var deadline: Timer?
  private var received = 0
  private var receivedBefore = 0
  private var times = 0

  @discardableResult
  init(
    _ bytes: [UInt8], to transport: Transport, _ admission: Admission?, on reactor: Reactor, _ scratch: ScratchBuffer
  ) {
    self.transport = transport
    self.admission = admission
    self.reactor = reactor
    self.scratch = scratch
    rest = bytes
    registration = try? reactor.register(transport.socket, for: .readable) { [self] _ in turn() }
    // A socket that cannot be watched is closed now.
    if registration == nil { return }
    wait()
    turn()
  }

  private func wait() {
    (receivedBefore, times) = (received, times + 1)
    deadline = reactor.schedule(after: Self.time) { [self] in
      deadline = nil
      if received > receivedBefore, times < Self.timesMax { wait() } else { finish() }
    }
  }

  private func turn() {
    if registration == nil { return }
    while !rest.isEmpty {
      guard case .moved(let count) = rest.withUnsafeBytes({ transport.write($0) }) else { break }
      rest.removeFirst(count)
      if rest.isEmpty { transport.endSending() }
    }
    if case .failed = transport.flush() { return finish() }
    let turnEnd = received + Self.bytesPerTurnMax
    while received < Self.bytesMax {
      if received >= turnEnd { return reactor.soon { [self] in turn() } }
      switch transport.read(scratch.room) {
      case .moved(let count): received += count
      case .blocked:
        if let registration {
          reactor.update(registration, to: rest.isEmpty && transport.isFlushed ? .readable : [.readable, .writable])
        }
        return
      case .ended, .failed: return finish()
      }
    }
    finish()
  }

  private func finish() {
    if let registration { reactor.deregister(registration) }
    if let deadline { reactor.cancel(deadline) }
    registration = nil
    deadline = nil
  }
}
