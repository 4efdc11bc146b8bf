internal import CLinux
internal import Glibc

/// TCP on non-blocking descriptors.
extension Descriptor {
  /// A socket that listens at an address, for its family alone; port 0 takes a free one.
  public static func listening(at address: SocketAddress, backlog: CInt = 512) throws(SystemError) -> Descriptor {
    let socket = try tcp(address.family)
    try socket.set(SOL_SOCKET, SO_REUSEADDR, "SO_REUSEADDR")
    if address.isV6 { try socket.set(CInt(IPPROTO_IPV6), IPV6_V6ONLY, "IPV6_V6ONLY") }
    try system("bind to \(address)") { address.withSockaddr { bind(socket.number, $0, $1) } }
    try system("listen at \(address)") { listen(socket.number, backlog) }
    return socket
  }

  /// A socket that is connected or on its way: when it is writable, `connectionError` says which.
  public static func connecting(to address: SocketAddress) throws(SystemError) -> Descriptor {
    let socket = try tcp(address.family)
    try socket.set(CInt(IPPROTO_TCP), TCP_NODELAY, "TCP_NODELAY")
    _ = try systemUnlessBlocked("connect to \(address)") {
      address.withSockaddr { connect(socket.number, $0, $1) }
    }
    return socket
  }

  /// The next connection that waits at a listening socket; nil where none does.
  public func accept() throws(SystemError) -> Descriptor? {
    let flags = CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    guard let number = try systemUnlessBlocked("accept", { accept4(self.number, nil, nil, flags) }) else { return nil }
    let socket = Descriptor(owning: number)
    do throws(SystemError) {
      try socket.set(CInt(IPPROTO_TCP), TCP_NODELAY, "TCP_NODELAY")
    } catch {
      // A local socket never delays.
      if error.code != EOPNOTSUPP { throw error }
    }
    return socket
  }

  /// How an attempt to connect ended: nil where it succeeded.
  public func connectionError() -> SystemError? {
    var code: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    if getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &length) == -1 { code = errno }
    return code == 0 ? nil : SystemError("connect", code: code)
  }

  public func localAddress() throws(SystemError) -> SocketAddress? {
    try SocketAddress { (address, length) throws(SystemError) in
      try system("getsockname") { getsockname(number, address, length) }
    }
  }

  public func remoteAddress() throws(SystemError) -> SocketAddress? {
    try SocketAddress { (address, length) throws(SystemError) in
      try system("getpeername") { getpeername(number, address, length) }
    }
  }

  /// Limits the bytes in the kernel that are not on the wire: beyond them the socket takes no more, and it is writable
  /// again under half of them. Later bytes then never wait behind a whole send buffer. Of a local socket they are all
  /// that the other end has not read, and of a Bluetooth one all that the adapter has not taken.
  public func limitUnsent(to bytesMax: Int) throws(SystemError) {
    do throws(SystemError) {
      try set(CInt(IPPROTO_TCP), TCP_NOTSENT_LOWAT, "TCP_NOTSENT_LOWAT", to: CInt(bytesMax))
    } catch {
      guard error.code == EOPNOTSUPP || error.code == ENOPROTOOPT else { throw error }
      try set(SOL_SOCKET, SO_SNDBUF, "SO_SNDBUF", to: CInt(bytesMax))
    }
  }

  /// Sends small writes at once (`TCP_NODELAY`), like an accepted socket.
  public func sendSmallWritesAtOnce() throws(SystemError) {
    try set(CInt(IPPROTO_TCP), TCP_NODELAY, "TCP_NODELAY")
  }

  /// Writes as much as the socket takes, and returns the count; nil where it takes nothing now.
  public func send(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> Int? {
    let flags = CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT)
    return try systemUnlessBlocked("send") { Glibc.send(number, bytes.baseAddress, bytes.count, flags) }
  }

  /// Ends the sending direction; reading continues.
  public func endSending() {
    // It fails only where the connection is gone, which reading reports too.
    _ = shutdown(number, CInt(SHUT_WR))
  }

  private static func tcp(_ family: CInt) throws(SystemError) -> Descriptor {
    let type = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    return Descriptor(owning: try system("open a TCP socket") { socket(family, type, 0) })
  }

  func set(_ level: CInt, _ option: CInt, _ name: String, to value: CInt = 1) throws(SystemError) {
    var value = value
    try system("set \(name)") { setsockopt(number, level, option, &value, socklen_t(MemoryLayout<CInt>.size)) }
  }
}
