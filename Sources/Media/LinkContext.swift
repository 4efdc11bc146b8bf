internal import COpenSSL
internal import Wire

/// The rules of every link, and the certificate that carries this host's key: TLS 1.3 alone, Ed25519 alone, a
/// certificate from both sides, one application protocol, nothing resumed.
///
/// Who the other side is, its key says; its certificate only carries that key, so names, dates and issuers in it
/// mean nothing.
public final class LinkContext: @unchecked Sendable {
  // `@unchecked`: nothing changes it after `init`, and OpenSSL counts its references atomically.

  /// The one protocol that is spoken over a link.
  public static let applicationProtocol = "vicinity/1"

  private let context: OpaquePointer

  public init(key: SigningKey) {
    context = expect(SSL_CTX_new(TLS_method()), "make a TLS context")
    expect(COpenSSL_SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1, "ask for TLS 1.3")
    expect(
      SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256") == 1, "set ciphers")
    expect(COpenSSL_SSL_CTX_set1_sigalgs_list(context, "ed25519") == 1, "ask for Ed25519")
    forbidResumption()
    tuneRecords()
    useCertificate(of: key)
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    SSL_CTX_set_cert_verify_callback(context, acceptHostCertificate, nil)
    // Zero is success for this one call.
    expect(
      SSL_CTX_set_alpn_protos(context, protocolList.utf8Start, CUnsignedInt(protocolList.utf8CodeUnitCount)) == 0,
      "offer the protocol")
    SSL_CTX_set_alpn_select_cb(context, selectProtocol, nil)
  }

  deinit {
    SSL_CTX_free(context)
  }

  func withContext<Result>(_ body: (OpaquePointer) -> Result) -> Result { body(context) }

  private func forbidResumption() {
    SSL_CTX_set_options(context, COpenSSL_SSL_OP_NO_TICKET | COpenSSL_SSL_OP_NO_RENEGOTIATION)
    expect(SSL_CTX_set_num_tickets(context, 0) == 1, "turn tickets off")
    _ = COpenSSL_SSL_CTX_set_session_cache_mode(context, Int(SSL_SESS_CACHE_OFF))
  }

  private func tuneRecords() {
    // Idle links give their buffers back.
    _ = COpenSSL_SSL_CTX_set_mode(context, Int(SSL_MODE_RELEASE_BUFFERS))
    // One read from the socket brings several records.
    _ = COpenSSL_SSL_CTX_set_read_ahead(context, 1)
    SSL_CTX_set_default_read_buffer_len(context, 64 << 10)
  }

  private func useCertificate(of key: SigningKey) {
    key.withKey { key in
      let certificate = selfSignedCertificate(of: key)
      defer { X509_free(certificate) }
      expect(SSL_CTX_use_certificate(context, certificate) == 1, "use the certificate")
      expect(SSL_CTX_use_PrivateKey(context, key) == 1, "use the key")
    }
  }
}

/// RFC 7301's form: each name after its length.
private let protocolList: StaticString = "\u{0A}vicinity/1"

/// A certificate that says nothing but the key, valid for all time, since boxes without a clock use it.
private func selfSignedCertificate(of key: OpaquePointer) -> OpaquePointer {
  let certificate = expect(X509_new(), "make a certificate")
  let name = X509_get_subject_name(certificate)
  let named =
    X509_set_version(certificate, Int(X509_VERSION_3)) == 1
    && ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1
    && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, "vicinity", -1, -1, 0) == 1
    && X509_set_issuer_name(certificate, name) == 1
  let dated =
    ASN1_TIME_set_string(X509_getm_notBefore(certificate), "19700101000000Z") == 1
    && ASN1_TIME_set_string(X509_getm_notAfter(certificate), "99991231235959Z") == 1
  expect(
    named && dated && X509_set_pubkey(certificate, key) == 1 && X509_sign(certificate, key, nil) > 0,
    "make a certificate")
  return certificate
}

/// Takes the place of OpenSSL's chain check: the other side shows exactly one certificate, and it carries an Ed25519
/// key. That it holds the key, TLS itself proves.
private func acceptHostCertificate(_ store: OpaquePointer?, _: UnsafeMutableRawPointer?) -> CInt {
  let shown = COpenSSL_sk_X509_num(X509_STORE_CTX_get0_untrusted(store))
  if shown == 1, let leaf = X509_STORE_CTX_get0_cert(store), let key = X509_get0_pubkey(leaf),
    PublicKey(of: key) != nil
  {
    return 1
  }
  X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
  return 0
}

private func selectProtocol(
  _: OpaquePointer?,
  _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ chosenCount: UnsafeMutablePointer<UInt8>?,
  _ offered: UnsafePointer<UInt8>?, _ offeredCount: CUnsignedInt, _: UnsafeMutableRawPointer?
) -> CInt {
  var match: UnsafeMutablePointer<UInt8>?
  let result = SSL_select_next_proto(
    &match, chosenCount, protocolList.utf8Start, CUnsignedInt(protocolList.utf8CodeUnitCount), offered, offeredCount)
  guard result == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_ALERT_FATAL }
  chosen?.pointee = UnsafePointer(match)
  return SSL_TLSEXT_ERR_OK
}
