internal import Reactor
internal import Web

/// A range of addresses with a common prefix, such as `10.0.0.0/8`, or a single address.
struct AddressRange: Hashable, Sendable {
  private let bytes: [UInt8]
  private let bits: Int

  /// Nil for an invalid text.
  init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let address = SocketAddress(parts[0], port: 0) else { return nil }
    bytes = Self.bytes(of: address)
    guard parts.count == 2 else {
      bits = bytes.count * 8
      return
    }
    guard let bits = Int(parts[1]), (0...bytes.count * 8).contains(bits) else { return nil }
    self.bits = bits
  }

  func contains(_ address: SocketAddress) -> Bool {
    let other = Self.bytes(of: address)
    guard other.count == bytes.count else { return false }
    let whole = bits / 8
    guard other.prefix(whole) == bytes.prefix(whole) else { return false }
    let rest = bits % 8
    return rest == 0 || (other[whole] ^ bytes[whole]) >> (8 - rest) == 0
  }

  private static func bytes(of address: SocketAddress) -> [UInt8] {
    switch address.host {
    case .v4(let bytes): bytes
    case .v6(let bytes, _): bytes
    }
  }
}

extension Access {
  /// Whether a request comes from this machine itself, or from a range that the operator allows.
  func isNearby(_ head: Head) -> Bool {
    if head.isPassedOn { return false }
    return head.client.isLoopback || metricsFrom.contains { $0.contains(head.client) }
  }
}

extension Head {
  /// Whether a request comes from this machine itself, and not through a proxy as far as its headers show.
  var isOfMachine: Bool { client.isLoopback && !isPassedOn }

  /// Whether a proxy that is not trusted says that it forwards for somebody else.
  var isPassedOn: Bool { TrustedProxies.headers.contains { headers[$0] != nil } }
}

extension Route.Access {
  /// The role that a call must have; nil for none.
  func role(of call: Call) -> Role? {
    switch self {
    case .anyone: nil
    case .role(let role): role
    case .nearby(let role): call.isNearby ? nil : role
    }
  }
}
