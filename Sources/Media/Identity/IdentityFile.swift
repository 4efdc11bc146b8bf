internal import COpenSSL
internal import Wire

/// A PKCS#12 file (`.p12`, `.pfx`): a private key and certificates under a password.
///
/// The file may come from anybody: its size, and the hashing it asks for, have limits. Even so it may take seconds of a
/// processor, and does not belong on a loop. The password is neither kept nor reported.
public enum IdentityFile {
  /// The longest chain and the longest key, each a little larger than it is by the encryption.
  public static let bytesMax = 2 * Limits.chainCertificatesMax * Limits.certificateBytesMax
  /// The limit on all hash iterations together. Common programs use 2,000 to 600,000; this many take a second or two.
  public static let iterationsMax = 2_000_000

  /// The key, its certificate, and the issuers that the file holds, from the leaf up, without a root: the other side
  /// has that one, or does not trust it. Other contents are left out.
  public static func identity(from file: [UInt8], password: String) throws(IdentityError) -> HeldIdentity {
    guard file.count <= bytesMax else { throw .fileTooLong(bytes: file.count, bytesMax: bytesMax) }
    defer { ERR_clear_error() }
    let parsed = file.withUnsafeBufferPointer { bytes in
      var cursor = bytes.baseAddress
      return d2i_PKCS12(nil, &cursor, bytes.count)
    }
    guard let parsed else { throw .notAnIdentityFile }
    defer { PKCS12_free(parsed) }
    var reader = IdentityFileReader(password)
    try reader.read(parsed)
    return try reader.identity()
  }
}

/// The contents of a file found so far.
private struct IdentityFileReader: ~Copyable {
  /// Nested bags are of no use, but allowed.
  private static let depthMax = 4

  private let password: UnsafeMutableBufferPointer<CChar>
  private let passwordCount: CInt
  private var iterationsLeft = IdentityFile.iterationsMax
  private var keys: [OpaquePointer] = []
  private var certificates: [Certificate] = []

  init(_ password: String) {
    let text = password.utf8
    self.password = .allocate(capacity: max(text.count, 1))
    passwordCount = CInt(text.count)
    _ = self.password.initialize(from: text.lazy.map { CChar(truncatingIfNeeded: $0) })
  }

  deinit {
    OPENSSL_cleanse(password.baseAddress, password.count)
    password.deallocate()
    for key in keys { EVP_PKEY_free(key) }
  }

  // MARK: Reading

  mutating func read(_ file: OpaquePointer) throws(IdentityError) {
    try checkPassword(of: file)
    guard let safes = PKCS12_unpack_authsafes(file) else { throw .notAnIdentityFile }
    defer { COpenSSL_sk_PKCS7_free(safes) }
    for index in 0..<COpenSSL_sk_PKCS7_num(safes) {
      guard let safe = COpenSSL_sk_PKCS7_value(safes, index) else { continue }
      let bags: OpaquePointer?
      if COpenSSL_PKCS7_is_data(safe) == 1 {
        bags = PKCS12_unpack_p7data(safe)
      } else if let encryption = COpenSSL_PKCS7_encryption(safe) {
        try spend(COpenSSL_X509_ALGOR_iterations(encryption))
        bags = PKCS12_unpack_p7encdata(safe, password.baseAddress, passwordCount)
        if bags == nil { throw fault(of: encryption) }
      } else {
        // Encrypted for somebody's key, rather than with a password.
        continue
      }
      guard let bags else { throw .notAnIdentityFile }
      defer { COpenSSL_sk_PKCS12_SAFEBAG_free(bags) }
      try read(bags: bags, depth: 1)
    }
  }

  private mutating func checkPassword(of file: OpaquePointer) throws(IdentityError) {
    var algorithm: UnsafePointer<X509_ALGOR>?
    var count: UnsafePointer<ASN1_INTEGER>?
    PKCS12_get0_mac(nil, &algorithm, nil, &count, file)
    guard let algorithm else { throw .noPasswordCheck }
    var iterations: Int64 = 1
    if let count, ASN1_INTEGER_get_int64(&iterations, count) != 1 { throw .notAnIdentityFile }
    try spend(iterations)
    if name(of: algorithm) == "PBMAC1" { throw .oldCipher("PBMAC1") }
    if PKCS12_verify_mac(file, password.baseAddress, passwordCount) == 1 { return }
    // Some programs write an empty password as none at all.
    if passwordCount == 0, PKCS12_verify_mac(file, nil, 0) == 1 { return }
    throw .wrongPassword
  }

