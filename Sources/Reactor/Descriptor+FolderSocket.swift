internal import CLinux
internal import Glibc

/// Sockets that are names in an open folder, by whatever path that was opened.
extension Descriptor {
  /// Listens under a new name in the folder.
  package func listening(as name: String, backlog: CInt = 512) throws(SystemError) -> Descriptor {
    let type = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let socket = Descriptor(owning: try system("open a local socket") { Glibc.socket(AF_UNIX, type, 0) })
    // Nobody else connects before the mode is set, which the caller does next.
    try system("fchmod") { fchmod(socket.number, 0o600) }
    try Self.withLocalAddress("/proc/self/fd/\(number)/\(name)") { (address, length) throws(SystemError) in
      try system("bind to \(name)") { bind(socket.number, address, length) }
    }
    try system("listen at \(name)") { listen(socket.number, backlog) }
    return socket
  }

  /// A socket that is connected to the one of this name.
  package func connecting(to name: String) throws(SystemError) -> Descriptor {
    // The very file that was checked, whatever has its name by then.
    let path = Descriptor(
      owning: try system("open \(name)") { openat(number, name, Self.pathOnly | O_CLOEXEC | O_NOFOLLOW) })
    guard try path.status().st_mode & S_IFMT == S_IFSOCK else {
      throw SystemError("connect to \(name)", code: ENOTSOCK)
    }
    let type = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let socket = Descriptor(owning: try system("open a local socket") { Glibc.socket(AF_UNIX, type, 0) })
    try Self.withLocalAddress("/proc/self/fd/\(path.number)") { (address, length) throws(SystemError) in
      // It never waits: it connects at once, or its backlog is full (`EAGAIN`).
      try system("connect to \(name)") { connect(socket.number, address, length) }
    }
    withExtendedLifetime(path.number) {}
    return socket
  }

  /// O_PATH of <fcntl.h>.
  private static let pathOnly: CInt = 0o10_000_000

  private static func withLocalAddress(
    _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) throws(SystemError) -> Void
  ) throws(SystemError) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // The folder is named by a descriptor, so that its own path may be as long as it likes.
    precondition(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path), "\(path) is too long for a socket")
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result: Result<Void, SystemError> = withUnsafePointer(to: &address) {
      // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        do throws(SystemError) {
          return .success(try body(pointer, socklen_t(MemoryLayout<sockaddr_un>.size)))
        } catch {
          return .failure(error)
        }
      }
    }
    try result.get()
  }
}
