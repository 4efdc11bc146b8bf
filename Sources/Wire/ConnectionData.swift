/// Data that a program hands to another by its own means, for their endpoints to find each other without discovery.
///
/// It is no frame and proves nothing: a change to it can only keep the two apart.
public struct ConnectionData: Part {
  public static let version: UInt8 = 1

  public var peer: PeerID
  public var host: HostID
  public var endpoint: EndpointID
  /// At most `Limits.helloAddressesMax`, the best first.
  public var addresses: [Address]

  @inlinable
  public init(peer: PeerID, host: HostID, endpoint: EndpointID, addresses: [Address]) {
    self.peer = peer
    self.host = host
    self.endpoint = endpoint
    self.addresses = addresses
  }

  /// From all of the bytes, with nothing left over.
  public init(decoding bytes: RawSpan) throws(WireError) {
    var reader = Reader(bytes)
    try self.init(from: &reader)
    try reader.finish()
  }

  public var bytes: [UInt8] {
    var sink = ArraySink()
    encode(into: &sink)
    return sink.bytes
  }

  public init(from reader: inout Reader) throws(WireError) {
    let version = try reader.u8()
    guard version == Self.version else { throw WireError(.connectionDataVersion(version)) }
    peer = try PeerID(from: &reader)
    host = try HostID(from: &reader)
    endpoint = try EndpointID(from: &reader)
    addresses = try reader.list("connection data addresses", max: Limits.helloAddressesMax)
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(u8: Self.version)
    peer.encode(into: &sink)
    host.encode(into: &sink)
    endpoint.encode(into: &sink)
    sink.put(list: addresses, max: Limits.helloAddressesMax)
  }
}
