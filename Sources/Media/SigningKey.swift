internal import COpenSSL
public import Wire

/// An Ed25519 key pair: the identity of a host or a peer.
public final class SigningKey: @unchecked Sendable {
  // `@unchecked`: OpenSSL never changes a key once it is made, and counts its references atomically.

  public static let seedByteCount = 32

  public let publicKey: PublicKey
  private let key: OpaquePointer

  /// A new key from the system's random source.
  public convenience init() {
    openSSLStaysUntilTheEnd
    self.init(key: expect(COpenSSL_EVP_PKEY_generate_ed25519(), "make an Ed25519 key"))
  }

  /// The key of a stored seed; nil unless it has 32 bytes.
  public convenience init?(seed: [UInt8]) {
    guard seed.count == Self.seedByteCount else { return nil }
    openSSLStaysUntilTheEnd
    self.init(
      key: expect(
        EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count), "take an Ed25519 key from its seed"))
  }

  private init(key: OpaquePointer) {
    self.key = key
    guard let publicKey = PublicKey(of: key) else { fatalError("OpenSSL made a key that is not Ed25519") }
    self.publicKey = publicKey
  }

  deinit {
    EVP_PKEY_free(key)
  }

  /// The secret itself, for a key store.
  public var seed: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.seedByteCount)
    var count = bytes.count
    expect(EVP_PKEY_get_raw_private_key(key, &bytes, &count) == 1, "read an Ed25519 key")
    return bytes
  }

  public func sign(_ message: [UInt8]) -> Signature {
    let context = expect(EVP_MD_CTX_new(), "make a signing context")
    defer { EVP_MD_CTX_free(context) }
    expect(EVP_DigestSignInit(context, nil, nil, nil, key) == 1, "begin to sign")
    return Signature { bytes in
      var count = Signature.byteCount
      expect(EVP_DigestSign(context, bytes, &count, message, message.count) == 1, "sign")
    }
  }

  func withKey<Result>(_ body: (OpaquePointer) -> Result) -> Result { body(key) }
}

extension PublicKey {
  init?(of key: OpaquePointer) {
    guard EVP_PKEY_get_id(key) == EVP_PKEY_ED25519 else { return nil }
    self.init { bytes in
      var count = PublicKey.byteCount
      expect(EVP_PKEY_get_raw_public_key(key, bytes, &count) == 1, "read an Ed25519 key")
    }
  }
}
