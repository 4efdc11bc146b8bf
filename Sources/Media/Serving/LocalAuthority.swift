internal import COpenSSL
internal import Glibc
public import Reactor

/// A certificate authority of one's own, for web servers without a public certificate.
///
/// It may vouch for the names and addresses alone that it was made for, and, where that is wanted, for addresses of
/// private networks: a device that trusts it does so for nothing else.
public struct LocalAuthority: Sendable {
  /// PEM.
  public let certificate: [UInt8]
  /// PEM, without a password.
  public let key: [UInt8]

  /// An existing one.
  public init(certificate: [UInt8], key: [UInt8]) {
    self.certificate = certificate
    self.key = key
  }

  /// From `secret`'s PEM form; nil where the bytes are none.
  public init?(pem bytes: [UInt8]) {
    guard let certificate = readPEM(bytes, { PEM_read_bio_X509($0, nil, nil, nil) }).first else { return nil }
    defer { X509_free(certificate) }
    guard let key = readPEM(bytes, { PEM_read_bio_PrivateKey($0, nil, refusePassword, nil) }).first else { return nil }
    defer { EVP_PKEY_free(key) }
    guard X509_check_private_key(certificate, key) == 1 else { return nil }
    self.certificate = Media.pem { PEM_write_bio_X509($0, certificate) }
    self.key = Media.pem(of: key)
  }

  /// Both in one, which is a secret.
  public var secret: [UInt8] { certificate + key }

  public var summary: CertificateSummary? { try? Certificate.all(in: certificate).first?.summary }

  /// Addresses that are not public: RFC 1918, RFC 3927, RFC 4193.
  private static let privateNetworks = [
    "10.0.0.0/255.0.0.0", "172.16.0.0/255.240.0.0", "192.168.0.0/255.255.0.0", "169.254.0.0/255.255.0.0",
    "fc00::/fe00::",
  ]

  /// A new one for these names, such as `box.local`, and these addresses; the ports mean nothing. One for private
  /// networks stays good when a box moves from one of their addresses to another.
  public static func make(
    named name: String, for names: [String], _ addresses: [SocketAddress], andPrivateNetworks isWide: Bool = false,
    days: Int = 3650
  ) -> LocalAuthority {
    let key = makeKey()
    defer { EVP_PKEY_free(key) }
    // A kind without a permitted entry would be unconstrained: so each has at least this machine itself.
    let constraints =
      (["localhost"] + names).map { "permitted;DNS:\($0)" }
      + ([.loopback(port: 0)] + addresses).map { "permitted;IP:\($0.hostText)/\($0.mask)" }
      + (isWide ? privateNetworks : []).map { "permitted;IP:\($0)" }
    let certificate = Draft(subject: name, days: days, key)
      .extended(NID_basic_constraints, "critical,CA:TRUE,pathlen:0")
      .extended(NID_key_usage, "critical,keyCertSign,cRLSign")
      .identified(by: nil)
      .extended(NID_name_constraints, "critical," + constraints.joined(separator: ","))
      .signed(by: nil, key)
    defer { X509_free(certificate) }
    return LocalAuthority(certificate: pem { PEM_write_bio_X509($0, certificate) }, key: pem(of: key))
  }

  /// A certificate and key for a server of these names and addresses; nil where this is no authority.
  public func issue(
    for names: [String], _ addresses: [SocketAddress], days: Int = 397
  ) -> (certificates: [UInt8], key: [UInt8])? {
    guard let issuer = readPEM(certificate, { PEM_read_bio_X509($0, nil, nil, nil) }).first else { return nil }
    defer { X509_free(issuer) }
    guard let issuerKey = readPEM(key, { PEM_read_bio_PrivateKey($0, nil, nil, nil) }).first else { return nil }
    defer { EVP_PKEY_free(issuerKey) }
    let key = makeKey()
    defer { EVP_PKEY_free(key) }
    let places = names.map { "DNS:\($0)" } + addresses.map { "IP:\($0.hostText)" }
    let certificate = Draft(subject: names.first ?? addresses.first?.hostText ?? "vicinity", days: days, key)
      .extended(NID_basic_constraints, "critical,CA:FALSE")
      .extended(NID_key_usage, "critical,digitalSignature")
      .extended(NID_ext_key_usage, "serverAuth")
      .extended(NID_subject_alt_name, places.joined(separator: ","))
      .identified(by: issuer)
      .signed(by: issuer, issuerKey)
    defer { X509_free(certificate) }
    return (pem { PEM_write_bio_X509($0, certificate) }, pem(of: key))
  }
}

