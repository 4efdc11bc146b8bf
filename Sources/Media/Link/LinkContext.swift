internal import COpenSSL
internal import Reactor
internal import Wire

/// The rules of every link, and the certificate that carries this host's key: TLS 1.3 alone, Ed25519 alone, a
/// certificate from both sides, one application protocol.
///
/// The key identifies the other side; its certificate only carries that key, so names, dates and issuers in it mean
/// nothing. A resumed link has the key of the link that its ticket came from, on both sides: the one that dialled keeps
/// it with the ticket, the other one has sealed it into it. Keys are exchanged anew all the same, and no data goes
/// before the handshake is done.
///
/// It belongs to the loop of its links.
public final class LinkContext {
  /// The only protocol over a link.
  public static let applicationProtocol = "vicinity/1"

  /// Tickets are good until the keys that seal them are replaced, which is this long at most: they are for a link that
  /// was cut, not for one of yesterday.
  static let ticketKeysTime: UInt64 = 3_600_000_000_000

  private let context: OpaquePointer
  let tickets = Tickets()
  private var ticketKeysMade: UInt64 = 0

  public init(key: SigningKey) {
    context = expect(SSL_CTX_new(TLS_method()), "make a TLS context")
    expect(COpenSSL_SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1, "ask for TLS 1.3")
    expect(
      SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256") == 1, "set ciphers")
    expect(COpenSSL_SSL_CTX_set1_sigalgs_list(context, "ed25519") == 1, "ask for Ed25519")
    allowResumption()
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

  /// For one connection; it must keep this object for as long as it lives.
  func makeConnection(at now: UInt64 = Reactor.now) -> OpaquePointer {
    if ticketKeysMade == 0 || now >= ticketKeysMade + Self.ticketKeysTime { replaceTicketKeys(at: now) }
    return expect(SSL_new(context), "make a TLS connection")
  }

  /// Offers the host the ticket that it gave last, if there is one.
  func resume(_ host: HostID, with connection: OpaquePointer) {
    tickets.use(for: host) { expect(SSL_set_session(connection, $0) == 1, "use a ticket") }
  }

  /// Keeps the session of the host in its certificate. It keeps a copy: OpenSSL does not resume the session of a link
  /// that was cut, and that is the one to resume.
  fileprivate func keep(_ session: OpaquePointer) {
    guard let certificate = SSL_SESSION_get0_peer(session), let key = X509_get0_pubkey(certificate),
      let host = PublicKey(of: key).map(HostID.init(of:))
    else { return }
    tickets.keep(expect(SSL_SESSION_dup(session), "keep a ticket"), of: host)
  }

  private func allowResumption() {
    SSL_CTX_set_options(context, COpenSSL_SSL_OP_NO_RENEGOTIATION)
    expect(SSL_CTX_set_num_tickets(context, 1) == 1, "give one ticket each time")
    expect(
      SSL_CTX_set_max_early_data(context, 0) == 1 && SSL_CTX_set_recv_max_early_data(context, 0) == 1,
      "forbid early data")
    _ = COpenSSL_SSL_CTX_set_session_cache_mode(context, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL))
    _ = SSL_CTX_set_timeout(context, Int(Self.ticketKeysTime / 1_000_000_000))
    // Without one, OpenSSL resumes nothing where it asks for certificates.
    expect(
      SSL_CTX_set_session_id_context(context, protocolList.utf8Start, CUnsignedInt(protocolList.utf8CodeUnitCount))
        == 1, "name the sessions")
    expect(SSL_CTX_set_ex_data(context, 0, Unmanaged.passUnretained(self).toOpaque()) == 1, "note the context")
    SSL_CTX_sess_set_new_cb(context, keepTicket)
  }

  /// Tickets sealed with the keys before are not read any more, and lead to a full handshake.
  func replaceTicketKeys(at now: UInt64 = Reactor.now) {
    ticketKeysMade = now
    var keys = OpenSSLCrypto.randomBytes(SSL_CTX_ctrl(context, SSL_CTRL_SET_TLSEXT_TICKET_KEYS, 0, nil))
    defer { keys.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
    expect(
      SSL_CTX_ctrl(context, SSL_CTRL_SET_TLSEXT_TICKET_KEYS, keys.count, &keys) == 1, "replace the keys of tickets")
  }

  private func tuneRecords() {
    // Idle links release their buffers.
    _ = COpenSSL_SSL_CTX_set_mode(context, Int(SSL_MODE_RELEASE_BUFFERS))
    // One read from the socket brings several records.
    _ = COpenSSL_SSL_CTX_set_read_ahead(context, 1)
    // There is one certificate, of a few hundred bytes.
    _ = SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_CERT_LIST, 4 << 10, nil)
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

/// A certificate with nothing but the key, valid for all time, since machines without a clock use it.
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

/// Replaces OpenSSL's chain check: the other side shows exactly one certificate, and it carries an Ed25519 key. TLS
/// itself proves the possession of the key.
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

private func keepTicket(_ connection: OpaquePointer?, _ session: OpaquePointer?) -> CInt {
  guard let session, let context = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), 0) else { return 0 }
  // A connection keeps its context.
  Unmanaged<LinkContext>.fromOpaque(context).takeUnretainedValue().keep(session)
  // The session stays OpenSSL's.
  return 0
}

private func selectProtocol(
  _: OpaquePointer?,
  _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ chosenCount: UnsafeMutablePointer<UInt8>?,
  _ offered: UnsafePointer<UInt8>?, _ offeredCount: CUnsignedInt, _: UnsafeMutableRawPointer?
) -> CInt {
  negotiate(protocolList, chosen, chosenCount, offered, offeredCount) ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL
}

/// Whether a client offers one of our protocols, in RFC 7301's form; it is chosen then.
func negotiate(
  _ ours: StaticString, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
  _ chosenCount: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ offeredCount: CUnsignedInt
) -> Bool {
  var match: UnsafeMutablePointer<UInt8>?
  let result = SSL_select_next_proto(
    &match, chosenCount, ours.utf8Start, CUnsignedInt(ours.utf8CodeUnitCount), offered, offeredCount)
  guard result == OPENSSL_NPN_NEGOTIATED else { return false }
  chosen?.pointee = UnsafePointer(match)
  return true
}
