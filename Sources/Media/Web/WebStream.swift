internal import COpenSSL
internal import Glibc
internal import Reactor

/// One connection to a web server, under TLS or not, on a non-blocking socket.
struct WebStream: ~Copyable {
  enum Step {
    /// The number of bytes moved; 0 for a step that moves none.
    case moved(Int)
    case needsReadable
    case needsWritable
    /// The server closed in good order.
    case ended
    /// The connection broke, or ended without a close notification.
    case cut
    case failed(WebError)
  }

  let socket: Descriptor
  private let host: String
  /// Nil for http.
  private let ssl: OpaquePointer?

  init(to url: WebURL, _ trust: WebTrust?, on socket: consuming Descriptor) {
    host = url.host
    let isAddress = SocketAddress(url.host, port: url.port) != nil
    ssl = url.scheme == .https ? (trust ?? .system).connection(to: url.host, isAddress: isAddress) : nil
    if let ssl { expect(SSL_set_fd(ssl, socket.number) == 1, "use the socket") }
    self.socket = socket
  }

  deinit {
    SSL_free(ssl)
  }

  func register(
    on reactor: Reactor, for interest: Readiness, _ handler: @escaping (Readiness) -> Void
  ) throws(SystemError) -> Registration {
    try reactor.register(socket, for: interest, handler)
  }

  func shakeHands() -> Step {
    guard let ssl else { return .moved(0) }
    return step(of: ssl) { _ in SSL_do_handshake(ssl) }
  }

  func read(into room: UnsafeMutableRawBufferPointer) -> Step {
    if let ssl { return step(of: ssl) { SSL_read_ex(ssl, room.baseAddress, room.count, &$0) } }
    let step = step {
      Glibc.read(socket.number, room.baseAddress, room.count)
    } blocked: {
      .needsReadable
    }
    if case .moved(0) = step { return .ended }
    return step
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Step {
    if let ssl { return step(of: ssl) { SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &$0) } }
    return step {
      Glibc.write(socket.number, bytes.baseAddress, bytes.count)
    } blocked: {
      .needsWritable
    }
  }

  private func step(_ call: () -> Int, blocked: () -> Step) -> Step {
    while true {
      let count = call()
      if count >= 0 { return .moved(count) }
      let code = errno
      if code == EAGAIN { return blocked() }
      if code != EINTR { return broken(code) }
    }
  }

  private func step(of ssl: OpaquePointer, _ call: (inout Int) -> CInt) -> Step {
    ERR_clear_error()
    errno = 0
    var moved = 0
    let result = call(&moved)
    if result > 0 { return .moved(moved) }
    let code = errno
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ: return .needsReadable
    case SSL_ERROR_WANT_WRITE: return .needsWritable
    case SSL_ERROR_ZERO_RETURN: return .ended
    case SSL_ERROR_SYSCALL: return broken(code)
    default: return fault(of: ssl)
    }
  }

  private func broken(_ code: CInt) -> Step {
    switch code {
    case 0, ECONNRESET, EPIPE: .cut
    default: .failed(.unreachable(host: host, SystemError("transfer", code: code)))
    }
  }

  private func fault(of ssl: OpaquePointer) -> Step {
    let error = OpenSSLError.take()
    switch error.reason {
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return .cut
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      let words = X509_verify_cert_error_string(SSL_get_verify_result(ssl)).map { String(cString: $0) }
      return .failed(.notBelieved(host: host, words ?? error.description))
    default:
      return .failed(.insecure(host: host, error.description))
    }
  }
}
