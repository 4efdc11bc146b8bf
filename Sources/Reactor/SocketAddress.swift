internal import CLinux
internal import Glibc

/// An IPv4 or IPv6 address and a port.
public struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
  public enum Host: Sendable, Hashable {
    /// Four bytes, in the order of the wire.
    case v4([UInt8])
    /// Sixteen bytes, and the interface that a link-local address belongs to (0 for none).
    case v6([UInt8], scope: UInt32)
  }

  public let host: Host
  public let port: UInt16

  /// Reads a numeric address; nil where it is neither IPv4 nor IPv6. Names are not looked up. An IPv6 address may end in
  /// `%` and an interface, by its name or number.
  public init?(_ text: String, port: UInt16) {
    var v4 = in_addr()
    var v6 = in6_addr()
    let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    if inet_pton(AF_INET, text, &v4) == 1 {
      host = .v4(withUnsafeBytes(of: &v4, Array.init))
    } else if inet_pton(AF_INET6, parts[0], &v6) == 1 {
      let scope = parts.count == 1 ? 0 : UInt32(parts[1]) ?? if_nametoindex(parts[1])
      if parts.count == 2, scope == 0 { return nil }
      host = .v6(withUnsafeBytes(of: &v6, Array.init), scope: scope)
    } else {
      return nil
    }
    self.port = port
  }

  public static func loopback(port: UInt16) -> SocketAddress {
    SocketAddress(host: .v4([127, 0, 0, 1]), port: port)
  }

  /// Every address of this machine, of one family.
  public static func anyV4(port: UInt16) -> SocketAddress { SocketAddress(host: .v4([0, 0, 0, 0]), port: port) }

  public static func anyV6(port: UInt16) -> SocketAddress {
    SocketAddress(host: .v6([UInt8](repeating: 0, count: 16), scope: 0), port: port)
  }

  public init(host: Host, port: UInt16) {
    switch host {
    case .v4(let bytes): precondition(bytes.count == 4, "an IPv4 address has four bytes, not \(bytes.count)")
    case .v6(let bytes, _): precondition(bytes.count == 16, "an IPv6 address has sixteen bytes, not \(bytes.count)")
    }
    self.host = host
    self.port = port
  }

  public var isV6: Bool { family == AF_INET6 }

  /// Whether it has no meaning without an interface, and names none.
  public var lacksScope: Bool {
    guard case .v6(let bytes, scope: 0) = host else { return false }
    return bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80
  }

  /// The same over one interface; an IPv4 address has none.
  public func scoped(to interface: UInt32) -> SocketAddress {
    guard case .v6(let bytes, _) = host else { return self }
    return SocketAddress(host: .v6(bytes, scope: interface), port: port)
  }

  public func with(port: UInt16) -> SocketAddress { SocketAddress(host: host, port: port) }

  /// An IPv4 address in the form for sockets of both families; any other as it is.
  public var mapped: SocketAddress {
    guard case .v4(let bytes) = host else { return self }
    return SocketAddress(host: .v6(Self.mappedPrefix + bytes, scope: 0), port: port)
  }

  /// The inverse: an IPv4 address in the kernel's form for a socket of both families.
  private var unmapped: SocketAddress {
    guard case .v6(let bytes, _) = host, bytes.starts(with: Self.mappedPrefix) else { return self }
    return SocketAddress(host: .v4(Array(bytes.suffix(4))), port: port)
  }

  /// RFC 4291 §2.5.5.2.
  private static let mappedPrefix = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]

  public var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    switch host {
    case .v4(let bytes):
      _ = inet_ntop(AF_INET, bytes, &text, socklen_t(text.count))
      return "\(spelled(text)):\(port)"
    case .v6(let bytes, let scope):
      _ = inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count))
      return "[\(spelled(text))\(scope == 0 ? "" : "%\(scope)")]:\(port)"
    }
  }

  private func spelled(_ text: [CChar]) -> String {
    String(decoding: text.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
  }
}

extension SocketAddress {
  var family: CInt {
    switch host {
    case .v4: AF_INET
    case .v6: AF_INET6
    }
  }

  /// Lends the address in the form that system calls take.
  func withSockaddr<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    switch host {
    case .v4(let bytes):
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: bytes) }
      return lend(&address, body)
    case .v6(let bytes, let scope):
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      address.sin6_scope_id = scope
      withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: bytes) }
      return lend(&address, body)
    }
  }

  private func lend<Address, Result>(
    _ address: inout Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
  ) -> Result {
    withUnsafePointer(to: &address) {
      // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<Address>.size)) }
    }
  }

  /// An address that a system call wrote; nil where it is of another family.
  init?(filledBy call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) throws(SystemError) -> Void)
    throws(SystemError)
  {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let filled: Result<Void, SystemError> = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        do throws(SystemError) {
          return .success(try call(pointer, &length))
        } catch {
          return .failure(error)
        }
      }
    }
    try filled.get()
    let known = withUnsafePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { SocketAddress(reading: $0) }
    }
    guard let known else { return nil }
    self = known
  }

  /// The address behind a C `sockaddr` pointer; nil where it is of another family.
  init?(reading address: UnsafePointer<sockaddr>) {
    // The family says which of them it is.
    switch CInt(address.pointee.sa_family) {
    case AF_INET:
      let four = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee }
      self.init(host: .v4(withUnsafeBytes(of: four.sin_addr, Array.init)), port: UInt16(bigEndian: four.sin_port))
    case AF_INET6:
      let six = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { $0.pointee }
      self =
        SocketAddress(
          host: .v6(withUnsafeBytes(of: six.sin6_addr, Array.init), scope: six.sin6_scope_id),
          port: UInt16(bigEndian: six.sin6_port)
        ).unmapped
    default:
      return nil
    }
  }
}
