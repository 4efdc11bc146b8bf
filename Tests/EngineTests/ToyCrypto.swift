import Engine
import Wire

/// Keys by name; a signature is a hash that only the registry can make.
final class ToyCrypto: Crypto {
  private let secret: UInt64 = 0x5eed
  /// The number of signatures made and checked.
  private(set) var signatureCount = 0

  func key(named name: String) -> PublicKey { PublicKey(hash(Array(name.utf8)).raw) }

  func hash(_ bytes: [UInt8]) -> Digest {
    var words: [UInt64] = [0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB, 0x2545_F491_4F6C_DD1D]
    var (position, lane) = (0, 0)
    while position < bytes.count {
      var word: UInt64 = 1
      for byte in bytes[position..<min(bytes.count, position + 7)] { word = word << 8 | UInt64(byte) }
      words[lane] = (words[lane] ^ word) &* 0x100_0000_01B3
      words[lane] ^= words[lane] >> 29
      words[(lane + 1) & 3] ^= words[lane]
      position += 7
      lane = (lane + 1) & 3
    }
    for round in 0..<8 {
      let lane = round & 3
      words[lane] = (words[lane] ^ (words[(lane + 3) & 3] >> 31)) &* 0xFF51_AFD7_ED55_8CCD
      words[(lane + 2) & 3] ^= words[lane] >> 33
    }
    return Digest(Bytes32(words[0], words[1], words[2], words[3]))
  }

  /// The digest of a chunk, which is no node.
  func leaf(of chunk: RawSpan) -> Digest {
    var sink = ArraySink([0])
    sink.put(raw: chunk)
    return hash(sink.bytes)
  }

  func sign(_ bytes: [UInt8], with key: PublicKey) -> Signature {
    signatureCount += 1
    let mark = hash(bytes + key.bytes).raw
    return Signature(r: mark, s: Bytes32(secret, 0, 0, 0))
  }

  func verify(_ signature: Signature, of bytes: [UInt8], by key: PublicKey) -> Bool {
    sign(bytes, with: key) == signature
  }

  /// The identity with number n has the leaf certificate `[n]`.
  func sign(_ bytes: [UInt8], with identity: IdentityID) -> [UInt8]? { hash(bytes + [UInt8(identity.rawValue)]).bytes }

  func verify(_ signature: [UInt8], of bytes: [UInt8], byLeafOf chain: [[UInt8]]) -> Bool {
    hash(bytes + chain[0]).bytes == signature
  }
}
