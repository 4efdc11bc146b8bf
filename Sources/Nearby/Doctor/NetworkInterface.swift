internal import Glibc

/// One way of this machine onto a network.
package struct NetworkInterface: Hashable, Sendable {
  let name: String
  let index: UInt32
  var isUp: Bool
  /// It has a signal: a cable, or an access point.
  var isRunning: Bool
  var isMulticast: Bool
  var isLoopback: Bool
  /// Those of IPv4 in the order of the wire, as a number.
  var v4: [UInt32] = []
  var v6: [String] = []
  var isWireless = false

  var canMeet: Bool { isUp && isRunning && !isLoopback && (!v4.isEmpty || !v6.isEmpty) }

  var addresses: [String] { v4.map(Self.text) + v6 }

  static func text(_ address: UInt32) -> String {
    withUnsafeBytes(of: address) { $0.map(String.init).joined(separator: ".") }
  }

  package static func all() -> [NetworkInterface] {
    var first: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&first) == 0 else { return [] }
    defer { freeifaddrs(first) }
    var found: [String: NetworkInterface] = [:]
    for entry in sequence(first: first, next: { $0?.pointee.ifa_next }) {
      guard let entry = entry?.pointee, let bytes = entry.ifa_name else { continue }
      let name = String(cString: bytes)
      var one = found[name] ?? NetworkInterface(name, entry.ifa_flags)
      if let address = entry.ifa_addr { one.add(address) }
      found[name] = one
    }
    return found.values.sorted { $0.index < $1.index }
  }

  private init(_ name: String, _ flags: UInt32) {
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

  /// For tests and the like of them.
  init(named name: String, isUp: Bool = true, isRunning: Bool = true, isMulticast: Bool = true, v4: [UInt32] = []) {
    self.name = name
    index = 0
    self.isUp = isUp
    self.isRunning = isRunning
    self.isMulticast = isMulticast
    isLoopback = false
    self.v4 = v4
  }

  private mutating func add(_ address: UnsafeMutablePointer<sockaddr>) {
    switch CInt(address.pointee.sa_family) {
    case AF_INET:
      // Its family says what it is.
      address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { v4.append($0.pointee.sin_addr.s_addr) }
    case AF_INET6:
      var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
      // Its family says what it is.
      address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
        _ = inet_ntop(AF_INET6, &$0.pointee.sin6_addr, &text, socklen_t(text.count))
      }
      v6.append(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
    default: break
    }
  }
}
