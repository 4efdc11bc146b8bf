internal import CLinux
internal import Glibc

/// What the machine is on the network with, by the kernel's numbers.
public enum NetworkInterface {
  /// Those with an IPv6 link-local address, over which such an address of somebody else may be reached.
  public static var linkLocal: [UInt32] {
    var found: [UInt32] = []
    for address in known {
      guard case .v6(_, let scope) = address.host, scope != 0, !found.contains(scope) else { continue }
      found.append(scope)
    }
    return found
  }

  /// Where the machine may be reached at a port, the best first: not by its loopback, unless it is on no network.
  public static func addresses(port: UInt16) -> [SocketAddress] {
    let all = known.map { SocketAddress(host: $0.host, port: port) }.sorted { $0.rank < $1.rank }
    let outside = all.filter { !$0.isLoopback }
    return outside.isEmpty ? all : outside
  }

  /// Whether it is one of this machine's own, whatever the port.
  public static func holds(_ address: SocketAddress) -> Bool { known.contains { $0.host == address.host } }

  /// On interfaces that are up and have a signal.
  private static var known: [SocketAddress] {
    var first: UnsafeMutablePointer<ifaddrs>?
    // It fails only for want of memory or descriptors, and then nothing else will do either.
    guard getifaddrs(&first) == 0 else { return [] }
    defer { freeifaddrs(first) }
    var addresses: [SocketAddress] = []
    for entry in sequence(first: first, next: { $0?.pointee.ifa_next }) {
      guard let entry = entry?.pointee, let address = entry.ifa_addr, entry.ifa_flags & usable == usable,
        let known = SocketAddress(reading: address), known.isUnicast, !addresses.contains(known)
      else { continue }
      addresses.append(known)
    }
    return addresses
  }

  private static let usable = UInt32(IFF_UP | IFF_RUNNING)
}
