internal import Glibc

/// A connection with the system's D-Bus, for a few method calls with a bounded wait each.
final class BusConnection {
  struct Failure: Error, Equatable {
    let path: String
    let code: CInt
  }

  /// A bus answers in milliseconds.
  private static let answerMillisecondsMax: CInt = 2_000

  private let socket: CInt
  private var serial: UInt32 = 0
  private var bytes: [UInt8] = []

  /// From the environment, else the well-known path.
  static var path: String {
    let address = getenv("DBUS_SYSTEM_BUS_ADDRESS").map { String(cString: $0) } ?? ""
    guard let start = address.ranges(of: "unix:path=").first else { return "/run/dbus/system_bus_socket" }
    return String(address[start.upperBound...].prefix { $0 != "," && $0 != ";" })
  }

  init(_ path: String = path) throws(Failure) {
    socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard socket >= 0 else { throw Failure(path: path, code: errno) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = Array(path.utf8)
    guard name.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw Failure(path: path, code: ENAMETOOLONG)
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
    let connected = withUnsafePointer(to: &address) {
      // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard connected == 0 else { throw Failure(path: path, code: errno) }
    guard authenticate() else { throw Failure(path: path, code: EACCES) }
    guard case .returned = call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello") else {
      throw Failure(path: path, code: EPROTO)
    }
  }

  deinit {
    close(socket)
  }

  func hasOwner(_ name: String) -> Bool {
    let answer = call(
      "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner", [name])
    guard case .returned(let body) = answer else { return false }
    return BusMessage.number(body, at: 0) == 1
  }

  /// Nil where no answer comes.
  func call(
    _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [String] = []
  ) -> BusMessage.Answer? {
    serial += 1
    let message = BusMessage.encode(
      serial: serial, to: destination, path: path, interface: interface, member: member, arguments)
    guard send(message) else { return nil }
    while true {
      if let (answer, length) = BusMessage.answer(to: serial, in: bytes) {
        bytes.removeFirst(length)
        return answer
      }
      guard let fresh = receive() else { return nil }
      bytes += fresh
    }
  }

  private func authenticate() -> Bool {
    let user = "\(geteuid())".utf8.map { String($0, radix: 16) }.joined()
    guard send([0] + Array("AUTH EXTERNAL \(user)\r\n".utf8)) else { return false }
    var answer: [UInt8] = []
    while !answer.contains(UInt8(ascii: "\n")) {
      guard let fresh = receive() else { return false }
      answer += fresh
    }
    return answer.starts(with: "OK ".utf8) && send(Array("BEGIN\r\n".utf8))
  }

  private func send(_ bytes: [UInt8]) -> Bool {
    Glibc.send(socket, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count
  }

  private func receive() -> [UInt8]? {
    var wait = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
    guard poll(&wait, 1, Self.answerMillisecondsMax) == 1 else { return nil }
    var fresh = [UInt8](repeating: 0, count: 4_096)
    let count = recv(socket, &fresh, fresh.count, 0)
    return count > 0 ? Array(fresh.prefix(count)) : nil
  }
}
