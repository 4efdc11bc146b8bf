import Engine
import Wire

/// The keys of a simulated world: a public key's secret can only be looked up in here, and only this file does.
final class KeyRing {
  fileprivate var secrets: [PublicKey: UInt64] = [:]
  fileprivate var identities: [[UInt8]: UInt64] = [:]

  func makeKey(_ random: inout Random) -> PublicKey {
    let key = PublicKey(Bytes32(random.next(), random.next(), random.next(), random.next()))
    secrets[key] = random.next()
    return key
  }

  /// A certificate whose private key only its owner's crypto will use.
  func makeIdentity(_ random: inout Random) -> [UInt8] {
    let certificate = random.bytes(24)
    identities[certificate] = random.next()
    return certificate
  }
}

/// Mixing in place of cryptography: nobody in a simulation guesses, so it is enough that nobody is given a secret.
final class ToyCrypto: Crypto {
  private let ring: KeyRing
  private var owned: Set<PublicKey> = []
  private var certificates: [IdentityID: [UInt8]] = [:]

  init(ring: KeyRing) { self.ring = ring }

  func own(_ key: PublicKey) { owned.insert(key) }
  func own(_ identity: IdentityID, _ certificate: [UInt8]) { certificates[identity] = certificate }

  func hash(_ bytes: [UInt8]) -> Digest { Digest(Self.mix(bytes, key: 0)) }

  /// The digest of a chunk, which is no node.
  func leaf(of chunk: RawSpan) -> Digest {
    var sink = ArraySink([0])
    sink.put(raw: chunk)
    return hash(sink.bytes)
  }

  func sign(_ bytes: [UInt8], with key: PublicKey) -> Signature {
    guard owned.contains(key), let secret = ring.secrets[key] else {
      preconditionFailure("a host signs with a key that is not its own")
    }
    return Self.signature(bytes, secret)
  }

  func verify(_ signature: Signature, of bytes: [UInt8], by key: PublicKey) -> Bool {
    guard let secret = ring.secrets[key] else { return false }
    return signature == Self.signature(bytes, secret)
  }

  func sign(_ bytes: [UInt8], with identity: IdentityID) -> [UInt8]? {
    guard let certificate = certificates[identity], let secret = ring.identities[certificate] else { return nil }
    return Digest(Self.mix(bytes, key: secret)).bytes
  }

  func verify(_ signature: [UInt8], of bytes: [UInt8], byLeafOf chain: [[UInt8]]) -> Bool {
    guard let leaf = chain.first, let secret = ring.identities[leaf] else { return false }
    return signature == Digest(Self.mix(bytes, key: secret)).bytes
  }

  private static func signature(_ bytes: [UInt8], _ secret: UInt64) -> Signature {
    let mixed = mix(bytes, key: secret)
    return Signature(r: mixed, s: Bytes32(~mixed.d, ~mixed.c, ~mixed.b, ~mixed.a))
  }

  /// Four lanes, each fed every word.
  private static func mix(_ bytes: [UInt8], key: UInt64) -> Bytes32 {
    var a = key ^ 0x243F_6A88_85A3_08D3
    var b = key &+ 0x1319_8A2E_0370_7344
    var c = ~key ^ 0xA409_3822_299F_31D0
    var d = key &* 0x082E_FA98_EC4E_6C89 &+ UInt64(bytes.count)
    func take(_ word: UInt64) {
      a = (a ^ word) &* 0x9FB2_1C65_1E98_DF25
      a ^= a >> 32
      b = (b &+ word) &* 0xC2B2_AE3D_27D4_EB4F
      b ^= b >> 29
      c = (c ^ (word &+ a)) &* 0x1656_67B1_9E37_79F9
      c ^= c >> 31
      d = (d &+ (word ^ b)) &* 0x27D4_EB2F_1656_67C5
      d ^= d >> 30
    }
    let span = bytes.span.bytes
    var offset = 0
    while offset + 8 <= bytes.count {
      take(span.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset += 8
    }
    var rest: UInt64 = 1
    while offset < bytes.count {
      rest = rest << 8 | UInt64(bytes[offset])
      offset += 1
    }
    take(rest)
    take(key)
    return Bytes32(Random.mix(a &+ c), Random.mix(b ^ d), Random.mix(c &+ b), Random.mix(d ^ a))
  }
}
