import COpenSSL
import Testing

/// A client that speaks TLS over a socket that waits, and believes one authority alone.
final class SecureClient {
  private let client: Client
  private let context: OpaquePointer
  private let ssl: OpaquePointer
  private var left: [UInt8] = []

  init(_ port: UInt16, host: String, authority: [UInt8], protocols: [String] = ["http/1.1"]) throws {
    client = try Client(port)
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
    SSL_set_fd(ssl, client.number)
    guard SSL_connect(ssl) == 1 else { throw Client.Failure(description: "no TLS") }
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

  func send(_ bytes: [UInt8]) throws {
    var count = 0
    guard SSL_write_ex(ssl, bytes, bytes.count, &count) == 1, count == bytes.count else {
      throw Client.Failure(description: "cannot send")
    }
  }

  func send(_ text: String) throws { try send(Array(text.utf8)) }

  func receive() throws -> [UInt8] {
    if !left.isEmpty {
      defer { left = [] }
      return left
    }
    var room = [UInt8](repeating: 0, count: 65_536)
    var count = 0
    let result = SSL_read_ex(ssl, &room, room.count, &count)
    if result == 1 { return Array(room[..<count]) }
    guard SSL_get_error(ssl, result) == SSL_ERROR_ZERO_RETURN else { throw Client.Failure(description: "it is cut") }
    return []
  }

  func receiveExactly(_ count: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let more = try receive()
      guard !more.isEmpty else { throw Client.Failure(description: "it ends after \(bytes.count) bytes") }
      bytes += more
    }
    left = Array(bytes[count...])
    return Array(bytes[..<count])
  }

  /// A response's head, and its body where it has a length.
  func answer() throws -> (head: String, body: [UInt8]) {
    var bytes: [UInt8] = []
    while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) { bytes += try receiveExactly(1) }
    let head = String(decoding: bytes, as: UTF8.self)
    let length = head.lowercased().firstMatch(of: #/content-length: (\d+)/#).flatMap { Int($0.output.1) }
    return (head, try receiveExactly(length ?? 0))
  }
}
