public import Reactor

/// Addresses that belong together, so that limits count them as one: an IPv4 address, or an IPv6 network of 64 bits.
/// The link-local network is everybody's: there each address is its own.
public struct AddressGroup: Hashable {
  private let bytes: [UInt8]

  public init(_ address: SocketAddress) {
    switch address.host {
    case .v4(let bytes): self.bytes = bytes
    case .v6(let bytes, _): self.bytes = address.isLinkLocal ? bytes : Array(bytes[..<8])
    }
  }
}
