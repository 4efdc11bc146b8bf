public import Reactor
public import Wire

/// A record that a directory sees: one for one instance name, however many interfaces and protocols show it. Never the
/// same number twice in one directory.
public struct SeenID: Hashable, Sendable {
  public var rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// What somebody announces. Claims, all of it.
public struct SeenRecord: Hashable, Sendable {
  public var type: ServiceType
  /// For people; it identifies nobody.
  public var name: String
  /// For people; empty where there is none.
  public var hostName: String
  public var port: UInt16
  /// The strings of its TXT record, in order.
  public var txt: [[UInt8]]
  /// As far as they are known by now, the best first.
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
