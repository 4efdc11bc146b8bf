internal import CLinux
internal import Glibc

/// Unix domain sockets in a folder, for this machine's programs (unix(7)).
extension Descriptor {
  /// Listens under a name in a folder, replacing an earlier one; only this user may open it.
  public static func listening(inFolder folder: String, named name: String) throws(SystemError) -> Descriptor {
    let socket = try local(CInt(SOCK_NONBLOCK.rawValue))
    // The socket then has this mode less the process's mask: nobody else could have opened it in between.
    try system("fchmod") { fchmod(socket.number, 0o600) }
    try withLocalAddress(folder, name) { (address, length, path) throws(SystemError) in
      _ = unlink(path)
      try system("bind to \(folder)/\(name)") { bind(socket.number, address, length) }
    }
    try system("listen at \(folder)/\(name)") { listen(socket.number, 8) }
    return socket
  }

  /// A blocking socket, with a timeout for reading and writing.
  public static func connected(
    toFolder folder: String, named name: String, patience seconds: Int
  ) throws(SystemError) -> Descriptor {
    let socket = try local(0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      var time = timeval(tv_sec: seconds, tv_usec: 0)
      try system("set a timeout") {
        setsockopt(socket.number, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
      }
    }
    try withLocalAddress(folder, name) { (address, length, _) throws(SystemError) in
      try system("connect to \(folder)/\(name)") { connect(socket.number, address, length) }
    }
    return socket
  }

  /// The next local connection at a listening socket; nil where none waits.
  public func acceptLocal() throws(SystemError) -> Descriptor? {
    let flags = CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    return try systemUnlessBlocked("accept", { accept4(number, nil, nil, flags) }).map { Descriptor(owning: $0) }
  }

  /// The user who connected a local socket, by the kernel's word.
  public func localUser() throws(SystemError) -> UInt32 {
    // Linux's `ucred`: a process, a user and a group of four bytes each.
    var credentials: [UInt32] = [0, 0, 0]
    var length = socklen_t(12)
    try system("ask who connected") { getsockopt(number, SOL_SOCKET, SO_PEERCRED, &credentials, &length) }
    return credentials[1]
  }

  /// Sends a line and receives one, each with its end, over a blocking socket; the answer may be cut.
  public func exchange(_ line: [UInt8], bytesMax: Int) throws(SystemError) -> [UInt8] {
    try system("send") { line.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) } }
    var heard: [UInt8] = []
    var room = [UInt8](repeating: 0, count: bytesMax)
    while heard.last != UInt8(ascii: "\n"), heard.count < bytesMax {
      let count = try system("receive") { recv(number, &room, room.count, 0) }
      if count == 0 { break }
      heard += room.prefix(count)
    }
    return heard
  }

  private static func local(_ flags: CInt) throws(SystemError) -> Descriptor {
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue) | flags
    return Descriptor(owning: try system("open a local socket") { socket(AF_UNIX, type, 0) })
  }

  /// The kernel takes 107 bytes, and folders have longer paths: so the folder is named by a descriptor.
  private static func withLocalAddress(
    _ folder: String, _ name: String,
    _ body: (UnsafePointer<sockaddr>, socklen_t, String) throws(SystemError) -> Void
  ) throws(SystemError) {
    let opened = Descriptor(
      owning: try system("open \(folder)") { open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
    let path = "/proc/self/fd/\(opened.number)/\(name)"
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    precondition(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path), "\(name) is too long a name")
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let result: Result<Void, SystemError> = withUnsafePointer(to: &address) {
      // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        do throws(SystemError) {
          return .success(try body(pointer, socklen_t(MemoryLayout<sockaddr_un>.size), path))
        } catch {
          return .failure(error)
        }
      }
    }
    try result.get()
    withExtendedLifetime(opened.number) {}
  }
}
