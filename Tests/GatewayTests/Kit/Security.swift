internal import COpenSSL

/// TLS over a socket that waits, with one authority to believe.
final class Security {
  private let context: OpaquePointer
  private let ssl: OpaquePointer

  init(_ socket: CInt, trusting authority: [UInt8], as name: String) throws {
    let memory = BIO_new_mem_buf(authority, CInt(authority.count))
    defer { BIO_free(memory) }
    guard let context = SSL_CTX_new(TLS_client_method()), let root = PEM_read_bio_X509(memory, nil, nil, nil),
      let ssl = SSL_new(context)
    else { throw Line.Broken(what: "what is to be believed is no certificate") }
    defer { X509_free(root) }
    (self.context, self.ssl) = (context, ssl)
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), root)
    SSL_set_verify(ssl, SSL_VERIFY_PEER, nil)
    if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) != 1 { SSL_set1_host(ssl, name) }
    SSL_set_fd(ssl, socket)
    guard SSL_connect(ssl) == 1 else {
      throw Line.Broken(what: String(cString: X509_verify_cert_error_string(SSL_get_verify_result(ssl))))
    }
  }

  deinit {
    SSL_free(ssl)
    SSL_CTX_free(context)
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Int { Int(SSL_write(ssl, bytes.baseAddress, CInt(bytes.count))) }

  func read(_ room: inout [UInt8]) -> Int { max(0, Int(SSL_read(ssl, &room, CInt(room.count)))) }
}
