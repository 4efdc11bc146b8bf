internal import COpenSSL
internal import Glibc
internal import Reactor
internal import Wire

/// One TLS connection and its non-blocking socket. Written bytes lie in its outbox until `flush`.
struct TLSStream: ~Copyable {
  enum Role { case client, server }

  enum Step {
    /// The number of bytes moved; 0 for a step that moves none.
    case moved(Int)
    case needsReadable
    case needsWritable
    /// The other side sent its bye.
    case ended
    case failed(LinkEnd)
  }

  let socket: Descriptor
  private let ssl: OpaquePointer
  private let context: LinkContext
  private let outbox = Outbox()
  /// Sealed bytes that the socket has taken.
  var sentCount: UInt64 { outbox.sentCount }

  /// A dial of a known host may resume its session.
  init(_ role: Role, _ context: LinkContext, resuming host: HostID?, on socket: consuming Descriptor) {
    self.context = context
    ssl = context.makeConnection()
    if let host { context.resume(host, with: ssl) }
    SSL_set_bio(ssl, SocketSource.makeBIO(of: socket.number), outbox.makeBIO())
    switch role {
    case .client: SSL_set_connect_state(ssl)
    case .server: SSL_set_accept_state(ssl)
    }
    self.socket = socket
  }

  deinit {
    SSL_free(ssl)
  }

  func shakeHands() -> Step {
    let step = step { _ in SSL_do_handshake(ssl) }
    guard case .moved = step else { return step }
    // A side that offers no protocol at all comes this far.
    if !speaksOurProtocol { return .failed(.refused(.noCommonProtocol)) }
    // A resumed handshake shows no certificate: the one in its ticket counts.
    if remoteKey() == nil { return .failed(.refused(.wrongCertificate)) }
    // An authenticated side may send a batch at a time.
    SSL_set_default_read_buffer_len(ssl, Self.batchBytesMax)
    return step
  }

  /// Appends received bytes, as far as there is room and up to the end of one read from the socket. Where the step is
  /// no error, it says whether there may be more: after a `moved` there may, else the socket reports it.
  func read(into out: inout OutputRawSpan) -> Step {
    out.withUnsafeMutableBytes { room, count in
      let before = count
      while count < room.count {
        let free = UnsafeMutableRawBufferPointer(rebasing: room[count...])
        let step = step { SSL_read_ex(ssl, free.baseAddress, free.count, &$0) }
        guard case .moved(let more) = step else { return step }
        count += more
        if hasUnread { continue }
        // So little has emptied the socket, which need not be asked again. More is often one batch of the other side,
        // which ends where its last frame does: no partial frame has to be kept for the next.
        return count - before < Self.littleBytes ? .needsReadable : .moved(count - before)
      }
      return .moved(count - before)
    }
  }

  /// Whether bytes have been taken from the socket that nobody has read.
  var hasUnread: Bool { SSL_has_pending(ssl) == 1 }

  /// Less than the size of one read from the socket.
  private static let littleBytes = 16 << 10

  /// Takes all of up to `batchBytesMax` bytes; only after earlier writes are flushed.
  func write(_ bytes: UnsafeRawBufferPointer) -> Step {
    precondition(outbox.isEmpty && bytes.count <= Self.batchBytesMax, "there is no room for \(bytes.count) more bytes")
    return step { SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &$0) }
  }

  /// Four chunks of a resource with their heads: fewer cost a third more of processor time, more gain nothing.
  static let batchBytesMax = 66 << 10

  /// Page alignment of a batch: OpenSSL copies it into a buffer of its own, which must not begin at the costly offset
  /// that `Outbox` describes. Memory allocated together easily does; a page-aligned batch does not.
  static let batchAlignment = 4 << 10

  func flush() -> Step {
    if outbox.isEmpty { return .moved(0) }
    do throws(SystemError) {
      return try outbox.flush(to: socket) ? .moved(0) : .needsWritable
    } catch {
      return .failed(brokenPipe(error.code))
    }
  }

  func sayGoodbye() -> Step {
    // It returns 0 once our bye is out and theirs has not come.
    step { _ in max(SSL_shutdown(ssl), -1) == -1 ? -1 : 1 }
  }

  /// The key of the host at the other end, after the handshake.
  func remoteKey() -> PublicKey? {
    guard let certificate = SSL_get1_peer_certificate(ssl) else { return nil }
    defer { X509_free(certificate) }
    return X509_get0_pubkey(certificate).flatMap(PublicKey.init(of:))
  }

  /// Nothing of a connection that was tampered with is used again (RFC 8446 §6.2).
  func forgetTicket() {
    if let key = remoteKey() { context.tickets.use(for: HostID(of: key)) { _ in } }
  }

  var isResumed: Bool { SSL_session_reused(ssl) == 1 }

  var localAddress: SocketAddress? { (try? socket.localAddress()) ?? nil }

  /// 32 bytes that only the two ends of this connection know, after the handshake.
  func exporter() -> Digest {
    // It throws over another count alone.
    try! Digest(bytes: export("EXPORTER-vicinity-link", Digest.byteCount))
  }

  /// The keys of this connection's datagrams, after the handshake.
  func datagramKeys() -> DatagramKeys {
    DatagramKeys(export("EXPORTER-vicinity-datagrams", DatagramKeys.byteCount), isClient: SSL_is_server(ssl) == 0)
  }

  private func export(_ label: String, _ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    expect(
      SSL_export_keying_material(ssl, &bytes, count, label, label.utf8.count, nil, 0, 0) == 1,
      "export keying material")
    return bytes
  }

  private var speaksOurProtocol: Bool {
    var name: UnsafePointer<UInt8>?
    var count: CUnsignedInt = 0
    SSL_get0_alpn_selected(ssl, &name, &count)
    return LinkContext.applicationProtocol.utf8.elementsEqual(UnsafeBufferPointer(start: name, count: Int(count)))
  }

  private func step(_ call: (inout Int) -> CInt) -> Step {
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
    case SSL_ERROR_SYSCALL: return .failed(brokenPipe(code))
    default: return .failed(fault(OpenSSLError.take()))
    }
  }

  private func brokenPipe(_ code: CInt) -> LinkEnd {
    switch code {
    case 0, ECONNRESET, EPIPE: .cut
    default: .failed(SystemError("transfer", code: code))
    }
  }

  private func fault(_ error: OpenSSLError) -> LinkEnd {
    switch error.reason {
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      .cut
    case SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST, SSL_R_WRONG_VERSION_NUMBER, SSL_R_UNSUPPORTED_PROTOCOL,
      SSL_R_UNKNOWN_PROTOCOL, SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      .refused(.notTLS)
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      .refused(.noCertificate)
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      .refused(.wrongCertificate)
    case SSL_R_NO_APPLICATION_PROTOCOL, SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
      .refused(.noCommonProtocol)
    case alertReasons:
      // A side that dialled may receive one after its own handshake was done.
      .refused(.byTheOtherSide(error.description))
    default:
      SSL_is_init_finished(ssl) == 1 ? .broken(error.description) : .refused(.other(error.description))
    }
  }
}

/// OpenSSL reports an alert of the other side as this offset and the alert's number.
private let alertReasons = CInt(SSL_AD_REASON_OFFSET)...CInt(SSL_AD_REASON_OFFSET) + 255
