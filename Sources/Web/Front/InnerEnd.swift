internal import Reactor

/// This package's end of a socket pair whose other end a library has: the client's input goes in here, and the
/// library's output comes out.
///
/// Law: it keeps the bytes that the pair did not take at once; meanwhile nothing more is read from the client.
struct InnerEnd: ~Copyable {
  let socket: Descriptor
  private var waiting: [UInt8] = []
  private var endsThen = false

  init(_ socket: consuming Descriptor) {
    self.socket = socket
  }

  var hasRoom: Bool { waiting.isEmpty }

  /// Writes the bytes; false where the library has closed its end.
  mutating func give(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if !waiting.isEmpty {
      waiting += bytes
      return true
    }
    do throws(SystemError) {
      var rest = bytes
      while !rest.isEmpty, let count = try socket.send(rest) {
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
      waiting = Array(rest)
      return true
    } catch {
      return false
    }
  }

  /// The pair has room again: writes the bytes that wait.
  mutating func flush() -> Bool {
    let bytes = waiting
    waiting = []
    let isOpen = bytes.withUnsafeBytes { give($0) }
    if waiting.isEmpty, endsThen { socket.endSending() }
    return isOpen
  }

  /// The client sends no more.
  mutating func end() {
    endsThen = true
    if waiting.isEmpty { socket.endSending() }
  }
}
