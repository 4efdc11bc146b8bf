import COpenSSL
import Glibc
import Reactor
import Testing

/// A host that is not ours: plain OpenSSL, or plain bytes, blocking on a thread of its own.
enum Foreigner {
  /// Connects, sends these bytes, and waits until the other side hangs up.
  static func says(_ bytes: [UInt8], to address: SocketAddress) {
    onThread {
      let socket = connected(to: address)
      defer { close(socket) }
      _ = send(socket, bytes, bytes.count, CInt(MSG_NOSIGNAL))
      var byte: UInt8 = 0
      while recv(socket, &byte, 1, 0) > 0 {}
    }
  }

  /// Shakes hands under its own rules; then hangs up without a close notification, or waits until the other side hangs
  /// up.
  static func shakesHands(
    with address: SocketAddress, thenCuts: Bool = false, _ rules: @escaping @Sendable (OpaquePointer) -> Void
  ) {
    onThread {
      let ssl = session(TLS_client_method(), rules)
      defer { SSL_free(ssl) }
      let socket = connected(to: address)
      defer { close(socket) }
      SSL_set_fd(ssl, socket)
      guard SSL_connect(ssl) == 1, !thenCuts else { return }
      var byte: UInt8 = 0
      while SSL_read(ssl, &byte, 1) > 0 {}
    }
  }

  /// A server that shakes hands with one client under its own rules, and hangs up when that does. Where it does not
  /// read, it does nothing more, with so much room in its kernel.
  static func serves(
    thenReads: Bool = true, room: Int? = nil, _ rules: @escaping @Sendable (OpaquePointer) -> Void
  ) throws -> SocketAddress {
    let listener = try Descriptor.listening(at: .loopback(port: 0))
    let address = try #require(try listener.localAddress())
    if let room {
      var room = CInt(room)
      setsockopt(listener.number, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<CInt>.size))
    }
    let server = dup(listener.number)
    // The same socket, which blocks from now on.
    _ = fcntl(server, F_SETFL, 0)
    onThread {
      defer { close(server) }
      let socket = accept(server, nil, nil)
      defer { close(socket) }
      let ssl = session(TLS_server_method(), rules)
      defer { SSL_free(ssl) }
      SSL_set_fd(ssl, socket)
      _ = SSL_accept(ssl)
      if !thenReads {
        var peer = pollfd(fd: socket, events: 0, revents: 0)
        poll(&peer, 1, 30_000)
        return
      }
      shutdown(socket, CInt(SHUT_WR))
      var byte: UInt8 = 0
      while recv(socket, &byte, 1, 0) > 0 {}
    }
    return address
  }

  /// Agrees to whatever protocol a client offers first.
  static func agree(_ context: OpaquePointer) {
    SSL_CTX_set_alpn_select_cb(
      context,
      { _, chosen, count, offered, _, _ in
        guard let offered else { return SSL_TLSEXT_ERR_ALERT_FATAL }
        count?.pointee = offered[0]
        chosen?.pointee = offered + 1
        return SSL_TLSEXT_ERR_OK
      }, nil)
  }

  static func offer(_ name: String, _ context: OpaquePointer) {
    let list = [UInt8(name.utf8.count)] + name.utf8
    SSL_CTX_set_alpn_protos(context, list, CUnsignedInt(list.count))
  }

  /// Shows a self-signed certificate of the kind, with more of the like behind it where asked.
  static func show(_ kind: String, extra: Int = 0, _ context: OpaquePointer) {
    // Only want of memory would leave none.
    let key = (kind == "RSA" ? COpenSSL_EVP_PKEY_generate_rsa(2048) : COpenSSL_EVP_PKEY_generate_ed25519())!
    defer { EVP_PKEY_free(key) }
    let leaf = certificate(of: key)
    defer { X509_free(leaf) }
    SSL_CTX_use_certificate(context, leaf)
    SSL_CTX_use_PrivateKey(context, key)
    // The context takes these as its own.
    for _ in 0..<extra {
      SSL_CTX_ctrl(context, SSL_CTRL_EXTRA_CHAIN_CERT, 0, UnsafeMutableRawPointer(certificate(of: key)))
    }
  }

  /// A self-signed one of a minute.
  static func certificate(of key: OpaquePointer) -> OpaquePointer {
    // Only want of memory would leave none.
    let certificate = X509_new()!
    X509_set_version(certificate, 2)
    X509_gmtime_adj(X509_getm_notBefore(certificate), 0)
    X509_gmtime_adj(X509_getm_notAfter(certificate), 60)
    X509_set_pubkey(certificate, key)
    X509_sign(certificate, key, EVP_PKEY_get_id(key) == EVP_PKEY_RSA ? EVP_sha256() : nil)
    return certificate
  }

  private static func session(_ method: OpaquePointer?, _ rules: (OpaquePointer) -> Void) -> OpaquePointer {
    // Only want of memory would leave none.
    let context = SSL_CTX_new(method)!
    defer { SSL_CTX_free(context) }
    rules(context)
    // Nor here.
    return SSL_new(context)!
  }

  private static func connected(to address: SocketAddress) -> CInt {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    var target = sockaddr_in()
    target.sin_family = sa_family_t(AF_INET)
    target.sin_port = address.port.bigEndian
    target.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    let result = withUnsafePointer(to: &target) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    precondition(result == 0, "no connection to \(address)")
    return descriptor
  }

  static func onThread(_ work: @escaping @Sendable () -> Void) {
    final class Box {
      let work: @Sendable () -> Void
      init(_ work: @escaping @Sendable () -> Void) { self.work = work }
    }
    var thread = pthread_t()
    let created = pthread_create(
      &thread, nil,
      {
        var signals = sigset_t()
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        // The box that was passed below.
        Unmanaged<Box>.fromOpaque($0!).takeRetainedValue().work()
        return nil
      }, Unmanaged.passRetained(Box(work)).toOpaque())
    precondition(created == 0)
    pthread_detach(thread)
  }
}
