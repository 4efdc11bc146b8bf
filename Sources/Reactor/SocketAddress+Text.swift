internal import Glibc

/// Addresses as people write them: `10.0.0.5:7777`, `[2001:db8::5]:7777`, `[fe80::1%eth0]:7777`.
extension SocketAddress {
  /// The host alone, without port and interface.
  public var hostText: String {
    let text = scoped(to: 0).description
    return isV6 ? String(text.dropFirst().prefix { $0 != "]" }) : String(text.prefix { $0 != ":" })
  }

  /// With its interface, without its port and brackets.
  public var bareText: String {
    let text = description
    let host = text.prefix(upTo: text.lastIndex(of: ":") ?? text.endIndex)
    return isV6 ? String(host.dropFirst().dropLast()) : String(host)
  }

  /// Reads one with a port or, as 0, without: `10.0.0.5`, `::1`, `[::1]`, `fe80::1%eth0`, `10.0.0.5:7777`.
  public init(textOfPlace text: String) throws(SocketAddressError) {
    let isBare = text.first != "[" && text.count { $0 == ":" } != 1
    let hasPort = !isBare && !text.hasSuffix("]")
    if hasPort {
      try self.init(text: text)
    } else {
      let host = isBare && text.contains(":") ? "[\(text)]" : text
      self = try SocketAddress(text: host + ":1").with(port: 0)
    }
  }

  /// Reads a numeric address with its port; names are not looked up. A scope is the name or the number of an interface of
  /// this machine. A link-local address may lack its scope: it then may be on any interface's network.
  public init(text: String) throws(SocketAddressError) {
    // C would read up to a zero and ignore the rest.
    guard !text.utf8.contains(0) else { throw SocketAddressError(text, .notNumeric) }
    guard let colon = text.lastIndex(of: ":"), !text.hasSuffix("]") else { throw SocketAddressError(text, .noPort) }
    let digits = text[text.index(after: colon)...]
    var host = String(text[..<colon])
    guard let port = UInt16(digits), port > 0, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      throw SocketAddressError(text, host.contains(":") && !host.hasPrefix("[") ? .noBrackets : .badPort)
    }
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    if isBracketed { host = String(host.dropFirst().dropLast()) }
    let parts = host.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let address = SocketAddress(parts[0], port: port) else { throw SocketAddressError(text, .notNumeric) }
    switch address.host {
    case .v4:
      guard !isBracketed, parts.count == 1 else { throw SocketAddressError(text, .notNumeric) }
      self = address
    case .v6(let bytes, _):
      guard isBracketed else { throw SocketAddressError(text, .noBrackets) }
      guard parts.count == 2 else {
        self = address
        return
      }
      guard address.isLinkLocal else { throw SocketAddressError(text, .needlessScope) }
      guard let scope = Self.interface(parts[1]) else { throw SocketAddressError(text, .noInterface(parts[1])) }
      self.init(host: .v6(bytes, scope: scope), port: port)
    }
  }

  private static func interface(_ text: String) -> UInt32? {
    if let number = UInt32(text), number > 0 { return number }
    let number = if_nametoindex(text)
    return number == 0 ? nil : number
  }
}

/// A text that is no address: the fault, and what to write.
public struct SocketAddressError: Error, Hashable, CustomStringConvertible {
  public enum Fault: Hashable, Sendable {
    case noPort
    case badPort
    case noBrackets
    case notNumeric
    case needlessScope
    case noInterface(String)
  }

  public let text: String
  public let fault: Fault

  init(_ text: String, _ fault: Fault) {
    self.text = text
    self.fault = fault
  }

  public var description: String {
    let shown = text.prefix(100)
    return switch fault {
    case .noPort: "“\(shown)” has no port: write it behind a colon, as in 10.0.0.5:7777 or [fe80::1%eth0]:7777."
    case .badPort: "The port of “\(shown)” is no number of 1 to 65535: write one, as in 10.0.0.5:7777."
    case .noBrackets: "The IPv6 address “\(shown)” needs brackets before its port, as in [2001:db8::5]:7777."
    case .notNumeric:
      "“\(shown)” is no IPv4 or IPv6 address: write it as a number, as in 10.0.0.5:7777 or [2001:db8::5]:7777; "
        + "names are not looked up."
    case .needlessScope:
      "“\(shown)” names an interface, which only link-local addresses (fe80::…) need: leave out what begins with %."
    case .noInterface(let name):
      "“\(shown)” names “\(name.prefix(20))”, which is no interface of this machine: 'ip link' lists those there are."
    }
  }
}
