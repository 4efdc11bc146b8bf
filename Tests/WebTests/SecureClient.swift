import COpenSSL
import Glibc
import Testing

/// A client that speaks TLS over a socket that waits, and believes one authority alone.
final class SecureClient: Client {
  private let context: OpaquePointer
  private let ssl: OpaquePointer

  init(_ port: UInt16, host: String, authority: [UInt8], protocols: [String] = ["http/1.1"]) throws {
    context = try #require(SSL_CTX_new(TLS_client_method()))
    let memory = BIO_new_mem_buf(authority, CInt(authority.count))
    defer { BIO_free(memory) }
    let certificate = try #require(PEM_read_bio_X509(memory, nil, nil, nil))
    defer { X509_free(certificate) }
    try #require(X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate) == 1)
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    ssl = try #require(SSL_new(context))
    let isAddress = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1
    if !isAddress { try #require(SSL_set1_host(ssl, host) == 1) }
    let list = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
    SSL_set_alpn_protos(ssl, list, CUnsignedInt(list.count))
    try super.init(port)
    SSL_set_fd(ssl, number)
    guard SSL_connect(ssl) == 1 else { throw Failure(description: "no TLS") }
  }

  deinit {
    SSL_free(ssl)
    SSL_CTX_free(context)
  }

  var applicationProtocol: String {
    var name: UnsafePointer<UInt8>?
    var count: CUnsignedInt = 0
    SSL_get0_alpn_selected(ssl, &name, &count)
    return String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
  }

  override func send(_ bytes: [UInt8]) throws {
    var count = 0
    guard SSL_write_ex(ssl, bytes, bytes.count, &count) == 1, count == bytes.count else {
      throw Failure(description: "cannot send")
    }
  }

  override func endSending() {
    SSL_shutdown(ssl)
    super.endSending()
  }

  override func read(_ countMax: Int) throws -> [UInt8] {
    var room = [UInt8](repeating: 0, count: countMax)
    var count = 0
    let result = SSL_read_ex(ssl, &room, room.count, &count)
    if result == 1 { return Array(room[..<count]) }
    switch (SSL_get_error(ssl, result), errno) {
    case (SSL_ERROR_ZERO_RETURN, _): return []
    // A reset ends the connection as without TLS, if the server left bytes unread.
    case (SSL_ERROR_SYSCALL, ECONNRESET): return []
    case (SSL_ERROR_WANT_READ, _): throw Failure(description: "nothing comes")
    default: throw Failure(description: "it is cut")
    }
  }
}