extension LocalAuthority {
  /// Whether a server with these certificates is trusted, also by strict readers of RFC 5280, on devices that trust
  /// this authority, for any of the names or addresses, now and until so many days from now.
  public func vouches(
    for certificates: [UInt8], as names: [String], _ addresses: [SocketAddress], forDays days: Int
  ) -> Bool {
    let (roots, leaves) = (
      readPEM(certificate) { PEM_read_bio_X509($0, nil, nil, nil) },
      readPEM(certificates) { PEM_read_bio_X509($0, nil, nil, nil) }
    )
    defer {
      for one in roots + leaves { X509_free(one) }
      ERR_clear_error()
    }
    guard let root = roots.first, let leaf = leaves.first else { return false }
    let matches =
      names.allSatisfy { X509_check_host(leaf, $0, $0.utf8.count, 0, nil) == 1 }
      && addresses.allSatisfy { X509_check_ip_asc(leaf, $0.hostText, 0) == 1 }
    let now = time(nil)
    return matches && [now, now + days * 86_400].allSatisfy { Self.isBelieved(leaf, under: root, at: $0) }
  }

  private static func isBelieved(_ leaf: OpaquePointer, under root: OpaquePointer, at time: Int) -> Bool {
    let store = expect(X509_STORE_new(), "make a store of certificates")
    defer { X509_STORE_free(store) }
    let context = expect(X509_STORE_CTX_new(), "verify a certificate")
    defer { X509_STORE_CTX_free(context) }
    expect(
      X509_STORE_add_cert(store, root) == 1 && X509_STORE_CTX_init(context, store, leaf, nil) == 1,
      "verify a certificate")
    X509_STORE_CTX_set_flags(context, UInt(X509_V_FLAG_X509_STRICT))
    X509_STORE_CTX_set_time(context, 0, time)
    return X509_verify_cert(context) == 1
  }
}

/// P-256, which every browser takes.
private func makeKey() -> OpaquePointer {
  expect(COpenSSL_EVP_PKEY_generate_ec("P-256"), "make a P-256 key")
}

private func pem(of key: OpaquePointer) -> [UInt8] {
  pem { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
}

private func pem(_ write: (OpaquePointer) -> CInt) -> [UInt8] {
  let memory = expect(BIO_new(BIO_s_mem()), "write PEM")
  defer { BIO_free(memory) }
  expect(write(memory) == 1, "write PEM")
  var bytes: UnsafeMutablePointer<CChar>?
  let count = COpenSSL_BIO_get_mem_data(memory, &bytes)
  return Array(UnsafeRawBufferPointer(start: bytes, count: count))
}

/// A certificate under construction.
private struct Draft {
  private let certificate: OpaquePointer

  init(subject: String, days: Int, _ key: OpaquePointer) {
    certificate = expect(X509_new(), "make a certificate")
    let serial = OpenSSLCrypto.randomBytes(16)
    let number = expect(BN_bin2bn(serial, CInt(serial.count), nil), "make a number")
    defer { BN_free(number) }
    let name = X509_get_subject_name(certificate)
    // RFC 5280 allows a common name 64 characters.
    let text = Array(subject.prefix(64).utf8)
    let isMade =
      X509_set_version(certificate, Int(X509_VERSION_3)) == 1
      && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil
      && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, CInt(text.count), -1, 0) == 1
      // A clock that is a day behind must not matter.
      && X509_gmtime_adj(X509_getm_notBefore(certificate), -86_400) != nil
      && X509_gmtime_adj(X509_getm_notAfter(certificate), days * 86_400) != nil
      && X509_set_pubkey(certificate, key) == 1
    expect(isMade, "make a certificate")
  }

  /// With the identifiers of its key and its issuer's (RFC 5280 §4.2.1); self-signed where there is no issuer.
  func identified(by issuer: OpaquePointer?) -> Draft {
    extended(NID_subject_key_identifier, "hash").extended(NID_authority_key_identifier, "keyid:always", of: issuer)
  }

  func extended(_ kind: CInt, _ value: String, of issuer: OpaquePointer? = nil) -> Draft {
    var context = X509V3_CTX()
    X509V3_set_ctx(&context, issuer ?? certificate, certificate, nil, nil, 0)
    let made = expect(X509V3_EXT_conf_nid(nil, &context, kind, value), "extend a certificate")
    defer { X509_EXTENSION_free(made) }
    expect(X509_add_ext(certificate, made, -1) == 1, "extend a certificate")
    return self
  }

  /// Self-signed where there is no issuer. The caller owns the certificate.
  func signed(by issuer: OpaquePointer?, _ key: OpaquePointer) -> OpaquePointer {
    let name = X509_get_subject_name(issuer ?? certificate)
    expect(
      X509_set_issuer_name(certificate, name) == 1 && X509_sign(certificate, key, EVP_sha256()) > 0,
      "sign a certificate")
    return certificate
  }
}

extension SocketAddress {
  /// Without port, scope and brackets.
  fileprivate var hostText: String {
    let text = description
    if case .v4 = host { return String(text.prefix { $0 != ":" }) }
    return String(text.dropFirst().prefix { $0 != "]" && $0 != "%" })
  }

  fileprivate var mask: String {
    if case .v4 = host { return "255.255.255.255" }
    return "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"
  }
}
