internal import COpenSSL
internal import Glibc
public import Reactor

/// One client's TLS connection to a web server, over a non-blocking socket that is its caller's.
///
/// It belongs to one thread. Written bytes lie in its outbox until `flush`.
public final class ServerStream {
  public enum Step: Sendable {
    /// The number of bytes moved; 0 for a step that moves none.
    case moved(Int)
    case needsReadable
    case needsWritable
    /// The client sent its close notification.
    case ended
    /// The connection is broken, or was never TLS.
    case failed
  }

  /// The size of one `write`: four full records.
  public static let batchBytesMax = 64 << 10

  private let ssl: OpaquePointer
  /// Kept alive for the connection.
  private let identity: ServerIdentity
  private let outbox = Outbox()

  public init(_ identity: ServerIdentity, on socket: borrowing Descriptor) {
    self.identity = identity
    ssl = identity.makeConnection()
    SSL_set_bio(ssl, expect(BIO_new_socket(socket.number, BIO_NOCLOSE), "use the socket"), outbox.makeBIO())
    SSL_set_accept_state(ssl)
  }

  deinit {
    SSL_free(ssl)
  }

  public var isFlushed: Bool { outbox.isEmpty }

  public func shakeHands() -> Step {
    step { _ in SSL_do_handshake(ssl) }
  }

  public func read(_ room: UnsafeMutableRawBufferPointer) -> Step {
    step { SSL_read_ex(ssl, room.baseAddress, room.count, &$0) }
  }

  /// Takes all of up to `batchBytesMax` bytes; only when earlier writes are flushed.
  public func write(_ bytes: UnsafeRawBufferPointer) -> Step {
    precondition(outbox.isEmpty && bytes.count <= Self.batchBytesMax, "there is no room for \(bytes.count) more bytes")
    return step { SSL_write_ex(ssl, bytes.baseAddress, bytes.count, &$0) }
  }

  public func flush(to socket: borrowing Descriptor) -> Step {
    if outbox.isEmpty { return .moved(0) }
    do throws(SystemError) {
      return try outbox.flush(to: socket) ? .moved(0) : .needsWritable
    } catch {
      return .failed
    }
  }

  public func sayGoodbye() {
    // The answer is not awaited.
    _ = step { _ in SSL_shutdown(ssl) }
  }

  private func step(_ call: (inout Int) -> CInt) -> Step {
    ERR_clear_error()
    var moved = 0
    let result = call(&moved)
    if result > 0 { return .moved(moved) }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ: return .needsReadable
    case SSL_ERROR_WANT_WRITE: return .needsWritable
    case SSL_ERROR_ZERO_RETURN: return .ended
    default: return .failed
    }
  }
}