  private mutating func read(bags: OpaquePointer, depth: Int) throws(IdentityError) {
    if depth > Self.depthMax { throw .notAnIdentityFile }
    for index in 0..<COpenSSL_sk_PKCS12_SAFEBAG_num(bags) {
      guard let bag = COpenSSL_sk_PKCS12_SAFEBAG_value(bags, index) else { continue }
      switch PKCS12_SAFEBAG_get_nid(bag) {
      case NID_keyBag:
        take(PKCS12_SAFEBAG_get0_p8inf(bag).flatMap(EVP_PKCS82PKEY))
      case NID_pkcs8ShroudedKeyBag:
        try readShroudedKey(bag)
      case NID_certBag where PKCS12_SAFEBAG_get_bag_nid(bag) == NID_x509Certificate:
        guard let x509 = PKCS12_SAFEBAG_get1_cert(bag) else { throw .notACertificate }
        defer { X509_free(x509) }
        certificates.append(try Certificate(der: Certificate.encoded(x509)))
      case NID_safeContentsBag:
        if let inner = PKCS12_SAFEBAG_get0_safes(bag) { try read(bags: inner, depth: depth + 1) }
      default:
        break
      }
    }
  }

  private mutating func readShroudedKey(_ bag: OpaquePointer) throws(IdentityError) {
    var encryption: UnsafePointer<X509_ALGOR>?
    X509_SIG_get0(PKCS12_SAFEBAG_get0_pkcs8(bag), &encryption, nil)
    guard let encryption else { throw .notAnIdentityFile }
    try spend(COpenSSL_X509_ALGOR_iterations(encryption))
    guard let key = PKCS12_decrypt_skey(bag, password.baseAddress, passwordCount) else { throw fault(of: encryption) }
    defer { PKCS8_PRIV_KEY_INFO_free(key) }
    take(EVP_PKCS82PKEY(key))
  }

  /// A key of a kind that OpenSSL does not know is ignored.
  private mutating func take(_ key: OpaquePointer?) {
    if let key { keys.append(key) }
  }

  private mutating func spend(_ iterations: Int64) throws(IdentityError) {
    guard iterations >= 1 else { throw .notAnIdentityFile }
    guard iterations <= iterationsLeft else { throw .tooSlow(iterationsMax: IdentityFile.iterationsMax) }
    iterationsLeft -= Int(iterations)
  }

  /// Why a decryption failed although the password is right.
  private func fault(of encryption: UnsafePointer<X509_ALGOR>) -> IdentityError {
    var isUnsupported = false
    while case let code = ERR_get_error(), code != 0 {
      isUnsupported = isUnsupported || ERR_GET_REASON(code) == ERR_R_UNSUPPORTED
    }
    return isUnsupported ? .oldCipher(name(of: encryption)) : .notAnIdentityFile
  }

  private func name(of algorithm: UnsafePointer<X509_ALGOR>) -> String {
    OBJ_nid2ln(OBJ_obj2nid(algorithm.pointee.algorithm)).map { String(cString: $0) } ?? "an unknown cipher"
  }

  // MARK: The identity

  func identity() throws(IdentityError) -> HeldIdentity {
    if keys.isEmpty { throw .noPrivateKey }
    if certificates.isEmpty { throw .noCertificate }
    for key in keys {
      guard let leaf = certificates.first(where: { $0.withX509 { X509_check_private_key($0, key) } == 1 }) else {
        continue
      }
      let chain = try chain(from: leaf)
      expect(EVP_PKEY_up_ref(key) == 1, "hold a key")
      return try HeldIdentity(owning: key, chain: chain)
    }
    throw .keyDoesNotFit
  }

  private func chain(from leaf: Certificate) throws(IdentityError) -> [Certificate] {
    var chain = [leaf]
    while let last = chain.last, !last.issued(last) {
      // A ring of certificates that have signed each other would have no end.
      let issuer = certificates.first { $0.issued(last) && !$0.issued($0) && !chain.contains($0) }
      guard let issuer else { break }
      chain.append(issuer)
      if chain.count > Limits.chainCertificatesMax { throw .tooManyCertificates(count: chain.count) }
    }
    return chain
  }
}

extension Certificate {
  /// Whether it has signed the other, and names itself as its issuer.
  fileprivate func issued(_ other: Certificate) -> Bool {
    withX509 { issuer in
      other.withX509 { subject in
        guard X509_check_issued(issuer, subject) == X509_V_OK, let key = X509_get0_pubkey(issuer) else { return false }
        return X509_verify(subject, key) == 1
      }
    }
  }
}
