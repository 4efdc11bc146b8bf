internal import Reactor

/// Our end of a pair of sockets whose other end one of the libraries has: what a client sends goes in here, and what the
/// library has to say comes out.
///
/// Law: it holds what the pair did not take at once; until that is gone, nothing more is to be read from the client.
struct InnerEnd: ~Copyable {
  let socket: Descriptor
  private var waiting: [UInt8] = []
  private var endsThen = false

  init(_ socket: consuming Descriptor) {
    self.socket = socket
  }

  var hasRoom: Bool { waiting.isEmpty }

  /// False where the library has hung up.
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

  /// There is room again.
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
