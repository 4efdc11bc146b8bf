public import Reactor

/// A policy for the addresses that a user's URL may lead to, against request forgery (SSRF).
///
/// It checks the very address that is connected to: a name may resolve to this machine, or to another one each time.
public struct AddressPolicy: Hashable, Sendable {
  /// Private networks, such as the one of this machine.
  public var allowsPrivate = true
  /// This machine itself, and with it all services that trust local clients.
  public var allowsLoopback = false

  public init(allowsPrivate: Bool = true, allowsLoopback: Bool = false) {
    self.allowsPrivate = allowsPrivate
    self.allowsLoopback = allowsLoopback
  }

  /// The purpose of an address (RFC 6890 and its registries), or that it is one of this computer's own.
  public enum Kind: String, Hashable, Sendable {
    case global = "a public address"
    case `private` = "an address of a private network"
    case loopback = "this computer itself"
    case linkLocal = "a link-local address"
    case multicast = "a multicast address"
    case unspecified = "no address at all"
    case reserved = "a reserved address"
  }

  public func allows(_ address: SocketAddress) -> Bool {
    switch Self.kind(of: address) {
    case .global: true
    case .private: allowsPrivate
    case .loopback: allowsLoopback
    case .linkLocal, .multicast, .unspecified, .reserved: false
    }
  }

  public static func kind(of address: SocketAddress) -> Kind {
    if NetworkInterface.holds(address) { return .loopback }
    return switch address.host {
    case .v4(let bytes): kind(v4: bytes[...])
    case .v6(let bytes, _): kind(v6: bytes)
    }
  }

  private static func kind(v4 bytes: ArraySlice<UInt8>) -> Kind {
    let number = bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    if number == 0 { return .unspecified }
    return v4Blocks.first { number >> (32 - $0.bits) == $0.prefix >> (32 - $0.bits) }?.kind ?? .global
  }

  private static let v4Blocks: [(prefix: UInt32, bits: UInt32, kind: Kind)] = [
    (0x0000_0000, 8, .reserved), (0x7F00_0000, 8, .loopback), (0xA9FE_0000, 16, .linkLocal),
    (0x0A00_0000, 8, .private), (0xAC10_0000, 12, .private), (0xC0A8_0000, 16, .private),
    // Carriers' own networks, which some houses use as theirs.
    (0x6440_0000, 10, .private),
    (0xC000_0000, 24, .reserved), (0xC000_0200, 24, .reserved), (0xC058_6300, 24, .reserved),
    (0xC612_0000, 15, .reserved), (0xC633_6400, 24, .reserved), (0xCB00_7100, 24, .reserved),
    (0xE000_0000, 4, .multicast), (0xF000_0000, 4, .reserved),
  ]

  private static func kind(v6 bytes: [UInt8]) -> Kind {
    if bytes.allSatisfy({ $0 == 0 }) { return .unspecified }
    if bytes.dropLast().allSatisfy({ $0 == 0 }), bytes.last == 1 { return .loopback }
    // Forms that embed an IPv4 address count as that: mapped, compatible, NAT64, 6to4.
    if bytes.starts(with: v4Mapped) || bytes.prefix(12).allSatisfy({ $0 == 0 }) || bytes.starts(with: nat64) {
      return kind(v4: bytes[12...])
    }
    if bytes.starts(with: [0x20, 0x02]) { return kind(v4: bytes[2..<6]) }
    switch (bytes[0], bytes[1]) {
    case (0xFF, _): return .multicast
    case (0xFE, 0x80...0xBF): return .linkLocal
    // The deprecated site-local addresses.
    case (0xFE, 0xC0...0xFF): return .private
    case (0xFC...0xFD, _): return .private
    // Teredo and the other special uses; documentation.
    case (0x20, 0x01) where bytes[2] < 2: return .reserved
    case (0x20, 0x01) where bytes[2] == 0x0D && bytes[3] == 0xB8: return .reserved
    // Nothing else has been allocated (RFC 4291).
    case (0x20...0x3F, _): return .global
    default: return .reserved
    }
  }

  private static let v4Mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
  private static let nat64: [UInt8] = [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]
}
