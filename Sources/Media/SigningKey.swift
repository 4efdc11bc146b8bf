internal import COpenSSL
internal import Synchronization
public import Wire

/// An Ed25519 key pair: the identity of a host or a peer.
public final class SigningKey: Sendable {
  public static let seedByteCount = 32

  /// A key of OpenSSL, which is freed with it.
  private final class Handle: @unchecked Sendable {
    // `@unchecked`: OpenSSL never changes a key once it is made, and counts its references atomically.
    let key: OpaquePointer

    init(_ key: OpaquePointer) { self.key = key }

    /// Takes some 40 µs: the public key is derived.
    convenience init(seed: [UInt8]) {
      openSSLStaysUntilTheEnd
      self.init(
        expect(
          EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count), "take an Ed25519 key from its seed"))
    }

    deinit {
      EVP_PKEY_free(key)
    }
  }

  public let publicKey: PublicKey
  /// The seed of a key that is made when it is first used.
  private let seedOfUnmade: [UInt8]
  private let made: Mutex<Handle?>

  /// A new key from the system's random source.
  public convenience init() {
    openSSLStaysUntilTheEnd
    self.init(Handle(expect(COpenSSL_EVP_PKEY_generate_ed25519(), "make an Ed25519 key")))
  }

  /// The key of a stored seed; nil unless it has 32 bytes.
  public convenience init?(seed: [UInt8]) {
    guard seed.count == Self.seedByteCount else { return nil }
    self.init(Handle(seed: seed))
  }

  /// The same where the public key is known, which is not compared: the key is made when it is first used.
  package init?(seed: [UInt8], publicKey: [UInt8]) {
    guard seed.count == Self.seedByteCount, let publicKey = try? PublicKey(bytes: publicKey) else { return nil }
    self.publicKey = publicKey
    seedOfUnmade = seed
    made = Mutex(nil)
  }

  private init(_ handle: Handle) {
    guard let publicKey = PublicKey(of: handle.key) else { fatalError("OpenSSL made a key that is not Ed25519") }
    self.publicKey = publicKey
    seedOfUnmade = []
    made = Mutex(handle)
  }

  private var handle: Handle {
    made.withLock { handle in
      if let handle { return handle }
      let new = Handle(seed: seedOfUnmade)
      handle = new
      return new
    }
  }

  /// The secret itself, for a key store.
  public var seed: [UInt8] {
    let handle = handle
    var bytes = [UInt8](repeating: 0, count: Self.seedByteCount)
    var count = bytes.count
    expect(EVP_PKEY_get_raw_private_key(handle.key, &bytes, &count) == 1, "read an Ed25519 key")
    return bytes
  }

  public func sign(_ message: [UInt8]) -> Signature {
    let context = expect(EVP_MD_CTX_new(), "make a signing context")
    defer { EVP_MD_CTX_free(context) }
    let handle = handle
    expect(EVP_DigestSignInit(context, nil, nil, nil, handle.key) == 1, "begin to sign")
    return Signature { bytes in
      var count = Signature.byteCount
      expect(EVP_DigestSign(context, bytes, &count, message, message.count) == 1, "sign")
    }
  }

  func withKey<Result>(_ body: (OpaquePointer) -> Result) -> Result {
    let handle = handle
    return withExtendedLifetime(handle) { body(handle.key) }
  }
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
