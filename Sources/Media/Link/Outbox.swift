internal import COpenSSL
internal import Glibc
internal import Reactor

/// Sealed bytes on their way to a socket. TLS writes into it and never waits; several records go to the kernel at once.
///
/// Invariant: it keeps no memory while it is empty, and never more than `bytesMax` bytes.
final class Outbox {
  /// A batch, and the records that TLS adds by itself: alerts, a key update, a flight of the handshake.
  static let bytesMax = 96 << 10
  private static let leastBytes = 4 << 10
  /// The size of a single copy: longer pieces become one instruction in libc, which some processors, AMD's among them,
  /// take 17 times as long for where the copy begins a few bytes further on in its page than the original in its own.
  private static let pieceBytes = 2 << 10

  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var sent = 0
  private var filled = 0
  /// Bytes that the socket has taken in all.
  private(set) var sentCount: UInt64 = 0

  deinit {
    memory.deallocate()
  }

  var isEmpty: Bool { sent == filled }

  /// The BIO through which TLS writes into it; the outbox must outlive it.
  func makeBIO() -> OpaquePointer {
    let bio = expect(BIO_new(boxMethod.pointer), "make a BIO")
    BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
    BIO_set_init(bio, 1)
    return bio
  }

  /// Writes to the socket as much as it takes; returns whether that was all.
  func flush(to socket: borrowing Descriptor) throws(SystemError) -> Bool {
    while !isEmpty {
      let rest = UnsafeRawBufferPointer(rebasing: memory[sent..<filled])
      guard let count = try socket.send(rest) else { return false }
      sent += count
      sentCount += UInt64(count)
    }
    memory.deallocate()
    memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    (sent, filled) = (0, 0)
    return true
  }

  fileprivate func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let needed = filled - sent + bytes.count
    if needed > Self.bytesMax { return false }
    if filled + bytes.count > memory.count { makeRoom(for: needed) }
    for start in stride(from: 0, to: bytes.count, by: Self.pieceBytes) {
      let piece = bytes[start..<min(start + Self.pieceBytes, bytes.count)]
      UnsafeMutableRawBufferPointer(rebasing: memory[filled...]).copyMemory(
        from: UnsafeRawBufferPointer(rebasing: piece))
      filled += piece.count
    }
    return true
  }

  private func makeRoom(for needed: Int) {
    // Large output is a batch, so that all of it soon has room.
    let capacity = needed > Self.leastBytes ? Self.bytesMax : Self.leastBytes
    let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[sent..<filled]))
    memory.deallocate()
    memory = larger
    (sent, filled) = (0, filled - sent)
  }
}

/// The BIO method of every outbox; made once, and never changed.
private struct BoxMethod: @unchecked Sendable {
  // `@unchecked`: nothing writes to it once it is made.
  let pointer: OpaquePointer
}

private let boxMethod: BoxMethod = {
  let method = expect(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "vicinity outbox"), "make a BIO method")
  expect(
    BIO_meth_set_write_ex(method, writeToBox) == 1 && BIO_meth_set_ctrl(method, controlBox) == 1, "make a BIO method")
  return BoxMethod(pointer: method)
}()

private func writeToBox(
  _ bio: OpaquePointer?, _ bytes: UnsafePointer<CChar>?, _ count: Int, _ written: UnsafeMutablePointer<Int>?
) -> CInt {
  COpenSSL_BIO_clear_retry_flags(bio)
  // The TLS connection that calls is freed before its outbox.
  let box = Unmanaged<Outbox>.fromOpaque(BIO_get_data(bio)).takeUnretainedValue()
  guard box.append(UnsafeRawBufferPointer(start: bytes, count: count)) else {
    COpenSSL_BIO_set_retry_write(bio)
    return 0
  }
  written?.pointee = count
  return 1
}

private func controlBox(_: OpaquePointer?, _ command: CInt, _: Int, _: UnsafeMutableRawPointer?) -> Int {
  // Flushing is done here, and there are no other controls.
  command == BIO_CTRL_FLUSH ? 1 : 0
}
