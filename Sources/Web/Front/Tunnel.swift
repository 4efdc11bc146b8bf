internal import Glibc
internal import Reactor

/// A relay between a client and the library that serves HTTP, where the library cannot have the client's own socket:
/// under TLS, and where the content of a request is to go past it.
///
/// Invariants:
/// - It retains itself until one side has ended and the other has got all bytes.
/// - It holds no memory while nothing waits. At most one batch waits for the client; for the library, the bytes of one
///   read wait, and those that the reader keeps. While bytes wait, their sender is not read: that is backpressure.
final class Tunnel {
  /// A connection that continues without the library.
  struct Handover {
    let transport: Transport
    /// The library's output that the client has not taken.
    let unsent: [UInt8]
  }

  /// Limit for the rounds of one tunnel before others have their turn.
  private static let roundsMax = 12

  private let transport: Transport
  private var inner: SocketPairEnd
  private let reader: RequestReader
  private let bypass: Bypass
  private let admission: Admission
  private let reactor: Reactor
  private let scratch: ScratchBuffer
  private var clientWatch: Registration?
  private var libraryWatch: Registration?
  /// Output that the client has not taken, where no TLS keeps it.
  private var unsent: [UInt8] = []
  private var hasClientEnded = false
  private var turnIsDue = false
  private var isOver = false

  /// Begins with the bytes that were read from the client before. The library's side must have its own socket by now.
  init(
    _ transport: Transport, _ inner: consuming SocketPairEnd, first bytes: [UInt8], _ reader: RequestReader,
    _ bypass: Bypass, _ admission: Admission, on reactor: Reactor, _ scratch: ScratchBuffer
  ) throws(SystemError) {
    self.transport = transport
    self.inner = inner
    self.bypass = bypass
    self.admission = admission
    self.reader = reader
    self.reactor = reactor
    self.scratch = scratch
    clientWatch = try reactor.register(transport.socket, for: []) { [self] in handleClient($0) }
    do throws(SystemError) {
      libraryWatch = try reactor.register(self.inner.socket, for: []) { [self] in handleLibrary($0) }
    } catch {
      finish()
      throw error
    }
    bypass.changed = { [weak self] in self?.scheduleTurn() }
    bypass.takeOver = { [weak self] in self?.handOver() }
    bytes.withUnsafeBytes { reader.read($0) }
    if writeToLibrary() { turn() } else { finish() }
  }

  private func handleClient(_ readiness: Readiness) {
    // A failure is reported again and again until it is read, which may not be soon.
    if readiness.contains(.failed), !canRead { return finish() }
    turn()
  }

  private func handleLibrary(_ readiness: Readiness) {
    if readiness.contains(.failed), !isFlushed, let libraryWatch {
      reactor.deregister(libraryWatch)
      self.libraryWatch = nil
    }
    turn()
  }

  private var isFlushed: Bool { transport.isFlushed && unsent.isEmpty }

  private var canRead: Bool {
    inner.hasRoom && !hasClientEnded && (reader.isReading || reader.bypassBytesLeft != nil && bypass.isFree)
  }

  private func turn() {
    if isOver { return }
    for _ in 0..<Self.roundsMax {
      let hasMovedIn = relayToLibrary()
      let hasMovedOut = isOver ? false : relayToClient()
      if isOver { return }
      if !hasMovedIn, !hasMovedOut { return watch() }
    }
    watch()
    // Bytes that TLS has already taken from the socket cause no event.
    scheduleTurn()
  }

  private func scheduleTurn() {
    if turnIsDue || isOver { return }
    turnIsDue = true
    reactor.schedule(after: .zero) { [self] in
      turnIsDue = false
      turn()
    }
  }

  /// Moves bytes from the client to the library; returns whether any moved.
  private func relayToLibrary() -> Bool {
    if !inner.hasRoom {
      guard inner.flush() else { return closeInput() }
      if !inner.hasRoom { return false }
    }
    if hasClientEnded { return false }
    if let left = reader.bypassBytesLeft { return relayPastLibrary(left) }
    if reader.isHeldBack {
      reader.resume()
      if !writeToLibrary() { return closeInput() }
      if !inner.hasRoom || reader.bypassBytesLeft != nil { return true }
    }
    if !reader.isReading { return false }
    let step = transport.read(scratch.room)
    if case .moved(let count) = step {
      reader.read(UnsafeRawBufferPointer(rebasing: scratch.room[..<count]))
      return writeToLibrary() || closeInput()
    }
    handleStop(at: step)
    return false
  }

