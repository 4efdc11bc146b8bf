public import Reactor
public import Wire

/// A record's number in one directory: one for one instance name, however many interfaces and protocols show it; never
/// used twice.
public struct SeenID: Hashable, Sendable {
  public var rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Another host's announcement. It claims everything and proves nothing.
public struct SeenRecord: Hashable, Sendable {
  public var type: ServiceType
  /// For people; it identifies nobody.
  public var name: String
  /// For people; empty where there is none.
  public var hostName: String
  public var port: UInt16
  /// The strings of its TXT record, in order.
  public var txt: [[UInt8]]
  /// The known addresses, the best first.
  public var addresses: [SocketAddress]

  public init(
    type: ServiceType, name: String, hostName: String, port: UInt16, txt: [[UInt8]], addresses: [SocketAddress]
  ) {
    self.type = type
    self.name = name
    self.hostName = hostName
    self.port = port
    self.txt = txt
    self.addresses = addresses
  }
}
