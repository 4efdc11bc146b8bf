internal import Reactor
internal import Wire

/// On a LAN, an address's bytes are the text of a socket address.
extension Address {
  /// The address as this host itself uses it: a link-local address has the number of an interface.
  init(_ socket: SocketAddress) {
    // The longest text, of an IPv6 address with scope and port, has 63 bytes.
    try! self.init(text: socket.description)
  }

  /// The address for other hosts, to which the number of an interface here means nothing.
  init(telling socket: SocketAddress) { self.init(socket.scoped(to: 0)) }
}

extension SocketAddress {
  /// Nil for an address that no LAN uses.
  init?(_ address: Address) {
    do throws(SocketAddressError) { try self.init(text: address.description) } catch { return nil }
  }
}
