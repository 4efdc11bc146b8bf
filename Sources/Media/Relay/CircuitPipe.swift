internal import Engine
internal import Reactor

/// One end of a circuit as a socket of this process, at whose other end a link runs.
///
/// Invariant: while the circuit takes no bytes, the socket is not read; bytes that the socket does not take are not confirmed
/// to the circuit. So no more than one read waits in one direction, and the circuit's window in the other.
///
/// It belongs to its reactor's thread, and calls the engine: no method may be called from within an output of it.
final class CircuitPipe {
  private static let readBytesMax = 16 << 10
  /// Reads in one turn, before others have theirs.
  private static let readsMax = 8

  let id: CircuitID
  /// The owner of the link; nil once another circuit is tried for it.
  weak var owner: AnyObject?
  private let socket: Descriptor
  private let reactor: Reactor
  private weak var driver: (any EngineDriver)?
  private let closed: (CircuitPipe) -> Void
  private var registration: Registration?
  /// Bytes that were read from the socket and that the circuit has not taken.
  private var outbound: [UInt8] = []
  /// Bytes that came over the circuit and that the socket has not taken.
  private var inbound: [UInt8] = []
  /// Whether the circuit has ended on its other side or on the way.
  private var hasEnded = false

  init(
    _ id: CircuitID, _ socket: consuming Descriptor, on reactor: Reactor, driver: (any EngineDriver)?,
    closed: @escaping (CircuitPipe) -> Void
  ) throws(SystemError) {
    self.id = id
    self.socket = socket
    self.reactor = reactor
    self.driver = driver
    self.closed = closed
    registration = try reactor.register(self.socket, for: .readable) { [weak self] _ in self?.turn() }
  }

  deinit { if let registration { reactor.deregister(registration) } }

  /// Bytes came over the circuit.
  func receive(_ bytes: [UInt8]) {
    inbound += bytes
    turn()
  }

  /// The circuit has room again.
  func resume() {
    let bytes = outbound
    outbound = []
    send(bytes)
    turn()
  }

  /// The circuit has ended: closes the socket behind the bytes that came.
  func end() {
    hasEnded = true
    turn()
  }

  private func turn() {
    guard registration != nil else { return }
    guard flush() else { return close() }
    if hasEnded {
      if inbound.isEmpty { return close() }
    } else {
      guard readSocket() else { return close() }
    }
    guard let registration else { return }
    var interest: Readiness = outbound.isEmpty && !hasEnded ? .readable : []
    if !inbound.isEmpty { interest.insert(.writable) }
    reactor.update(registration, to: interest)
  }

  /// Gives the link what came. False where it is gone.
  private func flush() -> Bool {
    guard !inbound.isEmpty else { return true }
    var (count, isGone) = (0, false)
    inbound.withUnsafeBytes { bytes in
      do throws(SystemError) {
        while count < bytes.count, let sent = try socket.send(UnsafeRawBufferPointer(rebasing: bytes[count...])) {
          count += sent
        }
      } catch {
        isGone = true
      }
    }
    if isGone { return false }
    inbound.removeFirst(count)
    if count > 0, !hasEnded { driver?.call { $0.consumed(count, of: id, at: $1) } }
    return true
  }

  /// Gives the circuit what the link sends. False where the link has ended.
  private func readSocket() -> Bool {
    for _ in 0..<Self.readsMax where outbound.isEmpty {
      var bytes: [UInt8] = []
      do throws(SystemError) {
        guard let read = try read() else { return true }
        bytes = read
      } catch {
        return false
      }
      guard !bytes.isEmpty else { return false }
      send(bytes)
    }
    return true
  }

  /// Nil where nothing is there yet; nothing at the end.
  private func read() throws(SystemError) -> [UInt8]? {
    var result: Result<Int?, SystemError> = .success(nil)
    let bytes = [UInt8](unsafeUninitializedCapacity: Self.readBytesMax) { room, count in
      do throws(SystemError) {
        let read = try socket.receive(UnsafeMutableRawBufferPointer(room))
        count = read ?? 0
        result = .success(read)
      } catch {
        result = .failure(error)
      }
    }
    return try result.get() == nil ? nil : bytes
  }

  private func send(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    let count = driver?.call { $0.write(bytes.span.bytes, to: id, at: $1) } ?? bytes.count
    outbound = Array(bytes[count...])
  }

  private func close() {
    guard let registration else { return }
    reactor.deregister(registration)
    self.registration = nil
    socket.cut()
    if !hasEnded { driver?.call { $0.endCircuit(id, at: $1) } }
    closed(self)
  }
}
