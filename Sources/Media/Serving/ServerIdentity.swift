internal import COpenSSL

/// A web server's certificate, those above it, and its key.
public final class ServerIdentity: @unchecked Sendable {
  // `@unchecked`: OpenSSL never changes a context once it is made, and counts its references atomically.

  private let context: OpaquePointer
  /// A summary of the server's own certificate.
  public let summary: CertificateSummary

  /// The server's certificate first, then those above it, the root left out; the key without a password. Both are PEM.
  public init(certificates: [UInt8], key: [UInt8]) throws(ServerIdentityError) {
    let chain = readPEM(certificates) { PEM_read_bio_X509($0, nil, nil, nil) }
    defer { for certificate in chain { X509_free(certificate) } }
    guard let leaf = chain.first else { throw ServerIdentityError(.noCertificate) }
    guard let key = readPEM(key, { PEM_read_bio_PrivateKey($0, nil, refusePassword, nil) }).first else {
      throw ServerIdentityError(.noKey)
    }
    defer { EVP_PKEY_free(key) }
    do throws(IdentityError) {
      summary = try Certificate(der: Certificate.encoded(leaf)).summary
    } catch {
      throw ServerIdentityError(.refused(error.description))
    }
    context = expect(SSL_CTX_new(TLS_server_method()), "make a TLS context")
    guard SSL_CTX_use_certificate(context, leaf) == 1, SSL_CTX_use_PrivateKey(context, key) == 1 else {
      let cause = OpenSSLError.take()
      throw ServerIdentityError(
        cause.reason == X509_R_KEY_VALUES_MISMATCH ? .keyOfAnother : .refused(cause.description))
    }
    for certificate in chain.dropFirst() {
      expect(SSL_CTX_ctrl(context, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(certificate)) == 1, "use a chain")
    }
    setUp()
  }

  deinit {
    SSL_CTX_free(context)
  }

  /// The suites of TLS 1.2: forward secrecy, and encryption that authenticates, so none of CBC. Those of TLS 1.3 are
  /// all of that kind.
  private static let oldSuites = "ECDHE+AESGCM:ECDHE+CHACHA20"

  /// TLS 1.2 and 1.3, with HTTP 1.1. Tickets are sealed with keys of this context's own, which no link knows.
  private func setUp() {
    expect(COpenSSL_SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1, "ask for TLS 1.2")
    expect(SSL_CTX_set_cipher_list(context, Self.oldSuites) == 1, "choose the suites of TLS 1.2")
    SSL_CTX_set_options(context, COpenSSL_SSL_OP_NO_RENEGOTIATION)
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nil)
    // Idle connections release their buffers.
    _ = COpenSSL_SSL_CTX_set_mode(context, Int(SSL_MODE_RELEASE_BUFFERS))
    // One read from the socket brings several records.
    _ = COpenSSL_SSL_CTX_set_read_ahead(context, 1)
    SSL_CTX_set_default_read_buffer_len(context, ServerStream.batchBytesMax)
    _ = COpenSSL_SSL_CTX_set_session_cache_mode(context, Int(SSL_SESS_CACHE_OFF))
    SSL_CTX_set_alpn_select_cb(context, selectHTTP, nil)
  }

  func makeConnection() -> OpaquePointer { expect(SSL_new(context), "make a TLS connection") }
}

/// Why a web server cannot show a certificate.
public struct ServerIdentityError: Error, Hashable, CustomStringConvertible {
  public enum Fault: Hashable, Sendable {
    case noCertificate
    case noKey
    case keyOfAnother
    /// In OpenSSL's words.
    case refused(String)
  }

  public let fault: Fault

  init(_ fault: Fault) {
    self.fault = fault
  }

  public var description: String {
    switch fault {
    case .noCertificate:
      "There is no certificate in what was given for HTTPS: give the server's, and those above it, as PEM."
    case .noKey:
      "There is no key that can be read in what was given for HTTPS: give one without a password, as PEM."
    case .keyOfAnother:
      "The key that was given for HTTPS belongs to another certificate: give the one that this certificate was made for."
    case .refused(let reason): "The certificate and key that were given for HTTPS cannot be used: \(reason)."
    }
  }
}

/// All objects of one kind in PEM text.
func readPEM(_ bytes: [UInt8], _ read: (OpaquePointer?) -> OpaquePointer?) -> [OpaquePointer] {
  bytes.withUnsafeBytes { bytes in
    let memory = expect(BIO_new_mem_buf(bytes.baseAddress, CInt(bytes.count)), "read PEM")
    defer {
      BIO_free(memory)
      ERR_clear_error()
    }
    var objects: [OpaquePointer] = []
    while let object = read(memory) { objects.append(object) }
    return objects
  }
}

/// Without this, OpenSSL would ask for the password at the terminal.
func refusePassword(
  _: UnsafeMutablePointer<CChar>?, _: CInt, _: CInt, _: UnsafeMutableRawPointer?
) -> CInt { -1 }

/// RFC 7301's form: each name after its length.
private let httpProtocol: StaticString = "\u{08}http/1.1"

/// A client that offers protocols without this one is refused by the alert `no_application_protocol` (RFC 7301 §3.2).
private func selectHTTP(
  _: OpaquePointer?,
  _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ chosenCount: UnsafeMutablePointer<UInt8>?,
  _ offered: UnsafePointer<UInt8>?, _ offeredCount: CUnsignedInt, _: UnsafeMutableRawPointer?
) -> CInt {
  negotiate(httpProtocol, chosen, chosenCount, offered, offeredCount) ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL
}
