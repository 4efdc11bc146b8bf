internal import Glibc
internal import Reactor

/// Gives the interface of a group its IPv4 address, and addresses to the devices that join (DHCP): phones wait for one. They
/// end with this object or with the process.
final class AddressServer {
  private static let ports: (server: UInt16, client: UInt16) = (67, 68)
  /// As much as a client sends.
  private static let requestBytesMax = 1_500
  private static let requestsPerTurnMax = 16

  private let reactor: Reactor
  private let interface: String
  private let socket: Descriptor
  private var registration: Registration?
  private var leases = AddressLeases()

  /// Nil where it is not allowed, or another interface is in the same network: then there are IPv6 addresses only.
  init?(on interface: String, _ reactor: Reactor) {
    let isTaken = SocketAddress.byInterface.contains { name, addresses in
      name != interface
        && addresses.contains {
          guard case .v4(let bytes) = $0.host else { return false }
          return Array(bytes.prefix(3)) == AddressLeases.network
        }
    }
    guard !isTaken, let socket = Self.open(on: interface) else { return nil }
    self.reactor = reactor
    self.interface = interface
    self.socket = socket
    registration = try? reactor.register(self.socket, for: .readable) { [unowned self] _ in answer() }
    if registration == nil { return nil }
  }

  deinit { close() }

  func close() {
    guard let registration else { return }
    reactor.deregister(registration)
    self.registration = nil
    // An interface that was made for the group has gone by now, and its address with it.
    _ = Self.set([0, 0, 0, 0], by: SIOCSIFADDR, on: interface, socket.number)
  }

  func holding(of hardware: [UInt8]) -> AddressLeases.Holding? { leases.holding(of: hardware, at: Self.now) }

  /// In seconds.
  private static var now: UInt64 { Reactor.now / 1_000_000_000 }

  private func answer() {
    var room = [UInt8](repeating: 0, count: Self.requestBytesMax)
    for _ in 0..<Self.requestsPerTurnMax {
      let count = recv(socket.number, &room, room.count, CInt(MSG_DONTWAIT))
      guard count > 0 else { return }
      guard let request = AddressRequest(Array(room.prefix(count))),
        let answer = leases.answer(request, at: Self.now)
      else { continue }
      // An answer that is lost is asked for again.
      var everybody = Self.address([255, 255, 255, 255], Self.ports.client)
      _ = Self.withSockaddr(&everybody) { sendto(socket.number, answer, answer.count, 0, $0, $1) }
    }
  }

  /// Nil where this process has no right to.
  private static func open(on interface: String) -> Descriptor? {
    let type = CInt(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let number = Glibc.socket(AF_INET, type, 0)
    guard number >= 0 else { return nil }
    let socket = Descriptor(owning: number)
    guard set(AddressLeases.own, by: SIOCSIFADDR, on: interface, number),
      set(AddressLeases.mask, by: SIOCSIFNETMASK, on: interface, number)
    else { return nil }
    var yes: CInt = 1
    for option in [SO_REUSEADDR, SO_BROADCAST] {
      guard setsockopt(number, SOL_SOCKET, option, &yes, socklen_t(MemoryLayout<CInt>.size)) == 0 else { return nil }
    }
    // Requests of this network only, and not of others that a machine has.
    let name = Array(interface.utf8)
    guard setsockopt(number, SOL_SOCKET, SO_BINDTODEVICE, name, socklen_t(name.count)) == 0 else { return nil }
    var all = address([0, 0, 0, 0], ports.server)
    guard withSockaddr(&all, { bind(number, $0, $1) }) == 0 else { return nil }
    return socket
  }

  /// Sets an interface's address or its mask (netdevice(7)).
  private static func set(_ value: [UInt8], by command: CInt, on interface: String, _ socket: CInt) -> Bool {
    var request = ifreq()
    let address = address(value, 0)
    // A name of an interface has 15 bytes at most, and ends with a zero.
    withUnsafeMutableBytes(of: &request.ifr_ifrn) { $0.copyBytes(from: interface.utf8.prefix(15)) }
    withUnsafeMutableBytes(of: &request.ifr_ifru) { room in withUnsafeBytes(of: address) { room.copyBytes(from: $0) } }
    return ioctl(socket, UInt(command), &request) == 0
  }

  private static func address(_ bytes: [UInt8], _ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: bytes) }
    return address
  }

  private static func withSockaddr<Result>(
    _ address: inout sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    withUnsafePointer(to: &address) {
      // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }
}
