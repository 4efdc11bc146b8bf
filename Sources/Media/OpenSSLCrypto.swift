internal import COpenSSL
public import Engine
internal import Synchronization
public import Wire

/// The engine's cryptography on OpenSSL: SHA-256, Ed25519 with its secret keys, and security identities. Keys and
/// identities may be added while it is in use.
public final class OpenSSLCrypto: Crypto, @unchecked Sendable {
  // `@unchecked`: all changing state is behind a lock, and OpenSSL counts references atomically.

  private struct Secrets {
    var keys: [PublicKey: SigningKey] = [:]
    var identities: [IdentityID: HeldIdentity] = [:]
  }

  private let secrets = Mutex(Secrets())
  /// Fetched once: looking an algorithm up costs more than hashing a short message.
  private let sha256: OpaquePointer

  public init(keys: [SigningKey] = [], identities: [HeldIdentity] = []) {
    openSSLStaysUntilTheEnd
    sha256 = expect(EVP_MD_fetch(nil, "SHA256", nil), "find SHA-256")
    for key in keys { hold(key) }
    for identity in identities { hold(identity) }
  }

  deinit {
    EVP_MD_free(sha256)
  }

  public func hold(_ key: SigningKey) {
    secrets.withLock { $0.keys[key.publicKey] = key }
  }

  public func hold(_ identity: HeldIdentity) {
    secrets.withLock { $0.identities[identity.id] = identity }
  }

  /// Sessions with this identity show none to members that join later.
  public func drop(_ identity: IdentityID) {
    secrets.withLock { $0.identities[identity] = nil }
  }

  public func hash(_ bytes: [UInt8]) -> Digest {
    Digest { expect(EVP_Digest(bytes, bytes.count, $0, nil, sha256, nil) == 1, "hash") }
  }

  /// Asking for a missing key is a bug.
  public func sign(_ bytes: [UInt8], with key: PublicKey) -> Signature {
    guard let key = secrets.withLock({ $0.keys[key] }) else { preconditionFailure("no secret key is held for \(key)") }
    return key.sign(bytes)
  }

  public func verify(_ signature: Signature, of bytes: [UInt8], by key: PublicKey) -> Bool {
    let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, key.bytes, PublicKey.byteCount)
    defer { EVP_PKEY_free(key) }
    return verify(signature.bytes, of: bytes, by: key)
  }

  public func sign(_ bytes: [UInt8], with identity: IdentityID) -> [UInt8]? {
    secrets.withLock { $0.identities[identity] }?.sign(bytes)
  }

  public func verify(_ signature: [UInt8], of bytes: [UInt8], byLeafOf chain: [[UInt8]]) -> Bool {
    guard let leaf = chain.first else { return false }
    let certificate = leaf.withUnsafeBufferPointer { leaf in
      var cursor = leaf.baseAddress
      return d2i_X509(nil, &cursor, leaf.count)
    }
    defer { X509_free(certificate) }
    return verify(signature, of: bytes, by: certificate.flatMap(X509_get0_pubkey))
  }

  /// Over SHA-256, but for Ed25519, which hashes by itself.
  private func verify(_ signature: [UInt8], of bytes: [UInt8], by key: OpaquePointer?) -> Bool {
    // Left behind, an error would be read as that of the next call on this thread.
    defer { ERR_clear_error() }
    guard let key else { return false }
    let context = expect(EVP_MD_CTX_new(), "make a verifying context")
    defer { EVP_MD_CTX_free(context) }
    let hash = EVP_PKEY_get_id(key) == EVP_PKEY_ED25519 ? nil : sha256
    return EVP_DigestVerifyInit(context, nil, hash, nil, key) == 1
      && EVP_DigestVerify(context, signature, signature.count, bytes, bytes.count) == 1
  }

  /// Unguessable bytes, to seed an engine with.
  public static func randomBytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    expect(RAND_bytes(&bytes, CInt(count)) == 1, "read random bytes")
    return bytes
  }
}
