public import Wire

/// A host's own announcement: a service of a type at a port.
public struct ServiceRecord: Hashable, Sendable {
  /// Names a record among those that a directory publishes.
  public struct Key: Hashable, Sendable {
    public let type: ServiceType
    /// The requested instance name, at most 63 bytes. It has no meaning: where it is taken, another one serves.
    public let name: String

    public init(type: ServiceType, name: String) {
      self.type = type
      self.name = name
    }
  }

  public var key: Key
  public var port: UInt16
  /// The strings of its TXT record, in order; 1 to 255 bytes each.
  public var txt: [[UInt8]]

  public init(key: Key, port: UInt16, txt: [[UInt8]]) {
    self.key = key
    self.port = port
    self.txt = txt
  }
}
