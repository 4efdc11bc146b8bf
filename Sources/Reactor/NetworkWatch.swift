internal import CLinux
internal import Glibc

/// Reports changes of the machine's addresses, from the kernel's notifications (rtnetlink(7)).
public final class NetworkWatch {
  /// Debounce: an interface that comes up gets its addresses one after another, which is one change.
  private static let pause: Duration = .milliseconds(100)

  /// With port 0.
  public private(set) var addresses: [SocketAddress]
  private var held: Set<SocketAddress.Host>
  private let reactor: Reactor
  private let lost: (Set<SocketAddress.Host>) -> Void
  private let changed: () -> Void
  private let socket: Descriptor
  private var registration: Registration?
  private var reading: Timer?

  /// Calls back on the loop: `lost` at once where addresses have gone, or their interfaces down; `changed` only where
  /// `addresses` have changed.
  public init(
    on reactor: Reactor, lost: @escaping (Set<SocketAddress.Host>) -> Void = { _ in }, changed: @escaping () -> Void
  ) throws(SystemError) {
    self.reactor = reactor
    self.lost = lost
    self.changed = changed
    socket = try .listeningToNetwork()
    held = NetworkInterface.held
    addresses = NetworkInterface.addresses(port: 0)
    registration = try reactor.register(socket, for: .readable) { [unowned self] _ in heard() }
  }

  deinit {
    if let registration { reactor.deregister(registration) }
    if let reading { reactor.cancel(reading) }
  }

  private func heard() {
    socket.discardInput()
    findLost()
    if reading != nil { return }
    reading = reactor.schedule(after: Self.pause) { [unowned self] in
      reading = nil
      findLost()
      let now = NetworkInterface.addresses(port: 0)
      guard now != addresses else { return }
      addresses = now
      changed()
    }
  }

  private func findLost() {
    let now = NetworkInterface.held
    let gone = held.subtracting(now)
    held = now
    if !gone.isEmpty { lost(gone) }
  }
}

extension Descriptor {
  /// A socket with notifications of all changes of interfaces and addresses.
  fileprivate static func listeningToNetwork() throws(SystemError) -> Descriptor {
    let type = CInt(SOCK_RAW.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let netlink = Descriptor(
      owning: try system("open a netlink socket") { socket(AF_NETLINK, type, CInt(NETLINK_ROUTE)) })
    var address = sockaddr_nl()
    address.nl_family = sa_family_t(AF_NETLINK)
    address.nl_groups = UInt32(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR)
    try system("listen to the network's changes") {
      withUnsafePointer(to: &address) {
        // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(netlink.number, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
        }
      }
    }
    return netlink
  }

  /// Drains the notifications: the state is read elsewhere, and whole, so that neither their contents nor an overflow
  /// matter.
  fileprivate func discardInput() {
    var room: UInt8 = 0
    // Each call takes one message, whatever the room; an overflow is an error, which is consumed as well.
    while recv(number, &room, 1, 0) >= 0 || errno == ENOBUFS || errno == EINTR {}
  }
}
