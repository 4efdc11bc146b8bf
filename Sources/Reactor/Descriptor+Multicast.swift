internal import CLinux
internal import Glibc

/// Multicast on non-blocking descriptors.
extension Descriptor {
  /// A socket that sends to a group on one interface and receives there, beside others at the same port.
  public static func multicast(_ group: SocketAddress, on interface: UInt32) throws(SystemError) -> Descriptor {
    let type = CInt(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let socket = Descriptor(owning: try system("open a UDP socket") { Glibc.socket(group.family, type, 0) })
    try socket.set(SOL_SOCKET, SO_REUSEADDR, "SO_REUSEADDR")
    switch group.host {
    case .v4(let bytes):
      let level = CInt(IPPROTO_IP)
      var request = ip_mreqn()
      withUnsafeMutableBytes(of: &request.imr_multiaddr) { $0.copyBytes(from: bytes) }
      request.imr_ifindex = CInt(interface)
      // Daemons ignore answers that crossed a router.
      try socket.set(level, IP_MULTICAST_TTL, "IP_MULTICAST_TTL", to: 255)
      try socket.set(level, IP_MULTICAST_LOOP, "IP_MULTICAST_LOOP")
      for option in [IP_ADD_MEMBERSHIP, IP_MULTICAST_IF] {
        try withUnsafeBytes(of: request) { (bytes) throws(SystemError) in try socket.join(level, option, bytes) }
      }
    case .v6(let bytes, _):
      let level = CInt(IPPROTO_IPV6)
      var request = ipv6_mreq()
      withUnsafeMutableBytes(of: &request.ipv6mr_multiaddr) { $0.copyBytes(from: bytes) }
      request.ipv6mr_interface = interface
      try socket.set(level, IPV6_V6ONLY, "IPV6_V6ONLY")
      try socket.set(level, IPV6_MULTICAST_HOPS, "IPV6_MULTICAST_HOPS", to: 255)
      try socket.set(level, IPV6_MULTICAST_LOOP, "IPV6_MULTICAST_LOOP")
      try socket.set(level, IPV6_MULTICAST_IF, "IPV6_MULTICAST_IF", to: CInt(interface))
      try withUnsafeBytes(of: request) { (bytes) throws(SystemError) in try socket.join(level, IPV6_JOIN_GROUP, bytes) }
    }
    // Bound to the group, so that it takes no unicast datagrams from a daemon.
    try system("bind to \(group)") { group.withSockaddr { bind(socket.number, $0, $1) } }
    return socket
  }

  /// The request names a group and an interface.
  private func join(_ level: CInt, _ option: CInt, _ request: UnsafeRawBufferPointer) throws(SystemError) {
    try system("join a multicast group") {
      setsockopt(number, level, option, request.baseAddress, socklen_t(request.count))
    }
  }
}
