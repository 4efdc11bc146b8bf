internal import CLinux
internal import Glibc

/// Tells when the machine's addresses have changed, by the kernel's own word (rtnetlink(7)).
public final class NetworkWatch {
  /// An interface that comes up gets its addresses one after another: they are one change.
  private static let pause: Duration = .milliseconds(100)

  /// With port 0.
  public private(set) var addresses: [SocketAddress]
  private let reactor: Reactor
  private let changed: () -> Void
  private let socket: Descriptor
  private var registration: Registration?
  private var reading: Timer?

  /// Calls on the loop, and only where `addresses` are others than before.
  public init(on reactor: Reactor, changed: @escaping () -> Void) throws(SystemError) {
    self.reactor = reactor
    self.changed = changed
    socket = try .listeningToNetwork()
    addresses = NetworkInterface.addresses(port: 0)
    registration = try reactor.register(socket, for: .readable) { [unowned self] _ in heard() }
  }

  deinit {
    if let registration { reactor.deregister(registration) }
    if let reading { reactor.cancel(reading) }
  }

  private func heard() {
    socket.forgetWhatCame()
    if reading != nil { return }
    reading = reactor.schedule(after: Self.pause) { [unowned self] in
      reading = nil
      let now = NetworkInterface.addresses(port: 0)
      guard now != addresses else { return }
      addresses = now
      changed()
    }
  }
}

extension Descriptor {
  /// Hears of every change of interfaces and addresses.
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

  /// What has changed is read elsewhere, and whole; so it does not matter what is told, nor that some of it was too much.
  fileprivate func forgetWhatCame() {
    var room: UInt8 = 0
    // Each call takes one message, however little of it there is room for; too many are an error, which is taken as well.
    while recv(number, &room, 1, 0) >= 0 || errno == ENOBUFS || errno == EINTR {}
  }
}
