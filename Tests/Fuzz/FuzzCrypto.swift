import Engine
import Wire

/// Mixing in place of cryptography, in which everybody can sign for everybody.
final class FuzzCrypto: Crypto {
  func key(_ name: String) -> PublicKey { PublicKey(hash(Array(name.utf8)).raw) }

  func hash(_ bytes: [UInt8]) -> Digest {
    var (a, b): (UInt64, UInt64) = (0x9E37_79B9_7F4A_7C15 ^ UInt64(bytes.count), 0xBF58_476D_1CE4_E5B9)
    for byte in bytes {
      a = (a ^ UInt64(byte)) &* 0x100_0000_01B3
      b = (b &+ a) ^ (a >> 29)
    }
    a = (a ^ (b >> 31)) &* 0xFF51_AFD7_ED55_8CCD
    b = (b ^ (a >> 33)) &* 0xC4CE_B9FE_1A85_EC53
    return Digest(Bytes32(a, b, a &+ b, a ^ b))
  }

  /// The hash of a chunk, distinct from that of a node.
  func leaf(of chunk: RawSpan) -> Digest {
    var sink = ArraySink([0])
    sink.put(raw: chunk)
    return hash(sink.bytes)
  }

  func sign(_ bytes: [UInt8], with key: PublicKey) -> Signature {
    Signature(r: hash(bytes + key.bytes).raw, s: Bytes32(0, 0, 0, 0))
  }

  func verify(_ signature: Signature, of bytes: [UInt8], by key: PublicKey) -> Bool {
    sign(bytes, with: key) == signature
  }

  func sign(_ bytes: [UInt8], with identity: IdentityID) -> [UInt8]? { hash(bytes).bytes }

  func verify(_ signature: [UInt8], of bytes: [UInt8], byLeafOf chain: [[UInt8]]) -> Bool {
    hash(bytes).bytes == signature
  }
}
