/// A peer's statement that a host carries it: with the host authenticated by the link, it proves the peer.
public struct Carrier: Part {
  public var peer: PublicKey
  public var incarnation: Incarnation
  public var signature: Signature

  @inlinable
  public init(peer: PublicKey, incarnation: Incarnation, signature: Signature) {
    self.peer = peer
    self.incarnation = incarnation
    self.signature = signature
  }

  /// The bytes that the peer signs.
  public static func signedBytes(peer: PublicKey, host hostKey: PublicKey, incarnation: Incarnation) -> [UInt8] {
    var sink = ArraySink(labelled("vicinity carrier v1"))
    peer.encode(into: &sink)
    hostKey.encode(into: &sink)
    sink.put(u64: incarnation.rawValue)
    return sink.bytes
  }

  public init(from reader: inout Reader) throws(WireError) {
    peer = try PublicKey(from: &reader)
    incarnation = try Incarnation(from: &reader)
    signature = try Signature(from: &reader)
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    peer.encode(into: &sink)
    incarnation.encode(into: &sink)
    signature.encode(into: &sink)
  }
}
