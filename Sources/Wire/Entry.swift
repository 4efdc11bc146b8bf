/// An endpoint as others know it.
public struct Entry: Part {
  public var endpoint: EndpointID
  public var incarnation: EndpointIncarnation
  public var peer: PublicKey
  public var host: HostID
  public var name: DisplayName
  public var terms: Terms
  /// How many were there before it, as its inviter counted.
  public var rank: UInt32
  /// The endpoint that invited it; its own where nobody did.
  public var inviter: EndpointID
  /// At most `Limits.entryAddressesMax`.
  public var addresses: [Address]

  @inlinable
  public init(
    endpoint: EndpointID, incarnation: EndpointIncarnation, peer: PublicKey, host: HostID, name: DisplayName,
    terms: Terms, rank: UInt32, inviter: EndpointID, addresses: [Address]
  ) {
    self.endpoint = endpoint
    self.incarnation = incarnation
    self.peer = peer
    self.host = host
    self.name = name
    self.terms = terms
    self.rank = rank
    self.inviter = inviter
    self.addresses = addresses
  }

  public init(from reader: inout Reader) throws(WireError) {
    endpoint = try EndpointID(from: &reader)
    incarnation = try EndpointIncarnation(from: &reader)
    peer = try PublicKey(from: &reader)
    host = try HostID(from: &reader)
    name = try DisplayName(from: &reader)
    terms = try Terms(from: &reader)
    rank = try reader.varint32("rank")
    inviter = try EndpointID(from: &reader)
    addresses = try reader.list("entry addresses", max: Limits.entryAddressesMax)
  }

  public var named: IntroduceView.Named {
    .init(endpoint: endpoint, incarnation: incarnation, rank: rank, inviter: inviter)
  }

  /// The same, in a frame.
  static func named(from reader: inout Reader) throws(WireError) -> IntroduceView.Named {
    let (endpoint, incarnation) = (try EndpointID(from: &reader), try EndpointIncarnation(from: &reader))
    _ = try (PublicKey(from: &reader), HostID(from: &reader))
    _ = try reader.raw(reader.length("display name", max: Limits.displayNameBytesMax))
    _ = try Terms(from: &reader)
    let (rank, inviter) = (try reader.varint32("rank"), try EndpointID(from: &reader))
    for _ in 0..<(try reader.count("entry addresses", max: Limits.entryAddressesMax)) {
      _ = try reader.raw(reader.length("address", max: Limits.addressBytesMax))
    }
    return .init(endpoint: endpoint, incarnation: incarnation, rank: rank, inviter: inviter)
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    endpoint.encode(into: &sink)
    incarnation.encode(into: &sink)
    peer.encode(into: &sink)
    host.encode(into: &sink)
    name.encode(into: &sink)
    terms.encode(into: &sink)
    sink.put(varint: rank)
    inviter.encode(into: &sink)
    sink.put(list: addresses, max: Limits.entryAddressesMax)
  }
}
