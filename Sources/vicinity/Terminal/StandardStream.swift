internal import Glibc

/// Standard output and standard error, unbuffered.
enum StandardStream: CInt, Sendable {
  case out = 1
  case error = 2

  /// Writes all bytes; false on an error, with its cause in `errno`. It waits for a slow reader.
  @discardableResult
  func write(_ bytes: some Collection<UInt8>) -> Bool {
    var left = Array(bytes)[...]
    while !left.isEmpty {
      let count = left.withUnsafeBytes { Glibc.write(rawValue, $0.baseAddress, $0.count) }
      if count > 0 {
        left = left.dropFirst(count)
      } else if errno == EAGAIN {
        // Another process that shares the descriptor has made it non-blocking.
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
