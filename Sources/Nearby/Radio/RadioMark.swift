internal import Glibc
internal import Reactor

/// A mark that a process has a network on a radio: an abstract socket (unix(7)), which the kernel removes with the process,
/// whatever ends it. It belongs to the network namespace, as the radio does.
final class RadioMark: Sendable {
  private let socket: Descriptor

  private init(_ socket: consuming Descriptor) { self.socket = socket }

  /// Nil where another process has it.
  static func claim(_ radio: String) -> RadioMark? {
    let number = Glibc.socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { return nil }
    let socket = Descriptor(owning: number)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // A first byte of zero makes it abstract. Interfaces have names of 15 bytes at most.
    let name = [0] + Array("vicinity-radio-\(radio)".utf8.prefix(100))
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path).unsafelyUnwrapped + name.count)
    let result = withUnsafePointer(to: &address) {
      // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(number, $0, length) }
    }
    return result == 0 ? RadioMark(socket) : nil
  }

  /// Whether no process has it.
  static func isFree(_ radio: String) -> Bool { claim(radio) != nil }
}
