public import Wire

/// The cryptography that the engine uses: OpenSSL in a real host, a fast toy in the simulator.
///
/// Private keys stay on the other side: the engine names a key by its public half.
public protocol Crypto: AnyObject {
  func hash(_ bytes: [UInt8]) -> Digest
  /// Signs with the private half of `key`, which the host or one of its peers owns.
  func sign(_ bytes: [UInt8], with key: PublicKey) -> Signature
  func verify(_ signature: Signature, of bytes: [UInt8], by key: PublicKey) -> Bool
  /// Signs with the private key of a security identity; nil where the host has no identity of this number.
  func sign(_ bytes: [UInt8], with identity: IdentityID) -> [UInt8]?
  /// Whether the leaf certificate's key made this signature, which does not imply trust in the chain.
  func verify(_ signature: [UInt8], of bytes: [UInt8], byLeafOf chain: [[UInt8]]) -> Bool
}

/// A security identity (certificate chain and private key) that the host holds.
public struct IdentityID: Hashable, Sendable {
  public var rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// The bytes to hash or sign: a label that no other use shares, a zero, and the parts in their wire form.
func transcript(_ label: String, _ parts: any Part...) -> [UInt8] {
  var sink = ArraySink(Array(label.utf8) + [0])
  for part in parts { part.encode(into: &sink) }
  return sink.bytes
}

/// A deterministic random generator: a secret seed in, an endless stream of unguessable words out.
struct Entropy {
  private var seed: Digest
  private var counter: UInt64 = 0

  init(seed: Digest) { self.seed = seed }

  mutating func digest(_ crypto: any Crypto) -> Digest {
    counter += 1
    return crypto.hash(transcript("vicinity entropy v1", seed, Incarnation(counter)))
  }

  mutating func id(_ crypto: any Crypto) -> ID128 { PeerID(digest: digest(crypto)).raw }

  /// Never 0.
  mutating func word(_ crypto: any Crypto) -> UInt64 { max(1, id(crypto).low) }
}
