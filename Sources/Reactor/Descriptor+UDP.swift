internal import CLinux
internal import Glibc

/// UDP on non-blocking descriptors.
extension Descriptor {
  /// A socket for datagrams from and to anybody; port 0 takes a free one. At `::` it serves IPv4 too.
  public static func datagrams(at address: SocketAddress) throws(SystemError) -> Descriptor {
    let type = CInt(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let socket = Descriptor(owning: try system("open a UDP socket") { Glibc.socket(address.family, type, 0) })
    if address.isV6 { try socket.set(CInt(IPPROTO_IPV6), IPV6_V6ONLY, "IPV6_V6ONLY", to: 0) }
    try system("bind to \(address)") { address.withSockaddr { bind(socket.number, $0, $1) } }
    return socket
  }

  /// The next datagram: its size, which may exceed the room, and its source; nil where none waits.
  public func receive(
    into room: UnsafeMutableRawBufferPointer
  ) throws(SystemError) -> (bytes: Int, from: SocketAddress)? {
    var count: Int?
    let from = try SocketAddress { (address, length) throws(SystemError) in
      count = try systemUnlessBlocked("receive a datagram") {
        recvfrom(number, room.baseAddress, room.count, CInt(MSG_TRUNC), address, &length.pointee)
      }
    }
    guard let count, let from else { return nil }
    return (count, from)
  }

  /// Sends one datagram; false where the socket has no room for it now.
  public func send(_ bytes: UnsafeRawBufferPointer, to address: SocketAddress) throws(SystemError) -> Bool {
    let sent = try systemUnlessBlocked("send to \(address)") {
      address.withSockaddr { sendto(number, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL), $0, $1) }
    }
    return sent != nil
  }
}
