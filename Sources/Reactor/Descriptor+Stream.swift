internal import CLinux
internal import Glibc

/// Ordered bytes, over any kind of descriptor. No call waits, even where another program that has the socket, too, makes it wait.
extension Descriptor {
  /// Two sockets of this process that are connected to each other.
  public static func pair() throws(SystemError) -> DescriptorPair {
    let type = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    var numbers: [CInt] = [-1, -1]
    try system("make a pair of sockets") { socketpair(AF_UNIX, type, 0, &numbers) }
    return DescriptorPair(ours: Descriptor(owning: numbers[0]), theirs: Descriptor(owning: numbers[1]))
  }

  /// Reads received bytes: returns their count, 0 at the end, nil where nothing is there yet.
  public func receive(_ room: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
    try systemUnlessBlocked("receive") { recv(number, room.baseAddress, room.count, CInt(MSG_DONTWAIT)) }
  }

  /// The same, without removing them.
  public func peek(_ room: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int? {
    try systemUnlessBlocked("peek") { recv(number, room.baseAddress, room.count, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT)) }
  }

  /// Another descriptor of the same open file.
  public func duplicate() throws(SystemError) -> Descriptor {
    Descriptor(owning: try system("duplicate a descriptor") { fcntl(number, F_DUPFD_CLOEXEC, 0) })
  }

  /// Ends both directions for everybody who has the socket; descriptors stay open.
  public func cut() {
    // It fails only where the connection is gone already.
    _ = shutdown(number, CInt(SHUT_RDWR))
  }

  /// Raises this process's limit of descriptors as far as allowed; a higher one stays.
  public static func raiseLimit(to count: Int) {
    let limit = limits
    if limit.rlim_cur >= count { return }
    set(rlimit(rlim_cur: min(rlim_t(count), limit.rlim_max), rlim_max: limit.rlim_max))
  }

  /// The number of descriptors that this process may open.
  public static var limit: Int { Int(clamping: limits.rlim_cur) }

  private static var limits: rlimit {
    var limit = rlimit()
    // It fails only for an unknown kind of limit.
    _ = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return limit
  }

  private static func set(_ limit: rlimit) {
    var limit = limit
    // No more than the maximum is requested.
    _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}

/// Two sockets that are connected to each other.
@frozen
public struct DescriptorPair: ~Copyable {
  public var ours: Descriptor
  public var theirs: Descriptor
}
