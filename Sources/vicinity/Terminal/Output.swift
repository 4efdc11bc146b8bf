internal import Glibc

/// The two ways out of the program, unbuffered.
enum Output: CInt, Sendable {
  case out = 1
  case error = 2

  /// False where nobody takes it any more, and `errno` says why. Waits for a reader that is slow.
  @discardableResult
  func write(_ bytes: some Collection<UInt8>) -> Bool {
    var left = Array(bytes)[...]
    while !left.isEmpty {
      let count = left.withUnsafeBytes { Glibc.write(rawValue, $0.baseAddress, $0.count) }
      if count > 0 {
        left = left.dropFirst(count)
      } else if errno == EAGAIN {
        // Whoever shares it with us has made it so.
        var wait = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
        _ = poll(&wait, 1, -1)
      } else if errno != EINTR {
        return false
      }
    }
    return true
  }

  @discardableResult
  func write(_ text: String) -> Bool { write(text.utf8) }
}
