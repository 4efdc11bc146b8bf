internal import Glibc
internal import Reactor

/// The port of a host, for the links of others and for its clients: sockets that listen for TCP, and perhaps one for UDP.
///
/// It belongs to its reactor's thread.
final class HostPort {
  /// For both families.
  private(set) var number: UInt16 = 0
  /// Receives every connection; without one, the host takes them for links.
  var acceptor: (any ConnectionAcceptor)? {
    didSet { if acceptor != nil { for listener in listeners { listener.resume() } } }
  }

  private let reactor: Reactor
  /// The actual addresses; none for everywhere.
  private let listened: [SocketAddress]
  private let isPaused: Bool
  private let taken: (consuming Descriptor) -> Void
  /// For IPv4 and, where the machine has it, IPv6, at one port.
  private var listeners: [Listener] = []
  private var datagrams: Descriptor?
  private var network: NetworkWatch?

  /// Other hosts knock with datagrams at the port of the links, so both have to be free.
  init(
    _ options: HostNetwork.Options, withDatagrams: Bool, on reactor: Reactor,
    addressesLost: @escaping (Set<SocketAddress.Host>) -> Void, addressesChanged: @escaping () -> Void,
    taken: @escaping (consuming Descriptor) -> Void
  ) throws(SystemError) {
    self.reactor = reactor
    self.taken = taken
    listened = options.sockets.isEmpty ? options.places : []
    isPaused = options.awaitsAcceptor
    if options.sockets.isEmpty {
      try listen(at: options.port, withDatagrams)
    } else {
      try take(options.sockets, withDatagrams)
    }
    network = try NetworkWatch(on: reactor, lost: addressesLost, changed: addressesChanged)
  }

  private func listen(at port: UInt16, _ withDatagrams: Bool) throws(SystemError) {
    for _ in 0..<Self.portsTried {
      if listened.isEmpty {
        listeners = try Listener.everywhere(port: port, paused: isPaused, on: reactor) { [unowned self] in take($0) }
      } else {
        for place in listened {
          let known = listeners.first?.address.port ?? port
          listeners.append(
            try Listener(at: place.with(port: known), paused: isPaused, on: reactor) { [unowned self] in take($0) })
        }
      }
      number = listeners.first?.address.port ?? 0
      if !withDatagrams { return }
      do throws(SystemError) {
        datagrams = try .datagrams(at: Self.datagramPlace(of: listeners.map(\.address)))
        return
      } catch {
        if error.code != EADDRINUSE || port != 0 { throw error }
        listeners = []
      }
    }
    throw SystemError("find a port that is free for TCP and UDP", code: EADDRINUSE)
  }

  private static let portsTried = 8

  /// One socket is for all datagrams: with several listening addresses, it is bound to all of the machine.
  private static func datagramPlace(of listened: [SocketAddress]) -> SocketAddress {
    if listened.count == 1 { return listened[0] }
    let port = listened.first?.port ?? 0
    return listened.contains(where: \.isV6) ? .anyV6(port: port) : .anyV4(port: port)
  }

  /// Binds it and releases it at once, for TCP and UDP.
  static func expectFree(_ port: UInt16, at listened: [SocketAddress] = []) throws(SystemError) {
    if !listened.isEmpty {
      let listened = listened.map { $0.with(port: port) }
      for place in listened { _ = try Descriptor.listening(at: place) }
      _ = try Descriptor.datagrams(at: datagramPlace(of: listened))
      return
    }
    _ = try Descriptor.listening(at: .anyV4(port: port))
    var place = SocketAddress.anyV4(port: port)
    do throws(SystemError) {
      _ = try Descriptor.listening(at: .anyV6(port: port))
      place = .anyV6(port: port)
    } catch {
      if error.code != EAFNOSUPPORT, error.code != EADDRNOTAVAIL { throw error }
    }
    _ = try Descriptor.datagrams(at: place)
  }

  /// Opens a datagram socket if none was given.
  private func take(_ sockets: [CInt], _ withDatagrams: Bool) throws(SystemError) {
    var bound: [CInt] = []
    for number in sockets {
      let socket = try Descriptor.given(number)
      guard try socket.isListening() else {
        bound.append(socket.release())
        continue
      }
      listeners.append(try Listener(taking: socket, paused: isPaused, on: reactor) { [unowned self] in take($0) })
    }
    number = listeners.first?.address.port ?? 0
    let given = bound.first.map { Descriptor(owning: $0) }
    guard number != 0, listeners.allSatisfy({ $0.address.port == number }), bound.count <= 1 else {
      throw SystemError("use the sockets that were passed: TCP at one port is needed, and UDP at it once", code: EINVAL)
    }
    if !withDatagrams { return }
    let place = listeners.contains { $0.address.isV6 } ? SocketAddress.anyV6(port: number) : .anyV4(port: number)
    let socket: Descriptor
    if let given { socket = given } else { socket = try .datagrams(at: place) }
    guard try socket.localAddress()?.port == number else {
      throw SystemError("bind to UDP port \(number)", code: EADDRINUSE)
    }
    datagrams = consume socket
  }

  /// Gives the socket for UDP away, once.
  func takeDatagrams() -> Descriptor? { datagrams.take() }

  /// The addresses at which others may reach this host, from its interfaces now.
  var addresses: [SocketAddress] { NetworkInterface.addresses(port: number, of: listened) }

  var isOpen: Bool { !listeners.isEmpty }

  /// Accepts no more connections; open ones stay.
  func close() { listeners = [] }

  /// The acceptor's connections end too.
  func stop() {
    close()
    network = nil
    acceptor?.close()
    acceptor = nil
  }

  private func take(_ socket: consuming Descriptor) {
    if let acceptor { acceptor.take(socket) } else { taken(socket) }
  }
}
