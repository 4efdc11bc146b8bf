internal import Glibc

/// Sockets that another program opened for this one.
extension Descriptor {
  /// Takes ownership, and makes it non-blocking.
  public static func given(_ number: CInt) throws(SystemError) -> Descriptor {
    let flags = try system("use socket \(number), which was passed") { fcntl(number, F_GETFL) }
    let descriptor = Descriptor(owning: number)
    try system("use socket \(number), which was passed") { fcntl(number, F_SETFL, flags | O_NONBLOCK) }
    _ = fcntl(number, F_SETFD, FD_CLOEXEC)
    return descriptor
  }

  /// Whether it listens for connections.
  public func isListening() throws(SystemError) -> Bool {
    var isListening: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    try system("ask what socket \(number) is") { getsockopt(number, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) }
    return isListening == 1
  }
}
