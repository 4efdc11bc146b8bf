internal import CLinux
internal import Glibc

/// The network interfaces of this machine, by the kernel's numbers.
public enum NetworkInterface {
  /// Interfaces with an IPv6 link-local address, over which other such addresses may be reached.
  public static var linkLocal: [UInt32] {
    var found: [UInt32] = []
    for address in known {
      guard case .v6(_, let scope) = address.host, scope != 0, !found.contains(scope) else { continue }
      found.append(scope)
    }
    return found
  }

  /// The machine's addresses at a port, the best first: without its loopback, unless it is on no network.
  public static func addresses(port: UInt16) -> [SocketAddress] {
    let all = known.map { SocketAddress(host: $0.host, port: port) }.sorted { $0.rank < $1.rank }
    let outside = all.filter { !$0.isLoopback }
    return outside.isEmpty ? all : outside
  }

  /// The same among the listening addresses, where `any` is all of a family; in their order.
  public static func addresses(port: UInt16, of places: [SocketAddress]) -> [SocketAddress] {
    if places.isEmpty { return addresses(port: port) }
    let listened = known.filter { one in
      places.contains { $0.isAny ? $0.isV6 == one.isV6 : $0.host == one.host || $0.scoped(to: 0) == one.scoped(to: 0) }
    }.map { SocketAddress(host: $0.host, port: port) }.sorted { $0.rank < $1.rank }
    let outside = listened.filter { !$0.isLoopback }
    return outside.isEmpty ? listened : outside
  }

  /// Whether it is one of this machine's own, whatever the port.
  public static func holds(_ address: SocketAddress) -> Bool { known.contains { $0.host == address.host } }

  /// Addresses of interfaces that are up, with a carrier or without: a connection from one of them may go on.
  static var held: Set<SocketAddress.Host> {
    Set(each.lazy.filter { $0.flags & UInt32(IFF_UP) != 0 }.map(\.address.host))
  }

  /// Addresses of interfaces that are up and have a carrier.
  fileprivate static var known: [SocketAddress] {
    each.reduce(into: []) { known, one in
      guard one.flags & usable == usable, one.address.isUnicast, !known.contains(one.address) else { return }
      known.append(one.address)
    }
  }

  fileprivate static var each: [(name: String, flags: UInt32, address: SocketAddress)] {
    var first: UnsafeMutablePointer<ifaddrs>?
    // It fails only for lack of memory or descriptors, and then nothing else will work either.
    guard getifaddrs(&first) == 0 else { return [] }
    defer { freeifaddrs(first) }
    return sequence(first: first, next: { $0?.pointee.ifa_next }).compactMap { entry in
      guard let entry = entry?.pointee, let address = entry.ifa_addr.flatMap({ SocketAddress(reading: $0) }) else {
        return nil
      }
      return (String(cString: entry.ifa_name), entry.ifa_flags, address)
    }
  }

  private static let usable = UInt32(IFF_UP | IFF_RUNNING)
}

extension SocketAddress {
  /// This machine's own addresses that can be reached now, its loopback's too, with port 0.
  package static var own: [SocketAddress] {
    NetworkInterface.known.map { $0.with(port: 0) }.sorted { $0.rank < $1.rank }
  }

  /// This machine's own addresses, with port 0, by the name of the interface, whether that has a carrier or not.
  package static var byInterface: [String: [SocketAddress]] {
    NetworkInterface.each.reduce(into: [:]) { addresses, one in addresses[one.name, default: []].append(one.address) }
  }
}
