internal import Reactor

/// Sends the last words to a client and closes once it has heard them: at once, what it still sends would make the kernel
/// take them back.
///
/// It keeps itself for as long as that takes.
final class Farewell {
  /// What a client may still send, and how long it may take to hang up.
  private static let bytesMax = 256 << 10
  private static let time: Duration = .seconds(2)

  private let transport: Transport
  private let reactor: Reactor
  private let scratch: Scratch
  /// Kept for as long as the connection counts.
  private let admission: Admission?
  private var rest: [UInt8]
  private var registration: Registration?
  private var deadline: Timer?
  private var received = 0

  @discardableResult
  init(_ words: [UInt8], to transport: Transport, _ admission: Admission?, on reactor: Reactor, _ scratch: Scratch) {
    self.transport = transport
    self.admission = admission
    self.reactor = reactor
    self.scratch = scratch
    rest = words
    registration = try? reactor.register(transport.socket, for: .readable) { [self] _ in turn() }
    // One that cannot be watched is closed now.
    if registration == nil { return }
    deadline = reactor.schedule(after: Self.time) { [self] in
      deadline = nil
      finish()
    }
    turn()
  }

  private func turn() {
    if registration == nil { return }
    while !rest.isEmpty {
      guard case .moved(let count) = rest.withUnsafeBytes({ transport.write($0) }) else { break }
      rest.removeFirst(count)
      if rest.isEmpty { transport.endSending() }
    }
    if case .failed = transport.flush() { return finish() }
    while received < Self.bytesMax {
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