  /// Gives the library the bytes that were read for it; false where it has closed its end.
  private func writeToLibrary() -> Bool { reader.writeOutput { inner.write($0) } }

  /// Moves bytes from the client past the library; returns whether any moved.
  private func relayPastLibrary(_ left: Int) -> Bool {
    guard bypass.isFree else { return false }
    if left == 0 {
      reader.endBypass()
      return writeToLibrary() || closeInput()
    }
    var total = 0
    var step = Transport.Step.moved(0)
    bypass.fill(UnsafeMutableRawBufferPointer(rebasing: scratch.room.prefix(left))) { room in
      // TLS gives one record at a time, and the exchange is faster with many.
      repeat {
        step = transport.read(UnsafeMutableRawBufferPointer(rebasing: room[total...]))
        guard case .moved(let count) = step else { break }
        total += count
      } while total < room.count
      reader.countBypassed(total)
      return total
    }
    handleStop(at: step)
    return total > 0
  }

  private func handleStop(at step: Transport.Step) {
    switch step {
    case .moved, .blocked: break
    case .ended:
      hasClientEnded = true
      inner.end()
    case .failed: finish()
    }
  }

  /// The library reads no more; its output is still sent.
  private func closeInput() -> Bool {
    hasClientEnded = true
    return false
  }

  /// Moves bytes from the library to the client; returns whether any moved.
  private func relayToClient() -> Bool {
    if case .failed = transport.flush() {
      finish()
      return false
    }
    if !transport.isFlushed { return false }
    if !unsent.isEmpty {
      let bytes = unsent
      return bytes.withUnsafeBytes { send($0) }
    }
    do throws(SystemError) {
      guard let count = try inner.socket.receive(scratch.room) else { return false }
      if count > 0 { return send(UnsafeRawBufferPointer(rebasing: scratch.room[..<count])) }
      endSending()
    } catch {
      // The library has closed its end before it had read all: a local socket is reset then, behind the last bytes.
      if error.code == ECONNRESET { endSending() } else { finish() }
    }
    return false
  }

  /// Closes the connection behind the library's last bytes.
  private func endSending() {
    transport.endSending()
    let lingers = reader.isWithinRequest
    finish()
    if lingers { LingeringClose([], to: transport, admission, on: reactor, scratch) }
  }

  /// Writes to the client and keeps the bytes that it does not take at once; returns whether it took any.
  private func send(_ bytes: UnsafeRawBufferPointer) -> Bool {
    switch transport.write(bytes) {
    case .moved(let count):
      unsent = Array(bytes[count...])
      return true
    case .blocked: unsent = Array(bytes)
    case .ended, .failed: finish()
    }
    return false
  }

  private func watch() {
    if let clientWatch {
      var interest: Readiness = canRead ? .readable : []
      if !isFlushed { interest.insert(.writable) }
      reactor.update(clientWatch, to: interest)
    }
    if let libraryWatch {
      var interest: Readiness = isFlushed ? .readable : []
      if !inner.hasRoom { interest.insert(.writable) }
      reactor.update(libraryWatch, to: interest)
    }
  }

  /// Hands over the connection; the library has written all of its output.
  private func handOver() -> Handover? {
    while !isOver {
      do throws(SystemError) {
        guard let count = try inner.socket.receive(scratch.room), count > 0 else { break }
        unsent += UnsafeRawBufferPointer(rebasing: scratch.room[..<count])
      } catch {
        finish()
      }
    }
    if isOver { return nil }
    detach()
    return Handover(transport: transport, unsent: unsent)
  }

  private func finish() {
    if isOver { return }
    detach()
    transport.socket.endSending()
  }

  private func detach() {
    isOver = true
    if let clientWatch { reactor.deregister(clientWatch) }
    if let libraryWatch { reactor.deregister(libraryWatch) }
    clientWatch = nil
    libraryWatch = nil
    // The library sees its end closed at once, however long this object is retained.
    inner.socket.cut()
  }
}
