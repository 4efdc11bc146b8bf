internal import COpenSSL
public import Wire

/// The engine's cryptography on OpenSSL: SHA-256, and Ed25519 with the secret keys it was given.
public final class OpenSSLCrypto: @unchecked Sendable {
  // `@unchecked`: `keys` and the fetched algorithm never change, and OpenSSL counts references atomically.

  private let keys: [PublicKey: SigningKey]
  /// Fetched once: looking an algorithm up costs more than hashing a short message.
  private let sha256: OpaquePointer

  public init(keys: [SigningKey]) {
    self.keys = Dictionary(keys.map { ($0.publicKey, $0) }) { first, _ in first }
    sha256 = expect(EVP_MD_fetch(nil, "SHA256", nil), "find SHA-256")
  }

  deinit {
    EVP_MD_free(sha256)
  }

  public func hash(_ bytes: RawSpan) -> Digest {
    bytes.withUnsafeBytes { input in
      Digest { expect(EVP_Digest(input.baseAddress, input.count, $0, nil, sha256, nil) == 1, "hash") }
    }
  }

  /// Signs with the secret half of a key that was given at the start; to ask for another one is a bug.
  public func sign(_ message: [UInt8], by publicKey: PublicKey) -> Signature {
    guard let key = keys[publicKey] else { preconditionFailure("no secret key is held for \(publicKey)") }
    return key.sign(message)
  }

  public func verify(_ signature: Signature, of message: [UInt8], by publicKey: PublicKey) -> Bool {
    // Errors noted here would be read as those of the next call on a link.
    defer { ERR_clear_error() }
    guard let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, publicKey.bytes, PublicKey.byteCount) else {
      return false
    }
    defer { EVP_PKEY_free(key) }
    let context = expect(EVP_MD_CTX_new(), "make a verifying context")
    defer { EVP_MD_CTX_free(context) }
    return EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
      && EVP_DigestVerify(context, signature.bytes, Signature.byteCount, message, message.count) == 1
  }

  /// Bytes that nobody can guess, to seed an engine's random numbers.
  public static func randomBytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
      expect(RAND_bytes(bytes.baseAddress, CInt(count)) == 1, "read random bytes")
      initialized = count
    }
  }
}
