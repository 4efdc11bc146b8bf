/// The kind of an address, by RFC 1122, RFC 3927, RFC 4193 and RFC 4291.
extension SocketAddress {
  public var isLoopback: Bool {
    switch plainHost {
    case .v4(let bytes): bytes[0] == 127
    case .v6(let bytes, _): bytes == [UInt8](repeating: 0, count: 15) + [1]
    }
  }

  /// Whether it stands for all addresses of its family.
  public var isAny: Bool {
    switch host {
    case .v4(let bytes), .v6(let bytes, _): bytes.allSatisfy { $0 == 0 }
    }
  }

  /// Valid on one interface's network only.
  public var isLinkLocal: Bool {
    switch plainHost {
    case .v4(let bytes): bytes[0] == 169 && bytes[1] == 254
    case .v6(let bytes, _): bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80
    }
  }

  /// Whether it can be one host's.
  public var isUnicast: Bool {
    switch plainHost {
    case .v4(let bytes): bytes[0] != 0 && bytes[0] < 224
    case .v6(let bytes, _): bytes[0] != 0xff && bytes != [UInt8](repeating: 0, count: 16)
    }
  }

  /// The order of dialling, lower first: an address that is valid in more places, and IPv4 before IPv6 of the same
  /// kind, since more networks carry it.
  public var rank: Int {
    switch plainHost {
    case .v4: isLinkLocal ? 3 : 0
    case .v6(let bytes, _): isLinkLocal ? 4 : bytes[0] & 0xfe == 0xfc ? 2 : 1
    }
  }

  /// An IPv6 address that embeds an IPv4 address is of that one's kind.
  private var plainHost: Host {
    guard case .v6(let bytes, _) = host, bytes.prefix(12) == [UInt8](repeating: 0, count: 10) + [255, 255] else {
      return host
    }
    return .v4(Array(bytes.suffix(4)))
  }
}
