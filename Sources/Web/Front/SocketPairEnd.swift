internal import Reactor

/// This package's end of a socket pair whose other end a library has: the client's input goes in here, and the
/// library's output comes out.
///
/// Invariant: it keeps the bytes that the pair did not take at once; meanwhile nothing more is read from the client.
struct SocketPairEnd: ~Copyable {
  let socket: Descriptor
  private var unwritten: [UInt8] = []
  private var endsWhenFlushed = false

  init(_ socket: consuming Descriptor) {
    self.socket = socket
  }

  var hasRoom: Bool { unwritten.isEmpty }

  /// Writes the bytes; false where the library has closed its end.
  mutating func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if !unwritten.isEmpty {
      unwritten += bytes
      return true
    }
    do throws(SystemError) {
      var rest = bytes
      while !rest.isEmpty, let count = try socket.send(rest) {
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
      unwritten = Array(rest)
      return true
    } catch {
      return false
    }
  }

  /// The pair has room again: writes the bytes that wait.
  mutating func flush() -> Bool {
    let bytes = unwritten
    unwritten = []
    let isOpen = bytes.withUnsafeBytes { write($0) }
    if unwritten.isEmpty, endsWhenFlushed { socket.endSending() }
    return isOpen
  }

  /// The client sends no more.
  mutating func end() {
    endsWhenFlushed = true
    if unwritten.isEmpty { socket.endSending() }
  }
}
