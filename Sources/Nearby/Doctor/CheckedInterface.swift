internal import Glibc
internal import Reactor

/// A network interface of this machine.
package struct CheckedInterface: Hashable, Sendable {
  let name: String
  let index: UInt32
  var isUp: Bool
  /// It has a carrier: a cable, or an access point.
  var isRunning: Bool
  var isMulticast: Bool
  var isLoopback: Bool
  /// With port 0; a link-local one with the interface.
  var addresses: [SocketAddress] = []
  var isWireless = false

  var canMeet: Bool { isUp && isRunning && !isLoopback && !addresses.isEmpty }

  /// Its IPv4 addresses.
  var v4: [SocketAddress] { addresses.filter { !$0.isV6 } }

  package static func all() -> [CheckedInterface] {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return [] }
    defer { freeifaddrs(first) }
    let addresses = SocketAddress.byInterface
    var found: [String: CheckedInterface] = [:]
    for entry in sequence(first: first, next: { $0?.pointee.ifa_next }) {
      guard let entry = entry?.pointee, let bytes = entry.ifa_name else { continue }
      let name = String(cString: bytes)
      if found[name] != nil { continue }
      found[name] = CheckedInterface(name, entry.ifa_flags, addresses[name] ?? [])
    }
    return found.values.sorted { $0.index < $1.index }
  }

  private init(_ name: String, _ flags: UInt32, _ addresses: [SocketAddress]) {
    self.addresses = addresses
    func has(_ flag: Int) -> Bool { flags & UInt32(flag) != 0 }
    self.name = name
    index = if_nametoindex(name)
    isUp = has(Int(IFF_UP))
    isRunning = has(Int(IFF_RUNNING))
    isMulticast = has(Int(IFF_MULTICAST))
    isLoopback = has(Int(IFF_LOOPBACK))
    isWireless =
      SystemFile.exists("/sys/class/net/\(name)/wireless") || SystemFile.exists("/sys/class/net/\(name)/phy80211")
  }

  /// For tests.
  init(
    named name: String, isUp: Bool = true, isRunning: Bool = true, isMulticast: Bool = true,
    addresses: [SocketAddress] = []
  ) {
    self.name = name
    index = 0
    self.isUp = isUp
    self.isRunning = isRunning
    self.isMulticast = isMulticast
    isLoopback = false
    self.addresses = addresses
  }
}
