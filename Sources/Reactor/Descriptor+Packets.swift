internal import CLinux
internal import Glibc

/// Packets between two processes, each with at most one descriptor: local sockets that keep the bounds of what is sent
/// (`SOCK_SEQPACKET`, `SCM_RIGHTS`; unix(7)).
extension Descriptor {
  /// Two sockets that are connected to each other.
  public static func packetPair() throws(SystemError) -> DescriptorPair {
    var numbers: [CInt] = [-1, -1]
    try system("make a pair of sockets") { socketpair(AF_UNIX, packetType, 0, &numbers) }
    return DescriptorPair(ours: Descriptor(owning: numbers[0]), theirs: Descriptor(owning: numbers[1]))
  }

  /// Connects to a local service at a path of up to 107 bytes.
  public static func packets(to path: String) throws(SystemError) -> Descriptor {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw SystemError("connect to \(path)", code: ENAMETOOLONG)
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let socket = Descriptor(owning: try system("open a local socket") { Glibc.socket(AF_UNIX, packetType, 0) })
    try system("connect to \(path)") {
      withUnsafePointer(to: &address) {
        // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(socket.number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
    }
    return socket
  }

  /// Sends a packet, and with it a descriptor, which the caller keeps. Throws where there is no room (`EAGAIN`).
  public func sendPacket(_ bytes: [UInt8], passing descriptor: CInt? = nil) throws(SystemError) {
    // A `cmsghdr` of 16 bytes, and a number of four, which is padded to eight.
    var control = [UInt64](repeating: 0, count: 3)
    control[0] = 20
    control[1] = UInt64(UInt32(bitPattern: SOL_SOCKET)) | UInt64(SCM_RIGHTS) << 32
    control[2] = UInt64(UInt32(bitPattern: descriptor ?? -1))
    try system("send a packet") {
      bytes.withUnsafeBytes { bytes in
        control.withUnsafeMutableBytes { control in
          // `sendmsg` does not write to what it sends.
          var part = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
          return withUnsafeMutablePointer(to: &part) { part in
            var message = msghdr()
            (message.msg_iov, message.msg_iovlen) = (part, 1)
            if descriptor != nil {
              (message.msg_control, message.msg_controllen) = (control.baseAddress, control.count)
            }
            return sendmsg(number, &message, CInt(MSG_NOSIGNAL))
          }
        }
      }
    }
  }

  /// The next packet; nil where none has come. One without bytes is the end.
  public func receivePacket(bytesMax: Int) throws(SystemError) -> ReceivedPacket? {
    var control = [UInt64](repeating: 0, count: 3)
    var flags: CInt = 0
    var controlBytes = 0
    var bytes = [UInt8](repeating: 0, count: bytesMax)
    let count = try systemUnlessBlocked("receive a packet") {
      bytes.withUnsafeMutableBytes { bytes in
        control.withUnsafeMutableBytes { control in
          var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
          return withUnsafeMutablePointer(to: &part) { part in
            var message = msghdr()
            (message.msg_iov, message.msg_iovlen) = (part, 1)
            (message.msg_control, message.msg_controllen) = (control.baseAddress, control.count)
            let count = recvmsg(number, &message, CInt(MSG_CMSG_CLOEXEC) | CInt(MSG_DONTWAIT))
            (flags, controlBytes) = (message.msg_flags, message.msg_controllen)
            return count
          }
        }
      }
    }
    guard let count else { return nil }
    // There is room for the numbers of two descriptors; the kernel closes any more, and says that it has.
    var numbers: [CInt] = []
    if controlBytes >= 20, control[1] == UInt64(UInt32(bitPattern: SOL_SOCKET)) | UInt64(SCM_RIGHTS) << 32 {
      numbers.append(CInt(truncatingIfNeeded: control[2]))
      if control[0] >= 24 { numbers.append(CInt(truncatingIfNeeded: control[2] >> 32)) }
    }
    let lost = CInt(MSG_TRUNC) | CInt(MSG_CTRUNC)
    // One more than is expected closes here.
    var packet = ReceivedPacket(
      bytes: Array(bytes.prefix(count)), descriptor: nil, isWhole: flags & lost == 0 && numbers.count < 2)
    for number in numbers { packet.descriptor = Descriptor(owning: number) }
    return packet
  }

  private static var packetType: CInt {
    CInt(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
  }

  /// Whether it is a socket of a stream.
  public var isStreamSocket: Bool {
    var type: CInt = 0
    var length = socklen_t(MemoryLayout<CInt>.size)
    return getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == CInt(SOCK_STREAM.rawValue)
  }
}

/// A packet, and the descriptor that came with it.
public struct ReceivedPacket: ~Copyable {
  public let bytes: [UInt8]
  public var descriptor: Descriptor?
  /// Whether it had no more bytes and descriptors than there was room for.
  public let isWhole: Bool
}
