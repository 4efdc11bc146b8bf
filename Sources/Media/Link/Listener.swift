internal import Glibc
public import Reactor

/// Accepts connections on a reactor until it is closed.
public final class Listener {
  /// Enough to drain a burst, few enough that open connections have their turn.
  private static let connectionsPerTurnMax = 64
  /// A pause where descriptors or memory are used up: waiting connections would wake the loop again at once, for
  /// nothing.
  private static let restTime: Duration = .milliseconds(100)

  /// The listening address, with the actual port. A local socket has none.
  public var address: SocketAddress {
    guard let bound else { preconditionFailure("a local socket has no address of the internet") }
    return bound
  }
  /// Why the last connection could not be accepted, for the doctor.
  public private(set) var lastError: SystemError?

  private let bound: SocketAddress?
  private let reactor: Reactor
  private let accepted: (consuming Descriptor) -> Void
  private var socket: Descriptor?
  private var registration: Registration?
  private var rest: Timer?
  /// Until it resumes, connections wait in the kernel's queue, and nobody is refused.
  private var isPaused: Bool

  public convenience init(
    at address: SocketAddress, paused: Bool = false, on reactor: Reactor,
    accepted: @escaping (consuming Descriptor) -> Void
  ) throws(SystemError) {
    try self.init(taking: .listening(at: address), paused: paused, on: reactor, accepted: accepted)
  }

  /// Takes over a listening socket.
  public convenience init(
    taking socket: consuming Descriptor, paused: Bool = false, on reactor: Reactor,
    accepted: @escaping (consuming Descriptor) -> Void
  ) throws(SystemError) {
    guard let address = try socket.localAddress() else {
      throw SystemError("listen at what is no address of the internet", code: EAFNOSUPPORT)
    }
    try self.init(socket, address, paused: paused, on: reactor, accepted: accepted)
  }

  /// Takes over a local socket that listens.
  convenience init(
    takingLocal socket: consuming Descriptor, on reactor: Reactor, accepted: @escaping (consuming Descriptor) -> Void
  ) throws(SystemError) {
    try self.init(socket, nil, paused: false, on: reactor, accepted: accepted)
  }

  private init(
    _ socket: consuming Descriptor, _ address: SocketAddress?, paused: Bool, on reactor: Reactor,
    accepted: @escaping (consuming Descriptor) -> Void
  ) throws(SystemError) {
    bound = address
    self.reactor = reactor
    self.accepted = accepted
    isPaused = paused
    registration = try reactor.register(socket, for: paused ? [] : .readable) { [unowned self] _ in accept() }
    self.socket = consume socket
  }

  /// At every address of this machine and one port, for IPv4 and, where the machine has it, IPv6.
  public static func everywhere(
    port: UInt16, paused: Bool = false, on reactor: Reactor, accepted: @escaping (consuming Descriptor) -> Void
  ) throws(SystemError) -> [Listener] {
    for _ in 1..<portsTried {
      let four = try Listener(at: .anyV4(port: port), paused: paused, on: reactor, accepted: accepted)
      do throws(SystemError) {
        return [
          four, try Listener(at: .anyV6(port: four.address.port), paused: paused, on: reactor, accepted: accepted),
        ]
      } catch {
        // A port that is free for one family may be taken for the other: another one may do.
        if error.code == EADDRINUSE, port == 0 { continue }
        if error.code != EAFNOSUPPORT, error.code != EADDRNOTAVAIL { throw error }
        return [four]
      }
    }
    return [try Listener(at: .anyV4(port: port), paused: paused, on: reactor, accepted: accepted)]
  }

  private static let portsTried = 8

  deinit {
    close()
  }

  /// Accepts waiting connections, and later ones.
  public func resume() {
    guard isPaused, let registration else { return }
    isPaused = false
    reactor.update(registration, to: .readable)
  }

  /// Accepts no more; open connections stay.
  public func close() {
    if let rest { reactor.cancel(rest) }
    if let registration { reactor.deregister(registration) }
    rest = nil
    registration = nil
    socket = nil
  }

  private func accept() {
    for _ in 0..<Self.connectionsPerTurnMax {
      do throws(SystemError) {
        guard let connection = try socket?.accept() else { return }
        accepted(connection)
      } catch {
        lastError = error
        // A connection that was aborted in the queue costs nothing; the next may be well.
        if error.code == ECONNABORTED { continue }
        return takeRest()
      }
    }
  }

  private func takeRest() {
    guard let registration else { return }
    reactor.update(registration, to: [])
    rest = reactor.schedule(after: Self.restTime) { [unowned self] in
      rest = nil
      reactor.update(registration, to: .readable)
    }
  }
}
