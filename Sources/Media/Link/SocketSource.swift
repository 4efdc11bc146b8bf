internal import COpenSSL
internal import Glibc

/// The BIO through which TLS reads a socket, which must outlive it.
///
/// It never waits. OpenSSL's own does where another program that has the socket, too, makes it wait: `O_NONBLOCK` belongs to the
/// socket, and not to a descriptor of it.
enum SocketSource {
  static func makeBIO(of descriptor: CInt) -> OpaquePointer {
    let bio = expect(BIO_new(sourceMethod.pointer), "make a BIO")
    BIO_set_data(bio, UnsafeMutableRawPointer(bitPattern: Int(descriptor) + 1))
    BIO_set_init(bio, 1)
    return bio
  }

  /// The number in its data, which is never null.
  fileprivate static func descriptor(of bio: OpaquePointer?) -> CInt { CInt(Int(bitPattern: BIO_get_data(bio)) - 1) }
}

/// The BIO method of every socket; made once, and never changed.
private struct SourceMethod: @unchecked Sendable {
  // `@unchecked`: nothing writes to it once it is made.
  let pointer: OpaquePointer
}

private let sourceMethod: SourceMethod = {
  let method = expect(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "vicinity socket"), "make a BIO method")
  expect(
    BIO_meth_set_read_ex(method, readFromSocket) == 1 && BIO_meth_set_ctrl(method, controlSource) == 1,
    "make a BIO method")
  return SourceMethod(pointer: method)
}()

private func readFromSocket(
  _ bio: OpaquePointer?, _ room: UnsafeMutablePointer<CChar>?, _ count: Int, _ read: UnsafeMutablePointer<Int>?
) -> CInt {
  COpenSSL_BIO_clear_retry_flags(bio)
  // TLS looks at the error's number, also where there is none.
  errno = 0
  let received = recv(SocketSource.descriptor(of: bio), room, count, CInt(MSG_DONTWAIT))
  if received > 0 {
    read?.pointee = received
    return 1
  }
  if received == 0 {
    BIO_set_flags(bio, BIO_FLAGS_IN_EOF)
    return 0
  }
  if errno == EAGAIN || errno == EINTR { COpenSSL_BIO_set_retry_read(bio) }
  return -1
}

private func controlSource(_ bio: OpaquePointer?, _ command: CInt, _: Int, _: UnsafeMutableRawPointer?) -> Int {
  switch command {
  case BIO_CTRL_EOF: BIO_test_flags(bio, BIO_FLAGS_IN_EOF) == 0 ? 0 : 1
  case BIO_CTRL_FLUSH: 1
  default: 0
  }
}
