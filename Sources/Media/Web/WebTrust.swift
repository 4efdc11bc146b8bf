internal import COpenSSL

/// The trust of a fetch over https: TLS 1.2 or later, and a chain that leads to an anchor and names the host.
public final class WebTrust: @unchecked Sendable {
  // `@unchecked`: nothing changes it after `init`, and OpenSSL counts its references atomically.

  /// The authorities that this system trusts: some 150, which take 25 ms to read.
  public static let system = WebTrust(anchors: nil)

  private let context: OpaquePointer

  /// These authorities and no others.
  public convenience init(anchors: [Certificate]) {
    self.init(anchors: .some(anchors))
  }

  private init(anchors: [Certificate]?) {
    context = expect(SSL_CTX_new(TLS_client_method()), "make a TLS context")
    expect(COpenSSL_SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1, "ask for TLS 1.2")
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    let mode = SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
    _ = COpenSSL_SSL_CTX_set_mode(context, Int(mode))
    guard let anchors else {
      expect(SSL_CTX_set_default_verify_paths(context) == 1, "find the system's anchors")
      return
    }
    let store = SSL_CTX_get_cert_store(context)
    for anchor in anchors {
      expect(anchor.withX509 { X509_STORE_add_cert(store, $0) } == 1, "add an anchor")
    }
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), UInt(X509_V_FLAG_PARTIAL_CHAIN))
  }

  deinit {
    SSL_CTX_free(context)
  }

  /// A connection without a socket yet, which verifies the host's name or address.
  func connection(to host: String, isAddress: Bool) -> OpaquePointer {
    let ssl = expect(SSL_new(context), "make a TLS connection")
    if isAddress {
      expect(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1, "hold a server to its address")
    } else {
      SSL_set_hostflags(ssl, CUnsignedInt(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
      expect(SSL_set1_host(ssl, host) == 1, "hold a server to its name")
      expect(COpenSSL_SSL_set_tlsext_host_name(ssl, host) == 1, "name the server")
    }
    SSL_set_connect_state(ssl)
    return ssl
  }
}
