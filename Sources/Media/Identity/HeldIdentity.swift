internal import COpenSSL
public import Engine
internal import Wire

/// A certificate chain with the private key of its leaf: an endpoint's identity.
public final class HeldIdentity: @unchecked Sendable {
  // `@unchecked`: OpenSSL never changes a key once it is read, and counts its references atomically.

  /// Derived from the leaf, so that an identity has the same one after a restart and on another machine.
  public let id: IdentityID
  /// Leaf first.
  public let chain: [Certificate]
  private let key: OpaquePointer

  /// From a private key in PKCS#8, as `privateKey` gives it.
  public convenience init(privateKey: [UInt8], chain: [Certificate]) throws(IdentityError) {
    defer { ERR_clear_error() }
    let key = privateKey.withUnsafeBufferPointer { bytes in
      var cursor = bytes.baseAddress
      let info = d2i_PKCS8_PRIV_KEY_INFO(nil, &cursor, bytes.count)
      defer { PKCS8_PRIV_KEY_INFO_free(info) }
      return info.flatMap(EVP_PKCS82PKEY)
    }
    guard let key else { throw .notAPrivateKey }
    try self.init(owning: key, chain: chain)
  }

  /// Takes ownership of the key, and frees it where it throws.
  init(owning key: OpaquePointer, chain: [Certificate]) throws(IdentityError) {
    self.key = key
    self.chain = chain
    guard let leaf = chain.first else {
      id = IdentityID(rawValue: 0)
      throw .noCertificate
    }
    id = IdentityID(rawValue: OpenSSLCrypto().hash(leaf.der).raw.a)
    if chain.count > Limits.chainCertificatesMax { throw .tooManyCertificates(count: chain.count) }
    if let kind = unsupportedKind(of: key) { throw .unsupportedKey(kind) }
    defer { ERR_clear_error() }
    if leaf.withX509({ X509_check_private_key($0, key) }) != 1 { throw .keyDoesNotFit }
  }

  deinit {
    EVP_PKEY_free(key)
  }

  /// The form for the engine.
  public var shown: SecurityIdentity { SecurityIdentity(id: id, chain: chain.map(\.der)) }

  /// The secret itself in PKCS#8, for a key store.
  public var privateKey: [UInt8] {
    let info = expect(EVP_PKEY2PKCS8(key), "encode a private key")
    defer { PKCS8_PRIV_KEY_INFO_free(info) }
    var bytes = [UInt8](repeating: 0, count: Int(i2d_PKCS8_PRIV_KEY_INFO(info, nil)))
    bytes.withUnsafeMutableBufferPointer {
      var cursor = $0.baseAddress
      i2d_PKCS8_PRIV_KEY_INFO(info, &cursor)
    }
    return bytes
  }

  /// Over SHA-256, but for Ed25519, which hashes by itself.
  public func sign(_ message: [UInt8]) -> [UInt8] {
    let context = expect(EVP_MD_CTX_new(), "make a signing context")
    defer { EVP_MD_CTX_free(context) }
    let hash = EVP_PKEY_get_id(key) == EVP_PKEY_ED25519 ? nil : EVP_sha256()
    expect(EVP_DigestSignInit(context, nil, hash, nil, key) == 1, "begin to sign")
    var count = Int(EVP_PKEY_get_size(key))
    var signature = [UInt8](repeating: 0, count: count)
    expect(EVP_DigestSign(context, &signature, &count, message, message.count) == 1, "sign")
    return [UInt8](signature.prefix(count))
  }
}

/// Nil for the supported kinds of key: those that other implementations have, and whose signatures fit a frame.
private func unsupportedKind(of key: OpaquePointer) -> String? {
  let name = EVP_PKEY_get0_type_name(key).map { String(cString: $0) } ?? "unknown"
  switch EVP_PKEY_get_base_id(key) {
  case EVP_PKEY_ED25519:
    return nil
  case EVP_PKEY_RSA:
    let bits = EVP_PKEY_get_bits(key)
    return (2048...8192).contains(bits) ? nil : "\(name) with \(bits) bits"
  case EVP_PKEY_EC:
    var curve = [CChar](repeating: 0, count: 64)
    guard EVP_PKEY_get_group_name(key, &curve, curve.count, nil) == 1 else { return name }
    let text = String(decoding: curve.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self)
    return ["prime256v1", "secp384r1"].contains(text) ? nil : "\(name) over \(text)"
  default:
    return name
  }
}
