internal import CLinux
internal import Glibc

/// What the machine is on the network with, by the kernel's numbers.
public enum NetworkInterface {
  /// Those with an IPv6 link-local address, over which such an address of somebody else may be reached.
  public static var linkLocal: [UInt32] {
    var first: UnsafeMutablePointer<ifaddrs>?
    // It fails only for want of memory or descriptors, and then nothing else will do either.
    guard getifaddrs(&first) == 0 else { return [] }
    defer { freeifaddrs(first) }
    var found: [UInt32] = []
    for entry in sequence(first: first, next: { $0?.pointee.ifa_next }) {
      guard let address = entry?.pointee.ifa_addr, CInt(address.pointee.sa_family) == AF_INET6 else { continue }
      // The family says which it is.
      let six = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { $0.pointee }
      if six.sin6_scope_id != 0, !found.contains(six.sin6_scope_id) { found.append(six.sin6_scope_id) }
    }
    return found
  }
}
